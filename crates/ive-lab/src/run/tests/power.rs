//! Power cuts: whatever the disk had not yet written is lost or garbled, and the run goes on to the same end.

use std::path::PathBuf;

use ive::Rng;

use super::faults::{Fault, Faults};
use super::memory::Memory;
use super::*;
use crate::run::checkpoint::{Checkpoints, FOLDER};

/// A run on a disk in memory.
struct Scene {
    memory: Memory,
    plan: Plan,
}

impl Scene {
    fn new(changes: &[&str]) -> Self {
        Self { memory: Memory::new(Path::new("disk")), plan: plan(changes) }
    }

    fn dir() -> &'static Path {
        Path::new("disk/run")
    }

    fn disk(&self) -> Disk {
        Disk::on(self.memory.clone())
    }

    /// Works on the run; nothing goes any more from one operation on, and of a write in that moment half is done. Returns
    /// whether it was finished, and after how many operations.
    fn work(&self, last: usize) -> (bool, usize) {
        let fault = move |i: usize| if i == last { Fault::Short } else { Fault::Device };
        let faults = Faults::new(move |i, _| (i >= last).then(|| fault(i)));
        let options =
            RunOptions { disk: faults.on(self.memory.clone()), retry_every: Duration::ZERO, ..options() };
        match go(Self::dir(), &self.plan, &options) {
            Ok(finished) => assert!(finished.is_some()),
            Err(failure) => {
                assert_eq!(failure.code, 74, "operation {last}: {}", failure.message);
                return (false, faults.count());
            }
        }
        (true, faults.count())
    }

    /// The power goes. What was saved must still be there, and nothing be damaged.
    fn cut_power(&self, rng: &mut Rng, context: &str) {
        let safe = self.acknowledged();
        self.memory.cut_power(rng);
        assert!(self.recovered() >= safe, "{context}: the checkpoint of step {safe:?} is lost");
    }

    /// The newest checkpoint that a power cut must not take away, going by the names alone.
    fn acknowledged(&self) -> Option<u64> {
        let folder = Self::dir().join(FOLDER);
        let step = |path: PathBuf| path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok();
        let names = self.memory.safe_names().into_iter();
        names.filter(|path| path.parent() == Some(&folder)).filter_map(step).max()
    }

    fn recovered(&self) -> Option<u64> {
        let (disk, dir) = (&self.disk(), Self::dir());
        let config = Plan::read_on(disk, dir).ok()?;
        let whole = |manifest: &manifest::Manifest| journal::Journal::check(manifest, dir, disk);
        let found = Checkpoints::of(dir, disk).load(&config, whole, |what| panic!("{what}")).unwrap();
        found.map(|checkpoint| checkpoint.manifest.step)
    }

    fn is_finished(&self) -> bool {
        finished_on(&self.disk(), Self::dir()).unwrap().is_some()
    }

    /// What must not depend on interruptions: result, metrics and the final checkpoint.
    fn essence(&self) -> [Vec<u8>; 3] {
        let payload = format!("{FOLDER}/{:012}.safetensors", self.plan.steps);
        let read = |name: &str| self.disk().read(&Self::dir().join(name), u64::MAX).unwrap().unwrap();
        [RESULT, METRICS, &payload].map(read)
    }

    /// An undisturbed run: what it leaves, and after how many operations.
    fn undisturbed(changes: &[&str]) -> ([Vec<u8>; 3], usize) {
        let scene = Self::new(changes);
        let (finished, operations) = scene.work(usize::MAX);
        assert!(finished);
        (scene.essence(), operations)
    }
}

/// The number of cuts and the seed can be set, to look longer or elsewhere.
fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Runs with eight saves whose power goes at random operations until they are finished. One interruption in four is a
/// kill, after which nothing is lost yet, and the next cut may take what two processes left behind.
#[test]
fn no_power_cut_loses_a_checkpoint_or_changes_the_end() {
    let (at_least, seed) = (from_environment("IVE_CUTS", 10_000), from_environment("IVE_CUT_SEED", 0));
    let changes = &["steps=400"];
    let (expected, operations) = Scene::undisturbed(changes);
    let mut rng = Rng::from_seed(seed);
    let (mut cuts, mut kills, mut runs) = (0, 0, 0);
    while cuts < at_least {
        let scene = Scene::new(changes);
        loop {
            let (last, there) = (rng.below(operations), scene.is_finished());
            let (finished, _) = scene.work(last);
            if rng.below(4) == 0 {
                kills += 1;
            } else {
                scene.cut_power(&mut rng, &format!("cut {cuts} at operation {last}"));
                cuts += 1;
            }
            // A result that a killed process had left was only read, and may be gone again.
            assert!(scene.is_finished() || there || !finished, "cut {cuts}: the result is lost");
            if scene.is_finished() {
                break;
            }
        }
        assert_eq!(scene.essence(), expected, "cut {cuts}");
        runs += 1;
    }
    println!("seed {seed}: {cuts} power cuts and {kills} kills in {runs} runs of {operations} operations");
}

/// A kill at every operation, and a power cut at every operation of the process that goes on: it may build on names that
/// its predecessor had not synced.
#[test]
fn no_power_cut_after_a_kill_loses_a_checkpoint_or_changes_the_end() {
    let changes = &["steps=100"];
    let (expected, operations) = Scene::undisturbed(changes);
    let (mut rng, mut cuts) = (Rng::from_seed(50), 0);
    for first in 0..operations {
        let killed = Scene::new(changes);
        killed.work(first);
        for second in 0.. {
            let scene = Scene { memory: killed.memory.fork(), plan: killed.plan.clone() };
            let (_, count) = scene.work(second);
            scene.cut_power(&mut rng, &format!("kill at operation {first}, cut at {second}"));
            cuts += 1;
            scene.work(usize::MAX);
            assert_eq!(scene.essence(), expected, "kill at operation {first}, cut at {second}");
            if count <= second {
                break;
            }
        }
    }
    println!("{cuts} power cuts");
}
