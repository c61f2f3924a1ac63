//! Interruptions: each operation of the disk fails, in every way; the run goes on to the same end.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::faults::{Fault, Faults};
use super::*;
use crate::run::checkpoint::Checkpoints;

const CHANGES: &[&str] = &["steps=200"];

fn failing(script: impl Fn(usize, &Path) -> Option<Fault> + Send + Sync + 'static) -> RunOptions {
    RunOptions { disk: Faults::new(script).disk(), retry_every: Duration::ZERO, ..options() }
}

/// The newest good checkpoint of a directory, of which none may be damaged.
fn newest(dir: &Path) -> Option<u64> {
    let config = Plan::read(dir).ok()?;
    let mut checkpoints = Checkpoints::of(dir, &Disk::default());
    let good = checkpoints.load(&config, |_| Ok(()), |what| panic!("{}: {what}", dir.display())).unwrap();
    good.map(|checkpoint| checkpoint.manifest.step)
}

/// Runs in copies of `from`, each with faults of its own: whatever operation fails, reads included, the old or the new
/// checkpoint is there, the message names file and cause, and going on leads to the same end.
fn torment(from: &Path, killed_at_first_save: bool) {
    let expected = essence(finished_run(CHANGES).path());
    let old = newest(from);
    let counting = Faults::new(|_, _| None);
    let options = RunOptions { retry_every: Duration::ZERO, ..options() };
    go(copy(from).path(), &plan(CHANGES), &RunOptions { disk: counting.disk(), ..options.clone() }).unwrap();
    let operations = counting.count();
    assert!(operations > 100, "{operations} operations");
    let (mut failed, mut continued) = (0, 0);
    for n in 0..operations {
        let at = |fault| Faults::new(move |i, _| (i == n).then_some(fault));
        let faults = [
            ("full", at(Fault::Full)),
            ("device", at(Fault::Device)),
            ("descriptors", at(Fault::Descriptors)),
            ("short", at(Fault::Short)),
            ("killed", Faults::new(move |i, _| (i >= n).then_some(Fault::Device))),
        ];
        for (name, faults) in faults {
            let dir = copy(from);
            let faults = if killed_at_first_save { killed_later(faults) } else { faults };
            let outcome =
                go(dir.path(), &plan(CHANGES), &RunOptions { disk: faults.disk(), ..options.clone() });
            let (context, here) = (format!("operation {n}, {name}"), dir.path().display().to_string());
            match outcome {
                Ok(_) => continued += 1,
                Err(Failure { code, message }) => {
                    assert!(code == 74 && message.contains("os error"), "{context}: {code} {message}");
                    assert!(message.contains(&here), "{context}: {message}");
                    failed += 1;
                }
            }
            assert!(newest(dir.path()) >= old, "{context}: a checkpoint is lost");
            go(dir.path(), &plan(CHANGES), &super::options()).unwrap().unwrap();
            assert_eq!(essence(dir.path()), expected, "{context}");
            super::events::agree_with_metrics(dir.path());
            let left = names(dir.path());
            assert_eq!(left, needed(dir.path()), "{context}");
            let manifests = left.iter().filter(|name| super::is_manifest(name)).count();
            assert_eq!(manifests, 2, "two generations after {context}");
        }
    }
    println!("{operations} operations, {failed} runs failed, {continued} went on");
    assert!(failed > operations && (continued > operations || killed_at_first_save));
}

/// The same faults, and nothing works any more from the first save on.
fn killed_later(faults: Faults) -> Faults {
    let dead = AtomicBool::new(false);
    Faults::new(move |i, path| {
        let saves = path.extension().is_some_and(|end| end == "tmp")
            && path.parent().is_some_and(|p| p.ends_with("checkpoints"));
        dead.fetch_or(saves, Ordering::Relaxed);
        faults.script(i, path).or(dead.load(Ordering::Relaxed).then_some(Fault::Device))
    })
}

/// A run that was interrupted at step 150, with two checkpoints.
fn interrupted() -> tempfile::TempDir {
    let dir = scratch();
    let last = dir.path().join("checkpoints/.000000000200.json");
    let last = last.display().to_string();
    let killed = AtomicBool::new(false);
    let dead = move |_, path: &Path| {
        killed.fetch_or(path.display().to_string().starts_with(&last), Ordering::Relaxed);
        killed.load(Ordering::Relaxed).then_some(Fault::Device)
    };
    go(dir.path(), &plan(CHANGES), &failing(dead)).unwrap_err();
    assert_eq!(newest(dir.path()), Some(150));
    dir
}

#[test]
fn every_operation_may_fail_in_every_way() {
    torment(scratch().path(), false);
}

#[test]
fn every_operation_of_a_resumed_run_may_fail_in_every_way() {
    torment(interrupted().path(), false);
}

