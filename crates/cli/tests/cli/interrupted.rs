//! A command that is killed, at any moment, leaves a whole file under the final name, or what was there
//! before.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::*;

#[test]
fn killed_encryption_leaves_no_half_written_file() {
    let desk = Desk::furnished();
    desk.put("big.npy", &npy_f64(&[300, 256], &ramp(300 * 256)));
    let line = format!(
        "encrypt --quiet --params {PARAMS} --key sk.clt --input big.npy --output big.clt --threads 1"
    );
    let start = Instant::now();
    desk.ok(&line);
    let whole = start.elapsed();
    let length = desk.get("big.clt").len();
    std::fs::remove_file(desk.path("big.clt")).expect("remove");
    let (mut absent, trials) = (0, 24u32);
    for trial in 0..trials {
        // Denser towards the end, where the file is written.
        let fraction = 1.1 * (1.0 - (1.0 - f64::from(trial) / f64::from(trials)).powi(2));
        let mut child =
            desk.command(&line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * fraction));
        child.kill().expect("kill");
        child.wait().expect("ends");
        if desk.path("big.clt").exists() {
            assert_eq!(desk.get("big.clt").len(), length, "trial {trial}");
            desk.ok("inspect --quiet big.clt");
            std::fs::remove_file(desk.path("big.clt")).expect("remove");
        } else {
            absent += 1;
        }
    }
    assert!(absent > 0, "no trial was early enough to kill anything");
    // What killed writers left is gone after the next one. Only an empty file may stay: it could be another
    // writer's, who has yet to lock it.
    desk.ok(&line);
    let size = |name: &str| std::fs::metadata(desk.path(name)).map_or(0, |metadata| metadata.len());
    let left: Vec<String> = desk
        .listing()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.contains("partial") && size(name) > 0)
        .collect();
    assert_eq!(left, Vec::<String>::new());
}
