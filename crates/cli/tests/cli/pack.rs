//! Messages of light clients on the command line: every acknowledged number arrives once, whatever ends the
//! program, and bad messages are refused alone.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::file::FileReader;
use clathrate_ckks::light::{LightClient, Receiver};
use clathrate_ckks::{Ciphertext, Params, Runtime, SecretKey, SecretName};
use serde_json::{Value, json};

use crate::support::*;

const BOOT: &str = "insecure_boot";
const COUNT: usize = 24;
const DEVICE: u64 = 3;

/// What the tests' processes may take at most.
const PATIENCE: Duration = Duration::from_secs(120);

struct Setting {
    desk: Desk,
    params: Params,
    owner: SecretKey,
    plan: SamplesPlan,
}

impl Setting {
    /// A folder with keys for batches of [`COUNT`] numbers of a device's secret.
    fn new() -> Self {
        let desk = Desk::new();
        desk.ok(&format!(
            "keygen --params {BOOT} --secret sk.clt --evaluation keys.clt --authentication auth.clt --samples {COUNT} --client {DEVICE}"
        ));
        let params = Params::preset(BOOT, &Runtime::default()).expect("a preset");
        let owner = SecretKey::from_reader(&FileReader::open(desk.path("sk.clt")).expect("a file"), &params)
            .expect("a key");
        let options = SamplesOptions {
            count: Some(COUNT),
            secret: SecretName::Device(DEVICE),
            ..SamplesOptions::default()
        };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        Self { desk, params, owner, plan }
    }

    fn client(&self) -> LightClient {
        self.owner.light_client(&self.plan.client_options(Some(20.0))).expect("a client")
    }

    fn line(&self, from: &str, more: &str) -> String {
        format!(
            "pack --params {BOOT} --evaluation keys.clt --authentication auth.clt --from {from} --inbox inbox.log --output out \
             --samples {COUNT} --client {DEVICE} {more}"
        )
    }

    /// The numbers of all results by client and counter; each comes once.
    fn results(&self) -> BTreeMap<(String, u64), f64> {
        let mut found = BTreeMap::new();
        for number in 1.. {
            let (array, names) = (
                self.desk.path(&format!("out/{number:08}.clt")),
                self.desk.path(&format!("out/{number:08}.json")),
            );
            if !names.exists() {
                break;
            }
            let x = Ciphertext::from_reader(&FileReader::open(&array).expect("a file"), &self.params)
                .expect("an array");
            assert_eq!(x.level(), self.plan.half_bootstrap().output_level());
            let numbers = self.owner.decrypt(&x).expect("numbers").into_real().expect("real");
            let report: Value = serde_json::from_slice(&fs::read(&names).expect("a file")).expect("JSON");
            let samples = report["samples"].as_array().expect("a list");
            assert_eq!(samples.len(), numbers.len());
            for (sample, number) in samples.iter().zip(numbers) {
                let source = (
                    sample["client"].as_str().expect("a name").to_owned(),
                    sample["counter"].as_u64().expect("a counter"),
                );
                assert!(found.insert(source, number).is_none(), "{sample} comes twice");
            }
        }
        found
    }
}

fn text(kind: &str, bytes: &[u8]) -> String {
    format!("{}\n", json!({ kind: BASE64_STANDARD.encode(bytes) }))
}

