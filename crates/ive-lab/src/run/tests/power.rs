//! Power cuts: whatever the disk had not yet written is lost or garbled, and the run goes on to the same end.

use std::path::PathBuf;

use ive::Rng;

use super::faults::{Fault, Faults};
use super::memory::Memory;
use super::*;
use crate::run::checkpoint::{Checkpoints, FOLDER};

const CUTS: usize = 10_000;
const CHANGES: &[&str] = &["steps=400"];

/// What must not depend on interruptions, from the disk: result, metrics and the final checkpoint.
fn essence_on(disk: &Disk, dir: &Path) -> [Vec<u8>; 3] {
    let read = |name: String| disk.read(&dir.join(name), u64::MAX).unwrap().unwrap();
    [read(RESULT.to_owned()), read(METRICS.to_owned()), read(format!("{FOLDER}/{:012}.safetensors", 400))]
}

/// The newest checkpoint that is found; none may be damaged.
fn recovered(disk: &Disk, dir: &Path) -> Option<u64> {
    let config = Config::read_on(disk, dir).ok()?;
    let whole = |manifest: &manifest::Manifest| journal::Journal::check(manifest, dir, disk);
    let found = Checkpoints::of(dir, disk).load(&config, whole, |what| panic!("{what}")).unwrap();
    found.map(|checkpoint| checkpoint.manifest.step)
}

/// The newest checkpoint that a power cut cannot take away, going by the names alone.
fn acknowledged(memory: &Memory, dir: &Path) -> Option<u64> {
    let folder = dir.join(FOLDER);
    let step = |path: PathBuf| path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok();
    memory.safe_names().into_iter().filter(|path| path.parent() == Some(&folder)).filter_map(step).max()
}

/// Runs whose power goes at a random operation, again and again until they are finished. One interruption in four is a
/// kill, after which nothing is lost yet and the next cut may take what two processes left behind.
#[test]
fn no_power_cut_loses_a_checkpoint_or_changes_the_end() {
    let (root, dir) = (Path::new("disk"), Path::new("disk/run"));
    let undisturbed = Memory::new(root);
    let counting = Faults::new(|_, _| None);
    go(dir, &plan(CHANGES), &RunOptions { disk: counting.on(undisturbed.clone()), ..options() }).unwrap();
    let operations = counting.count();
    let expected = essence_on(&Disk::on(undisturbed), dir);
    let mut rng = Rng::from_seed(20_261_117);
    let (mut cuts, mut kills, mut runs) = (0, 0, 0);
    while cuts < CUTS {
        let memory = Memory::new(root);
        let disk = Disk::on(memory.clone());
        loop {
            let last = rng.below(operations);
            let fault = move |i: usize| if i == last { Fault::Short } else { Fault::Device };
            let faults = Faults::new(move |i, _| (i >= last).then(|| fault(i)));
            let options = RunOptions { retry_every: Duration::ZERO, ..options() };
            let there = finished_on(&disk, dir).unwrap().is_some();
            let outcome = go(dir, &plan(CHANGES), &RunOptions { disk: faults.on(memory.clone()), ..options });
            let safe = acknowledged(&memory, dir);
            if rng.below(4) == 0 {
                kills += 1;
            } else {
                memory.cut_power(&mut rng);
                cuts += 1;
            }
            let context = format!("cut {cuts}, kill {kills}, operation {last}");
            assert!(recovered(&disk, dir) >= safe, "{context}: step {safe:?} is lost");
            let finished = finished_on(&disk, dir).unwrap().is_some();
            match outcome {
                Err(failure) => assert_eq!(failure.code, 74, "{context}: {}", failure.message),
                // A result that a killed process had left was only read, and may be gone again.
                Ok(_) => assert!(finished || there, "{context}: the result is lost"),
            }
            if finished {
                break;
            }
        }
        assert_eq!(essence_on(&disk, dir), expected, "cut {cuts}");
        runs += 1;
    }
    println!("{cuts} power cuts and {kills} kills in {runs} runs of {operations} operations");
}
