//! The ring against lists that forget nothing, and what is saved against what goes on.

use std::collections::BTreeMap;

use super::*;
use crate::archive::{Archive, ArchiveError, LogReader, LogWriter, Stopped, Tensors};

const PIXELS: Shape = Shape { observation: 3, action: 2, policy: 4 };

/// A window that owns its numbers.
#[derive(Clone, Debug, PartialEq)]
struct Owned<O, A> {
    observations: Vec<O>,
    actions: Vec<A>,
    rewards: Vec<f32>,
    kinds: Vec<StepKind>,
    policies: Vec<f32>,
}

impl<O: Element, A: Element> Owned<O, A> {
    fn of(window: Window<'_, O, A>) -> Self {
        Self {
            observations: window.observations.to_vec(),
            actions: window.actions.to_vec(),
            rewards: window.rewards.to_vec(),
            kinds: window.kinds.to_vec(),
            policies: window.policies.to_vec(),
        }
    }

    fn window(&self) -> Window<'_, O, A> {
        Window {
            observations: &self.observations,
            actions: &self.actions,
            rewards: &self.rewards,
            kinds: &self.kinds,
            policies: &self.policies,
        }
    }
}

/// Numbers made of bytes.
type Make<O, A> = (fn(u8) -> O, fn(u8) -> A);

fn random<O: Element, A: Element>(
    shape: Shape,
    steps: usize,
    rng: &mut Rng,
    make: Make<O, A>,
) -> Owned<O, A> {
    let kinds = [StepKind::Mid, StepKind::Terminated, StepKind::Truncated];
    Owned {
        observations: (0..(steps + 1) * shape.observation).map(|_| make.0(rng.below(256) as u8)).collect(),
        actions: (0..steps * shape.action).map(|_| make.1(rng.below(6) as u8)).collect(),
        rewards: (0..steps).map(|_| rng.normal() as f32).collect(),
        kinds: (0..steps).map(|_| kinds[rng.below(3)]).collect(),
        policies: (0..(steps + 1) * shape.policy).map(|_| rng.uniform() as f32).collect(),
    }
}

fn pixels(steps: usize, rng: &mut Rng) -> Owned<u8, f32> {
    random(PIXELS, steps, rng, (|x| x, f32::from))
}

fn all<O: Element, A: Element>(experience: &Experience<O, A>) -> Vec<Owned<O, A>> {
    (0..experience.len()).map(|i| Owned::of(experience.get(i))).collect()
}

fn archive<O: Element, A: Element>(
    experience: &mut Experience<O, A>,
    archive: &mut Archive,
) -> Result<(), ArchiveError> {
    let rules = Rules { observation: &|_| Ok(()), action: &|_| Ok(()), truncates: true };
    experience.archive("replay", &rules, archive)
}

fn saved<O: Element, A: Element>(experience: &mut Experience<O, A>) -> Tensors {
    let mut saving = Archive::saving();
    archive(experience, &mut saving).unwrap();
    saving.into_tensors()
}

/// By definition: window i of a ring of n is the last one pushed whose number has the remainder i.
#[test]
fn windows_take_the_places_of_the_oldest_in_turn() {
    let mut rng = Rng::from_seed(1);
    for (steps, count) in [(1, 1), (1, 7), (10, 3), (4, 5)] {
        let mut ring = Experience::windows(PIXELS, steps, count).unwrap();
        let mut expected = BTreeMap::new();
        for pushed in 0..3 * count + 2 {
            let window = pixels(steps, &mut rng);
            ring.push(window.window());
            expected.insert(pushed % count, window);
            assert_eq!(all(&ring), expected.values().cloned().collect::<Vec<_>>());
            assert_eq!(ring.num_steps(), expected.len() * steps);
        }
    }
}

