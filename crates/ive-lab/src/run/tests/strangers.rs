//! Run directories that somebody else made: links are not followed, pipes not waited for, giants not read.

#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::mpsc;

use super::faults::{Fault, Faults};
use super::*;
use crate::lock::LOCK;
use crate::run::checkpoint::FOLDER;
use crate::run::events;
use crate::run::status::{State, Status};

const FILES: [&str; 9] = [
    LOCK,
    config::FILE,
    METRICS,
    events::FILE,
    sessions::FILE,
    RESULT,
    "checkpoints/000000000200.json",
    "checkpoints/000000000200.safetensors",
    // The log of 200 steps has 1600 bytes; the older checkpoint has only the first 1200 of them.
    "checkpoints/replay-0000000000001460-0000000000001600.segment",
];
const CHANGES: &[&str] = &["steps=200"];

/// A finished run, or, for files other than the result, one that only lacks its result.
fn victim(name: &str) -> tempfile::TempDir {
    let dir = finished_run(CHANGES);
    if name != RESULT {
        fs::remove_file(dir.path().join(RESULT)).unwrap();
    }
    dir
}

/// Everything that one does with a run: list, look, eval, resume. Must end soon.
fn treat(dir: &Path) -> (State, Outcome<Option<Finished>>) {
    let (send, receive) = mpsc::channel();
    let dir = dir.to_owned();
    std::thread::spawn(move || {
        let state = Status::of(&dir).state;
        let _ = (metrics(&dir), sessions::read(&dir), finished(&dir), load(&dir).map(|_| ()));
        send.send((state, go(&dir, &plan(CHANGES), &options()))).unwrap();
    });
    receive.recv_timeout(Duration::from_secs(20)).expect("it must not hang")
}

/// Whether the run went on or was refused as damaged: both are fine, nothing else is.
fn is_handled(outcome: &Outcome<Option<Finished>>, name: &str) {
    match outcome {
        Ok(_) => assert!(name.starts_with(FOLDER), "{name} was followed"),
        Err(failure) => {
            assert_eq!(failure.code, 65, "{name}: {}", failure.message);
            assert!(failure.message.contains(name) || name == METRICS, "{name}: {}", failure.message);
        }
    }
}

#[test]
fn links_are_not_followed_and_their_targets_stay_as_they_are() {
    for name in FILES {
        let (dir, elsewhere) = (victim(name), scratch());
        let (link, target) = (dir.path().join(name), elsewhere.path().join("precious"));
        // The same content: nothing is wrong but that it is a link.
        fs::rename(&link, &target).unwrap();
        symlink(&target, &link).unwrap();
        let before = fs::read(&target).unwrap();
        let (_, outcome) = treat(dir.path());
        is_handled(&outcome, name);
        assert_eq!(fs::read(&target).unwrap(), before, "{name}");
    }
}

#[test]
fn checkpoints_behind_a_link_are_neither_used_nor_removed() {
    let (dir, elsewhere) = (victim(""), scratch());
    let (folder, target) = (dir.path().join(FOLDER), elsewhere.path().join("theirs"));
    let files = names(dir.path()).len();
    fs::rename(&folder, &target).unwrap();
    fs::write(target.join("000000000001.json"), "precious").unwrap();
    symlink(&target, &folder).unwrap();
    let (state, outcome) = treat(dir.path());
    assert_eq!(state, State::Damaged);
    is_handled(&outcome, FOLDER);
    assert!(outcome.is_err());
    assert_eq!(fs::read_dir(&target).unwrap().count(), files + 1);
}

#[test]
fn named_pipes_are_not_waited_for() {
    for name in FILES {
        let dir = victim(name);
        let path = dir.path().join(name);
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (_, outcome) = treat(dir.path());
        is_handled(&outcome, name);
    }
}

/// Files of 40 GB, all holes: read into memory they would end the process.
#[test]
fn giant_files_are_not_read() {
    for name in FILES {
        let dir = victim(name);
        let path = dir.path().join(name);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(40 << 30).unwrap();
        let (_, outcome) = treat(dir.path());
        // What is behind the known part of a log is cut off anyway; a lock has no content to speak of.
        if ![LOCK, METRICS, events::FILE].contains(&name) {
            is_handled(&outcome, name);
        }
    }
}

#[test]
fn directories_with_the_names_of_leftovers_are_left_alone() {
    let dir = victim("");
    for name in [".x.tmp", "checkpoints/.x.tmp"] {
        fs::create_dir(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("notes"), "mine").unwrap();
    }
    for name in [".y.tmp", "checkpoints/.y.tmp"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    go(dir.path(), &plan(CHANGES), &options()).unwrap().unwrap();
    for folder in ["", FOLDER] {
        assert!(dir.path().join(folder).join(".x.tmp/notes").exists());
        assert!(!dir.path().join(folder).join(".y.tmp").exists());
    }
}

#[test]
fn a_run_that_cannot_be_read_now_is_not_called_damaged() {
    let dir = victim("");
    let counting = Faults::new(|_, _| None);
    assert_eq!(Status::on(&counting.disk(), dir.path()).state, State::Resumable);
    for n in 0..counting.count() {
        let faults = Faults::new(move |i, _| (i == n).then_some(Fault::Device));
        let status = Status::on(&faults.disk(), dir.path());
        assert!([State::Unreadable, State::Resumable].contains(&status.state), "{n}: {:?}", status.note);
    }
}
