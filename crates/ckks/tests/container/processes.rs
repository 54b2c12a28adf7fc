//! Tests in two processes: a test starts itself again, and the copy plays another part.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// Tells a copy which part to play.
const PART: &str = "CLATHRATE_TEST_PART";
/// Tells a copy where.
const FOLDER: &str = "CLATHRATE_TEST_FOLDER";
/// A user without rights.
pub const NOBODY: u32 = 65_534;

/// The part and the folder, in a copy.
pub fn part() -> Option<(String, PathBuf)> {
    Some((env::var(PART).ok()?, env::var_os(FOLDER)?.into()))
}

/// Whether the tests run as the superuser, for whom folders are never read-only.
pub fn is_superuser() -> bool {
    tempfile::tempdir().unwrap().path().metadata().unwrap().uid() == 0
}

/// A copy of this program that runs one test.
pub struct Copy {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Copy {
    /// Starts the test called `test` (with its module) again, to play `part` in `folder`.
    pub fn start(test: &str, part: &str, folder: &Path) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), test, part, folder)
    }

    /// As [`Copy::start`], as a user without rights if this one is the superuser.
    pub fn start_without_rights(test: &str, part: &str, folder: &Path) -> Self {
        if !is_superuser() {
            return Self::start(test, part, folder);
        }
        // That user may not be able to reach the program where it was built.
        let program = folder.join("program");
        fs::copy(env::current_exe().unwrap(), &program).unwrap();
        for path in [folder, &program] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new(program);
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        Self::spawn(command, test, part, folder)
    }

    fn spawn(mut command: Command, test: &str, part: &str, folder: &Path) -> Self {
        command
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env(PART, part)
            .env(FOLDER, folder);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until the copy says `word`; what it said before, if it ends without.
    pub fn wait_for(&mut self, word: &str) {
        let mut said = String::new();
        while self.output.read_line(&mut said).unwrap() > 0 {
            if said.contains(word) {
                return;
            }
        }
        panic!("the copy ended without `{word}`: {said}");
    }

    /// Lets the copy go on after [`wait`].
    pub fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
    }

    /// Kills it as the system does when memory is short.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; its status.
    pub fn end(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        // Read to the end, so that it is not held up by a full pipe.
        std::io::copy(&mut self.output, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap()
    }
}

/// In a copy: says `word`, and waits for [`Copy::go_on`].
pub fn wait(word: &str) {
    println!("{word}");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}