#[test]
fn a_window_of_one_step_is_pushed_as_its_parts() {
    let mut rng = Rng::from_seed(2);
    let shape = Shape { policy: 0, ..PIXELS };
    let (mut whole, mut parts) =
        (Experience::windows(shape, 1, 3).unwrap(), Experience::windows(shape, 1, 3).unwrap());
    for _ in 0..8 {
        let window: Owned<u8, f32> = random(shape, 1, &mut rng, (|x| x, f32::from));
        whole.push(window.window());
        let (before, after) = window.observations.split_at(3);
        parts.push_step(before, after, &window.actions, window.rewards[0], window.kinds[0]);
        assert_eq!(all(&whole), all(&parts));
    }
}

/// What is written step by step into windows of zeros is what was written.
#[test]
fn windows_can_be_written_step_by_step() {
    let mut rng = Rng::from_seed(3);
    let mut fresh = Experience::zeroed(PIXELS, 4, 5).unwrap();
    let expected: Vec<Owned<u8, f32>> = (0..5).map(|_| pixels(4, &mut rng)).collect();
    for (i, window) in expected.iter().enumerate() {
        for t in 0..=4 {
            fresh.set_observation(i, t, &window.observations[3 * t..][..3]);
            fresh.set_policy(i, t, &window.policies[4 * t..][..4]);
            if t < 4 {
                fresh.set_step(i, t, &window.actions[2 * t..][..2], window.rewards[t], window.kinds[t]);
            }
        }
    }
    assert_eq!(all(&fresh), expected);
}

/// Episodes of any length: what is left is the newest of them, all whole, and as many as fit. With entries of at most 13
/// an episode costs at most 13 at the end of the ring and 12 before the oldest.
#[test]
fn episodes_of_any_length_push_out_the_oldest() {
    let mut rng = Rng::from_seed(4);
    for room in [14, 25, 40, 100] {
        let mut ring = Experience::episodes(PIXELS, room).unwrap();
        let mut pushed = Vec::new();
        for _ in 0..300 {
            let episode = pixels(1 + rng.below(12), &mut rng);
            ring.push(episode.window());
            pushed.push(episode);
            let left = all(&ring);
            let newest = &pushed[pushed.len() - left.len()..];
            let oldest = newest.iter().position(|episode| *episode == left[0]).unwrap();
            // In the order of the ring, from the window at its beginning.
            let turned: Vec<_> = newest[oldest..].iter().chain(&newest[..oldest]).cloned().collect();
            assert_eq!(left, turned, "room {room}");
            let entries: usize = left.iter().map(|episode| episode.rewards.len() + 1).sum();
            assert!(entries <= room && (pushed.len() == left.len() || entries + 13 + 12 > room), "{entries}");
        }
    }
}

/// Three steps by hand: the entry before the first action has none.
#[test]
fn a_sequence_begins_with_the_reset_and_stays_within_an_episode() {
    let shape = Shape { observation: 1, action: 1, policy: 0 };
    let mut ring = Experience::episodes(shape, 10).unwrap();
    let kinds = [StepKind::Mid, StepKind::Mid, StepKind::Truncated];
    let (observations, actions, rewards) = ([10_u8, 11, 12, 13], [0.5_f32, -0.5, 0.25], [1.0, 2.0, 4.0]);
    let episode = Window {
        observations: &observations,
        actions: &actions,
        rewards: &rewards,
        kinds: &kinds,
        policies: &[],
    };
    ring.push(episode);
    ring.push(episode);
    let sequence = ring.sequence(1, 0, 4);
    assert_eq!(sequence.observations, observations);
    assert_eq!(
        (sequence.actions, sequence.rewards),
        (&[0.0, 0.5, -0.5, 0.25][..], &[0.0, 1.0, 2.0, 4.0][..])
    );
    assert_eq!(sequence.kinds, [StepKind::First, StepKind::Mid, StepKind::Mid, StepKind::Truncated]);
    let sequence = ring.sequence(0, 2, 2);
    assert_eq!((sequence.observations, sequence.actions), (&[12, 13][..], &[-0.5, 0.25][..]));
    let part = ring.get(0).part(1, 2);
    assert_eq!((part.observations, part.actions), (&[11, 12, 13][..], &[-0.5, 0.25][..]));
    assert_eq!((part.rewards, part.kinds), (&[2.0, 4.0][..], &kinds[1..]));
    // An episode that was cut off has value behind it, one that ended has none.
    assert_eq!(part.last_observation(), Some(&[13][..]));
    assert_eq!(Window { kinds: &[StepKind::Terminated], ..part.part(1, 1) }.last_observation(), None);
    let discounts = [StepKind::Mid, StepKind::Truncated, StepKind::Terminated].map(discount);
    assert_eq!(discounts, [1.0, 1.0, 0.0]);
}

