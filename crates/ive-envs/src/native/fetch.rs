//! Fetching a wheel: the user's own pip does it, so that proxies, mirrors and certificates are those that it is set up with.
//!
//! pip works in a folder that we give it, also for its temporary files, and does not keep a copy of its own. So all that
//! it writes lies on the disk that will hold the library, its progress can be seen there, and nothing is left elsewhere.
//!
//! That folder is new and is also pip's working directory: `python3 -m pip` would execute a `pip.py` that it finds there,
//! and whoever starts us may stand in a directory that others have filled.

use std::ffi::OsString;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::Problem;
use super::package::PackageInfo;
use super::{Progress, Watch};

/// How often we look at what pip does.
const LOOK: Duration = Duration::from_millis(100);
/// How many of pip's lines an error shows.
const LINES: usize = 6;

/// How to call pip.
#[derive(Clone, Debug)]
pub struct Pip {
    /// The commands to try in turn, as program and arguments; the first that answers `--version` is used. They are
    /// started in the download folder, so programs are named without a path, or by an absolute one.
    pub commands: Vec<Vec<OsString>>,
    /// How long it may take without a byte arriving.
    pub patience: Duration,
}

impl Default for Pip {
    /// The names that pip has on various systems. Isolated first (`-I`); a pip that the user installed for himself is
    /// found only without.
    fn default() -> Self {
        let names: [&[&str]; 4] =
            [&["python3", "-I", "-m", "pip"], &["python3", "-m", "pip"], &["pip3"], &["pip"]];
        let commands = names.iter().map(|words| words.iter().map(OsString::from).collect()).collect();
        Self { commands, patience: Duration::from_mins(2) }
    }
}

