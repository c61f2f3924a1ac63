//! `ive setup` as a user has it, with scripts in place of pip: no network is needed.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use session::{Scratch, refused, text};

/// The first line of the way out that every failure of fetching shows.
const BY_HAND: &str = "  pip download --no-deps --only-binary=:all: --python-version 310";

/// `ive` with a home in the test's directory, and with this script as the only pip.
fn ive(dir: &Scratch, pip: &str, line: &str) -> Command {
    let bin = dir.0.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = dir.0.join("pip.sh");
    fs::write(&script, format!("#!/bin/sh\ncase \"$*\" in *--version) exit 0;; esac\n{pip}\n")).unwrap();
    // Another process makes the executable file: one that this process wrote is busy while another thread starts a process.
    let install = Command::new("install").arg(&script).arg(bin.join("python3")).status().unwrap();
    assert!(install.success());
    let mut command = dir.command(line);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    command.env("PATH", path).env("IVE_HOME", dir.0.join("home"));
    command.env_remove("IVE_PROCGEN").env_remove("IVE_MUJOCO");
    command
}

/// The names in the folder with the libraries.
fn shelf(dir: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(dir.0.join("home/native")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn fails(output: &Output, code: i32, words: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    words.iter().for_each(|word| assert!(error.contains(word), "`{word}` is not in `{error}`"));
}

#[test]
fn what_is_missing_is_told() {
    let dir = Scratch::new("setup-missing");
    let output = ive(&dir, "exit 1", "setup mujoco --check").output().unwrap();
    refused(&output, 65, &["mujoco is not installed; `ive setup mujoco` fetches it"]);
    let output = ive(&dir, "exit 1", "setup --check --json").output().unwrap();
    let states: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for (at, name) in [(0, "procgen"), (1, "mujoco")] {
        assert_eq!((&states[at]["package"], &states[at]["state"]), (&name.into(), &"missing".into()));
    }
    assert!(!dir.0.join("home").exists(), "a look must not make anything");
}

#[test]
fn the_command_line_is_checked() {
    let dir = Scratch::new("setup-usage");
    for line in ["setup atari", "setup --wheel x.whl", "setup procgen --wheel x.whl --check"] {
        assert_eq!(dir.ive(line).status.code(), Some(64), "{line}");
    }
}

#[test]
fn without_network_or_space_the_way_by_hand_is_shown() {
    let dir = Scratch::new("setup-network");
    let broken = "echo \"Retrying after connection broken by 'NewConnectionError'\" >&2; exit 1";
    let output = ive(&dir, broken, "setup procgen").output().unwrap();
    let wheel =
        "ive setup procgen --wheel procgen-0.10.7-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";
    fails(&output, 74, &["cannot reach its index", "connection broken", BY_HAND, wheel]);
    let full = "echo 'OSError: [Errno 28] No space left on device' >&2; exit 1";
    let output = ive(&dir, full, "setup procgen").output().unwrap();
    fails(&output, 74, &["no space left in", "home/native", "IVE_HOME", BY_HAND]);
    assert_eq!(shelf(&dir), [".procgen-0.10.7.lock"]);
}

#[test]
fn a_wrong_wheel_is_refused() {
    let dir = Scratch::new("setup-wheel");
    fs::write(dir.0.join("x.whl"), b"not a wheel").unwrap();
    let output = ive(&dir, "exit 1", "setup procgen --wheel x.whl").output().unwrap();
    // What `printf 'not a wheel' | sha256sum` prints, and what we expect.
    let got = "e7dc6be13be0055dd03d1fe10caf78db0daa6327eb1f5b08c3e2dc8c06431cd2";
    let expected = "4b594d14e42f0f2166e59a9e294477b906eb99c90c3343b570b7124cbc865f53";
    fails(&output, 65, &["x.whl", got, expected]);
    assert_eq!(shelf(&dir), [".procgen-0.10.7.lock"]);
}

#[test]
fn a_wheel_that_is_not_there_changes_nothing() {
    let dir = Scratch::new("setup-no-wheel");
    let output = ive(&dir, "exit 1", "setup procgen --wheel nofile").output().unwrap();
    refused(&output, 74, &["nofile does not exist; nothing was changed"]);
    assert!(!dir.0.join("home").exists());
    // A device has no end.
    let output = ive(&dir, "exit 1", "setup procgen --wheel /dev/zero").output().unwrap();
    fails(&output, 65, &["/dev/zero: it is not a regular file"]);
}

/// Python looks for modules in its working directory first, and others may have filled that.
#[test]
fn a_pip_in_the_working_directory_is_not_executed() {
    let dir = Scratch::new("setup-pip");
    fs::write(dir.0.join("pip.py"), "open('OWNED', 'a').write('x')\n").unwrap();
    // The true Python and pip, which find nothing without an index.
    for line in ["setup mujoco", "env trace walker:walk --steps 1"] {
        let mut command = dir.command(line);
        command.env("IVE_HOME", dir.0.join("home")).env("PIP_NO_INDEX", "1");
        command.env_remove("IVE_PROCGEN").env_remove("IVE_MUJOCO");
        assert_eq!(command.output().unwrap().status.code(), Some(74));
    }
    assert!(!dir.0.join("OWNED").exists(), "pip.py of the working directory was executed");
}

#[test]
fn a_folder_without_the_library_is_refused() {
    let dir = Scratch::new("setup-copy");
    let mut command = ive(&dir, "exit 1", "setup mujoco --check");
    let output = command.env("IVE_MUJOCO", &dir.0).output().unwrap();
    refused(&output, 78, &["IVE_MUJOCO is", "no libmujoco.so.3.17.0"]);
    // The command that needs the library says and does the same.
    let mut command = ive(&dir, "exit 1", "env trace walker:walk --steps 1");
    let output = command.env("IVE_MUJOCO", &dir.0).output().unwrap();
    refused(&output, 78, &["IVE_MUJOCO is", "no libmujoco.so.3.17.0"]);
}

/// Waits for something that another process does.
fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_mins(1), "it did not happen in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn killed_or_interrupted_it_leaves_no_obstacle() {
    let dir = Scratch::new("setup-killed");
    let fetching = |process: u32| {
        dir.0.join(format!("home/native/.mujoco-3.17.0.tmp/download-{process}/pip.log")).exists()
    };
    let hangs = "exec sleep 60";
    // A kill leaves the temporary folder, and no library.
    let mut killed = ive(&dir, hangs, "setup mujoco").stderr(Stdio::null()).spawn().unwrap();
    until(|| fetching(killed.id()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(shelf(&dir), [".mujoco-3.17.0.lock", ".mujoco-3.17.0.tmp"]);
    // The next one is not held up by it, and stops when asked, leaving nothing.
    let asked =
        ive(&dir, hangs, "setup mujoco").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    until(|| fetching(asked.id()));
    assert!(Command::new("kill").args(["-INT", &asked.id().to_string()]).status().unwrap().success());
    let output = asked.wait_with_output().unwrap();
    fails(&output, 75, &["nothing half-made was left"]);
    assert_eq!(shelf(&dir), [".mujoco-3.17.0.lock"]);
}
