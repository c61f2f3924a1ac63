//! Two machines and one task, without locks between them: real processes in namespaces of their own (other process numbers,
//! another host name), under a system call that grants every lock, as NFS mounted with `nolock` does.
//! Skipped, with a word, where namespaces cannot be made; `IVE_REQUIRE_SLURM=1` makes that a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
#![cfg(target_os = "linux")]

mod cluster;
mod session;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use cluster::{SWEEP, files, wait_for};
use session::{Scratch, json, text};

/// A library that grants every lock, for `LD_PRELOAD`.
fn no_locks(dir: &Path) -> Option<PathBuf> {
    let (source, library) = (dir.join("nolock.c"), dir.join("nolock.so"));
    fs::write(&source, "int flock(int file, int how) { (void)file; (void)how; return 0; }\n").unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    made.is_ok_and(|status| status.success()).then_some(library)
}

/// A machine of this name.
fn machine(name: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--uts", "--fork", "--kill-child", "--"]);
    command.args(["sh", "-c", &format!("echo {name} > /proc/sys/kernel/hostname && exec \"$0\" \"$@\"")]);
    command
}

/// A task of the sweep at work on a machine.
fn task_on(name: &str, dir: &Scratch, library: &Path) -> Child {
    let mut command = machine(name);
    command.arg(env!("CARGO_BIN_EXE_ive")).args("sweep task s 0".split(' '));
    command.env("LD_PRELOAD", library).current_dir(&dir.0).stdin(Stdio::null());
    command.stderr(fs::File::create(dir.0.join(name)).unwrap());
    command.process_group(0).spawn().unwrap()
}

/// Sends a signal to everything on a machine.
fn signal_all(name: &str, machine: &Child) {
    let group = format!("-{}", machine.id());
    assert!(Command::new("kill").args([&format!("-{name}"), "--", &group]).status().unwrap().success());
}

/// What the task on a machine has said so far.
fn said_by(name: &str, dir: &Scratch) -> String {
    fs::read_to_string(dir.0.join(name)).unwrap_or_default()
}

#[test]
fn a_machine_that_falls_silent_loses_its_task_and_changes_nothing_when_it_wakes() {
    let dir = Scratch::new("takeover");
    let there = machine("probe").arg("true").stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        return cluster::skip("namespaces cannot be made");
    }
    let Some(library) = no_locks(&dir.0) else { return cluster::skip("`cc` is not installed") };
    let file = SWEEP.replace(", 'minatar:freeway'", "").replace("seeds = 2", "seeds = 1");
    fs::write(dir.0.join("sweep.toml"), file.replace("steps = 600", "steps = 6000")).unwrap();
    for sweep in ["s", "calm"] {
        assert!(dir.ive(&format!("sweep plan sweep.toml -o {sweep}")).status.success());
    }
    let (folder, run) = (dir.0.join("s/tasks/000000"), dir.0.join("s/runs/minatar-breakout/dqn/seed-0"));

    // One machine works, and falls asleep in the middle, long before its next checkpoint: files are open for writing.
    let mut first = task_on("first", &dir, &library);
    let metrics = run.join("metrics.jsonl");
    wait_for("metrics", || fs::metadata(&metrics).is_ok_and(|found| found.len() > 0));
    signal_all("STOP", &first);
    let owner = json(&folder.join("attempt-000001.json"));
    assert_eq!(owner["host"], "first");

    // Another one waits as long as the first may be alive; that it beats once more is enough.
    let mut early = task_on("early", &dir, &library);
    wait_for("that it waits", || said_by("early", &dir).contains("may still be alive: waiting"));
    set_heartbeat(&folder, Duration::ZERO);
    let (status, said) = (early.wait().unwrap(), said_by("early", &dir));
    assert!(status.code() == Some(73) && said.contains("on first) is at work in"), "{status}: {said}");
    assert_eq!(files(&folder, "attempt-000002.json"), 0);

    // Silent for all but two seconds of a minute: after these it takes over, and finishes.
    set_heartbeat(&folder, Duration::from_secs(58));
    let mut second = task_on("second", &dir, &library);
    let (status, said) = (second.wait().unwrap(), said_by("second", &dir));
    assert!(status.success() && said.contains("attempt 2"), "{status}: {said}");
    assert!(said.contains("locks do not work in"), "{said}");
    assert_eq!(json(&folder.join("attempt-000002.json"))["host"], "second");
    let read = || ["metrics.jsonl", "result.json"].map(|name| fs::read(run.join(name)).unwrap());
    let after = read();

    // The first one wakes up, and notices.
    signal_all("CONT", &first);
    let (status, said) = (first.wait().unwrap(), said_by("first", &dir));
    assert!(
        status.code() == Some(73) && said.contains("another process has taken the task over"),
        "{status}: {said}"
    );
    assert!(read() == after, "it changed a finished run");
    assert_eq!(json(&folder.join("done.json"))["attempt"], 2);

    // What came out is what an undisturbed machine makes.
    assert!(dir.ive("sweep task calm 0").status.success());
    let gathered = |sweep: &str| text(&dir.ive(&format!("sweep gather {sweep}")).stdout);
    assert_eq!(gathered("s"), gathered("calm"));
    assert_eq!(gathered("s").lines().count(), 2);
    for (name, ours) in ["metrics.jsonl", "result.json"].into_iter().zip(after) {
        let calm = dir.0.join("calm/runs/minatar-breakout/dqn/seed-0").join(name);
        assert!(ours == fs::read(calm).unwrap(), "{name}");
    }
}

/// Lets the heartbeat of the first attempt be so old.
fn set_heartbeat(folder: &Path, age: Duration) {
    let file = fs::OpenOptions::new().write(true).open(folder.join("attempt-000001.json")).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}
