//! Replay as segments: what a save writes, and what does not depend on it.

use std::collections::BTreeMap;

use ive_agents::{Agent, Archive, Tensors};

use super::faults::{Fault, Faults};
use super::*;
use crate::run::Plan;
use crate::run::checkpoint::{Checkpoints, FOLDER};
use crate::run::journal::Journal;
use crate::run::segments::{Fingerprint, Segments, Writer};
use crate::run::system::{Real, System};

/// An agent and its checkpoints.
struct Saver {
    dir: tempfile::TempDir,
    plan: Plan,
    checkpoints: Checkpoints,
    agent: Box<dyn Agent>,
}

impl Saver {
    fn new(changes: &[&str], segment: u64) -> Self {
        let dir = scratch();
        let plan = plan(changes).settle(dir.path(), &Disk::default()).unwrap();
        let checkpoints = Checkpoints::of(dir.path(), &Disk::default()).with_segments_of(segment);
        let agent = agents::make(&plan).unwrap();
        Self { dir, plan, checkpoints, agent }
    }

    fn advance(&mut self) {
        self.agent.advance(&mut Vec::new()).unwrap();
    }

    fn save(&mut self) {
        let state =
            self.checkpoints.collect(self.agent.steps(), &mut |archive| self.agent.archive(archive)).unwrap();
        let mut journal = Journal::open(self.dir.path(), &Disk::default(), None).unwrap();
        assert!(self.checkpoints.save(&self.plan, state, journal.sync().unwrap()).is_ok());
    }

    /// Length and identity of the segments.
    fn segments(&self) -> BTreeMap<String, (u64, (u64, u64))> {
        let look = |name: String| {
            let seen = Real.look(&self.dir.path().join(FOLDER).join(&name)).unwrap();
            (name, (seen.length, seen.identity))
        };
        names(self.dir.path()).into_iter().filter(|name| name.ends_with(".segment")).map(look).collect()
    }
}

/// The whole state, replay included.
fn whole(agent: &mut dyn Agent) -> Tensors {
    let mut archive = Archive::saving();
    agent.archive(&mut archive).unwrap();
    archive.into_tensors()
}

/// By hand: 50 steps of 8 bytes each are new at each save, and a segment of less than 82 bytes is written again with them. The ring
/// has 960 bytes; two generations of it are kept.
#[test]
fn a_save_writes_what_is_new_and_touches_nothing_else() {
    let mut saver = Saver::new(&[], 330);
    let mut before = BTreeMap::new();
    for round in 1..=20 {
        saver.advance();
        saver.save();
        let now = saver.segments();
        let new: u64 =
            now.iter().filter(|(name, _)| !before.contains_key(*name)).map(|(_, seen)| seen.0).sum();
        assert!((400..482).contains(&new), "round {round}: {new} bytes");
        for (name, seen) in &now {
            assert!(before.get(name).is_none_or(|old| old == seen), "{name} was written again");
        }
        let all: u64 = now.values().map(|seen| seen.0).sum();
        assert!(all <= 960 + 2 * 400 + 2 * 330, "round {round}: {all} bytes are kept");
        assert_eq!(names(saver.dir.path()).len(), now.len() + if round == 1 { 2 } else { 4 });
        let (_, mut loaded) = load(saver.dir.path()).unwrap();
        assert_eq!(whole(&mut *loaded), whole(&mut *saver.agent), "round {round}");
        before = now;
    }
    // Nothing new: nothing is written, and the state is the same.
    saver.save();
    assert_eq!(saver.segments().keys().next_back(), before.keys().next_back());
    assert_eq!(whole(&mut *load(saver.dir.path()).unwrap().1), whole(&mut *saver.agent));
}

/// Segments of any size, and saves so rare that the ring has turned more than once in between.
#[test]
fn what_is_restored_does_not_depend_on_the_segments() {
    for (segment, rounds) in [(1, 1), (7, 2), (8, 1), (100, 3), (960, 1), (1 << 20, 2), (330, 4), (330, 9)] {
        let mut saver = Saver::new(&[], segment);
        for _ in 0..20 / rounds {
            (0..rounds).for_each(|_| saver.advance());
            saver.save();
            let (_, mut loaded) = load(saver.dir.path()).unwrap();
            assert_eq!(whole(&mut *loaded), whole(&mut *saver.agent), "segments of {segment} bytes");
        }
    }
}

