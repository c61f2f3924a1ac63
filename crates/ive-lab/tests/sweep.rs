//! Sweeps as users and engines treat them: killed, resumed, started twice, on a full disk, under strange names.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
#![cfg(unix)]

mod cluster;
mod session;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cluster::{SWEEP, files, pid_of, signal, wait_for};
use session::{Scratch, json, refused, text};

/// A directory with a small sweep in it.
fn planned(name: &str, file: &str) -> Scratch {
    let dir = Scratch::new(name);
    fs::write(dir.0.join("sweep.toml"), file).unwrap();
    succeeds(&dir.ive("sweep plan sweep.toml -o s"));
    dir
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// The gathered table, and the same for programs.
fn gathered(dir: &Scratch, sweep: &str) -> (String, String) {
    let csv = dir.ive(&format!("sweep gather {sweep}"));
    let json = dir.ive(&format!("sweep gather {sweep} --json"));
    succeeds(&csv);
    succeeds(&json);
    (text(&csv.stdout), text(&json.stdout))
}

/// A task of a long sweep at work, and its run directory.
fn at_work(dir: &Scratch, flags: &str) -> (Child, PathBuf) {
    let child = dir.command(&format!("sweep task s 0 {flags}")).stderr(Stdio::piped()).spawn().unwrap();
    (child, dir.0.join("s/runs/minatar-breakout/dqn/seed-0"))
}

/// More steps than any test waits for.
fn long() -> String {
    SWEEP.replace("steps = 600", "steps = 100_000_000")
}

#[test]
fn engines_orders_and_kills_leave_the_same_bytes() {
    let dir = planned("engines", SWEEP);
    succeeds(&dir.ive("sweep plan sweep.toml -o killed"));
    succeeds(&dir.ive("sweep plan sweep.toml -o parallel"));
    for name in ["sweep.json", "tasks.jsonl", "tasks.txt"] {
        let read = |sweep: &str| fs::read(dir.0.join(sweep).join(name)).unwrap();
        assert_eq!(read("s"), read("killed"), "{name}");
    }
    let missing = dir.ive("sweep gather s");
    assert_eq!(code(&missing), 75);
    assert!(text(&missing.stderr).contains("4 of 4 results are missing"), "{}", text(&missing.stderr));
    succeeds(&dir.ive("sweep submit s --engine local -j 2"));
    let expected = gathered(&dir, "s");
    assert_eq!(expected.0.lines().count(), 5, "{}", expected.0);
    assert!(text(&dir.ive("sweep submit s --engine local").stdout).contains("nothing to do: 4 done"));
    // A published result that is lost is made again, the same.
    fs::remove_dir_all(dir.0.join("s/runs/minatar-breakout/dqn/seed-0")).unwrap();
    let lost = dir.ive("sweep gather s");
    assert!(code(&lost) == 65 && text(&lost.stderr).contains("`ive sweep resume` makes it again"));
    succeeds(&dir.ive("sweep resume s"));
    assert_eq!(gathered(&dir, "s"), expected);

    // The engine is killed in the middle, three times; its tasks stop with it.
    for life in 1..4 {
        let line = "sweep submit killed --engine local -j 2 --checkpoint-every 0";
        let mut engine = dir.command(line).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(250 * life));
        engine.kill().unwrap();
        engine.wait().unwrap();
    }
    succeeds(&dir.ive("sweep resume killed"));
    assert_eq!(gathered(&dir, "killed"), expected);

    // Equal to a run that knows nothing of sweeps.
    let line = "train dqn --env minatar:breakout --preset smoke --steps 600 --greedy-episodes 2 --seed 1 --run alone";
    succeeds(&dir.ive(line));
    for name in ["result.json", "metrics.jsonl", "config.toml"] {
        let read = |run: &str| fs::read_to_string(dir.0.join(run).join(name)).unwrap();
        assert_eq!(read("alone"), read("s/runs/minatar-breakout/dqn/seed-1"), "{name}");
    }

    if cluster::is_there("parallel") {
        let ive = env!("CARGO_BIN_EXE_ive");
        let mut command = Command::new("parallel");
        command.args([
            "--will-cite",
            "-j",
            "2",
            "--retries",
            "3",
            ive,
            "sweep",
            "task",
            "parallel",
            "{}",
            "::::",
        ]);
        succeeds(&command.arg("parallel/tasks.txt").current_dir(&dir.0).output().unwrap());
        assert_eq!(gathered(&dir, "parallel"), expected);
    }
}

