//! Sweeps on a real Slurm: three nodes on this machine (`cluster/slurm.rs`), which are killed, preempted and run out of time.
//! Skipped, with a word, where Slurm is not installed; `IVE_REQUIRE_SLURM=1` makes that a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
#![cfg(unix)]

mod cluster;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cluster::slurm::Cluster;
use cluster::{SWEEP, files, pid_of, signal, wait_for, wait_long};
use session::{Scratch, json, text};

const LONG: Duration = Duration::from_mins(10);

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// A command that speaks to the cluster.
fn ive(dir: &Path, cluster: &Cluster, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ive"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    cluster.here(&mut command).output().unwrap()
}

fn planned(dir: &Scratch, cluster: &Cluster, file: &str) {
    fs::write(dir.0.join("sweep.toml"), file).unwrap();
    succeeds(&ive(&dir.0, cluster, &["sweep", "plan", "sweep.toml", "-o", "s"]));
}

/// A sweep of one task that takes for ever, submitted.
fn endless(dir: &Scratch, cluster: &Cluster, flags: &[&str]) -> PathBuf {
    let file = "agents = ['dqn']\nenvironments = ['minatar:breakout']\nseeds = 1\npreset = 'smoke'\nsteps = 100_000_000\n";
    planned(dir, cluster, file);
    let submit = ["sweep", "submit", "s", "--engine", "slurm"];
    succeeds(&ive(&dir.0, cluster, &[&submit, flags].concat()));
    let run = dir.0.join("s/runs/minatar-breakout/dqn/seed-0");
    wait_for("steps", || fs::metadata(run.join("metrics.jsonl")).is_ok_and(|found| found.len() > 0));
    run
}

fn done(sweep: &Path, tasks: u64) -> usize {
    (0..tasks).filter(|index| sweep.join(format!("tasks/{index:06}/done.json")).exists()).count()
}