#[test]
fn every_operation_may_fail_in_a_resumed_run_that_is_killed_at_its_first_save() {
    torment(interrupted().path(), true);
}

/// Without its checkpoints a run does not begin anew without a word: somebody may have moved them.
#[test]
fn a_run_that_has_lost_its_checkpoints_is_refused_and_left_alone() {
    let dir = interrupted();
    let (folder, away) = (dir.path().join("checkpoints"), dir.path().join("away"));
    fs::rename(&folder, &away).unwrap();
    let logs = || [METRICS, sessions::FILE].map(|name| fs::read(dir.path().join(name)).unwrap());
    let before = logs();
    for failure in [go(dir.path(), &plan(CHANGES), &options()).unwrap_err(), load(dir.path()).err().unwrap()]
    {
        assert_eq!(failure.code, 65, "{}", failure.message);
        assert!(failure.message.contains("says that step"), "{}", failure.message);
    }
    assert_eq!(logs(), before);
    fs::rename(&away, &folder).unwrap();
    go(dir.path(), &plan(CHANGES), &options()).unwrap().unwrap();
}

#[test]
fn a_full_disk_is_waited_for() {
    let reference = finished_run(&[]);
    let dir = scratch();
    go(dir.path(), &plan(&[]), &failing(|i, _| (40..140).contains(&i).then_some(Fault::Full)))
        .unwrap()
        .unwrap();
    assert_eq!(essence(dir.path()), essence(reference.path()));
    super::events::agree_with_metrics(dir.path());
}

#[test]
fn a_disk_that_stays_full_ends_the_run_with_its_last_checkpoint() {
    let dir = scratch();
    let full = failing(|i, _| (i >= 120).then_some(Fault::Full));
    let failure =
        go(dir.path(), &plan(&[]), &RunOptions { give_up_after: Duration::ZERO, ..full }).unwrap_err();
    assert_eq!(failure.code, 74);
    assert!(failure.message.contains("No space left on device"), "{}", failure.message);
    assert!(failure.message.contains("is kept"), "{}", failure.message);
    let (_, agent) = load(dir.path()).unwrap();
    assert!((50..1000).contains(&agent.steps()));
    // The same while it waits for room at the end and somebody asks to stop.
    let dir = scratch();
    let stop = Arc::new(AtomicBool::new(false));
    let full = failing(|i, _| (i >= 120).then_some(Fault::Full));
    let options = RunOptions { retry_every: Duration::from_mins(1), ..full };
    let asking = Arc::clone(&stop);
    let asked = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        asking.store(true, Ordering::Relaxed);
    });
    let start = Instant::now();
    let failure = complete(dir.path(), &plan(&[]), &options, &Session::silent(&stop), &ProgressBar::hidden())
        .unwrap_err();
    asked.join().unwrap();
    // The next attempt would follow in a minute.
    assert!(start.elapsed() < Duration::from_secs(50));
    assert!(failure.code == 74 && failure.message.contains("no room to save"), "{}", failure.message);
}

#[test]
fn a_run_that_is_asked_to_stop_saves_and_goes_on_later() {
    let reference = finished_run(&[]);
    let dir = scratch();
    let stop = Arc::new(AtomicBool::new(true));
    for _ in 0..2 {
        let none =
            complete(dir.path(), &plan(&[]), &options(), &Session::silent(&stop), &ProgressBar::hidden());
        assert_eq!(none.unwrap(), None);
        assert_eq!(load(dir.path()).unwrap().1.steps(), 0);
    }
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(essence(dir.path()), essence(reference.path()));
    let ends: Vec<String> = sessions::read(dir.path()).into_iter().map(|s| s.end).collect();
    assert_eq!(ends, ["stopped", "stopped", "finished"]);
}

#[test]
fn numbers_that_are_not_finite_never_reach_the_disk() {
    for (change, words) in [
        ("nan_weight_at=500", "tensor `weights` is not finite at step 500"),
        ("nan_error_at=500", "gradient of w is not finite at step 500"),
        ("nan_reward_at=500", "tensor `replay.rewards`: it has a number that is not finite"),
    ] {
        let dir = scratch();
        for _ in 0..2 {
            let failure = go(dir.path(), &plan(&[change]), &options()).unwrap_err();
            assert_eq!(failure.code, 70);
            assert!(failure.message.contains(words), "{}", failure.message);
            assert!(failure.message.contains("the checkpoint of step 450 is kept"), "{}", failure.message);
            let mut archive = ive_agents::Archive::saving();
            load(dir.path()).unwrap().1.archive(&mut archive).unwrap();
            assert_eq!(payload::not_finite(&archive.into_tensors()), None);
        }
    }
}
