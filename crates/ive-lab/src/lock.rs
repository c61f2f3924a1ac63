//! One writer per directory.
//!
//! The lock is the system's (`flock`): it is gone with the process that held it, however that ended, so a lock file left
//! by a killed process is no obstacle. Its text only tells people who holds it. On network file systems that do not
//! pass locks on to other machines it protects within one machine only.
//!
//! The lock is on a file, and others find that file by its path. If the directory is renamed or the file removed,
//! somebody else can lock the path: so a holder must ask, before it writes, whether its file is still in place.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::exit::{Failure, Outcome};
use crate::run::disk::{Disk, Done, OpenFile};

/// The file that a running command holds locked.
pub const LOCK: &str = "LOCK";
/// No text of ours is longer.
const MAX_TEXT: u64 = 4096;

/// A locked directory; open again when this is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: OpenFile,
    /// Device and inode of the file.
    identity: (u64, u64),
    disk: Disk,
}

/// Locks a directory against a second command; `advice` says what the user can do if it is taken.
pub fn lock(root: &Path, advice: &str) -> Outcome<Lock> {
    Lock::take(root, &Disk::default(), advice)
}

impl Lock {
    /// Locks a directory of a disk.
    pub fn take(root: &Path, disk: &Disk, advice: &str) -> Outcome<Self> {
        let path = root.join(LOCK);
        let file = disk.append(&path)?;
        // Somebody who only looks (`holder`) holds the lock for an instant: try again before giving up.
        let mut attempts = 4;
        while !file.lock(false)? {
            attempts -= 1;
            if attempts == 0 {
                let who = text(disk, &path).map_or(String::new(), |who| format!(" ({who})"));
                return Err(Failure::busy(format!(
                    "another `ive` is writing to {}{who}; {advice}",
                    root.display()
                )));
            }
            sleep(Duration::from_millis(50));
        }
        let identity = file.look()?.identity;
        let mut lock = Self { path, file, identity, disk: disk.clone() };
        if !lock.is_in_place()? {
            return Err(Failure::io(lock.lost()));
        }
        // Only a message to others; that it cannot be written on a full disk is no reason to stop.
        let text = format!("process {} on {}\n", std::process::id(), host());
        let _ = lock.file.cut(0).and_then(|()| lock.file.write(text.as_bytes()));
        Ok(lock)
    }

    /// Whether the path still leads to the file that is locked.
    pub fn is_in_place(&self) -> Done<bool> {
        Ok(self.disk.look(&self.path)?.is_some_and(|there| there.identity == self.identity))
    }

    /// What to tell when it does not.
    pub fn lost(&self) -> String {
        format!(
            "{} is not the file that this process locked any more: the directory was moved, or the file removed; stopped, \
             so that no two processes write to one run; `ive runs resume` goes on where the run is now",
            self.path.display()
        )
    }
}

/// Who writes to a directory at the moment, if anybody does.
pub fn holder(root: &Path) -> Option<String> {
    let (disk, path) = (Disk::default(), root.join(LOCK));
    let file = disk.open(&path).ok()??;
    let free = file.lock(true).unwrap_or(true);
    (!free).then(|| text(&disk, &path).unwrap_or_default())
}

fn text(disk: &Disk, path: &Path) -> Option<String> {
    let bytes = disk.read(path, MAX_TEXT).ok()??;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty())
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
