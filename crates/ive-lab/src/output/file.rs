//! Files that the user names: `--csv FILE`, `--plot FILE`, `--gif FILE`, `--frames DIR`.
//!
//! A regular file is there completely or not at all: it is written under another name and renamed. Symbolic links stay, and
//! the file that they lead to is written. A pipe, a device or a terminal is written to, never replaced. `-` and
//! `/dev/stdout` are standard output.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::{Failure, Outcome};
use crate::run::disk::Disk;

/// As many links lead to a file at most; the system gives up there too.
const LINKS: usize = 40;

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Stdout,
    /// A regular file, or one that is not there yet.
    Regular(PathBuf),
    /// A pipe, a device, or a file that is open already.
    Open(PathBuf),
    Directory,
}

/// Whether what is written to this name goes to standard output.
pub fn is_stdout(path: &Path) -> bool {
    matches!(place(path), Ok(Place::Stdout))
}

/// Refuses a place for a file before any work is done for it. Regular files have one of these endings, if any are given.
pub fn check(flag: &str, path: &Path, endings: &[&str]) -> Outcome {
    let shown = path.display();
    let found = place(path).map_err(|e| Failure::io(format!("{flag}: cannot look at {shown}: {e}")))?;
    let fits = |e: &std::ffi::OsStr| endings.iter().any(|ending| e.eq_ignore_ascii_case(ending));
    match found {
        Place::Directory => Err(Failure::usage(format!("{flag}: {shown} is a directory; name a file"))),
        Place::Regular(_) if !endings.is_empty() && !path.extension().is_some_and(fits) => {
            Err(Failure::usage(format!("{flag}: {shown} does not end in .{}", endings.join(" or ."))))
        }
        _ => Ok(()),
    }
}

