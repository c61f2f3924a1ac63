//! One writer per directory.
//!
//! The lock is the system's (`flock`): it is gone with the process that held it, however that ended, so a lock file left
//! by a killed process is no obstacle. Its text only tells people who holds it. On network file systems that do not
//! pass locks on to other machines it protects within one machine only.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::exit::{Failure, Outcome};

/// The file that a running command holds locked.
pub const LOCK: &str = "LOCK";

/// Locks a directory against a second command; `advice` says what the user can do if it is taken.
pub fn lock(root: &Path, advice: &str) -> Outcome<File> {
    let path = root.join(LOCK);
    let failed =
        |doing: &str, e: &std::io::Error| Failure::io(format!("cannot {doing} {}: {e}", path.display()));
    let mut file =
        OpenOptions::new().create(true).append(true).open(&path).map_err(|e| failed("open", &e))?;
    // Somebody who only looks (`holder`) holds the lock for an instant: try again before giving up.
    let mut attempts = 4;
    loop {
        attempts -= 1;
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if attempts > 0 => sleep(Duration::from_millis(50)),
            Err(TryLockError::WouldBlock) => {
                let who = text(&path).map_or(String::new(), |who| format!(" ({who})"));
                return Err(Failure::busy(format!(
                    "another `ive` is writing to {}{who}; {advice}",
                    root.display()
                )));
            }
            Err(TryLockError::Error(e)) => return Err(failed("lock", &e)),
        }
    }
    // Only a message to others; that it cannot be written on a full disk is no reason to stop.
    let _ = file
        .set_len(0)
        .and_then(|()| file.write_all(format!("process {} on {}\n", std::process::id(), host()).as_bytes()));
    Ok(file)
}

/// Who writes to a directory at the moment, if anybody does.
pub fn holder(root: &Path) -> Option<String> {
    let path = root.join(LOCK);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(text(&path).unwrap_or_default()),
        _ => None,
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty())
}

/// The name of this machine, where the system tells.
pub fn host() -> String {
    let name =
        fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname"));
    name.ok()
        .map(|n| n.trim().to_owned())
        .filter(|n| !n.is_empty())
        .unwrap_or_else(|| "an unnamed host".to_owned())
}