#[test]
fn the_result_does_not_depend_on_when_it_was_saved() {
    let expected = essence(finished_run(&[]).path());
    let (seldom, large) = (Duration::from_hours(1), 1 << 20);
    for (checkpoint_every, segment_bytes) in [(seldom, 330), (seldom, large), (Duration::ZERO, large)] {
        for background in [false, true] {
            let dir = scratch();
            let options = RunOptions { checkpoint_every, segment_bytes, background, ..options() };
            go(dir.path(), &plan(&[]), &options).unwrap().unwrap();
            assert_eq!(essence(dir.path()), expected);
            assert_eq!(names(dir.path()), needed(dir.path()));
        }
    }
}

/// While a thread saves, training goes on, and operations have no fixed order. Whichever fails, the next process goes on to the
/// same end.
#[test]
fn operations_may_fail_while_training_goes_on() {
    let changes = &["steps=400"];
    let expected = essence(finished_run(changes).path());
    let (mut failed, mut went_on) = (0, 0);
    for n in (0..300).step_by(3) {
        for fault in [Fault::Full, Fault::Device, Fault::Short] {
            for killed in [false, true] {
                let dir = scratch();
                let strikes = move |i: usize, _: &Path| (i == n || killed && i > n).then_some(fault);
                let (disk, retry_every) = (Faults::new(strikes).disk(), Duration::ZERO);
                let give_up_after = Duration::from_millis(1);
                let options = RunOptions { disk, retry_every, give_up_after, background: true, ..options() };
                match go(dir.path(), &plan(changes), &options) {
                    Ok(finished) => went_on += usize::from(finished.is_some()),
                    Err(failure) => {
                        assert_eq!(failure.code, 74, "operation {n}: {}", failure.message);
                        failed += 1;
                    }
                }
                go(dir.path(), &plan(changes), &super::options()).unwrap().unwrap();
                assert_eq!(essence(dir.path()), expected, "operation {n}, {fault:?}");
                assert_eq!(names(dir.path()), needed(dir.path()), "operation {n}, {fault:?}");
            }
        }
    }
    assert!(failed > 200 && went_on > 50, "{failed} failed, {went_on} went on");
}

/// The hash of the final state covers the replay: another byte in it is another hash, with the same payload.
#[test]
fn the_hash_of_the_state_covers_the_log() {
    let mut saver = Saver::new(&[], 330);
    saver.advance();
    let hash = |agent: &mut dyn Agent| {
        let mut logs = Fingerprint::default();
        agent.archive(&mut Archive::saving_to(&mut logs)).unwrap();
        logs.with("payload")
    };
    let mut tensors = whole(&mut *saver.agent);
    let expected = hash(&mut *saver.agent);
    tensors.get_mut("replay.actions").unwrap().bytes[7] ^= 1;
    let mut other = agents::make(&saver.plan).unwrap();
    other.archive(&mut Archive::loading(tensors)).unwrap();
    assert_ne!(hash(&mut *other), expected);
}

/// A checkpoint of an earlier version has a large replay in its payload. It is gone on with, and the next save makes a log of it.
#[test]
fn a_replay_in_the_payload_is_read_and_becomes_a_log() {
    let reference = finished_run(&[]);
    let mut saver = Saver::new(&[], 330);
    for _ in 0..9 {
        saver.advance();
    }
    let mut state =
        saver.checkpoints.collect(saver.agent.steps(), &mut |archive| saver.agent.archive(archive)).unwrap();
    state.tensors = whole(&mut *saver.agent);
    let folder = saver.dir.path().join(FOLDER);
    state.segments = Writer::new(&Disk::default(), &folder, 330, Segments::new());
    let logs = Journal::open(saver.dir.path(), &Disk::default(), None).unwrap().sync().unwrap();
    assert!(saver.checkpoints.save(&saver.plan, state, logs).is_ok());
    go(saver.dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    let [mut ours, mut theirs] = [saver.dir.path(), reference.path()].map(|dir| load(dir).unwrap().1);
    assert_eq!(whole(&mut *ours), whole(&mut *theirs));
    assert_eq!(names(saver.dir.path()), needed(saver.dir.path()));
}

/// Segments that are whole but do not hold what the payload says.
#[test]
fn segments_that_do_not_fit_are_refused_in_words() {
    let dir = finished_run(&["steps=100"]);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    let path = dir.path().join(FOLDER).join("000000000100.json");
    let mut manifest = manifest::Manifest::read(&Disk::default(), &path).unwrap();
    manifest.files.remove("replay-0000000000000330-0000000000000660.segment").unwrap();
    fs::write(&path, manifest.to_bytes().unwrap()).unwrap();
    let failure = load(dir.path()).err().unwrap();
    assert!(failure.code == 65 && failure.message.contains("log `replay`"), "{}", failure.message);
}
