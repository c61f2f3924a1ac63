//! A real Slurm of three nodes on this machine, without systemd: Debian's munged, slurmctld and three slurmd, with
//! files, sockets and ports of their own. Gone when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{free_ports, is_there, signal, skip, wait_for};
use crate::session::text;

/// The programs that must be installed (Debian: slurm-wlm, munge).
const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"];

/// A cluster.
pub struct Cluster {
    dir: PathBuf,
}

impl Cluster {
    /// Starts one; none, said loudly, where that is not possible.
    pub fn start(name: &str) -> Option<Self> {
        if !PROGRAMS.iter().all(|program| is_there(program)) {
            return None;
        }
        if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() != "0" {
            skip("only the administrator can start a Slurm");
            return None;
        }
        // Sockets have short paths.
        let dir = std::env::temp_dir().join(format!("ive-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("state")).unwrap();
        let cluster = Self { dir };
        cluster.authenticate();
        cluster.write_prolog();
        fs::write(cluster.conf(), cluster.settings()).unwrap();
        cluster.start_controller();
        (1..=3).for_each(|node| cluster.start_node(node));
        wait_for("three idle nodes", || {
            text(&cluster.ask("sinfo", &["-h", "-p", "low", "-t", "idle", "-o", "%D"]).stdout).trim() == "3"
        });
        Some(cluster)
    }

    fn conf(&self) -> PathBuf {
        self.dir.join("slurm.conf")
    }

    /// A munge of our own, so that nothing of the machine is touched.
    fn authenticate(&self) {
        let at = |name: &str| self.dir.join(name).display().to_string();
        let key: Vec<u8> = (0..32).flat_map(|i| *blake3::hash(&[i]).as_bytes()).collect();
        fs::write(at("munge.key"), key).unwrap();
        let private = Command::new("chmod").arg("400").arg(at("munge.key")).status().unwrap();
        assert!(private.success());
        let mut command = Command::new("munged");
        for (flag, file) in [
            ("key-file", "munge.key"),
            ("socket", "munge.sock"),
            ("pid-file", "munged.pid"),
            ("log-file", "munged.log"),
            ("seed-file", "munge.seed"),
        ] {
            command.arg(format!("--{flag}={}", at(file)));
        }
        let started = command.arg("--force").output().unwrap();
        assert!(started.status.success(), "{}", text(&started.stderr));
    }

    /// What each node runs before a job. It fails while the nodes are broken: then Slurm cannot start the job.
    fn write_prolog(&self) {
        let path = self.dir.join("prolog");
        fs::write(&path, format!("#!/bin/sh\ntest ! -e '{}'\n", self.broken().display())).unwrap();
        let executable = Command::new("chmod").arg("755").arg(path).status().unwrap();
        assert!(executable.success());
    }

    fn broken(&self) -> PathBuf {
        self.dir.join("broken")
    }

    /// From now on no node can start a job.
    pub fn break_nodes(&self) {
        fs::write(self.broken(), "").unwrap();
    }

    /// Nodes can start jobs again, and an administrator says so.
    pub fn mend_nodes(&self) {
        fs::remove_file(self.broken()).unwrap();
        self.resume_nodes();
    }

    fn settings(&self) -> String {
        let host = text(&Command::new("hostname").output().unwrap().stdout).trim().to_owned();
        let dir = self.dir.display();
        let ports = free_ports(4);
        let node = |i: usize| {
            format!(
                "NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 State=UNKNOWN\n",
                ports[i]
            )
        };
        let nodes: String = (1..=3).map(node).collect();
        format!(
            "ClusterName=ive
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmdSpoolDir={dir}/spool.%n
SlurmdLogFile={dir}/slurmd.%n.log
Prolog={dir}/prolog
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobRequeue=1
ReturnToService=2
SlurmdTimeout=15
KillWait=5
MaxArraySize=11
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={dir}/completed.txt
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2,sched_min_interval=0
{nodes}PartitionName=low Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=5
PartitionName=high Nodes=n[1-3] MaxTime=INFINITE State=UP PriorityTier=10
",
            ports[0]
        )
    }

    /// Starts the controller, for the first time or again.
    pub fn start_controller(&self) {
        let started = Command::new("slurmctld").arg("-f").arg(self.conf()).output().unwrap();
        assert!(started.status.success(), "{}", text(&started.stderr));
    }

    /// Starts a node, for the first time or again.
    pub fn start_node(&self, node: usize) {
        fs::create_dir_all(self.dir.join(format!("spool.n{node}"))).unwrap();
        let mut command = Command::new("slurmd");
        let started = command.arg("-f").arg(self.conf()).args(["-N", &format!("n{node}")]).output().unwrap();
        assert!(started.status.success(), "{}", text(&started.stderr));
    }

    /// The process of a daemon.
    pub fn pid(&self, daemon: &str) -> Option<u32> {
        fs::read_to_string(self.dir.join(format!("{daemon}.pid"))).ok()?.trim().parse().ok()
    }

    /// Kills a daemon, `slurmctld` or `slurmd.n2`, without a warning.
    pub fn kill(&self, daemon: &str) {
        signal("KILL", self.pid(daemon).unwrap());
    }

    /// Lets a command speak to this Slurm.
    pub fn here<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", self.conf())
    }

    /// What a command of Slurm says.
    pub fn ask(&self, program: &str, args: &[&str]) -> Output {
        self.here(Command::new(program).args(args)).output().unwrap()
    }

    /// All jobs, a line each: number, state, reason.
    pub fn queue(&self) -> String {
        text(&self.ask("squeue", &["-h", "-r", "-o", "%A %T %r"]).stdout)
    }

    /// Slurm holds jobs for two minutes that it queued again after a preemption or the loss of a node, and for ever those that
    /// it could not start there. A controller that died before it had written down a job starts it a second time; the node
    /// refuses ("Duplicate jobid") and takes no more jobs until an administrator says so. Tests do not wait.
    pub fn release(&self) {
        self.resume_nodes();
        for line in self.queue().lines().filter(|line| line.contains("launch failed")) {
            self.ask("scontrol", &["release", line.split(' ').next().unwrap()]);
        }
        for line in self.queue().lines().filter(|line| line.contains("PENDING BeginTime")) {
            let job = line.split(' ').next().unwrap();
            self.ask("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
        }
    }

    /// Lets all nodes take jobs.
    pub fn resume_nodes(&self) {
        for node in text(&self.ask("sinfo", &["-h", "-N", "-t", "drain", "-o", "%N"]).stdout).lines() {
            self.ask("scontrol", &["update", &format!("NodeName={node}"), "State=RESUME"]);
        }
    }

    /// What the daemons wrote, for whoever wants to know why a test failed.
    pub fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        let last =
            |text: String| text.lines().rev().take(30).map(|line| format!("{line}\n")).collect::<String>();
        format!("{}\n{}\n{}", self.queue(), last(read("slurmctld.log")), last(read("completed.txt")))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.logs().as_bytes());
        }
        let running: Vec<String> =
            self.queue().lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect();
        let names: Vec<&str> = running.iter().map(String::as_str).collect();
        self.ask("scancel", &[&["-s", "KILL", "-f"], names.as_slice()].concat());
        for daemon in ["slurmd.n1", "slurmd.n2", "slurmd.n3", "slurmctld", "munged"] {
            if let Some(pid) = self.pid(daemon) {
                signal("TERM", pid);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        for daemon in ["slurmd.n1", "slurmd.n2", "slurmd.n3", "slurmctld", "munged"] {
            if let Some(pid) = self.pid(daemon).filter(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
                signal("KILL", pid);
            }
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}
