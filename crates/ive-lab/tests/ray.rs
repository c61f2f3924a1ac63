//! A sweep on a real Ray: a head and two further nodes on this machine, of which a trainer, a worker and a node are killed.
//! `IVE_RAY_PYTHON` names a Python with the package `ray`; half a gigabyte and a minute: not for every day.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
#![cfg(unix)]

mod cluster;
mod session;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cluster::{SWEEP, free_ports, pid_of, signal, wait_for};
use session::{Scratch, text};

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// The processes whose command line has these words.
fn processes(words: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let line =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    pids.filter(|pid| line(pid).contains(words)).collect()
}

/// A cluster of three nodes, gone afterwards.
struct Ray {
    python: PathBuf,
    port: u16,
    /// All processes of the cluster name it.
    dir: String,
}

impl Ray {
    fn start(python: PathBuf) -> Self {
        let port = free_ports(1)[0];
        let dir = std::env::temp_dir().join(format!("ive-ray-{}", std::process::id())).display().to_string();
        let ray = Self { python, port, dir };
        ray.node(&[
            "--head",
            &format!("--port={port}"),
            "--include-dashboard=false",
            &format!("--temp-dir={}", ray.dir),
        ]);
        (0..2).for_each(|_| ray.node(&[&format!("--address=127.0.0.1:{port}")]));
        ray
    }

    fn node(&self, args: &[&str]) {
        let mut command = Command::new(self.python.with_file_name("ray"));
        command.arg("start").args(args).args([
            "--node-ip-address=127.0.0.1",
            "--num-cpus=1",
            "--disable-usage-stats",
        ]);
        succeeds(&command.stdin(Stdio::null()).output().unwrap());
    }
}

impl Drop for Ray {
    fn drop(&mut self) {
        for pid in processes(&self.dir) {
            signal("KILL", pid);
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

#[test]
#[ignore = "slow: starts a Ray of three nodes; needs IVE_RAY_PYTHON"]
fn twenty_tasks_survive_the_death_of_a_trainer_a_worker_and_a_node() {
    let Some(python) = std::env::var_os("IVE_RAY_PYTHON") else {
        return cluster::skip("IVE_RAY_PYTHON is not set");
    };
    let dir = Scratch::new("ray");
    let file = SWEEP.replace("seeds = 2", "seeds = 10").replace("steps = 600", "steps = 3000");
    fs::write(dir.0.join("sweep.toml"), file).unwrap();
    succeeds(&dir.ive("sweep plan sweep.toml -o s"));
    succeeds(&dir.ive("sweep plan sweep.toml -o calm"));
    let ray = Ray::start(python.clone().into());
    let line =
        format!("sweep submit s --engine ray --address 127.0.0.1:{} -j 3 --checkpoint-every 1", ray.port);
    let engine = dir.command(&line).env("IVE_PYTHON", &python).stderr(Stdio::piped()).spawn().unwrap();
    let run = |seed: u64| dir.0.join(format!("s/runs/minatar-breakout/dqn/seed-{seed}"));
    wait_for("a trainer", || pid_of(&run(0)).is_some());
    signal("KILL", pid_of(&run(0)).unwrap());
    wait_for("a worker", || !processes("ray::run").is_empty());
    signal("KILL", processes("ray::run")[0]);
    std::thread::sleep(Duration::from_secs(3));
    let raylets = processes(&format!("raylet/raylet --raylet_socket_name={}", ray.dir));
    signal("KILL", *raylets.last().unwrap());
    let output = engine.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("Ray listens on all interfaces"), "{said}");
    if !output.status.success() {
        let again = dir.command("sweep resume s").env("IVE_PYTHON", &python).output().unwrap();
        succeeds(&again);
    }
    succeeds(&dir.ive("sweep submit calm --engine local -j 2"));
    let gathered = |sweep: &str| text(&dir.ive(&format!("sweep gather {sweep}")).stdout);
    assert_eq!(gathered("s"), gathered("calm"));
    assert_eq!(gathered("s").lines().count(), 21);
}