/// Episodes of 2, 4 and 6 entries, sequences of 3: each long episode has one half, each start in it the same share. A share p
/// of n draws has the standard deviation √(p (1 − p) / n); five of them are not exceeded once in a million.
#[test]
fn sequences_are_drawn_by_episode_and_then_by_start() {
    let shape = Shape { observation: 1, action: 1, policy: 0 };
    let mut ring: Experience<u8, u8> = Experience::episodes(shape, 100).unwrap();
    let mut number = 0;
    for steps in [1, 3, 5] {
        let observations: Vec<u8> = (number..=number + steps as u8).collect();
        number += steps as u8 + 1;
        let (actions, rewards, kinds) = (vec![0; steps], vec![0.0; steps], vec![StepKind::Mid; steps]);
        ring.push(Window {
            observations: &observations,
            actions: &actions,
            rewards: &rewards,
            kinds: &kinds,
            policies: &[],
        });
    }
    let (mut rng, draws) = (Rng::from_seed(5), 40_000);
    let mut counts = BTreeMap::new();
    for _ in 0..draws {
        let sequence = ring.draw_sequence(3, &mut rng).unwrap();
        let first = sequence.observations[0];
        assert_eq!(sequence.observations, [first, first + 1, first + 2]);
        *counts.entry(first).or_insert(0) += 1;
    }
    let shares = [(2, 0.25), (3, 0.25), (6, 0.125), (7, 0.125), (8, 0.125), (9, 0.125)];
    assert!(counts.keys().copied().eq(shares.map(|(first, _)| first)));
    for (first, share) in shares {
        let deviation = (share * (1.0 - share) / f64::from(draws)).sqrt();
        let found = f64::from(counts[&first]) / f64::from(draws);
        assert!((found - share).abs() < 5.0 * deviation, "start {first}: {found}");
    }
    for length in [0, 7] {
        assert_eq!(ring.draw_sequence(length, &mut rng), None);
    }
}

/// Saved after each push and restored, it goes on like the one that was not.
#[test]
fn restored_experience_goes_on_as_if_nothing_had_happened() {
    let mut rng = Rng::from_seed(6);
    let rings = [(|| Experience::windows(PIXELS, 4, 5).unwrap()) as fn() -> Experience<u8, f32>, || {
        Experience::episodes(PIXELS, 33).unwrap()
    }];
    for (fixed, make) in [true, false].into_iter().zip(rings) {
        let (mut whole, mut restored) = (make(), make());
        for _ in 0..60 {
            let window = pixels(if fixed { 4 } else { 1 + rng.below(12) }, &mut rng);
            whole.push(window.window());
            restored.push(window.window());
            let tensors = saved(&mut restored);
            restored = make();
            archive(&mut restored, &mut Archive::loading(tensors.clone())).unwrap();
            assert_eq!((all(&restored), saved(&mut restored)), (all(&whole), tensors));
            let i = rng.below(whole.len());
            assert_eq!(whole.sequence(i, 0, 2), restored.sequence(i, 0, 2));
        }
    }
}