#[test]
fn of_two_copies_of_a_task_one_works_and_one_is_refused() {
    let dir = planned("twice", &SWEEP.replace("steps = 600", "steps = 1500"));
    for _ in 0..3 {
        let copies: Vec<Child> =
            (0..4).map(|_| dir.command("sweep task s 0").stderr(Stdio::piped()).spawn().unwrap()).collect();
        let outputs: Vec<Output> = copies.into_iter().map(|copy| copy.wait_with_output().unwrap()).collect();
        let codes: Vec<i32> = outputs.iter().map(code).collect();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 73].contains(code)), "{codes:?}");
        for refused in outputs.iter().filter(|output| code(output) == 73) {
            assert!(text(&refused.stderr).contains("process "), "{}", text(&refused.stderr));
        }
    }
    assert_eq!(files(&dir.0.join("s/tasks/000000"), "done.json"), 1);
    assert_eq!(json(&dir.0.join("s/tasks/000000/done.json"))["attempt"], 1, "the first attempt published it");
}

#[test]
fn a_trainer_that_is_killed_is_started_again_in_place() {
    // Long enough for five kills, also if this process sleeps a second before each.
    let dir = planned("crash", &SWEEP.replace("steps = 600", "steps = 10_000"));
    let (task, run) = at_work(&dir, "--checkpoint-every 0");
    for _ in 0..5 {
        // Each time there is a new checkpoint: that is progress, so the count of restarts begins anew.
        let before = newest(&run);
        wait_for("a checkpoint", || newest(&run) > before);
        let pid = pid_of(&run).unwrap();
        signal("KILL", pid);
        wait_for("another trainer", || pid_of(&run).is_some_and(|now| now != pid));
    }
    let output = task.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.matches("it is started again").count() == 5, "{said}");
    assert_eq!(files(&dir.0.join("s/tasks/000000"), "attempt-000002.json"), 0);

    succeeds(&dir.ive("sweep plan sweep.toml -o calm"));
    succeeds(&dir.ive("sweep task calm 0"));
    let read = |sweep: &str| {
        fs::read(dir.0.join(sweep).join("runs/minatar-breakout/dqn/seed-0/result.json")).unwrap()
    };
    assert_eq!(read("s"), read("calm"));
}

#[test]
fn a_trainer_that_keeps_dying_without_progress_is_given_up() {
    let dir = planned("dying", &long());
    let (task, run) = at_work(&dir, "");
    let mut before = None;
    for _ in 0..4 {
        wait_for("a trainer", || pid_of(&run).is_some_and(|pid| Some(pid) != before && is_alive(pid)));
        before = pid_of(&run);
        signal("KILL", before.unwrap());
    }
    let output = task.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(code(&output), 70, "{said}");
    assert!(said.contains("ended with signal 9, after 3 more attempts without progress"), "{said}");
    let shown = text(&dir.ive("sweep status s --json").stdout);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["counts"]["failed"], &shown["counts"]["waiting"]), (&1.into(), &3.into()), "{shown}");
    assert!(shown["tasks"][0]["note"].as_str().unwrap().starts_with("exit code 70"));
}

