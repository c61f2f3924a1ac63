//! The directory is moved, or the lock removed, while a process works: it stops before two write to one run.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::faults::Faults;
use super::*;
use crate::lock::LOCK;
use crate::run::checkpoint::FOLDER;

/// All files of a directory.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in ["", FOLDER] {
        for entry in fs::read_dir(dir.join(folder)).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_file() {
                let name = format!("{folder}/{}", entry.file_name().display());
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// Runs in `dir`; just before the `n`th operation on the lock something happens. `None` if there is no such operation.
fn disturbed(
    dir: &Path,
    n: usize,
    what: impl FnOnce() + Send + 'static,
) -> Option<Outcome<Option<Finished>>> {
    let (what, looks) = (Mutex::new(Some(what)), AtomicUsize::new(0));
    let happened = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&happened);
    let lock = dir.join(LOCK);
    let faults = Faults::new(move |_, path| {
        if path == lock && looks.fetch_add(1, Ordering::Relaxed) == n {
            flag.store(true, Ordering::Relaxed);
            what.lock().unwrap().take().unwrap()();
        }
        None
    });
    let outcome = go(dir, &plan(&["steps=200"]), &RunOptions { disk: faults.disk(), ..options() });
    happened.load(Ordering::Relaxed).then_some(outcome)
}

fn stopped(outcome: Outcome<Option<Finished>>) {
    let Failure { code, message } = outcome.unwrap_err();
    assert!(
        code == 74 && message.contains("LOCK is not the file that this process locked"),
        "{code} {message}"
    );
}

/// So many operations take the lock: open, lock, look at the file, look at its path, cut, write. All others are looks.
const TAKEN: usize = 6;

#[test]
fn a_run_whose_directory_is_moved_stops_and_leaves_what_is_in_its_place_alone() {
    let expected = essence(finished_run(&["steps=200"]).path());
    let other = scratch();
    let plan_of_other = Plan { seed: 4, ..plan(&["steps=100"]) };
    go(other.path(), &plan_of_other, &options()).unwrap().unwrap();
    fs::remove_file(other.path().join(RESULT)).unwrap();
    let mut times = 0;
    for n in TAKEN.. {
        for replaced in [false, true] {
            let root = scratch();
            let (dir, moved) = (root.path().join("run"), root.path().join("moved"));
            let (from, to, there) = (dir.clone(), moved.clone(), copy(other.path()));
            let happening = move || {
                fs::rename(&from, &to).unwrap();
                if replaced {
                    fs::rename(there.path(), &from).unwrap();
                }
            };
            let Some(outcome) = disturbed(&dir, n, happening) else {
                println!("{times} moments");
                assert!(times > 40, "only {times} moments");
                return;
            };
            // At the very end only the record of who worked on it is left to write, and that is no reason to fail.
            if outcome.is_ok() {
                assert!(moved.join(RESULT).exists());
            } else {
                stopped(outcome);
            }
            if replaced {
                assert_eq!(content(&dir), content(other.path()), "moment {n}");
            } else {
                assert!(!dir.exists(), "moment {n}: made again");
            }
            go(&moved, &plan(&["steps=200"]), &options()).unwrap().unwrap();
            assert_eq!(essence(&moved), expected, "moment {n}");
            times += 1;
        }
    }
}

#[test]
fn a_run_whose_lock_is_removed_stops_with_its_checkpoints() {
    let expected = essence(finished_run(&["steps=200"]).path());
    for again in [false, true] {
        let dir = scratch();
        let lock = dir.path().join(LOCK);
        let happening = move || {
            fs::remove_file(&lock).unwrap();
            if again {
                fs::write(&lock, "somebody else\n").unwrap();
            }
        };
        stopped(disturbed(dir.path(), TAKEN + 20, happening).unwrap());
        assert!(load(dir.path()).unwrap().1.steps() > 0);
        go(dir.path(), &plan(&["steps=200"]), &options()).unwrap().unwrap();
        assert_eq!(essence(dir.path()), expected);
    }
}