/// A log in memory, of which the first bytes are known.
#[derive(Clone, Debug, Default)]
struct Log {
    start: u64,
    bytes: Vec<u8>,
    read: usize,
    /// How many bytes it still takes or gives before it stops.
    patience: Option<usize>,
}

impl Log {
    fn bear(&mut self, bytes: usize) -> Result<(), Stopped> {
        let Some(patience) = &mut self.patience else { return Ok(()) };
        *patience = patience.checked_sub(bytes).ok_or(Stopped)?;
        Ok(())
    }
}

impl LogWriter for Log {
    fn begin(&mut self, _: &str, live: std::ops::Range<u64>) -> Result<u64, Stopped> {
        let known = self.start + self.bytes.len() as u64;
        if known < live.start {
            (self.start, self.bytes) = (live.start, Vec::new());
        }
        Ok(known.max(live.start))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        self.bear(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

impl LogReader for Log {
    fn begin(&mut self, _: &str, live: std::ops::Range<u64>) -> Result<(), Stopped> {
        self.read = (live.start - self.start) as usize;
        assert_eq!(self.start + self.bytes.len() as u64, live.end);
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Stopped> {
        self.bear(bytes.len())?;
        bytes.copy_from_slice(&self.bytes[self.read..][..bytes.len()]);
        self.read += bytes.len();
        Ok(())
    }
}

fn saved_to<O: Element, A: Element>(experience: &mut Experience<O, A>, log: &mut Log) -> Tensors {
    let mut saving = Archive::saving_to(log);
    archive(experience, &mut saving).unwrap();
    saving.into_tensors()
}

/// Saved now and then as a log that only grows, some bytes of which may be unknown again, and restored from it.
#[test]
fn a_log_takes_what_is_new_and_gives_back_everything() {
    let mut rng = Rng::from_seed(8);
    let rings =
        [(|| Experience::windows(PIXELS, 4, 5).unwrap().logged()) as fn() -> Experience<u8, f32>, || {
            Experience::episodes(PIXELS, 33).unwrap().logged()
        }];
    for (fixed, make) in [true, false].into_iter().zip(rings) {
        let (mut ring, mut log) = (make(), Log::default());
        for _ in 0..80 {
            for _ in 0..rng.below(9) {
                ring.push(pixels(if fixed { 4 } else { 1 + rng.below(12) }, &mut rng).window());
            }
            let tensors = saved_to(&mut ring, &mut log);
            assert!(tensors.values().all(|stored| stored.bytes.len() < 200), "only places are tensors");
            let mut restored = make();
            archive(&mut restored, &mut Archive::loading_from(tensors.clone(), &mut log)).unwrap();
            assert_eq!(all(&restored), all(&ring));
            // It goes on like the other one, with the log as well as without.
            assert_eq!(saved_to(&mut restored, &mut log.clone()), tensors);
            assert_eq!(saved(&mut restored), saved(&mut ring));
            log.bytes.truncate(log.bytes.len().saturating_sub(rng.below(400)));
        }
        assert!(log.start > 0 && ring.end > 0);
    }
}

/// A log that stops in the middle is an error, and so is one with numbers that make no sense.
#[test]
fn logs_that_stop_or_hold_nonsense_are_refused() {
    let mut rng = Rng::from_seed(9);
    let make = || Experience::windows(PIXELS, 4, 50).unwrap().logged();
    let mut ring = make();
    (0..40).for_each(|_| ring.push(pixels(4, &mut rng).window()));
    let mut log = Log::default();
    let tensors = saved_to(&mut ring, &mut log);
    for patience in [0, 1, 1000, log.bytes.len() - 1] {
        let mut short = Log { patience: Some(patience), ..Log::default() };
        assert!(matches!(
            archive(&mut ring, &mut Archive::saving_to(&mut short)),
            Err(ArchiveError::Log { .. })
        ));
        let mut short = Log { patience: Some(patience), ..log.clone() };
        let loading = &mut Archive::loading_from(tensors.clone(), &mut short);
        assert!(matches!(archive(&mut make(), loading), Err(ArchiveError::Log { .. })));
    }
    let without = archive(&mut make(), &mut Archive::loading(tensors.clone()));
    assert!(matches!(without, Err(ArchiveError::Log { .. })));
    let mut refused = 0;
    for _ in 0..2000 {
        let mut bad = log.clone();
        let at = rng.below(bad.bytes.len());
        bad.bytes[at] = rng.below(256) as u8;
        refused +=
            u32::from(archive(&mut make(), &mut Archive::loading_from(tensors.clone(), &mut bad)).is_err());
    }
    assert!(refused > 100, "{refused}");
    let mut longer = tensors;
    longer.get_mut("replay.log").unwrap().bytes[8] ^= 1;
    assert!(archive(&mut make(), &mut Archive::loading_from(longer, &mut log)).is_err());
    // What is not finite is never written.
    let mut nan = pixels(4, &mut rng);
    nan.rewards[2] = f32::NAN;
    ring.push(nan.window());
    let error = archive(&mut ring, &mut Archive::saving_to(&mut log)).unwrap_err().to_string();
    assert_eq!(error, "tensor `replay.rewards`: it has a number that is not finite");
}

/// Garbage in any part is an error or another experience that makes sense; nothing panics, and nothing asks for memory.
#[test]
fn hostile_content_is_refused_or_makes_sense() {
    let mut rng = Rng::from_seed(7);
    let mut ring = Experience::episodes(PIXELS, 33).unwrap();
    for _ in 0..20 {
        ring.push(pixels(1 + rng.below(12), &mut rng).window());
    }
    let good = saved(&mut ring);
    let names: Vec<String> = good.keys().cloned().collect();
    let (mut refused, rounds) = (0, 20_000);
    for _ in 0..rounds {
        let mut tensors = good.clone();
        let stored = tensors.get_mut(&names[rng.below(names.len())]).unwrap();
        let at = rng.below(stored.bytes.len());
        match rng.below(4) {
            0 => stored.bytes[at] = rng.below(256) as u8,
            1 => stored.bytes.truncate(at),
            2 => stored.bytes[at..].fill(255),
            _ => stored.bytes.extend_from_within(..at),
        }
        let mut found = Experience::episodes(PIXELS, 33).unwrap();
        if archive(&mut found, &mut Archive::loading(tensors)).is_err() {
            refused += 1;
        } else {
            found.push(pixels(12, &mut rng).window());
            assert!(!all(&found).is_empty());
        }
    }
    assert!(refused > rounds / 2, "{refused} refused");
    let named = |part: &str, value: &[u8]| {
        let mut tensors = good.clone();
        tensors.get_mut(part).unwrap().bytes[..value.len()].copy_from_slice(value);
        let mut found: Experience<u8, f32> = Experience::episodes(PIXELS, 33).unwrap();
        archive(&mut found, &mut Archive::loading(tensors)).unwrap_err().to_string()
    };
    let nan = f32::NAN.to_le_bytes();
    assert_eq!(named("replay.actions", &nan), "tensor `replay.actions`: it has a number that is not finite");
    assert_eq!(named("replay.rewards", &nan), "tensor `replay.rewards`: it has a number that is not finite");
    assert!(named("replay.policies", &1.5_f32.to_le_bytes()).contains("no probability"));
    assert!(named("replay.ends", &[3]).contains("other than 0, 1 and 2"));
    assert!(named("replay.next", &[40]).contains("do not fit together"));
}

#[test]
fn more_than_there_is_of_memory_is_refused_with_its_size() {
    for count in [usize::MAX / 2, 1 << 31] {
        let shape = Shape { observation: 1 << 30, action: 1, policy: 0 };
        let error = Experience::<u64, u8>::windows(shape, 1, count).unwrap_err().to_string();
        assert!(error.starts_with("replay_capacity would take") && error.contains("GB of memory"), "{error}");
    }
}
