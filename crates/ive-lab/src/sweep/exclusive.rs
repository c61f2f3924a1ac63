//! Files that are made once: of all that try, one succeeds, also from several machines, and the file is whole.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::lock::host;
use crate::run::disk::{Disk, Done, told};

/// Makes a file of this name with these bytes; `false` if there is one. It is written under another name first, and then
/// linked: a link is made by one only, and NFS keeps to that too.
pub fn create(path: &Path, bytes: &[u8]) -> Done<bool> {
    let temporary = temporary(path);
    let made = told("create", path, write(&temporary, bytes).and_then(|()| link(&temporary, path)));
    let _ = fs::remove_file(&temporary);
    let made = made?;
    Disk::default().sync_directory(path.parent().unwrap_or(Path::new(".")))?;
    Ok(made)
}

/// No other process uses this name, on this machine or another one.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let machine = &blake3::hash(host().as_bytes()).to_hex()[..8];
    path.with_file_name(format!(".{name}.{machine}.{}.tmp", std::process::id()))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn link(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        // Over NFS the answer can be lost and the request repeated: what counts is that there are two names now.
        Err(_) if names_of(from) == 2 => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => alone(from, to),
        Err(e) => Err(e),
    }
}

/// On file systems without links: an empty file of that name, made by one only, is replaced by the whole one.
fn alone(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::OpenOptions::new().write(true).create_new(true).open(to) {
        Ok(_) => fs::rename(from, to).map(|()| true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(unix)]
fn names_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| std::os::unix::fs::MetadataExt::nlink(&found))
}

#[cfg(not(unix))]
fn names_of(_: &Path) -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Threads share a process id, so each has a directory of its own for its temporary name.
    #[test]
    fn of_a_hundred_that_try_one_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("one.json");
        let start = Barrier::new(100);
        let won: usize = std::thread::scope(|scope| {
            let attempt = |i: usize| {
                let (dir, target, start) = (&dir, &target, &start);
                scope.spawn(move || {
                    let mine = dir.path().join(format!(".{i}.tmp"));
                    write(&mine, format!("{i}").as_bytes()).unwrap();
                    start.wait();
                    usize::from(link(&mine, target).unwrap())
                })
            };
            let all: Vec<_> = (0..100).map(attempt).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
        let said = fs::read_to_string(&target).unwrap();
        assert!(said.parse::<usize>().is_ok(), "{said}");
        assert!(!create(&target, b"late").unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), said);
    }

    #[test]
    fn without_links_still_one_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&from, "first").unwrap();
        assert!(alone(&from, &to).unwrap());
        fs::write(&from, "second").unwrap();
        assert!(!alone(&from, &to).unwrap());
        assert_eq!(fs::read_to_string(to).unwrap(), "first");
    }
}
