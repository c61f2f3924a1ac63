//! Do locks work where the sweep is? If not, that is said; attempts and their heartbeats (`attempt.rs`) do without them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::disk::{Disk, Done};

/// What is wrong with the locks of the file system that a directory is on, if anything is.
pub fn locks(dir: &Path) -> Option<String> {
    let here = dir.display();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let place = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let safe = "attempts are kept apart by their files and heartbeats instead, and a dead one is noticed after a minute";
    if let Some(option) = lockless(&mounts, &place) {
        return Some(format!(
            "{here} is on NFS mounted with `{option}`: locks do not reach other machines; {safe}"
        ));
    }
    match excluded(&Disk::default(), dir) {
        Ok(true) => None,
        Ok(false) => {
            Some(format!("locks do not work in {here}: two processes could hold the same one; {safe}"))
        }
        Err(error) => {
            Some(format!("it could not be found out whether locks work in {here} ({error}); {safe}"))
        }
    }
}

/// Whether a locked file can be locked a second time, as it must not be.
fn excluded(disk: &Disk, dir: &Path) -> Done<bool> {
    let path = dir.join(format!(".probe.{}.tmp", std::process::id()));
    let both = || {
        let (one, two) = (disk.append(&path)?, disk.append(&path)?);
        Ok(one.lock(false)? && !two.lock(false)?)
    };
    let outcome = both();
    let _ = disk.remove(&path);
    outcome
}

/// The option by which the mount that a path is on keeps locks to itself.
fn lockless<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mount = |line: &'a str| {
        let mut fields = line.split(' ').skip(1);
        Some((PathBuf::from(unescaped(fields.next()?)), fields.next()?, fields.next()?))
    };
    // The last of those with the longest path is on top.
    let on = mounts.lines().filter_map(mount).filter(|(at, ..)| path.starts_with(at));
    let (_, kind, options) = on.max_by_key(|(at, ..)| at.components().count())?;
    let local = ["nolock", "local_lock=all", "local_lock=flock"];
    options.split(',').find(|option| kind.starts_with("nfs") && local.contains(option))
}

/// A path as `/proc/self/mounts` writes it, where spaces are `\040`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| first == b'\\');
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::system::{Content, Mode, Real, Seen, System};
    use std::fs::TryLockError;
    use std::io;

    /// Lines as Linux writes them.
    const MOUNTS: &str = "\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,vers=4.2,local_lock=none,addr=10.0.0.1 0 0
server:/old /old\\040data nfs rw,vers=3,nolock,local_lock=all,addr=10.0.0.1 0 0
server:/flock /flock nfs rw,vers=3,local_lock=flock 0 0
tmpfs /old\\040data/scratch tmpfs rw 0 0
";

    #[test]
    fn nfs_without_locks_is_told_from_nfs_with_them() {
        let of = |path: &str| lockless(MOUNTS, Path::new(path));
        assert_eq!(of("/home/me/sweep"), None);
        assert_eq!(of("/srv/sweep"), None);
        assert_eq!(of("/old data/sweep"), Some("nolock"));
        assert_eq!(of("/old data/scratch/sweep"), None);
        assert_eq!(of("/flock/sweep"), Some("local_lock=flock"));
        assert_eq!(lockless("", Path::new("/x")), None);
    }

    /// A file system that grants every lock, as some network file systems do.
    #[derive(Debug)]
    struct Careless;

    #[derive(Debug)]
    struct Unlocked(Box<dyn Content>);

    impl Content for Unlocked {
        fn read(&mut self, limit: u64) -> io::Result<Vec<u8>> {
            self.0.read(limit)
        }
        fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.write(bytes)
        }
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.0.cut(length)
        }
        fn sync(&mut self) -> io::Result<()> {
            self.0.sync()
        }
        fn look(&self) -> io::Result<Seen> {
            self.0.look()
        }
        fn lock(&self, _: bool) -> Result<(), TryLockError> {
            Ok(())
        }
    }

    impl System for Careless {
        fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>> {
            Ok(Box::new(Unlocked(Real.open(path, mode)?)))
        }
        fn look(&self, path: &Path) -> io::Result<Seen> {
            Real.look(path)
        }
        fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
            Real.names(directory)
        }
        fn make_directory(&self, path: &Path) -> io::Result<()> {
            Real.make_directory(path)
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            Real.remove(path)
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            Real.rename(from, to)
        }
        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            Real.sync_directory(path)
        }
    }

    #[test]
    fn locks_that_exclude_nobody_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        assert!(excluded(&Disk::default(), dir.path()).unwrap());
        assert!(!excluded(&Disk::on(Careless), dir.path()).unwrap());
        assert_eq!(locks(dir.path()), None);
        assert!(locks(&dir.path().join("nowhere")).unwrap().contains("could not be found out"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
    }
}