fn name(client: &LightClient, own: &Setting) -> String {
    let receiver = Receiver::new(&own.params, &client.introduction(), &own.owner.authentication_key())
        .expect("a client");
    receiver.client_id().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of client `client`'s number at `counter`.
fn value(client: usize, counter: u64) -> f64 {
    ((client as f64 * 31.0 + counter as f64 * 7.0) % 64.0) / 32.0 - 1.0
}

/// The names in a folder, in order.
fn names_in(own: &Setting, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(own.desk.path(folder)).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Ends a process that does not end by itself.
fn wait(mut child: Child) -> Run {
    let start = Instant::now();
    while child.try_wait().expect("a state").is_none() {
        assert!(start.elapsed() < PATIENCE || child.kill().is_err(), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    Run::of(&child.wait_with_output().expect("its output"))
}

#[test]
fn lines_are_answered_and_bad_ones_are_refused_alone() {
    let own = Setting::new();
    let mut client = own.client();
    let stranger = SecretKey::generate(&own.params)
        .expect("a key")
        .light_client(&own.plan.client_options(None))
        .expect("a client");
    let main = SamplesOptions { count: Some(COUNT), ..SamplesOptions::default() };
    let undevised = SamplesPlan::new(&own.params, &main).expect("a plan");
    let undevised = own.owner.light_client(&undevised.client_options(None)).expect("a client");
    let first = client.encrypt(&[value(0, 0), value(0, 1)]).expect("a message");
    let second = client.encrypt(&[value(0, 2)]).expect("a message");
    let mut alike = client.introduction();
    *alike.last_mut().expect("bytes") ^= 1;
    let input = [
        text("message", &first),
        text("introduction", &client.introduction()),
        text("message", &second),
        "not JSON\n".to_owned(),
        "{\"message\": \"???\"}\n".to_owned(),
        "{\"massage\": \"AAAA\"}\n".to_owned(),
        text("message", &first[..first.len() - 1]),
        text("message", &first),
        text("message", &first),
        text("introduction", &stranger.introduction()),
        text("introduction", &undevised.introduction()),
        text("introduction", b"nobody"),
        text("introduction", &alike),
        // The last line has no end.
        text("introduction", &client.introduction()).trim_end().to_owned(),
    ]
    .concat();
    let mut child = own
        .desk
        .command(&own.line("-", ""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("read");
    let run = wait(child);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (report, answers) = said.split_last().expect("answers");
    let parts = [
        "unknown client",
        "client",
        "stored",
        "no JSON object",
        "base64",
        "without the one field",
        "cut off",
        "stored",
        "known",
        "wrong-secret",
        "device:3",
        "introduction",
        "not authenticated",
        "client",
    ];
    assert_eq!(answers.len(), parts.len());
    for (number, (answer, part)) in answers.iter().zip(parts).enumerate() {
        assert!(answer.to_string().contains(part), "{part}: {answer}");
        assert_eq!(answer["from"], json!(format!("line {}", number + 1)));
        let refused = !matches!(part, "client" | "stored" | "known");
        assert_eq!(answer.get("error").is_some(), refused, "{answer}");
    }
    assert_eq!(
        (&report["numbers"], &report["clients"], &report["late"]),
        (&json!(3), &json!(1), &Value::Null)
    );
    let id = name(&client, &own);
    let found = own.results();
    assert_eq!(found.len(), 3);
    for counter in 0..3 {
        assert!((found[&(id.clone(), counter)] - value(0, counter)).abs() < 1e-4);
    }
    // Another run goes on behind the results that there are.
    let third = client.encrypt(&[value(0, 3)]).expect("a message");
    let mut child = own
        .desk
        .command(&own.line("-", "--json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let input = [text("message", &second), text("message", &third)].concat();
    child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("read");
    let run = wait(child);
    assert!(
        run.code == 0 && run.stdout.contains("\"known\":true") && own.desk.path("out/00000002.clt").exists(),
        "{}",
        run.stderr
    );
    assert_eq!(own.results().len(), 4);
}

/// A running server, line by line.
struct Server {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(own: &Setting) -> Self {
        let mut command = own.desk.command(&own.line("-", "--threads 1"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
        let (input, output) =
            (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        Self { child, input, output: BufReader::new(output).lines() }
    }

    fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()).expect("read");
    }

    /// The next answer to a line; other lines are results of batches.
    fn answer(&mut self) -> Value {
        loop {
            let said: Value =
                serde_json::from_str(&self.output.next().expect("a line").expect("text")).expect("JSON");
            if said.get("from").is_some() {
                return said;
            }
        }
    }

    /// Bytes of memory that are resident.
    fn resident(&self) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).expect("a process");
        4096 * text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("pages")
    }

    fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ends");
    }
}

/// Which clients' samples a result has.
fn clients_of(own: &Setting, number: usize) -> Vec<String> {
    let path = own.desk.path(&format!("out/{number:08}.json"));
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < PATIENCE, "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    let report: Value = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    let samples = report["samples"].as_array().expect("a list");
    samples.iter().map(|sample| sample["client"].as_str().expect("a name").to_owned()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_strangers_line_costs_a_line_and_a_flood_of_one_client_delays_no_other() {
    /// A line of 8 MB is read, decoded and refused; the allocator keeps some of what that took.
    const MOST: usize = 64 << 20;
    let own = Setting::new();
    let (mut honest, mut flooder) = (own.client(), own.client());
    let mut server = Server::start(&own);
    server.send(&text("introduction", &honest.introduction()));
    assert!(server.answer().get("client").is_some());
    let (before, stored) = (server.resident(), own.desk.get("inbox.log"));
    // What somebody makes of an introduction that he heard: another seed, and numbers of 8 bits.
    let heard = honest.introduction();
    let mut evil = heard.clone();
    let (dropped, seed) = (4 + 1 + 32 + 16 + 16 + 9 + 3 * 8, heard.len() - 48);
    evil[dropped] = 38;
    evil[seed..seed + 32].copy_from_slice(&[0x5a; 32]);
    let million = |start: [u8; 4]| [&start[..], &[0; 8], &vec![0; 6_000_000][..]].concat();
    let mut lines = vec![
        text("introduction", &evil),
        text("message", &million([0x5a; 4])),
        text("message", &million([heard[seed], heard[seed + 1], heard[seed + 2], heard[seed + 3]])),
        text("introduction", &million([0; 4])),
    ];
    // Text of 8 MB that would be far more as a tree.
    let long = |start: &str, part: &str| format!("{start}{}\n", part.repeat(8_000_000 / part.len()));
    lines.extend([
        long("{\"message\":[", "0,"),
        long("{\"message\":", "["),
        long("{\"message\":", "{\"a\":"),
        long("[", "\"\","),
        long("{", "\"a\":0,"),
    ]);
    lines.push(format!("{}\n", "x".repeat(24_000_000)));
    for line in &lines {
        server.send(line);
        for _ in line.lines() {
            let answer = server.answer();
            assert!(answer.get("error").is_some(), "{answer}");
        }
        assert!(server.resident() < before + MOST, "{} bytes, {before} before", server.resident());
    }
    // Several at once, before any is answered.
    server.send(&lines[2].repeat(6));
    (0..6).for_each(|_| assert!(server.answer().get("error").is_some()));
    assert!(server.resident() < before + 2 * MOST, "{} bytes, {before} before", server.resident());
    assert!(own.desk.get("inbox.log") == stored, "a stranger wrote to the inbox");
    // Nothing of it is there after a restart.
    server.kill();
    let mut server = Server::start(&own);
    server.send(&text("introduction", &flooder.introduction()));
    assert!(server.answer().get("client").is_some());
    let before = server.resident();
    // One of the owner's clients floods the server: what it may have waiting is limited, and takes the bytes
    // of its messages.
    let many = vec![0.25; 20_000];
    let mut refused = 0;
    for _ in 0..5 {
        server.send(&text("message", &flooder.encrypt(&many).expect("a message")));
        let answer = server.answer();
        if answer.get("error").is_some() {
            assert!(answer.to_string().contains("may wait"), "{answer}");
            refused += 1;
        }
    }
    assert!(refused > 0, "100000 numbers wait");
    assert!(server.resident() < before + MOST, "{} bytes, {before} before", server.resident());
    // Another client's sample is in the next batch that begins, also over a restart.
    server.send(&text("message", &honest.encrypt(&[0.5]).expect("a message")));
    assert_eq!(server.answer()["stored"], 1);
    server.kill();
    let done =
        (1..).find(|number| !own.desk.path(&format!("out/{number:08}.json")).exists()).expect("a number");
    let server = Server::start(&own);
    assert!(
        (1..=done).any(|number| clients_of(&own, number).contains(&name(&honest, &own))),
        "not in the first {done} batches"
    );
    server.kill();
}

#[test]
fn files_of_a_client_with_too_much_waiting_stay_until_there_is_room() {
    let own = Setting::new();
    fs::create_dir(own.desk.path("in")).expect("a folder");
    let (mut client, mut other) = (own.client(), own.client());
    own.desk.put("in/a.introduction", &client.introduction());
    own.desk.put("in/b.introduction", &other.introduction());
    for name in ["c", "d", "e"] {
        own.desk.put(&format!("in/{name}.message"), &client.encrypt(&vec![0.25; 30_000]).expect("a message"));
    }
    own.desk.put("in/f.message", &other.encrypt(&[0.5]).expect("a message"));
    let mut child =
        own.desk.command(&own.line("in", "--idle 0")).stdout(Stdio::null()).spawn().expect("runs");
    assert!(
        clients_of(&own, 1).contains(&name(&other, &own)),
        "what comes behind the files that wait is taken"
    );
    let left = names_in(&own, "in");
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().any(|name| name.starts_with(".taken-") && name.ends_with("-e.message")), "{left:?}");
    assert_eq!(child.try_wait().expect("a state"), None, "it goes on while files wait");
    child.kill().expect("killed");
    child.wait().expect("ends");
}

#[test]
fn a_deadline_ends_the_wait_for_a_full_batch() {
    let own = Setting::new();
    let mut client = own.client();
    let line = own.line("-", "--deadline 1.5");
    let mut child = own
        .desk
        .command(&line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut answer =
        || -> Value { serde_json::from_str(&output.next().expect("a line").expect("text")).expect("JSON") };
    input.write_all(text("introduction", &client.introduction()).as_bytes()).expect("read");
    assert!(answer().get("client").is_some());
    input.write_all(text("message", &client.encrypt(&[0.5]).expect("a message")).as_bytes()).expect("read");
    assert_eq!(answer()["stored"], 1);
    // Its input is still open.
    assert_eq!(answer()["numbers"], 1);
    // A full batch does not wait.
    let many: Vec<f64> = (1..=COUNT as u64).map(|counter| value(0, counter)).collect();
    input.write_all(text("message", &client.encrypt(&many).expect("a message")).as_bytes()).expect("read");
    assert_eq!(answer()["stored"], COUNT);
    let start = Instant::now();
    let report = answer();
    assert_eq!(report["numbers"], COUNT);
    assert!(start.elapsed() < PATIENCE, "{report}");
    drop(input);
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    let refused = own.desk.run(&own.line("-", "--deadline 0"));
    assert!(refused.code == 5 && refused.stderr.contains("to bootstrap as predicted"), "{}", refused.stderr);
    let refused = own.desk.run(&own.line("-", "--deadline -1"));
    assert!(refused.code == 2, "{}", refused.stderr);
}

#[test]
fn a_killed_service_loses_no_acknowledged_number_and_brings_none_twice() {
    let own = Setting::new();
    fs::create_dir(own.desk.path("in")).expect("a folder");
    let mut clients: Vec<LightClient> = (0..3).map(|_| own.client()).collect();
    for (number, client) in clients.iter().enumerate() {
        own.desk.put(&format!("in/{number}.introduction"), &client.introduction());
    }
    let mut sent = 0u64;
    let mut kills = 0;
    for round in 0..12u64 {
        for (number, client) in clients.iter_mut().enumerate() {
            let numbers: Vec<f64> = (sent..sent + 5).map(|counter| value(number, counter)).collect();
            own.desk.put(&format!("in/.{round}-{number}"), &client.encrypt(&numbers).expect("a message"));
            let (hidden, whole) = (
                own.desk.path(&format!("in/.{round}-{number}")),
                own.desk.path(&format!("in/{round}-{number}.message")),
            );
            fs::rename(hidden, whole).expect("a name");
        }
        sent += 5;
        let mut child = own
            .desk
            .command(&own.line("in", "--quiet"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        // From before the keys are read to behind several batches.
        std::thread::sleep(Duration::from_millis(40 + 80 * round));
        // On a slow machine the last round is the first that is long enough for a batch.
        let start = Instant::now();
        while round == 11 && !own.desk.path("out/00000001.json").exists() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        kills += usize::from(child.try_wait().expect("a state").is_none());
        child.kill().expect("killed");
        child.wait().expect("ends");
    }
    assert_eq!(kills, 12, "it goes on until it is stopped");
    assert!(own.desk.path("out/00000001.json").exists(), "no batch came");
    let run = wait(
        own.desk
            .command(&own.line("in", "--idle 0.3"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs"),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let left: Vec<String> = names_in(&own, "in");
    assert_eq!(left, [".clathrate-pack.lock"], "all are stored, none is refused");
    let found = own.results();
    assert_eq!(found.len() as u64, 3 * sent);
    for (number, client) in clients.iter().enumerate() {
        let id = name(client, &own);
        for counter in 0..sent {
            assert!(
                (found[&(id.clone(), counter)] - value(number, counter)).abs() < 1e-4,
                "{number}, {counter}"
            );
        }
    }
}

#[test]
fn devices_with_secrets_of_their_own_come_together() {
    let own = Setting::new();
    own.desk.ok(&format!("keygen --params {BOOT} --secret sk.clt --existing --evaluation all.clt --samples {COUNT} --client {DEVICE},8,9"));
    let mut clients: Vec<LightClient> = [9, DEVICE, 8]
        .map(|device| {
            let mut options = own.plan.client_options(Some(20.0));
            options.secret = SecretName::Device(device);
            own.owner.light_client(&options).expect("a client")
        })
        .into();
    let mut input = String::new();
    for client in &clients {
        input += &text("introduction", &client.introduction());
    }
    for counter in 0..7 {
        for (number, client) in clients.iter_mut().enumerate() {
            input += &text("message", &client.encrypt(&[value(number, counter)]).expect("a message"));
        }
    }
    let line = own.line("-", "").replace("keys.clt", "all.clt").replace("--client 3", "--client 3,8,9");
    let mut child = own
        .desk
        .command(&line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("read");
    let run = wait(child);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!own.desk.path("out/00000002.clt").exists(), "one batch serves all of them");
    let found = own.results();
    assert_eq!(found.len(), 21);
    for (number, client) in clients.iter().enumerate() {
        for counter in 0..7 {
            assert!((found[&(name(client, &own), counter)] - value(number, counter)).abs() < 1e-4);
        }
    }
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_is_taken() {
    let own = Setting::new();
    own.desk.put("in", b"no folder");
    let missing = own.desk.run(&own.line("in", ""));
    assert!(missing.code == 13 && missing.stderr.contains("read the folder"), "{}", missing.stderr);
    fs::create_dir(own.desk.path("box")).expect("a folder");
    own.desk.put("box/a.message", b"short");
    own.desk.put("box/b.introduction", b"nobody");
    own.desk.put("box/note.txt", b"of no matter");
    let run = own.desk.ok(&own.line("box", "--idle 0.1"));
    assert!(
        run.stdout.contains("refused a.message") && run.stdout.contains("refused b.introduction"),
        "{}",
        run.stdout
    );
    assert_eq!(
        names_in(&own, "box"),
        [".clathrate-pack.lock", "a.message.refused", "b.introduction.refused", "note.txt"]
    );
    // A second one of the name does not replace the first.
    own.desk.put("box/a.message", b"short again");
    own.desk.ok(&own.line("box", "--idle 0.1"));
    assert_eq!((names_in(&own, "box").len(), own.desk.get("box/a.message.refused")), (5, b"short".to_vec()));
    // The inbox of one secret does not serve another.
    let mut client = own.client();
    own.desk.put("box/c.introduction", &client.introduction());
    own.desk.put("box/c.message", &client.encrypt(&[0.5]).expect("a message"));
    own.desk.ok(&own.line("box", "--idle 0.1"));
    assert!(own.desk.path("out/00000001.clt").exists());
    own.desk.ok(&format!("keygen --params {BOOT} --secret sk.clt --existing --evaluation others.clt --samples {COUNT} --client 4"));
    let other =
        own.line("box", "--idle 0").replace("--client 3", "--client 4").replace("keys.clt", "others.clt");
    let refused = own.desk.run(&other);
    assert!(refused.code == 6 && refused.stderr.contains("inbox.log"), "{} {}", refused.code, refused.stderr);
    // Results of another inbox are not replaced.
    let fresh = own.line("box", "--idle 0").replace("inbox.log", "new.log");
    let refused = own.desk.run(&fresh);
    assert!(
        refused.code == 5 && refused.stderr.contains("empty folder"),
        "{} {}",
        refused.code,
        refused.stderr
    );
    // Nor does an authentication key of another owner.
    own.desk.ok(&format!("keygen --params {BOOT} --secret other.clt --authentication theirs.clt"));
    let theirs = own.desk.run(&own.line("box", "--idle 0").replace("auth.clt", "theirs.clt"));
    assert!(theirs.code == 11 && theirs.stderr.contains("theirs.clt"), "{} {}", theirs.code, theirs.stderr);
    let none = own.desk.run(&own.line("box", "--idle 0").replace("--authentication auth.clt", ""));
    assert!(none.code == 2 && none.stderr.contains("--authentication"), "{} {}", none.code, none.stderr);
    // Keys for one secret do not serve another.
    let keys = own.line("box", "--idle 0").replace("--client 3", "--client 3,4");
    let refused = own.desk.run(&keys);
    assert!(refused.code == 9 && refused.stderr.contains("keys.clt"), "{} {}", refused.code, refused.stderr);
    let idle = own.desk.run(&own.line("-", "--idle 1"));
    assert!(idle.code == 2 && idle.stderr.contains("ends by itself"), "{}", idle.stderr);
    // Two servers cannot share a folder.
    let mut first = own.desk.command(&own.line("box", "")).stdout(Stdio::null()).spawn().expect("runs");
    // It has begun when it takes a file over.
    own.desk.put("box/d.message", b"short");
    let start = Instant::now();
    while !own.desk.path("box/d.message.refused").exists() {
        assert!(
            start.elapsed() < PATIENCE && first.try_wait().expect("a state").is_none(),
            "it does not begin"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = own.desk.run(
        &own.line("box", "--idle 0")
            .replace("inbox.log", "second.log")
            .replace("--output out", "--output out2"),
    );
    assert!(
        second.code == 5 && second.stderr.contains("another server"),
        "{} {}",
        second.code,
        second.stderr
    );
    assert_eq!(first.try_wait().expect("a state"), None);
    first.kill().expect("killed");
    first.wait().expect("ends");
}

#[test]
fn what_ends_around_a_result_neither_loses_nor_repeats_it() {
    let own = Setting::new();
    fs::create_dir(own.desk.path("in")).expect("a folder");
    let mut client = own.client();
    own.desk.put("in/a.introduction", &client.introduction());
    own.desk.put("in/a.message", &client.encrypt(&[value(0, 0)]).expect("a message"));
    own.desk.ok(&own.line("in", "--idle 0.1"));
    let before = own.desk.get("inbox.log");
    own.desk.put("in/a.message", &client.encrypt(&[value(0, 1)]).expect("a message"));
    own.desk.ok(&own.line("in", "--idle 0.1"));
    let [hidden, shown] = [".00000002", "00000002"]
        .map(|name| ["clt", "json"].map(|end| own.desk.path(&format!("out/{name}.{end}"))));
    // Done, and ended before the files had their names, or one of them had.
    for ended in [0, 1] {
        for (hidden, shown) in hidden.iter().zip(&shown).skip(ended) {
            fs::rename(shown, hidden).expect("a name");
        }
        let run = own.desk.run(&own.line("in", "--idle 0 --json"));
        assert!(run.code == 0 && run.stdout.contains("\"recovered\":true"), "{}", run.stderr);
        assert_eq!(own.results().len(), 2);
    }
    // Stored, and ended before it was done: the files are there without their names, and the batch is
    // computed again.
    let after = own.desk.get("inbox.log");
    let mut input = own.line("in", "--idle 0.1");
    own.desk.put("inbox.log", &before);
    for (hidden, shown) in hidden.iter().zip(&shown) {
        fs::rename(shown, hidden).expect("a name");
    }
    let mut clone = LightClient::from_bytes(&client.to_bytes()).expect("a client");
    own.desk.put("in/b.introduction", &clone.introduction());
    own.desk.put("in/b.message", &clone.encrypt(&[value(1, 0)]).expect("a message"));
    own.desk.ok(&input);
    assert_eq!(own.results().len(), 2);
    assert!(hidden.iter().all(|path| !path.exists()));
    // An inbox that is older than its results does not replace them.
    own.desk.put("inbox.log", &before);
    own.desk.put("in/c.introduction", &clone.introduction());
    own.desk.put("in/c.message", &clone.encrypt(&[value(1, 1)]).expect("a message"));
    let refused = own.desk.run(&input);
    assert!(
        refused.code == 5 && refused.stderr.contains("older than its results"),
        "{} {}",
        refused.code,
        refused.stderr
    );
    assert_eq!(own.results().len(), 2);
    // What was taken over and not yet stored is found by the next run.
    own.desk.put("inbox.log", &after);
    input = input.replace("--output out", "--output other").replace("inbox.log", "other.log");
    own.desk.put("in/.taken-00000000000000000001-d.introduction", &client.introduction());
    own.desk
        .put("in/.taken-00000000000000000002-d.message", &client.encrypt(&[value(0, 2)]).expect("a message"));
    own.desk.ok(&input);
    assert!(own.desk.path("other/00000001.clt").exists());
    assert_eq!(names_in(&own, "in"), [".clathrate-pack.lock"]);
}