fn sessions(run: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(run.join("sessions.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The process of the last attempt at a task.
fn owner(sweep: &Path, index: u64) -> Option<u32> {
    let folder = sweep.join(format!("tasks/{index:06}"));
    let number = files(&folder, ".json") - files(&folder, ".end.json") - files(&folder, "done.json");
    let text = fs::read(folder.join(format!("attempt-{number:06}.json"))).ok()?;
    let owner: serde_json::Value = serde_json::from_slice(&text).ok()?;
    owner["process"].as_u64().and_then(|pid| u32::try_from(pid).ok())
}

/// The node that a task is on.
fn node_of(cluster: &Cluster, index: u64) -> Option<String> {
    let said = text(&cluster.ask("squeue", &["-h", "-r", "-t", "R", "-o", "%K %N"]).stdout);
    said.lines().find_map(|line| Some(line.strip_prefix(&format!("{index} "))?.trim().to_owned()))
}

#[test]
fn twenty_tasks_survive_the_death_of_a_task_a_node_and_the_controller() {
    let Some(cluster) = Cluster::start("twenty") else { return };
    let dir = Scratch::new("slurm-twenty");
    let file = SWEEP.replace("seeds = 2", "seeds = 10").replace("steps = 600", "steps = 2500");
    planned(&dir, &cluster, &file);
    let sweep = dir.0.join("s");
    // The array size of this cluster is 11, as small ones are: the tasks go into two arrays.
    let said =
        ive(&dir.0, &cluster, &["sweep", "submit", "s", "--engine", "slurm", "--checkpoint-every", "1"]);
    succeeds(&said);
    assert_eq!(text(&said.stdout).matches("submitted as job").count(), 2, "{}", text(&said.stdout));

    // A trainer dies: its task starts it again. A task dies: Slurm calls the job failed.
    wait_for("a trainer", || pid_of(&sweep.join("runs/minatar-breakout/dqn/seed-0")).is_some());
    signal("KILL", pid_of(&sweep.join("runs/minatar-breakout/dqn/seed-0")).unwrap());
    wait_for("a task", || owner(&sweep, 1).is_some());
    signal("KILL", owner(&sweep, 1).unwrap());
    // The controller dies, and comes back.
    wait_for("three results", || done(&sweep, 20) >= 3);
    cluster.kill("slurmctld");
    std::thread::sleep(Duration::from_secs(1));
    cluster.start_controller();
    // A node dies, with everything on it: Slurm notices after fifteen seconds and queues the task again.
    wait_for("five results", || {
        cluster.release();
        done(&sweep, 20) >= 5
    });
    let mut victim = None;
    wait_for("a task on a node", || {
        cluster.release();
        victim = (0..10).find_map(|index| Some((node_of(&cluster, index)?, owner(&sweep, index)?)));
        victim.is_some()
    });
    let (node, task) = victim.unwrap();
    cluster.kill(&format!("slurmd.{node}"));
    let parent = fs::read_to_string(format!("/proc/{task}/stat")).unwrap_or_default();
    if let Some(parent) =
        parent.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok())
    {
        signal("KILL", parent);
    }
    signal("KILL", task);
    wait_long("an empty queue", LONG, &mut || {
        cluster.release();
        cluster.queue().trim().is_empty()
    });
    // What is left of it: the task that died itself, and what the dead node had reported as failed.
    let rest = ive(&dir.0, &cluster, &["sweep", "resume", "s", "--engine", "slurm"]);
    succeeds(&rest);
    wait_long("twenty results", LONG, &mut || {
        cluster.release();
        done(&sweep, 20) == 20
    });
    let found = gathered(&dir, &cluster, "s");
    assert_eq!(found, expected(&dir, &cluster));
    assert_eq!(found.lines().count(), 21);
}

#[test]
fn a_preempted_task_exits_with_75_and_goes_on_at_the_same_step() {
    let Some(cluster) = Cluster::start("preempt") else { return };
    let dir = Scratch::new("slurm-preempt");
    let run = endless(&dir, &cluster, &["--partition", "low"]);
    // One that wants all nodes, and goes first.
    let rival = cluster.ask("sbatch", &["-p", "high", "-N", "3", "-o", "/dev/null", "--wrap", "sleep 1"]);
    succeeds(&rival);
    let end = dir.0.join("s/tasks/000000/attempt-000001.end.json");
    wait_for("the end of the first attempt", || end.exists());
    let end = json(&end);
    assert_eq!(end["code"], 75, "{end}");
    let step = end["step"].as_u64().unwrap();
    assert!(step > 0);
    wait_for("another session", || {
        cluster.release();
        sessions(&run).len() == 2
    });
    assert_eq!(sessions(&run)[1]["from_step"], step);
    let job = text(&cluster.ask("squeue", &["-h", "-r", "-o", "%A"]).stdout);
    let about = text(&cluster.ask("scontrol", &["show", "job", "-o", job.trim()]).stdout);
    assert!(about.contains("Restarts=1 "), "{about}");
}

#[test]
fn a_task_that_reaches_its_time_limit_queues_itself_again_and_can_be_cancelled() {
    let Some(cluster) = Cluster::start("time") else { return };
    let dir = Scratch::new("slurm-time");
    // The limit is a minute, and the signal comes 55 seconds before.
    let run = endless(&dir, &cluster, &["--time", "1", "--grace", "55"]);
    wait_long("another session", LONG, &mut || sessions(&run).len() == 2);
    let end = json(&dir.0.join("s/tasks/000000/attempt-000001.end.json"));
    assert_eq!(end["code"], 75);
    assert_eq!(sessions(&run)[1]["from_step"], end["step"]);
    let log = fs::read_to_string(dir.0.join("s/logs/0.log")).unwrap();
    assert!(log.contains("is queued again") && log.contains("attempt 2"), "{log}");
    // The limit of the second life is as far away as that of the first was. Cancelling is for good.
    succeeds(&ive(&dir.0, &cluster, &["sweep", "cancel", "s"]));
    wait_for("an empty queue", || cluster.queue().trim().is_empty());
    wait_for("the end of the second attempt", || {
        dir.0.join("s/tasks/000000/attempt-000002.end.json").exists()
    });
    std::thread::sleep(Duration::from_secs(2));
    assert!(cluster.queue().trim().is_empty(), "{}", cluster.queue());
    assert_eq!(sessions(&run)[1]["end"], "stopped");
}

#[test]
fn strange_names_and_wrong_partitions_do_no_harm() {
    let Some(cluster) = Cluster::start("names") else { return };
    let scratch = Scratch::new("slurm-names");
    for name in cluster::STRANGE {
        let dir = scratch.0.join(name);
        fs::create_dir(&dir).unwrap();
        let file = SWEEP
            .replace("seeds = 2", "seeds = 1\nvariants = [{ name = \"a 'b' $(touch pwned) β\", batch = 4 }]");
        fs::write(dir.join("sweep.toml"), file).unwrap();
        succeeds(&ive(&dir, &cluster, &["sweep", "plan", "sweep.toml", "-o", name]));
        let submit = ["sweep", "submit", name, "--engine", "slurm"];
        let refused = ive(&dir, &cluster, &[&submit[..], &["--partition", "nowhere"]].concat());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(64), "{said}");
        assert!(
            said.contains("invalid partition specified: nowhere") && said.contains("Nothing is lost"),
            "{said}"
        );
        let refused = ive(&dir, &cluster, &[&submit[..], &["--partition", "$(touch pwned)"]].concat());
        assert_eq!(refused.status.code(), Some(64));
        succeeds(&ive(&dir, &cluster, &[&submit[..], &["--flag=--nice=0", "--max-parallel", "2"]].concat()));
    }
    let sweeps: Vec<PathBuf> = cluster::STRANGE.iter().map(|name| scratch.0.join(name).join(name)).collect();
    wait_long("all results", LONG, &mut || sweeps.iter().all(|sweep| done(sweep, 2) == 2));
    for (sweep, name) in sweeps.iter().zip(cluster::STRANGE) {
        assert!(sweep.join("logs/1.log").exists());
        let above: Vec<_> =
            fs::read_dir(scratch.0.join(name)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(above.len(), 2, "{above:?}");
        assert!(!sweep.join("pwned").exists());
    }
    // Everything is done: nothing is submitted a second time.
    let again = ive(
        &scratch.0.join(cluster::STRANGE[0]),
        &cluster,
        &["sweep", "resume", cluster::STRANGE[0], "--engine", "slurm"],
    );
    assert!(text(&again.stdout).contains("nothing to do: 2 done"), "{}", text(&again.stdout));
}

/// The table of an undisturbed sweep of the same file.
fn expected(dir: &Scratch, cluster: &Cluster) -> String {
    succeeds(&ive(&dir.0, cluster, &["sweep", "plan", "sweep.toml", "-o", "calm"]));
    succeeds(&ive(&dir.0, cluster, &["sweep", "submit", "calm", "--engine", "local", "-j", "2"]));
    gathered(dir, cluster, "calm")
}

fn gathered(dir: &Scratch, cluster: &Cluster, sweep: &str) -> String {
    let output = ive(&dir.0, cluster, &["sweep", "gather", sweep]);
    succeeds(&output);
    text(&output.stdout)
}

#[test]
fn a_job_submitted_twice_publishes_each_result_once() {
    let Some(cluster) = Cluster::start("twice") else { return };
    let dir = Scratch::new("slurm-twice");
    planned(&dir, &cluster, &SWEEP.replace("steps = 600", "steps = 2500"));
    let sweep = dir.0.join("s");
    succeeds(&ive(&dir.0, &cluster, &["sweep", "submit", "s", "--engine", "slurm"]));
    // By hand, which nothing can keep anybody from.
    let mut again = Command::new("sbatch");
    again.arg("jobs/slurm-0.sh").current_dir(&sweep);
    succeeds(&cluster.here(&mut again).output().unwrap());
    wait_long("an empty queue", LONG, &mut || cluster.queue().trim().is_empty());
    assert_eq!(done(&sweep, 4), 4);
    for index in 0..4 {
        let folder = sweep.join(format!("tasks/{index:06}"));
        assert_eq!(files(&folder, "done.json"), 1);
        assert_eq!(
            json(&folder.join("done.json"))["attempt"],
            1,
            "one of the two copies worked on task {index}"
        );
        assert!(!folder.join("attempt-000002.json").exists());
    }
    assert_eq!(gathered(&dir, &cluster, "s"), expected(&dir, &cluster));
}

#[test]
fn a_disk_that_is_full_for_a_while_costs_no_result() {
    let Some(cluster) = Cluster::start("full") else { return };
    let dir = Scratch::new("slurm-full");
    let Some(_disk) = cluster::Disk::mount(&dir.0.join("disk"), "24m") else {
        return cluster::skip("a small disk could not be mounted");
    };
    let file = SWEEP.replace(", 'minatar:freeway'", "").replace("steps = 600", "steps = 2500");
    fs::write(dir.0.join("sweep.toml"), file).unwrap();
    succeeds(&ive(&dir.0, &cluster, &["sweep", "plan", "sweep.toml", "-o", "disk/s"]));
    let filler = dir.0.join("disk/filler");
    cluster::fill(&filler);
    let submit = ["sweep", "submit", "disk/s", "--engine", "slurm", "--checkpoint-every", "0"];
    let refused = ive(&dir.0, &cluster, &submit);
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(74) && said.contains("No space left"), "{said}");
    assert!(cluster.queue().trim().is_empty(), "{}", cluster.queue());
    fs::remove_file(&filler).unwrap();

    succeeds(&ive(&dir.0, &cluster, &submit));
    let checkpoints = dir.0.join("disk/s/runs/minatar-breakout/dqn/seed-0/checkpoints");
    wait_for("a checkpoint", || files(&checkpoints, ".json") > 0);
    cluster::fill(&filler);
    std::thread::sleep(Duration::from_secs(3));
    fs::remove_file(&filler).unwrap();
    wait_long("an empty queue", LONG, &mut || {
        cluster.release();
        cluster.queue().trim().is_empty()
    });
    // Where no room was left for a moment, a task may have ended with 74; it goes on.
    if done(&dir.0.join("disk/s"), 2) < 2 {
        succeeds(&ive(&dir.0, &cluster, &["sweep", "resume", "disk/s"]));
        wait_long("both results", LONG, &mut || done(&dir.0.join("disk/s"), 2) == 2);
    }
    assert_eq!(gathered(&dir, &cluster, "disk/s"), expected(&dir, &cluster));
}
