//! Directories that are not ours to write to, and checkpoints that are not ours to use.

use std::time::Instant;

use super::*;
use crate::lock::lock;
use crate::run::checkpoint::FOLDER;
use crate::run::manifest::Manifest;
use crate::run::status::{State, Status};

fn refused(outcome: Outcome<Option<Finished>>, code: u8, words: &[&str]) {
    let failure = outcome.unwrap_err();
    assert_eq!(failure.code, code, "{}", failure.message);
    words.iter().for_each(|w| assert!(failure.message.contains(w), "`{w}` is not in `{}`", failure.message));
}

/// A run that is not finished, in a directory of its own.
fn half_done() -> tempfile::TempDir {
    let dir = finished_run(&[]);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    dir
}

#[test]
fn a_second_process_is_refused_at_once_and_told_by_whom() {
    let dir = half_done();
    let held = lock(dir.path(), "").unwrap();
    let start = Instant::now();
    let me = format!("process {} on ", std::process::id());
    refused(go(dir.path(), &plan(&[]), &options()), 73, &["another `ive`", &me]);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(Status::of(dir.path()).state, State::Running);
    drop(held);
    // The file is still there, the lock is not.
    assert_eq!(Status::of(dir.path()).state, State::Resumable);
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(Status::of(dir.path()).state, State::Done);
}

#[test]
fn other_plans_are_refused_with_what_differs() {
    let dir = finished_run(&[]);
    let mut other = plan(&["rate=0.25"]);
    refused(go(dir.path(), &other, &options()), 64, &["settings.rate 0.5 → 0.25"]);
    other = Plan { seed: 4, world: "minatar:freeway".into(), ..plan(&[]) };
    let differences = ["seed 3 → 4", "\"minatar:breakout\" → \"minatar:freeway\""];
    refused(go(dir.path(), &other, &options()), 64, &differences);
    let fewer = Plan { greedy_episodes: 2, ..plan(&[]) };
    refused(go(dir.path(), &fewer, &options()), 64, &["greedy_episodes 3 → 2"]);
    let stranger = scratch();
    fs::write(stranger.path().join("thesis.tex"), "").unwrap();
    refused(go(stranger.path(), &plan(&[]), &options()), 64, &["is not empty and not a run", "thesis.tex"]);
}

/// A run from before there was a setting means its default, and its file stays what it is.
#[test]
fn a_run_that_is_older_than_a_setting_is_still_that_run() {
    let (dir, disk) = (scratch(), Disk::default());
    let request =
        Request { agent: "muesli", preset: "smoke", world: "minatar:breakout", ..Request::default() };
    let new = agents::resolve(&request).unwrap();
    let mut old = new.clone();
    for key in ["optimism", "optimism_signal", "optimism_beta", "optimism_depth"] {
        old.settings.remove(key).unwrap();
    }
    old.clone().settle(dir.path(), &disk).unwrap();
    assert_eq!(new.clone().settle(dir.path(), &disk).unwrap(), old);
    let mut other = new;
    other.settings["optimism"] = toml::Value::String("logit".into());
    let said = other.settle(dir.path(), &disk).unwrap_err().message;
    assert!(said.contains("other settings") && said.contains("optimism"), "{said}");
}

#[test]
fn a_changed_or_damaged_configuration_is_noticed() {
    let dir = half_done();
    let path = dir.path().join("config.toml");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replace("rate = 0.5", "rate = 0.25")).unwrap();
    let changed = plan(&["rate=0.25"]);
    refused(
        go(dir.path(), &changed, &options()),
        78,
        &["belongs to another run", "settings.rate 0.5 → 0.25"],
    );
    assert_eq!(Status::of(dir.path()).state, State::Damaged);
    for text in ["", "agent = ", &good.replace("seed = 3", "sead = 3"), &format!("{good}\n[extra]\nx = 1\n")]
    {
        fs::write(&path, text).unwrap();
        refused(go(dir.path(), &plan(&[]), &options()), 65, &["config.toml is damaged"]);
        assert_eq!(Status::of(dir.path()).state, State::Damaged);
    }
    fs::write(&path, good).unwrap();
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
}

/// Changes the newest manifest and seals it again, as another program would have written it.
fn forge(dir: &Path, change: impl Fn(&mut Manifest)) {
    let path = dir.join(FOLDER).join("000000001000.json");
    let mut manifest = Manifest::read(&Disk::default(), &path).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_bytes().unwrap()).unwrap();
}

#[test]
fn checkpoints_of_another_version_agent_or_world_are_refused_and_left_alone() {
    type Forgery = (fn(&mut Manifest), u8, &'static [&'static str]);
    let forgeries: [Forgery; 4] = [
        (|m| m.format = 3, 65, &["format version 3", "reads versions 1 and 2", "wrote it (ive "]),
        (|m| m.run.agent = "dqn".into(), 78, &["agent \"dqn\" → \"fake\""]),
        (|m| m.run.world = "minatar:freeway".into(), 78, &["minatar:freeway"]),
        (|m| m.run.seed = 9, 78, &["seed 9 → 3"]),
    ];
    for (change, code, words) in forgeries {
        let dir = half_done();
        forge(dir.path(), change);
        let before = names(dir.path());
        refused(go(dir.path(), &plan(&[]), &options()), code, words);
        assert_eq!(names(dir.path()), before, "nothing is deleted");
    }
    // A manifest under the name of another step, or with files that are none of ours, is damage: the older checkpoint is used.
    let damages: [fn(&mut Manifest); 4] = [
        |m| m.step = 999,
        |m| m.format = 1,
        |m| m.files.retain(|name, _| !name.ends_with(".safetensors")),
        |m| m.files.extend([("../config.toml".to_owned(), m.logs.values().next().unwrap().clone())]),
    ];
    for damage in damages {
        let dir = half_done();
        forge(dir.path(), damage);
        go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    }
}

#[test]
fn requests_are_refused_with_the_nearest_name() {
    let request = |agent, world, preset, change: &str| {
        let changes: Vec<Change> = change.split_whitespace().map(|c| Change::parse(c).unwrap()).collect();
        let request = Request { agent, world, preset, changes: &changes, ..Request::default() };
        let failure = resolve(&request).and_then(|plan| agents::make(&plan).map(|_| ())).unwrap_err();
        (failure.code, failure.message)
    };
    let cases = [
        (request("fkae", "minatar:breakout", "", ""), 64, "did you mean fake?"),
        (request("fake", "minatar:brekout", "", ""), 64, "did you mean minatar:breakout?"),
        (
            request("fake", "minatar:breakout", "defualt", ""),
            64,
            "fake has no preset `defualt`; did you mean default?",
        ),
        (request("fake", "minatar:breakout", "", "ruond=3"), 78, "did you mean round?"),
        (request("fake", "minatar:breakout", "", "round=0"), 78, "fake: round must be positive, got 0"),
        (request("fake", "minatar:breakout", "", "steps=0"), 78, "steps: 0 is not a number of steps"),
        (request("fake", "minatar:breakout", "", "rate=nan"), 78, "rate: nan is not a finite number"),
    ];
    for ((found, message), code, words) in cases {
        assert!(found == code && message.contains(words), "{found} {message}");
    }
}
