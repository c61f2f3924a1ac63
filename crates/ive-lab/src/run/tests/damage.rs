//! Damaged checkpoints: every byte, every length.

use super::*;
use crate::run::checkpoint::{Checkpoints, FOLDER};

/// The step of the checkpoint that is found, and what was reported on the way.
fn found(dir: &Path) -> (Outcome<Option<u64>>, Vec<String>) {
    let mut reports = Vec::new();
    let config = Plan::read(dir).unwrap();
    let mut checkpoints = Checkpoints::of(dir, &Disk::default());
    let found = checkpoints.load(&config, |_| Ok(()), |what| reports.push(what.to_owned()));
    (found.map(|c| c.map(|c| c.manifest.step)), reports)
}

#[test]
fn every_damaged_bit_and_every_truncation_is_noticed_and_the_older_checkpoint_used() {
    let dir = finished_run(&["steps=100"]);
    let folder = dir.path().join(FOLDER);
    assert_eq!(found(dir.path()), (Ok(Some(100)), vec![]));
    let mut mutations = 0;
    // The log has 800 bytes; the older checkpoint has the first 400 of them.
    let newer = [
        "replay-0000000000000330-0000000000000660.segment",
        "replay-0000000000000660-0000000000000800.segment",
    ];
    for name in ["000000000100.safetensors", "000000000100.json"].into_iter().chain(newer) {
        let path = folder.join(name);
        let good = fs::read(&path).unwrap();
        let mut check = |bytes: &[u8], what: String| {
            fs::write(&path, bytes).unwrap();
            let (step, reports) = found(dir.path());
            assert_eq!(step, Ok(Some(50)), "{name}, {what}");
            assert!(
                reports.len() == 1 && reports[0].contains("step 100") && reports[0].contains(name),
                "{reports:?}"
            );
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
        check(&[&good[..], b" "].concat(), "one byte more".to_owned());
        fs::write(&path, good).unwrap();
    }
    assert!(mutations > 10_000, "only {mutations} mutations");
}

/// A segment that both checkpoints need is there once: its damage is noticed, and nothing is touched. One that only the older
/// needs does no harm to the newer.
#[test]
fn every_damaged_bit_and_every_truncation_of_shared_segments_is_noticed() {
    let dir = finished_run(&["steps=100"]);
    let folder = dir.path().join(FOLDER);
    for (name, shared) in [
        ("replay-0000000000000000-0000000000000330.segment", true),
        ("replay-0000000000000330-0000000000000400.segment", false),
    ] {
        let path = folder.join(name);
        let good = fs::read(&path).unwrap();
        let files = names(dir.path());
        let check = |bytes: &[u8], what: String| {
            fs::write(&path, bytes).unwrap();
            let (step, reports) = found(dir.path());
            if shared {
                assert_eq!(step.unwrap_err().code, 65, "{name}, {what}");
                assert!(reports.len() == 2 && reports.iter().all(|r| r.contains(name)), "{reports:?}");
            } else {
                assert_eq!((step, reports), (Ok(Some(100)), vec![]), "{name}, {what}");
            }
        };
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[i] ^= 1 << bit;
                check(&bytes, format!("bit {bit} of byte {i}"));
            }
            check(&good[..i], format!("cut to {i} bytes"));
        }
        check(&[&good[..], b" "].concat(), "one byte more".to_owned());
        fs::write(&path, good).unwrap();
        assert_eq!(names(dir.path()), files);
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.code, &self.message) == (other.code, &other.message)
    }
}

#[test]
fn a_run_goes_on_from_the_older_checkpoint_to_the_same_end() {
    let dir = finished_run(&[]);
    let before = essence(dir.path());
    for name in ["000000001000.safetensors", "000000001000.json"] {
        fs::remove_file(dir.path().join(RESULT)).unwrap();
        fs::write(dir.path().join(FOLDER).join(name), "nonsense").unwrap();
        go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
        assert_eq!(essence(dir.path()), before);
    }
    // The same when the metrics have lost lines that only the newer checkpoint knows.
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    let lines = String::from_utf8(before[1].clone()).unwrap();
    fs::write(dir.path().join(METRICS), &lines[..lines.len() - 10]).unwrap();
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(essence(dir.path()), before);
}

#[test]
fn without_any_good_checkpoint_nothing_is_touched() {
    let dir = finished_run(&[]);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    for step in [950, 1000] {
        fs::write(dir.path().join(FOLDER).join(format!("{step:012}.safetensors")), "").unwrap();
    }
    let files = || fs::read_dir(dir.path().join(FOLDER)).unwrap().count();
    let before = (files(), fs::read(dir.path().join(METRICS)).unwrap());
    for failure in [go(dir.path(), &plan(&[]), &options()).unwrap_err(), load(dir.path()).err().unwrap()] {
        assert_eq!(failure.code, 65);
        assert!(failure.message.contains("no checkpoint in") && failure.message.contains("is good"));
    }
    assert_eq!((files(), fs::read(dir.path().join(METRICS)).unwrap()), before);
}

#[test]
fn damaged_result_and_lost_event_file_are_made_again() {
    let dir = finished_run(&[]);
    let before = essence(dir.path());
    fs::write(dir.path().join(RESULT), &before[0][..20]).unwrap();
    let failure = go(dir.path(), &plan(&[]), &options()).unwrap_err();
    assert_eq!(failure.code, 65);
    assert!(failure.message.contains("delete it"), "{}", failure.message);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    fs::remove_file(dir.path().join("events.out.tfevents.ive")).unwrap();
    go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!(essence(dir.path()), before);
    super::events::agree_with_metrics(dir.path());
}
