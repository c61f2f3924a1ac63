//! Interruptions: each operation of the disk fails, in every way; the run goes on to the same end.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::faults::{Fault, Faults};
use super::*;
use crate::run::checkpoint::Checkpoints;

const CHANGES: &[&str] = &["steps=150"];

fn failing(script: impl Fn(usize) -> Option<Fault> + Send + Sync + 'static) -> RunOptions {
    let disk = Disk { faults: Faults::new(script) };
    RunOptions { disk, retry_every: Duration::ZERO, ..options() }
}

/// Whatever operation of whatever save fails: the old or the new checkpoint is there, the message names file and cause,
/// and going on leads to the same end.
#[test]
fn every_operation_may_fail_in_every_way() {
    let reference = finished_run(CHANGES);
    let expected = essence(reference.path());
    let counting = failing(|_| None);
    go(scratch().path(), &plan(CHANGES), &counting).unwrap();
    let operations = counting.disk.faults.count();
    assert!(operations > 60, "{operations} operations");
    let (mut failed, mut continued) = (0, 0);
    for n in 0..operations {
        let faults: [(&str, RunOptions); 4] = [
            ("full", failing(move |i| (i == n).then_some(Fault::Full))),
            ("device", failing(move |i| (i == n).then_some(Fault::Device))),
            ("short", failing(move |i| (i == n).then_some(Fault::Short))),
            ("killed", failing(move |i| (i >= n).then_some(Fault::Device))),
        ];
        for (name, options) in faults {
            let dir = scratch();
            match go(dir.path(), &plan(CHANGES), &options) {
                Ok(_) => continued += 1,
                Err(failure) => {
                    let here = dir.path().display().to_string();
                    assert_eq!(failure.code, 74, "{}", failure.message);
                    assert!(failure.message.contains(&here), "{}", failure.message);
                    assert!(failure.message.contains("os error"), "{}", failure.message);
                    failed += 1;
                }
            }
            if let Ok(config) = Config::read(dir.path()) {
                let mut checkpoints = Checkpoints::of(dir.path(), &Disk::default());
                let good =
                    checkpoints.load(&config, |_| Ok(()), |what| panic!("operation {n}, {name}: {what}"));
                good.unwrap();
            }
            go(dir.path(), &plan(CHANGES), &super::options()).unwrap().unwrap();
            assert_eq!(essence(dir.path()), expected, "operation {n}, {name}");
            super::events::agree_with_metrics(dir.path());
            let left = fs::read_dir(dir.path().join("checkpoints")).unwrap().count();
            assert_eq!(left, 4, "two generations of two files after operation {n}, {name}");
        }
    }
    println!("{operations} operations, {failed} runs failed, {continued} went on");
    assert!(failed > operations && continued > operations);
}

#[test]
fn a_full_disk_is_waited_for() {
    let reference = finished_run(&[]);
    let dir = scratch();
    go(dir.path(), &plan(&[]), &failing(|i| (40..140).contains(&i).then_some(Fault::Full))).unwrap().unwrap();
    assert_eq!(essence(dir.path()), essence(reference.path()));
    super::events::agree_with_metrics(dir.path());
}

#[test]
fn a_disk_that_stays_full_ends_the_run_with_its_last_checkpoint() {
    let dir = scratch();
    let full = failing(|i| (i >= 60).then_some(Fault::Full));
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
    let full = failing(|i| (i >= 60).then_some(Fault::Full));
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
    assert!(start.elapsed() < Duration::from_secs(5));
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
