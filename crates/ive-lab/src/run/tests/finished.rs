//! Finished runs: every damage to what they leave is noticed, and results of other runs are refused.

use super::*;
use crate::run::status::{State, Status};

/// What everybody who asks for the result is told: the result itself, `ive runs`, and whoever would go on.
fn refused(dir: &Path, plan: &Plan, what: &str) -> Failure {
    let failure = finished(dir).err().unwrap_or_else(|| panic!("{what} was not noticed"));
    assert_eq!(Status::of(dir).state, State::Damaged, "{what}");
    assert_eq!(go(dir, plan, &options()).unwrap_err(), failure, "{what}");
    failure
}

#[test]
fn every_damage_of_a_finished_run_is_noticed() {
    let changes = ["steps=300"];
    let (dir, plan) = (finished_run(&changes), plan(&changes));
    let mut mutations = 0;
    for (name, advice) in [(RESULT, "`ive runs resume` makes it again"), (METRICS, "back from a copy")] {
        let path = dir.path().join(name);
        let good = fs::read(&path).unwrap();
        let mut check = |bytes: &[u8], what: String| {
            fs::write(&path, bytes).unwrap();
            let failure = refused(dir.path(), &plan, &format!("{name}, {what}"));
            assert_eq!(failure.code, 65, "{}", failure.message);
            assert!(failure.message.contains(advice), "{}", failure.message);
            mutations += 1;
        };
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[i] ^= 1 << bit;
                check(&bytes, format!("bit {bit} of byte {i}"));
            }
            check(&good[..i], format!("cut to {i} bytes"));
        }
        for more in [" ", "\n", "}"] {
            check(&[&good[..], more.as_bytes()].concat(), format!("with {more:?} at the end"));
        }
        // A line twice, which every reader of lines would accept.
        check(&[&good[..], &good[..]].concat(), "twice".to_owned());
        fs::write(&path, good).unwrap();
    }
    assert!(mutations > 8000, "only {mutations} mutations");
    assert_eq!(Status::of(dir.path()).state, State::Done);
    fs::remove_file(dir.path().join(METRICS)).unwrap();
    refused(dir.path(), &plan, "no metrics");
}

#[test]
fn results_of_other_runs_are_refused_with_what_differs() {
    let dir = finished_run(&[]);
    let other = finished_run(&["rate=0.25"]);
    fs::copy(other.path().join(RESULT), dir.path().join(RESULT)).unwrap();
    let failure = refused(dir.path(), &plan(&[]), "the result of another rate");
    let words = "is the result of another run than config.toml says (settings.rate 0.25 → 0.5)";
    assert!(failure.code == 78 && failure.message.contains(words), "{}", failure.message);
}

/// Results without a checksum are refused, and made again from the last checkpoint.
#[test]
fn results_of_older_versions_are_refused_and_made_again() {
    let dir = finished_run(&[]);
    let before = essence(dir.path());
    let old = serde_json::json!({ "agent": "fake", "world": "minatar:breakout", "seed": 3, "steps": 1000,
        "return_100": 0.5, "greedy": [1.0], "last": {}, "state": "" });
    fs::write(dir.path().join(RESULT), crate::store::pretty(&old)).unwrap();
    let failure = refused(dir.path(), &plan(&[]), "a result without a checksum");
    let words = "written by a version without checksums; delete it, and `ive runs resume` makes it again";
    assert!(failure.message.contains(words), "{}", failure.message);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(essence(dir.path()), before);
}

#[test]
fn too_many_greedy_episodes_are_refused_before_anything_is_written() {
    let dir = scratch();
    let run = dir.path().join("run");
    for greedy_episodes in [100_001, 1_000_000_000_000_000_000, usize::MAX] {
        let plan = Plan { greedy_episodes, ..plan(&[]) };
        assert_eq!(plan.check().unwrap_err().code, 78);
        let failure = go(&run, &plan, &options()).unwrap_err();
        assert!(failure.code == 78 && failure.message.contains("0 to 100000"), "{}", failure.message);
        assert!(!run.exists());
    }
}

/// Short runs have learning curves of fifty points, unless somebody says otherwise; long ones log as the preset says.
#[test]
fn learning_curves_of_short_runs_have_fifty_points() {
    let every = |points: u64, steps: u64, changes: &[&str]| {
        let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
        let (steps, changes) = (Some(steps), &changes[..]);
        let world = "minatar:breakout";
        let plan = resolve(&Request { agent: "dqn", world, steps, changes, points, ..Request::default() });
        plan.unwrap().settings["log_every"].as_integer().unwrap()
    };
    assert_eq!(every(50, 30_000, &[]), 600);
    assert_eq!(every(50, 2_000_000, &[]), 10_000);
    assert_eq!(every(50, 10, &[]), 1);
    assert_eq!(every(50, 30_000, &["log_every=5000"]), 5000);
    assert_eq!(every(0, 30_000, &[]), 10_000);
}

/// What is left of a finished run without its checkpoints is all that reports need: it can be carried to another machine.
#[test]
fn a_finished_run_without_its_checkpoints_is_finished() {
    let (dir, carried) = (finished_run(&[]), scratch());
    for name in ["config.toml", RESULT, METRICS, "sessions.jsonl"] {
        fs::copy(dir.path().join(name), carried.path().join(name)).unwrap();
    }
    assert_eq!(Status::of(carried.path()).state, State::Done);
    let (here, there) =
        [dir.path(), carried.path()].map(|run| go(run, &plan(&[]), &options()).unwrap()).into();
    assert!(here.is_some() && here == there);
    assert_eq!(metrics(dir.path()).unwrap(), metrics(carried.path()).unwrap());
    let mut left: Vec<String> = fs::read_dir(carried.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["config.toml", METRICS, RESULT, "sessions.jsonl"], "nothing is written");
    // Another run is not taken for it.
    assert_eq!(go(carried.path(), &plan(&["rate=0.25"]), &options()).unwrap_err().code, 64);
}
