//! What tests of sweeps share: a small sweep, processes, small disks, and a Slurm of three nodes on this machine.

#![allow(dead_code, reason = "no test uses all of it")]

pub mod slurm;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Four tasks, each of which takes a fraction of a second.
pub const SWEEP: &str = "\
agents = ['dqn']
environments = ['minatar:breakout', 'minatar:freeway']
seeds = 2
preset = 'smoke'
steps = 600
greedy_episodes = 2
";

/// Names that mean something to shells, or to nobody.
pub const STRANGE: [&str; 5] =
    ["with space", "it's \"quoted\"", "$(touch pwned) `touch pwned`", "größe β 漢字", "a;b&c|d>e#f *?[x]! ~"];

/// Whether a program is installed. In continuous integration it must be.
pub fn is_there(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("`{program}` is not installed"));
    }
    found
}

/// Says that a test was skipped, so that nobody takes it for passed; where it must not be, it fails.
pub fn skip(why: &str) {
    assert!(std::env::var_os("IVE_REQUIRE_SLURM").is_none(), "{why}, and IVE_REQUIRE_SLURM is set");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Waits for something, but not for ever.
pub fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    wait_long(what, Duration::from_mins(5), &mut there);
}

/// Waits so long at most.
pub fn wait_long(what: &str, limit: Duration, there: &mut dyn FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < limit, "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ports that nobody uses, below those that systems give to whoever connects somewhere, which could be taken meanwhile, and
/// above those of Ray's workers.
pub fn free_ports(count: usize) -> Vec<u16> {
    // No two calls of this process look at the same ports, and two processes hardly ever do.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 997;
    let one = || {
        let i = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        20_000 + ((12 * first + i) % 12_700) as u16
    };
    let mut ports =
        std::iter::repeat_with(one).filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    ports.by_ref().take(count).collect()
}

/// The process that works on a run, as its lock says.
pub fn pid_of(run: &Path) -> Option<u32> {
    let text = fs::read_to_string(run.join("LOCK")).ok()?;
    text.strip_prefix("process ")?.split(' ').next()?.parse().ok()
}

/// Sends a signal.
pub fn signal(name: &str, pid: u32) {
    let _ = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).stderr(Stdio::null()).status();
}

/// How many files in a directory have names with this end.
pub fn files(dir: &Path, end: &str) -> usize {
    let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names
        .filter(|name| name.to_str().is_some_and(|name| name.ends_with(end) && !name.starts_with('.')))
        .count()
}

/// A small disk, gone afterwards.
pub struct Disk(PathBuf);

impl Disk {
    /// Only the administrator may.
    pub fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fills the disk that a file is on.
pub fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 16, 1 << 12, 1 << 9] {
        let block = vec![0; size];
        while file.write_all(&block).is_ok() {}
    }
}