/// Fetches the wheel of a package into an empty folder, and returns its path there. It is not checked yet.
pub(super) fn fetch(
    info: &PackageInfo,
    pip: &Pip,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Result<PathBuf, Problem> {
    let folder = &std::path::absolute(folder).map_err(Problem::io("find", folder))?;
    let command = pip.commands.iter().find(|command| works(command, folder)).ok_or_else(|| {
        let each = pip.commands.iter().map(|words| format!("`{}`", words.join(" ".as_ref()).display()));
        Problem::NoPip { tried: each.collect::<Vec<_>>().join(", ") }
    })?;
    let log = folder.join("pip.log");
    let output = File::create(&log).map_err(Problem::io("create", &log))?;
    let errors = output.try_clone().map_err(Problem::io("open", &log))?;
    let mut words = command.iter();
    let mut child = Command::new(words.next().cloned().unwrap_or_default())
        .args(words)
        .args(info.pip_arguments())
        .args(["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
        // Without a network the answer should come soon; pip's own five attempts take minutes.
        .args(["--timeout", "15", "--retries", "2"])
        .arg("--dest")
        .arg(folder)
        .env("TMPDIR", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|e| Problem::Pip { said: format!("  {e}") })?;
    let ended = wait(&mut child, info, pip.patience, folder, watch);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let said = fs::read(&log).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
    match ended {
        Err(Stopped::Stalled) => {
            Err(Problem::Stalled { seconds: pip.patience.as_secs(), said: last_lines(&said) })
        }
        Err(Stopped::Asked) => Err(Problem::Interrupted),
        Ok(status) if !status.success() => Err(diagnose(info, folder, &said)),
        Ok(_) => {
            let wheel = folder.join(info.wheel.file);
            if wheel.is_file() {
                return Ok(wheel);
            }
            let said = format!("{}\n  (it did not leave {})", last_lines(&said), info.wheel.file);
            Err(Problem::Pip { said })
        }
    }
}

/// Whether a command is there and is a pip.
fn works(command: &[OsString], folder: &Path) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    let (null, quiet) = (Stdio::null(), Stdio::null());
    Command::new(program)
        .args(arguments)
        .arg("--version")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(null)
        .stderr(quiet)
        .status()
        .is_ok_and(|status| status.success())
}

/// Why we do not wait any longer.
enum Stopped {
    Stalled,
    Asked,
}

/// Waits for pip to end, telling how much has arrived.
fn wait(
    child: &mut Child,
    info: &PackageInfo,
    patience: Duration,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Result<ExitStatus, Stopped> {
    let (mut arrived, mut since) = (0, Instant::now());
    loop {
        let ended = child.try_wait().map_err(|_| Stopped::Stalled)?;
        // Ctrl-C ends pip too: then its failure is no news, and whoever watches knows why.
        let now = largest_file(folder);
        let of = info.wheel.bytes;
        if watch(Progress::Fetching { bytes: now.min(of), of }) == ControlFlow::Break(()) {
            return Err(Stopped::Asked);
        }
        if let Some(status) = ended {
            return Ok(status);
        }
        if now != arrived {
            (arrived, since) = (now, Instant::now());
        } else if since.elapsed() >= patience {
            return Err(Stopped::Stalled);
        }
        sleep(LOOK.min(patience));
    }
}

/// The size of the largest file below a folder: the wheel, wherever pip keeps it while it arrives.
fn largest_file(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => largest_file(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).max().unwrap_or(0)
}

/// What pip's words mean. It has one exit code for all failures, so there is nothing else to go by.
fn diagnose(info: &PackageInfo, folder: &Path, text: &str) -> Problem {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let said = last_lines(text);
    if says(&["No space left on device", "Disk quota exceeded"]) {
        return Problem::NoSpace { folder: folder.to_owned(), needed: needed(info) };
    }
    // Without a network pip also says at the end that it found no version, so this comes first.
    if says(&[
        "connection broken",
        "ConnectionError",
        "ConnectTimeout",
        "ReadTimeout",
        "Max retries exceeded",
    ]) {
        return Problem::Network { said };
    }
    if says(&[
        "ProxyError",
        "SSLError",
        "Name or service not known",
        "Network is unreachable",
        "IncompleteRead",
    ]) {
        return Problem::Network { said };
    }
    if says(&["No matching distribution found", "Could not find a version"]) {
        return Problem::NotInIndex { said };
    }
    Problem::Pip { said }
}

/// The room that fetching and unpacking take at most: pip holds the wheel twice for a moment.
pub(super) fn needed(info: &PackageInfo) -> u64 {
    info.wheel.bytes + info.wheel.bytes.max(info.bytes)
}

/// The last lines of a text, indented.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::Package;
    use super::*;

    fn diagnosis(text: &str) -> Problem {
        diagnose(Package::Procgen.info(), Path::new("/data"), text)
    }

    /// The texts are what pip 23.2 printed without a name server, for a version that does not exist, and on a full disk.
    #[test]
    fn words_of_pip_are_understood() {
        let nothing = "ERROR: Could not find a version that satisfies the requirement procgen==0.10.7 (from versions: none)\n\
                       ERROR: No matching distribution found for procgen==0.10.7\n";
        let broken = "WARNING: Retrying (Retry(total=1, connect=None, read=None, redirect=None, status=None)) after connection \
                      broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7facb860b7d0>: \
                      Failed to establish a new connection: [Errno -2] Name or service not known')': /simple/procgen/\n";
        let full = "    content_file.write(chunk)\nOSError: [Errno 28] No space left on device\n";
        assert!(matches!(diagnosis(nothing), Problem::NotInIndex { .. }));
        assert!(matches!(diagnosis(&format!("{broken}{nothing}")), Problem::Network { .. }));
        // 36 395 959 bytes of wheel and 54 205 391 of files.
        assert!(matches!(diagnosis(full), Problem::NoSpace { needed: 90_601_350, .. }));
        let Problem::Pip { said } = diagnosis("1\n2\n\n3\n4\n5\n6\n7\n") else {
            panic!("an unknown failure")
        };
        assert_eq!(said, "  2\n  3\n  4\n  5\n  6\n  7");
    }
}