/// A process that has ended and whose parent has not looked yet is not alive.
fn is_alive(pid: u32) -> bool {
    let about = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    about.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// The step of the newest checkpoint.
fn newest(run: &Path) -> u64 {
    let names =
        fs::read_dir(run.join("checkpoints")).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_suffix(".json")?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn signals_reach_the_trainer_and_the_next_attempt_goes_on_at_the_same_step() {
    for name in ["TERM", "USR1"] {
        let dir = planned(&format!("signal-{name}"), &long());
        let (task, run) = at_work(&dir, "");
        let metrics = run.join("metrics.jsonl");
        wait_for("steps", || fs::metadata(&metrics).is_ok_and(|found| found.len() > 0));
        let trainer = pid_of(&run).unwrap();
        signal(name, task.id());
        let start = Instant::now();
        let output = task.wait_with_output().unwrap();
        assert_eq!(code(&output), 75, "{}", text(&output.stderr));
        assert!(start.elapsed() < Duration::from_mins(1) && !is_alive(trainer));
        let end = json(&dir.0.join("s/tasks/000000/attempt-000001.end.json"));
        let step = end["step"].as_u64().unwrap();
        assert!(step > 0 && end["code"] == 75, "{end}");
        let (again, _) = at_work(&dir, "");
        wait_for("another session", || sessions(&run).len() == 2);
        assert_eq!(sessions(&run)[1]["from_step"], step);
        signal("TERM", again.id());
        assert_eq!(code(&again.wait_with_output().unwrap()), 75);
    }
}

fn sessions(run: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(run.join("sessions.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Not even SIGKILL of the task leaves a trainer behind, nor does it stop the next attempt.
#[test]
fn a_killed_task_takes_its_trainer_with_it() {
    let dir = planned("orphan", &long());
    let (mut task, run) = at_work(&dir, "");
    wait_for("a trainer", || run.join("metrics.jsonl").exists());
    let trainer = pid_of(&run).unwrap();
    task.kill().unwrap();
    task.wait().unwrap();
    let (again, _) = at_work(&dir, "");
    wait_for("another trainer", || pid_of(&run).is_some_and(|pid| pid != trainer));
    assert!(!is_alive(trainer));
    signal("TERM", again.id());
    let output = again.wait_with_output().unwrap();
    assert_eq!(code(&output), 75, "{}", text(&output.stderr));
    assert_eq!(files(&dir.0.join("s/tasks/000000"), "attempt-000002.end.json"), 1);
}

#[test]
fn cancelling_stops_whatever_runs_and_resuming_takes_it_back() {
    let dir = planned("cancel", &long());
    let engine = dir.command("sweep submit s --engine local -j 2").stderr(Stdio::piped()).spawn().unwrap();
    let run = dir.0.join("s/runs/minatar-breakout/dqn/seed-0");
    wait_for("steps", || fs::metadata(run.join("metrics.jsonl")).is_ok_and(|found| found.len() > 0));
    let shown = text(&dir.ive("sweep status s").stdout);
    assert!(shown.contains("2 running, 2 waiting") && shown.contains("process"), "{shown}");
    succeeds(&dir.ive("sweep cancel s"));
    let output = engine.wait_with_output().unwrap();
    assert_eq!(code(&output), 75, "{}", text(&output.stderr));
    assert_eq!(code(&dir.ive("sweep task s 3")), 75, "none begins while it is cancelled");
    let shown = text(&dir.ive("sweep status s").stdout);
    assert!(shown.contains("2 stopped, 2 waiting; ") && shown.contains("cancelled"), "{shown}");
    let mut engine = dir.command("sweep resume s --engine local -j 2").stderr(Stdio::null()).spawn().unwrap();
    wait_for("another session", || sessions(&run).len() == 2);
    // The engine is asked to stop, and everything below it stops in good order.
    signal("TERM", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(75));
    assert_eq!(sessions(&run)[1]["end"], "stopped");
}

#[test]
fn gathering_refuses_what_is_damaged_missing_or_of_another_program() {
    let dir = planned("gather", SWEEP);
    for task in 0..3 {
        succeeds(&dir.ive(&format!("sweep task s {task}")));
    }
    let output = dir.ive("sweep gather s -o out.csv");
    let said = text(&output.stderr);
    assert!(code(&output) == 75 && said.contains("task 3: waiting, 0 of 600 steps"), "{said}");
    assert!(!dir.0.join("out.csv").exists(), "nothing is written");
    succeeds(&dir.ive("sweep gather s -o out.csv --partial"));
    assert_eq!(fs::read_to_string(dir.0.join("out.csv")).unwrap().lines().count(), 4);
    succeeds(&dir.ive("sweep task s 3"));
    let expected = gathered(&dir, "s");

    let record = dir.0.join("s/tasks/000001/done.json");
    let good = fs::read_to_string(&record).unwrap();
    let program = json(&record)["programs"][0].as_str().unwrap().to_owned();
    fs::write(&record, resealed(&good.replace(&program, "ive 9.9.9"))).unwrap();
    let output = dir.ive("sweep gather s");
    assert!(
        code(&output) == 65 && text(&output.stderr).contains("made by ive 9.9.9"),
        "{}",
        text(&output.stderr)
    );
    let mixed = dir.ive("sweep gather s --allow-mixed");
    assert_eq!(text(&mixed.stdout), expected.0);
    fs::write(&record, good.replace("attempt", "attempd")).unwrap();
    let output = dir.ive("sweep gather s");
    assert!(
        code(&output) == 65 && text(&output.stderr).contains("its checksum differs"),
        "{}",
        text(&output.stderr)
    );
    fs::write(&record, &good).unwrap();

    // The result of one seed in place of another.
    let run = |seed: u64| dir.0.join(format!("s/runs/minatar-breakout/dqn/seed-{seed}"));
    fs::rename(run(1), dir.0.join("kept")).unwrap();
    let copied = Command::new("cp").arg("-r").args([run(0), run(1)]).status().unwrap();
    assert!(copied.success());
    let output = dir.ive("sweep gather s");
    assert!(
        code(&output) == 65 && text(&output.stderr).contains("another run (seed 1 → 0)"),
        "{}",
        text(&output.stderr)
    );
    // Gone altogether: the task makes it again, to the same bytes.
    fs::remove_dir_all(run(1)).unwrap();
    let output = dir.ive("sweep gather s");
    assert!(
        code(&output) == 65 && text(&output.stderr).contains("not there any more"),
        "{}",
        text(&output.stderr)
    );
    succeeds(&dir.ive("sweep task s 1"));
    assert_eq!(gathered(&dir, "s"), expected);
}

/// The last field of a sealed file is the hash of all bytes before it.
fn resealed(content: &str) -> String {
    let body = &content[..content.rfind(",\n  \"blake3\"").unwrap()];
    format!("{body},\n  \"blake3\": \"{}\"\n}}\n", blake3::hash(body.as_bytes()))
}

#[test]
fn mistakes_are_refused_in_one_line() {
    let dir = planned("mistakes", SWEEP);
    let plan = |change: &dyn Fn(&str) -> String| {
        fs::write(dir.0.join("bad.toml"), change(SWEEP)).unwrap();
        dir.ive("sweep plan bad.toml -o bad")
    };
    refused(&plan(&|text| text.replace("agents", "agentz")), 78, &["bad.toml", "did you mean agents?"]);
    refused(&plan(&|text| format!("{text}[grid]\n")), 78, &["`grid` is empty"]);
    refused(&plan(&|text| text.replace("seeds = 2", "seeds = 500_000")), 64, &["= 1000000 tasks", "--yes"]);
    refused(
        &plan(&|text| text.replace("seeds = 2", "seeds = 500_001")),
        78,
        &["1000002 tasks", "make several"],
    );
    assert!(!dir.0.join("bad").exists(), "nothing was made");
    refused(&dir.ive("sweep plan sweep.toml -o ."), 64, &["not empty and not a sweep"]);
    refused(&dir.ive("sweep plan --experiment toy -o toy"), 64, &["ive reproduce toy"]);
    refused(&dir.ive("sweep task s 4"), 64, &["there is no task 4", "numbered from 0"]);
    refused(&dir.ive("sweep status nowhere"), 64, &["is not a sweep", "ive sweep plan"]);
    refused(&dir.ive("reproduce minatar --from s"), 64, &["not of an experiment"]);
    fs::write(dir.0.join("more.toml"), SWEEP.replace("600", "601")).unwrap();
    refused(&dir.ive("sweep plan more.toml -o s"), 64, &["holds another sweep"]);
    // An engine that is not installed: which command, which package.
    for (engine, words) in
        [("slurm", ["`scontrol`", "apt install slurm-client"]), ("ray", ["python3", "pip install ray"])]
    {
        let mut command = dir.command(&format!("sweep submit s --engine {engine}"));
        let output = command.env("PATH", "/nowhere").env_remove("IVE_PYTHON").output().unwrap();
        assert_eq!(code(&output), 64);
        words
            .iter()
            .for_each(|word| assert!(text(&output.stderr).contains(word), "{}", text(&output.stderr)));
    }
    let path = dir.0.join("s/tasks.jsonl");
    let tasks = fs::read_to_string(&path).unwrap();
    fs::write(&path, tasks.replace("600", "900")).unwrap();
    refused(&dir.ive("sweep task s 0"), 65, &["not the list of tasks that was planned"]);
}

/// No user text reaches a shell unquoted: the job script is run by a real shell.
#[test]
fn strange_names_reach_no_shell() {
    let scratch = Scratch::new("names");
    for (i, name) in cluster::STRANGE.iter().enumerate() {
        let dir = Scratch(scratch.0.join(name));
        fs::create_dir(&dir.0).unwrap();
        let file = SWEEP.replace(
            "seeds = 2",
            "seeds = 1\nvariants = [{ name = '''a 'b' \"c\" $(touch d) β''', batch = 4 }]",
        );
        fs::write(dir.0.join("sweep.toml"), file).unwrap();
        let ive = |args: &[&str]| {
            let mut command = dir.command("");
            command.args(args).output().unwrap()
        };
        succeeds(&ive(&["sweep", "plan", "sweep.toml", "-o", name]));
        let script = ive(&["sweep", "submit", name, "--engine", "slurm", "--dry-run", "--partition", "gpu"]);
        succeeds(&script);
        fs::write(dir.0.join("job.sh"), &script.stdout).unwrap();
        // As Slurm would run it, with the number of a task in the environment.
        let mut bash = Command::new("bash");
        bash.arg("job.sh").current_dir(&dir.0).env("SLURM_ARRAY_TASK_ID", "1").stdin(Stdio::null());
        succeeds(&bash.output().unwrap());
        succeeds(&ive(&["sweep", "submit", name, "--engine", "local"]));
        let csv = ive(&["sweep", "gather", name]);
        succeeds(&csv);
        assert!(text(&csv.stdout).contains("a 'b' \"\"c\"\" $(touch d) β"), "{}", text(&csv.stdout));
        let names: Vec<_> = fs::read_dir(&dir.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{i}: {names:?}");
        std::mem::forget(dir);
    }
    let names: Vec<_> = fs::read_dir(&scratch.0).unwrap().collect();
    assert_eq!(names.len(), cluster::STRANGE.len());
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    let dir =
        planned("full", &SWEEP.replace(", 'minatar:freeway'", "").replace("steps = 600", "steps = 1500"));
    let Some(_disk) = cluster::Disk::mount(&dir.0.join("disk"), "24m") else {
        return cluster::skip("a small disk could not be mounted");
    };
    succeeds(&dir.ive("sweep plan sweep.toml -o disk/s"));
    cluster::fill(&dir.0.join("disk/filler"));
    let output = dir.ive("sweep task disk/s 0");
    let said = text(&output.stderr);
    assert!(code(&output) == 74 && said.contains("No space left"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    fs::remove_file(dir.0.join("disk/filler")).unwrap();
    // Full again as soon as there is a checkpoint: training goes on until somebody asks it to stop.
    let task =
        dir.command("sweep task disk/s 0 --checkpoint-every 0").stderr(Stdio::piped()).spawn().unwrap();
    let run = dir.0.join("disk/s/runs/minatar-breakout/dqn/seed-0");
    wait_for("a checkpoint", || files(&run.join("checkpoints"), ".json") > 0);
    cluster::fill(&dir.0.join("disk/filler"));
    std::thread::sleep(Duration::from_millis(300));
    signal("TERM", task.id());
    let output = task.wait_with_output().unwrap();
    assert!([74, 75].contains(&code(&output)), "{}", text(&output.stderr));
    fs::remove_file(dir.0.join("disk/filler")).unwrap();
    succeeds(&dir.ive("sweep submit disk/s --engine local -j 2"));
    succeeds(&dir.ive("sweep submit s --engine local -j 2"));
    assert_eq!(gathered(&dir, "disk/s"), gathered(&dir, "s"));
}

#[test]
fn an_experiment_made_as_a_sweep_has_the_same_tables_and_verdicts() {
    let dir = Scratch::new("experiment");
    let flags = "--preset smoke --seeds 2 --set games=breakout --set agents=dqn,vpn-v1 --set steps=400";
    succeeds(&dir.ive(&format!("reproduce minatar {flags} --out here")));
    succeeds(&dir.ive(&format!("sweep plan --experiment minatar {flags} -o s")));
    refused(&dir.ive("sweep plan --experiment minatar --preset smoke -o s"), 64, &["other settings"]);
    succeeds(&dir.ive("sweep task s 2"));
    let output = dir.ive("reproduce minatar --from s");
    assert!(
        code(&output) == 75 && text(&output.stderr).contains("3 of 4 results are missing"),
        "{}",
        text(&output.stderr)
    );
    succeeds(&dir.ive("reproduce minatar --from s --partial"));
    let scale = json(&dir.0.join("s/minatar/summary.json"))["scale"].to_string();
    assert!(scale.contains("1 of 4 runs are finished"), "{scale}");
    succeeds(&dir.ive("sweep resume s --engine local -j 2"));
    succeeds(&dir.ive("reproduce minatar --from s"));
    succeeds(&dir.ive(&format!("reproduce minatar {flags} --engine local -j 2 --out one")));
    let summary = |out: &str| {
        let mut summary = json(&dir.0.join(out).join("minatar/summary.json"));
        let about: BTreeMap<String, serde_json::Value> =
            serde_json::from_value(summary.as_object_mut().unwrap().remove("provenance").unwrap()).unwrap();
        assert!(about["settings"]["minatar"]["steps"] == 400);
        summary.to_string()
    };
    assert_eq!(summary("s"), summary("here"));
    assert_eq!(summary("one"), summary("here"));
    for sweep in ["s", "one"] {
        assert!(fs::read_to_string(dir.0.join(sweep).join("report.html")).unwrap().contains("<html"));
    }
    refused(&dir.ive("reproduce trials --from s"), 64, &["a sweep of minatar, not of trials"]);
}

#[test]
fn the_manifest_for_kubernetes_says_that_it_was_not_tried() {
    let dir = planned("kubernetes", SWEEP);
    let output = dir.ive("sweep submit s --engine kubernetes --dry-run --max-parallel 3");
    let yaml = text(&output.stdout);
    for words in ["Not tried on a cluster", "completions: 4", "parallelism: 3", "values: [64, 65, 70, 78]"] {
        assert!(yaml.contains(words), "{yaml}");
    }
}
