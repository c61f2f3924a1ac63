//! Runs as users and batch systems treat them: killed, stopped, started twice.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ive::Rng;
use session::{Scratch, json, refused, text};

/// What is trained: every kind of agent, worlds of different sizes. Large enough that a run takes a second or so.
const PAIRS: [(&str, &str); 4] = [
    ("dqn", "minatar:breakout"),
    ("mu-ive", "minatar:asterix"),
    ("dqn", "minatar:seaquest"),
    ("vpn-v1", "minatar:space_invaders"),
];

fn train(agent: &str, world: &str, dir: &str) -> String {
    // A replay that could take more than 64 MB is a log: checkpoints save only what is new of it.
    let log = if world == "minatar:seaquest" { " --set replay_capacity=1000000" } else { "" };
    format!(
        "train {agent} --env {world} --preset smoke --steps 1200 --greedy-episodes 3 --seed 7 --run {dir}{log}"
    )
}

/// What must not depend on interruptions: the metrics, the result, the hash of the final state.
#[derive(Debug, PartialEq)]
struct Essence {
    metrics: String,
    result: String,
    state: String,
}

impl Essence {
    fn of(run: &Path) -> Self {
        let result = json(&run.join("result.json"));
        let payload = format!("checkpoints/{:012}.safetensors", result["steps"].as_u64().unwrap());
        let state = blake3::hash(&std::fs::read(run.join(payload)).unwrap()).to_string();
        let names = std::fs::read_dir(run.join("checkpoints")).unwrap().map(|e| e.unwrap().file_name());
        let log = names.into_iter().any(|name| name.to_str().unwrap().ends_with(".segment"));
        assert_eq!(log, run.display().to_string().contains("seaquest"), "a log has segments");
        assert_eq!(result["state"] == state.as_str(), !log, "the hash of a log belongs to that of the state");
        let read = |name| std::fs::read_to_string(run.join(name)).unwrap();
        Self { metrics: read("metrics.jsonl"), result: read("result.json"), state }
    }
}

/// Whether a checkpoint is in the middle of being written.
fn is_saving(run: &Path) -> bool {
    let entries = std::fs::read_dir(run.join("checkpoints")).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
    let orphan = |name: &String| {
        let step = name.strip_suffix(".safetensors");
        step.is_some_and(|step| !names.contains(&format!("{step}.json")))
    };
    names.iter().any(|name| name.strip_suffix(".tmp").is_some() || orphan(name))
}

