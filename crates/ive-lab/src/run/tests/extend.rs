//! Runs that are made longer: as if they had been planned so, or not at all.

use super::*;
use crate::lock::lock;
use crate::run::status::{State, Status};

/// Metrics and final state, which must not depend on how a run came to its length.
fn grown(dir: &Path) -> ([Vec<u8>; 2], Vec<f64>) {
    let [_, metrics, payload] = essence(dir);
    ([metrics, payload], finished(dir).unwrap().unwrap().greedy)
}

#[test]
fn a_run_that_is_made_longer_ends_as_if_it_had_been_planned_so() {
    let reference = finished_run(&[]);
    let dir = finished_run(&["steps=370"]);
    let short = fs::read(dir.path().join(RESULT)).unwrap();
    for steps in [500, 1000] {
        let before = Plan::read(dir.path()).unwrap();
        let longer = extend(dir.path(), steps, false).unwrap();
        assert_eq!((longer.steps, longer.schedule_steps), (steps, None));
        assert!(longer.is_or_was(&before) && !before.is_or_was(&longer));
        // A kill before the old result is removed: it is the result of a shorter run, hence none.
        if steps == 500 {
            fs::write(dir.path().join(RESULT), &short).unwrap();
        }
        let status = Status::of(dir.path());
        assert_eq!((status.state, status.step), (State::Resumable, before.steps));
        let finished = go(dir.path(), &plan(&[&format!("steps={steps}")]), &options()).unwrap().unwrap();
        assert_eq!((finished.steps, &finished.run), (steps, &longer));
        let first = go(dir.path(), &plan(&["steps=370"]), &options()).unwrap_err();
        assert_eq!(first.code, 64, "{}", first.message);
    }
    assert_eq!(Plan::read(dir.path()).unwrap().extended, [370, 500]);
    assert_eq!(grown(dir.path()), grown(reference.path()));
    super::events::agree_with_metrics(dir.path());
}

#[test]
fn a_run_in_the_middle_can_be_made_longer_and_killed_meanwhile() {
    let reference = finished_run(&[]);
    let dir = finished_run(&["steps=400"]);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    extend(dir.path(), 1000, false).unwrap();
    // The newest checkpoint is lost: the older one, of the shorter run as well, is gone on with.
    fs::write(dir.path().join("checkpoints/000000000400.safetensors"), "").unwrap();
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(grown(dir.path()), grown(reference.path()));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let dir = finished_run(&[]);
    let before = (essence(dir.path()), fs::read(dir.path().join("config.toml")).unwrap());
    let refused = |outcome: Outcome<Plan>, code, words: &str| {
        let failure = outcome.unwrap_err();
        assert!(failure.code == code && failure.message.contains(words), "{}", failure.message);
    };
    for steps in [0, 999, 1000] {
        refused(extend(dir.path(), steps, false), 64, "has 1000 steps already");
    }
    refused(extend(dir.path(), u64::MAX, false), 78, "is not a number of steps");
    let held = lock(dir.path(), "").unwrap();
    refused(extend(dir.path(), 2000, false), 73, "another `ive`");
    drop(held);
    let failure = go(dir.path(), &plan(&["steps=2000"]), &options()).unwrap_err();
    assert!(failure.message.contains("ive runs extend") && failure.code == 64, "{}", failure.message);
    assert_eq!((essence(dir.path()), fs::read(dir.path().join("config.toml")).unwrap()), before);
    for name in ["000000000950", "000000001000"] {
        fs::write(dir.path().join(format!("checkpoints/{name}.safetensors")), "").unwrap();
    }
    refused(extend(dir.path(), 2000, false), 65, "no checkpoint");
    assert_eq!(fs::read(dir.path().join("config.toml")).unwrap(), before.1);
}

/// Exploration of a value prediction network falls over a share of all steps. Kept as it is, the longer run is the one that
/// would have been planned longer with the schedule of the shorter one, bit by bit.
#[test]
fn schedules_that_refer_to_the_number_of_steps_are_refused_or_kept() {
    let plan = |steps: u64, changes: &[&str]| {
        let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
        let (agent, world, preset) = ("mu-ive", "minatar:breakout", "smoke");
        let (steps, changes) = (Some(steps), &changes[..]);
        let greedy_episodes = Some(3);
        let request = Request { agent, preset, world, steps, changes, greedy_episodes, ..Request::default() };
        resolve(&request).unwrap()
    };
    let dir = scratch();
    go(dir.path(), &plan(160, &[]), &options()).unwrap().unwrap();
    let failure = extend(dir.path(), 320, false).unwrap_err();
    assert_eq!(failure.code, 78);
    for word in ["exploration_fraction refers to the number of steps", "followed 160", "--keep-schedules"] {
        assert!(failure.message.contains(word), "`{word}` is not in `{}`", failure.message);
    }
    let longer = extend(dir.path(), 320, true).unwrap();
    assert_eq!((longer.schedule_steps, &longer.extended[..]), (Some(160), &[160][..]));
    go(dir.path(), &longer, &options()).unwrap().unwrap();
    let again = extend(dir.path(), 400, true).unwrap();
    assert_eq!((again.schedule_steps, &again.extended[..]), (Some(160), &[160, 320][..]));
    go(dir.path(), &again, &options()).unwrap().unwrap();
    let planned = scratch();
    go(planned.path(), &again, &options()).unwrap().unwrap();
    assert_eq!(grown(dir.path()), grown(planned.path()));
    let other = scratch();
    go(other.path(), &plan(400, &[]), &options()).unwrap().unwrap();
    assert_ne!(grown(dir.path()), grown(other.path()), "the schedule makes a difference");

    // Without such schedules it needs no word, and with a rate that has fallen to zero there is nothing to keep.
    for (change, keep, works) in [
        ("exploration_fraction=0", false, true),
        ("learning_rate_linear=true", false, false),
        ("learning_rate_linear=true", true, false),
    ] {
        let dir = scratch();
        plan(160, &[change]).settle(dir.path(), &Disk::default()).unwrap();
        let extended = extend(dir.path(), 320, keep);
        assert_eq!(extended.is_ok(), works, "{change}, {extended:?}");
        assert!(works || extended.unwrap_err().message.contains("reaches zero at step 160"));
    }

    // The same for a rate that falls to zero by another name.
    let muesli = |changes: &[&str]| {
        let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
        let (agent, world, preset) = ("muesli", "minatar:breakout", "smoke");
        let request = Request { agent, preset, world, changes: &changes, ..Request::default() };
        let dir = scratch();
        let plan = resolve(&request).unwrap();
        let longer = 2 * plan.steps;
        plan.settle(dir.path(), &Disk::default()).unwrap();
        extend(dir.path(), longer, true)
    };
    assert!(muesli(&["learning_rate_final=1e-4"]).is_ok());
    let refused = muesli(&[]).unwrap_err().message;
    assert!(refused.contains("with learning_rate_final its learning rate reaches zero"), "{refused}");
}