/// Refuses to write to a file that is read, under whatever name.
pub fn spare<'a>(flag: &str, path: &Path, read: impl IntoIterator<Item = &'a Path>) -> Outcome {
    let whole = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    let Some(target) = whole(path) else { return Ok(()) };
    match read.into_iter().find(|input| whole(input).as_ref() == Some(&target)) {
        Some(input) => Err(Failure::usage(format!(
            "{flag} would replace {}, which is read; name another file",
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Writes a file that the user named, and makes the directories above it.
pub fn write(path: &Path, bytes: &[u8]) -> Outcome {
    write_with(path, |out| out.write_all(bytes))
}

/// [`write`] for what is too large for memory: `content` writes it, from front to back.
pub fn write_with(path: &Path, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Outcome {
    let failed = |e: io::Error| Failure::io(format!("cannot write {}: {e}", path.display()));
    let to = |out: &mut (dyn Write + Send)| {
        let mut out = io::BufWriter::with_capacity(1 << 18, out);
        content(&mut out).and_then(|()| out.flush())
    };
    match place(path).map_err(failed)? {
        Place::Stdout => super::written(to(&mut io::stdout())),
        Place::Directory => Err(failed(io::ErrorKind::IsADirectory.into())),
        Place::Open(there) => {
            OpenOptions::new().append(true).open(&there).and_then(|mut file| to(&mut file)).map_err(failed)
        }
        Place::Regular(there) => {
            let folder = there.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Disk::default().create_directory(folder)?;
            let name = there.file_name().unwrap_or_default().to_string_lossy();
            let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
            let written = put(&temporary, &there, to);
            if written.is_err() {
                let _ = fs::remove_file(&temporary);
            }
            written.map_err(failed)
        }
    }
}

/// Writes a file under a temporary name, waits until it is on the disk, and renames it. Who may read it stays as it was.
fn put(
    temporary: &Path,
    there: &Path,
    to: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let before = fs::metadata(there).map(|about| about.permissions());
    let _ = fs::remove_file(temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    to(&mut file)?;
    file.sync_all()?;
    if let Ok(before) = before {
        fs::set_permissions(temporary, before)?;
    }
    fs::rename(temporary, there)
}

/// Follows links, one by one: those of the system to files that are open already must not be followed to their ends.
fn place(path: &Path) -> io::Result<Place> {
    let mut path = if path == Path::new("-") { PathBuf::from("/dev/stdout") } else { path.to_owned() };
    for _ in 0..LINKS {
        match open_file(&path) {
            Some("1") => return Ok(Place::Stdout),
            Some(_) => return Ok(Place::Open(path)),
            None => {}
        }
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // It is no link, or nothing is there.
            Err(_) => break,
        }
    }
    match fs::metadata(&path) {
        Ok(about) if about.is_dir() => Ok(Place::Directory),
        Ok(about) if !about.is_file() => Ok(Place::Open(path)),
        Ok(_) => Ok(Place::Regular(path)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Place::Regular(path)),
        Err(e) => Err(e),
    }
}

/// The number of the open file that a name of the system stands for.
fn open_file(path: &Path) -> Option<&str> {
    match path.to_str()? {
        "/dev/stdout" => Some("1"),
        "/dev/stderr" => Some("2"),
        name => name.strip_prefix("/dev/fd/").or_else(|| name.strip_prefix("/proc/self/fd/")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn links_stay_and_what_they_lead_to_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/old.csv"), "old").unwrap();
        fs::set_permissions(at("data/old.csv"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("data/old.csv", at("first")).unwrap();
        symlink("first", at("second")).unwrap();
        write(&at("second"), b"new").unwrap();
        assert!(at("second").is_symlink() && at("first").is_symlink());
        assert_eq!(fs::read(at("data/old.csv")).unwrap(), b"new");
        assert_eq!(fs::metadata(at("data/old.csv")).unwrap().permissions().mode() & 0o777, 0o600);
        // A link to what is not there yet makes it there.
        symlink("data/new.csv", at("third")).unwrap();
        write(&at("third"), b"made").unwrap();
        assert!(at("third").is_symlink());
        assert_eq!(fs::read(at("data/new.csv")).unwrap(), b"made");
        // A circle of links is an error.
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        assert_eq!(write(&at("a"), b"x").unwrap_err().code, 74);
    }

    #[test]
    fn pipes_are_written_to_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, b"through the pipe").unwrap();
        assert_eq!(reader.join().unwrap(), b"through the pipe");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }

    /// A device of our own, since a mistake would destroy the real one: 1, 7 is `full` in the list of Linux devices.
    #[test]
    #[cfg(target_os = "linux")]
    fn devices_are_written_to_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let full = dir.path().join("full");
        let made = Command::new("mknod").arg(&full).args(["c", "1", "7"]).output().unwrap();
        if !made.status.success() || OpenOptions::new().append(true).open(&full).is_err() {
            // Only the administrator makes devices, and not on every disk.
            return;
        }
        let failure = write(&full, b"x").unwrap_err();
        assert_eq!(failure.code, 74);
        assert!(failure.message.contains("No space left"), "{}", failure.message);
        assert!(fs::symlink_metadata(&full).unwrap().file_type().is_char_device());
    }

    #[test]
    fn names_of_open_files_are_never_renamed_over() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert_eq!(place(Path::new(name)).unwrap(), Place::Stdout, "{name}");
        }
        assert_eq!(place(Path::new("/dev/fd/7")).unwrap(), Place::Open("/dev/fd/7".into()));
        let dir = tempfile::tempdir().unwrap();
        symlink("/dev/stdout", dir.path().join("link")).unwrap();
        assert_eq!(place(&dir.path().join("link")).unwrap(), Place::Stdout);
        assert_eq!(place(dir.path()).unwrap(), Place::Directory);
    }

    #[test]
    fn wrong_endings_and_directories_are_refused_beforehand() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |name: &Path| check("--gif", name, &["gif"]).unwrap_err();
        assert!(refused(&dir.path().join("x.mp4")).message.ends_with("x.mp4 does not end in .gif"));
        assert!(refused(dir.path()).message.ends_with("is a directory; name a file"));
        for name in ["x.gif", "X.GIF", "-", "/dev/stdout"] {
            check("--gif", Path::new(name), &["gif"]).unwrap();
        }
    }
}