/// Kills runs of one pair at random moments, every third at the next save after that. Returns how many kills there were
/// and how many hit a save.
fn torment(dir: &Scratch, (agent, world): (&str, &str), kills: usize, rng: &mut Rng) -> (usize, usize) {
    let name = format!("{agent}-{}", world.rsplit(':').next().unwrap());
    let undisturbed = dir.ive(&train(agent, world, &format!("{name}-reference")));
    assert!(undisturbed.status.success(), "{}", text(&undisturbed.stderr));
    let expected = Essence::of(&dir.0.join(format!("{name}-reference")));
    let (mut killed, mut inside, mut attempt) = (0, 0, 0);
    while killed < kills {
        attempt += 1;
        let run = format!("{name}-{attempt}");
        let path = dir.0.join(&run);
        let line = train(agent, world, &run) + " --checkpoint-every 0";
        // Lives become longer, so that a slow machine gets to the end, too.
        for life in 0.. {
            if path.join("result.json").exists() {
                break;
            }
            let mut child = dir.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let start = Instant::now();
            let patience = (0.4 + 0.05 * f64::from(life)) * rng.uniform();
            let mut status = finishes_within(&mut child, || start.elapsed().as_secs_f64() < patience);
            if status.is_none() && rng.below(3) == 0 {
                status = finishes_within(&mut child, || !is_saving(&path));
            }
            if let Some(status) = status {
                let error = text(&child.wait_with_output().unwrap().stderr);
                assert!(status.success(), "{run}: {error}");
                continue;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            if !path.join("result.json").exists() {
                killed += 1;
                inside += usize::from(is_saving(&path));
            }
        }
        assert_eq!(Essence::of(&path), expected, "{run}");
        std::fs::remove_dir_all(path).unwrap();
    }
    (killed, inside)
}

/// How a process ends, if it does while we wait.
fn finishes_within(child: &mut Child, wait: impl Fn() -> bool) -> Option<ExitStatus> {
    while wait() {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    child.try_wait().unwrap()
}

/// The number of kills and the seed can be set, to look longer or to look again.
fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn killed_runs_end_as_if_nothing_had_happened() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = from_environment("IVE_KILL_SEED", now);
    let kills = from_environment("IVE_KILLS", 100) as usize;
    println!("IVE_KILL_SEED={seed} IVE_KILLS={kills}");
    let (dir, start) = (Scratch::new("kill"), Instant::now());
    // Two at a time.
    let halves = std::thread::scope(|scope| {
        let half = |half: usize| {
            let dir = &dir;
            scope.spawn(move || {
                let mut rng = Rng::from_seed(seed).fold_in(half as u64);
                [half, half + 2].map(|i| torment(dir, PAIRS[i], kills.div_ceil(4), &mut rng))
            })
        };
        [half(0), half(1)].map(|thread| thread.join().expect("the seed is printed above"))
    });
    let (killed, inside) =
        halves.into_iter().flatten().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    println!("{killed} kills, {inside} of them in a save, {:.0} s", start.elapsed().as_secs_f64());
    assert!(killed >= kills && 10 * inside >= killed, "{killed} kills, {inside} of them in a save");
}

/// A run that is under way: this process works on it, and there are metrics.
fn under_way(dir: &Scratch, line: &str, run: &str) -> Child {
    let child = dir.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |name| std::fs::read_to_string(dir.0.join(run).join(name)).unwrap_or_default();
    let (holder, start) = (format!("process {} ", child.id()), Instant::now());
    while !read("LOCK").contains(&holder) || read("metrics.jsonl").is_empty() {
        assert!(start.elapsed() < Duration::from_mins(1), "no metrics");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn stopped_runs_save_and_go_on_from_the_directory_alone() {
    let dir = Scratch::new("stop");
    let reference = dir.ive(&train("mu-ive", "minatar:breakout", "reference"));
    assert!(reference.status.success());
    // Checkpoints are far apart, so that what is saved is saved because of the signal.
    let line = train("mu-ive", "minatar:breakout", "run");
    for signal in ["-TERM", "-USR1", "-INT"] {
        let child = under_way(&dir, &line, "run");
        let start = Instant::now();
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_mins(1), "{signal} took {:?}", start.elapsed());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{signal}: {error}");
        assert!(error.contains("everything is saved; resume with: ive runs resume run"), "{error}");
        let status = &json_of(&dir, "runs list run --json")[0];
        assert_eq!(status["state"], "resumable");
        assert!(status["step"].as_u64().unwrap() > 0);
    }
    let output = dir.ive("runs resume run");
    assert!(
        output.status.success() && text(&output.stderr).contains("resumes at step"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(Essence::of(&dir.0.join("run")), Essence::of(&dir.0.join("reference")));
    let shown = text(&dir.ive("runs show run").stdout);
    for word in ["run: done", "agent = \"mu-ive\"", "return_100", "stopped", "finished", "run/result.json"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let sessions = json_of(&dir, "runs show run --json")["sessions"].as_array().unwrap().len();
    assert_eq!(sessions, 4);
}

fn json_of(dir: &Scratch, line: &str) -> serde_json::Value {
    let output = dir.ive(line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}: {}", text(&output.stderr)))
}

#[test]
fn a_second_process_is_refused_and_a_finished_run_is_shown_again() {
    let dir = Scratch::new("second");
    let line = train("dqn", "minatar:breakout", "runs/one");
    let mut first = under_way(&dir, &line, "runs/one");
    // It stands still, so that it does not finish meanwhile.
    send("-STOP", &first);
    let start = Instant::now();
    let second = dir.ive(&line);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    if first.try_wait().unwrap().is_none() {
        let holder = format!("process {} on ", first.id());
        refused(&second, 73, &["another `ive` is writing to runs/one", &holder]);
        assert!(text(&dir.ive("runs list").stdout).contains("running"));
    }
    send("-CONT", &first);
    assert!(first.wait().unwrap().success());
    let again = dir.ive(&format!("{line} --json"));
    let shown: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    let mut written = json(&dir.0.join("runs/one/result.json"));
    written.as_object_mut().unwrap().remove("blake3");
    assert_eq!(shown, written, "all but the checksum of the file");
    assert_eq!(again.stderr, b"");
    let list = text(&dir.ive("runs list").stdout);
    assert!(list.contains("1200/1200") && list.contains("done"), "{list}");
    refused(
        &dir.ive(&line.replace("--seed 7", "--seed 8")),
        64,
        &["runs/one is a run with other settings", "seed 7 → 8"],
    );
}

#[test]
fn mistakes_are_refused_with_the_nearest_name_before_anything_is_written() {
    let dir = Scratch::new("mistakes");
    let cases = [
        ("train dqm --env minatar:breakout", 64, "there is no agent `dqm`; did you mean dqn?"),
        ("train dqn --env minatar:brakeout", 64, "did you mean minatar:breakout?"),
        ("train dqn --env minatar:breakout -o stiky=0", 64, "sticky"),
        ("train dqn --env minatar:breakout -o rng=numpy", 64, "at most 4294967295 with rng=numpy"),
        ("train vpn --env minatar:breakout --preset paper", 64, "did you mean paper-literal?"),
        ("train vpn --env minatar:breakout --device gpu", 64, "device must be one of cpu, engine"),
        (
            "train vpn --env minatar:breakout --set learning_rat=1",
            78,
            "did you mean learning_rate, learning_rate_decay",
        ),
        ("train vpn --env minatar:breakout --set learning_rate=-1", 78, "learning_rate must lie between"),
        (
            "train vpn --env minatar:breakout --set weights=[]",
            78,
            "weights must name between 1 and 16 depths",
        ),
        ("train vpn --env minatar:breakout --config absent.toml", 74, "cannot read absent.toml"),
        ("runs show nothing", 64, "nothing is not a run: it does not exist"),
        ("runs list nothing", 74, "cannot read nothing"),
    ];
    for (line, code, words) in cases {
        refused(&dir.ive(line), code, &[words]);
    }
    std::fs::write(dir.0.join("x.toml"), "[dqn]\nbatch = 64\n[dpn]\n").unwrap();
    refused(
        &dir.ive("train dqn --env minatar:breakout --config x.toml"),
        78,
        &["x.toml: there is no agent `dpn`"],
    );
    std::fs::write(dir.0.join("x.toml"), "[dqn]\nbatch = 64\n").unwrap();
    let dry =
        dir.ive("train dqn --env minatar:breakout --config x.toml --set discount=0.9 --steps 5000 --dry-run");
    let shown = text(&dry.stdout);
    for word in
        ["# runs/breakout-dqn-0", "batch = 64", "discount = 0.9", "steps = 5000", "replay_capacity = 100000"]
    {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    assert!(!dir.0.join("runs").exists());
}

/// Settings are checked without an agent that plays: `random_steps = 15` once collected for ever, and 10⁹ steps before
/// there was a signal handler.
#[test]
fn settings_are_checked_at_once_and_what_takes_too_much_is_refused() {
    let dir = Scratch::new("checks");
    let vpn = "train mu-ive --env minatar:breakout";
    let start = Instant::now();
    for line in [
        format!("{vpn} --set random_steps=15 --dry-run"),
        format!("{vpn} --preset paper-literal --set window=7 --dry-run"),
        format!("{vpn} --set random_steps=10000000 --dry-run"),
    ] {
        let output = dir.ive(&line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    }
    let trees = "--set worlds=4096 --set replay=3 --set branching=[6,6,6,6,6]";
    for (line, words) in [
        (format!("{vpn} --set random_steps=1000000000"), "random_steps must lie between 0 and 10000000"),
        (format!("{vpn} {trees} --dry-run"), "branching would take 34.8 GB of memory"),
        (
            "train dqn --env minatar:breakout --set replay_capacity=1000000000".to_owned(),
            "would take 276.0 GB",
        ),
        (
            format!("{vpn} --greedy-episodes 1000000000000000000"),
            "greedy_episodes: 1000000000000000000 is outside",
        ),
        ("reproduce trials --preset smoke --set base=random_steps=1000000000".to_owned(), "random_steps"),
    ] {
        refused(&dir.ive(&line), 78, &[words]);
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    assert!(!dir.0.join("runs").exists());
    let odd = "train mu-ive --env minatar:breakout --preset smoke --steps 100 --greedy-episodes 1 --set random_steps=15";
    let output = dir.ive(&format!("{odd} --run odd"));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A long collection of random steps is part of the run: it can be stopped, and goes on.
#[test]
fn collecting_random_steps_can_be_stopped() {
    let dir = Scratch::new("collect");
    let line = "train mu-ive --env minatar:breakout --preset smoke --set random_steps=10000000 --run run";
    let child = dir.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !dir.0.join("run/sessions.jsonl").exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "it did not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    send("-TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("stopped at step 0 of 2000"), "{}", text(&output.stderr));
    assert_eq!(json_of(&dir, "runs list run --json")[0]["state"], "resumable");
}

#[test]
fn a_finished_run_is_made_longer_as_if_it_had_been_planned_so() {
    let dir = Scratch::new("extend");
    let line = |agent: &str, steps: u64, run: &str| {
        let smoke = format!("train {agent} --env minatar:breakout --preset smoke --set log_every=100");
        format!("{smoke} --steps {steps} --greedy-episodes 3 --run {run}")
    };
    for (steps, run) in [(900, "long"), (500, "short")] {
        assert!(dir.ive(&line("dqn", steps, run)).status.success());
    }
    let longer = dir.ive(&line("dqn", 900, "short"));
    refused(&longer, 64, &["steps 500 → 900", "`ive runs extend short --steps 900` makes it longer"]);
    refused(&dir.ive("runs extend short --steps 500"), 64, &["has 500 steps already"]);
    let output = dir.ive("runs extend short --steps 900");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (long, short) = (Essence::of(&dir.0.join("long")), Essence::of(&dir.0.join("short")));
    assert_eq!((&long.metrics, &long.state), (&short.metrics, &short.state));
    let config = std::fs::read_to_string(dir.0.join("short/config.toml")).unwrap();
    assert!(config.contains("extended = [500]") && config.contains("steps = 900"), "{config}");
    // The command that would have planned it so finds it finished.
    assert!(dir.ive(&line("dqn", 900, "short")).status.success());

    assert!(dir.ive(&line("mu-ive", 160, "vpn")).status.success());
    let words = ["exploration_fraction refers to the number of steps", "ive train", "--keep-schedules"];
    refused(&dir.ive("runs extend vpn --steps 320"), 78, &words);
    let output = dir.ive("runs extend vpn --steps 320 --keep-schedules");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let config = std::fs::read_to_string(dir.0.join("vpn/config.toml")).unwrap();
    assert!(config.contains("schedule_steps = 160"), "{config}");
}

/// A run that is killed soon after it began is not lost, although checkpoints are a minute apart.
#[test]
fn the_first_checkpoint_comes_after_five_seconds() {
    let dir = Scratch::new("first");
    let line = "train dqn --env minatar:breakout --preset smoke --steps 1000000000 --run run --json";
    let mut child = dir.command(line).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let saved = || {
        let names = std::fs::read_dir(dir.0.join("run/checkpoints")).into_iter().flatten().flatten();
        names.into_iter().any(|entry| entry.path().extension().is_some_and(|e| e == "json"))
    };
    while !saved() && start.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = start.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(saved() && after >= Duration::from_secs(5), "the first checkpoint came after {after:?}");
    assert!(json_of(&dir, "runs list run --json")[0]["step"].as_u64().unwrap() > 0);
}

/// Where TensorBoard is installed, it reads what we write. With IVE_REQUIRE_TENSORBOARD=1 it must be installed;
/// IVE_PYTHON names the Python that has it.
#[test]
fn tensorboard_reads_the_event_file() {
    let python = std::env::var("IVE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import tensorboard"]).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        assert!(std::env::var("IVE_REQUIRE_TENSORBOARD").is_err(), "{python} has no package tensorboard");
        println!("skipped: {python} has no package tensorboard");
        return;
    }
    let dir = Scratch::new("tensorboard");
    assert!(dir.ive(&train("vpn-v5", "minatar:breakout", "run")).status.success());
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/read_events.py");
    let output = Command::new(&python).arg(script).arg(dir.0.join("run")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("return_100"), "{}", text(&output.stdout));
}
