//! Experience in a checkpoint: where the windows lie, and what they hold.

use ive_envs::StepKind;

use super::{Experience, Place, Shape, Window};
use crate::archive::{Archive, ArchiveError, Element, Kind, Stopped};

/// About how many bytes of a log are written at once.
const CHUNK: usize = 1 << 20;

/// What an environment can have shown and accepted. Each function says what is wrong with the numbers of one entry.
#[expect(missing_debug_implementations, reason = "functions have nothing to show")]
pub struct Rules<'a, O, A> {
    /// Of an observation.
    pub observation: &'a dyn Fn(&[O]) -> Result<(), String>,
    /// Of an action.
    pub action: &'a dyn Fn(&[A]) -> Result<(), String>,
    /// Whether it cuts episodes off.
    pub truncates: bool,
}

fn content(name: &str, part: &str, problem: &str) -> ArchiveError {
    ArchiveError::Content { name: format!("{name}{part}"), problem: problem.to_owned() }
}

/// As it is saved.
fn code(kind: StepKind) -> u8 {
    match kind {
        StepKind::First | StepKind::Mid => 0,
        StepKind::Terminated => 1,
        StepKind::Truncated => 2,
    }
}

fn decoded(code: u8) -> Option<StepKind> {
    [StepKind::Mid, StepKind::Terminated, StepKind::Truncated].get(usize::from(code)).copied()
}

impl<O: Element, A: Element> Experience<O, A> {
    /// What version 0.1 called observations, all of which were bits of boards.
    const OBSERVATIONS: &str = if matches!(O::KIND, Kind::U64) { "boards" } else { "observations" };

    /// Saves or restores; refuses what no environment with these rules can have shown.
    pub fn archive(
        &mut self,
        name: &str,
        rules: &Rules<'_, O, A>,
        archive: &mut Archive,
    ) -> Result<(), ArchiveError> {
        self.archive_places(name, archive)?;
        let log = format!("{name}.log");
        match (archive.is_loading(), archive.contains(&log)) {
            (false, _) if self.logged && archive.log_writer().is_some() => {
                archive.u64s(&log, &mut vec![self.end - self.live_bytes(), self.end])?;
                self.write_log(name, archive)
            }
            (false, _) => self.save(name, archive),
            (true, true) => {
                let mut live = Vec::new();
                archive.u64s(&log, &mut live)?;
                self.read_log(name, rules, &live, archive)
            }
            (true, false) => {
                self.end = self.live_bytes();
                self.load(name, rules, archive)
            }
        }
    }

    /// Bytes of a window of so many steps in a log: observations, actions, rewards, ends, policies.
    pub(super) fn record_bytes(&self, steps: usize) -> u64 {
        let Shape { observation: o, action: a, policy: p } = self.shape;
        ((steps + 1) * (o * O::BYTES + 4 * p) + steps * (a * A::BYTES + 5)) as u64
    }

    fn live_bytes(&self) -> u64 {
        self.windows.iter().map(|window| self.record_bytes(window.steps())).sum()
    }

    /// The windows from the oldest to the newest.
    fn by_age(&self) -> impl Iterator<Item = usize> + use<O, A> {
        (self.next..self.len()).chain(0..self.next.min(self.len()))
    }

    fn write_log(&self, name: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        let stopped = |_: Stopped| ArchiveError::Log { name: name.to_owned() };
        let Some(log) = archive.log_writer() else { return Err(stopped(Stopped)) };
        let mut at = self.end - self.live_bytes();
        let from = log.begin(name, at..self.end).map_err(stopped)?;
        let mut bytes = Vec::new();
        for i in self.by_age() {
            let end = at + self.record_bytes(self.windows[i].steps());
            if end > from {
                let window = self.get(i);
                Self::check_numbers(name, &window)?;
                let known = bytes.len() + from.saturating_sub(at) as usize;
                let start = bytes.len();
                encode(&window, &mut bytes);
                // Of the first one, a part may be known.
                bytes.drain(start..known);
            }
            if bytes.len() >= CHUNK {
                log.write(&bytes).map_err(stopped)?;
                bytes.clear();
            }
            at = end;
        }
        log.write(&bytes).map_err(stopped)
    }

    fn read_log(
        &mut self,
        name: &str,
        rules: &Rules<'_, O, A>,
        live: &[u64],
        archive: &mut Archive,
    ) -> Result<(), ArchiveError> {
        let stopped = |_: Stopped| ArchiveError::Log { name: name.to_owned() };
        let Some(log) = archive.log_reader() else { return Err(stopped(Stopped)) };
        let (first, end) = match *live {
            [first, end] if end.checked_sub(first) == Some(self.live_bytes()) => (first, end),
            _ => return Err(content(name, ".log", "it does not have as many bytes as its windows")),
        };
        log.begin(name, first..end).map_err(stopped)?;
        let (mut bytes, mut record) = (Vec::new(), Record::default());
        for i in self.by_age() {
            let steps = self.windows[i].steps();
            bytes.resize(self.record_bytes(steps) as usize, 0);
            log.read(&mut bytes).map_err(stopped)?;
            record.decode(self.shape, steps, &bytes);
            let kinds = kinds(name, &record.ends, rules.truncates)?;
            let window = record.window(&kinds);
            self.check(name, rules, &window)?;
            self.clear(self.windows[i]);
            self.write(i, window);
        }
        self.end = end;
        Ok(())
    }

    /// Where the windows lie. Windows of one length have no choice.
    fn archive_places(&mut self, name: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        let (mut filled, mut next) = (self.windows.len(), self.next);
        archive.index(&format!("{name}.filled"), &mut filled)?;
        archive.index(&format!("{name}.next"), &mut next)?;
        let mut places: Vec<u64> = match self.steps {
            Some(_) => Vec::new(),
            None => self.windows.iter().flat_map(|w| [w.at, w.steps].map(u64::from)).collect(),
        };
        if self.steps.is_none() {
            archive.u64s(&format!("{name}.places"), &mut places)?;
        }
        if archive.is_loading() {
            let found = self.placed(filled, next, &places);
            self.windows = found.ok_or_else(|| content(name, "", "its parts do not fit together"))?;
            self.next = next;
        }
        Ok(())
    }

    /// The places of so many windows, if they make sense.
    fn placed(&self, filled: usize, next: usize, places: &[u64]) -> Option<Vec<Place>> {
        let room = self.room as u64;
        let windows: Vec<Place> = if let Some(n) = self.steps {
            let entries = n as u64 + 1;
            if filled as u64 > room / entries {
                return None;
            }
            (0..filled as u64).map(|i| Place { at: (i * entries) as u32, steps: n as u32 }).collect()
        } else {
            let (pairs, rest) = places.as_chunks::<2>();
            let fits = |&[at, steps]: &[u64; 2]| at < room && (1..room).contains(&steps) && at + steps < room;
            if pairs.len() != filled || !rest.is_empty() || !pairs.iter().all(fits) {
                return None;
            }
            pairs.iter().map(|&[at, steps]| Place { at: at as u32, steps: steps as u32 }).collect()
        };
        let apart = windows.windows(2).all(|pair| pair[0].end() <= pair[1].start());
        let last = windows.last().map_or(0, |place| place.end());
        let wraps = next < filled || (next == filled && last + 2 <= self.room);
        (apart && wraps && windows.first().is_none_or(|place| place.at == 0)).then_some(windows)
    }

    fn save(&self, name: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        let windows = || (0..self.len()).map(|i| self.get(i));
        archive.save_parts(&format!("{name}.{}", Self::OBSERVATIONS), windows().map(|w| w.observations));
        archive.save_parts(&format!("{name}.actions"), windows().map(|w| w.actions));
        archive.save_parts(&format!("{name}.rewards"), windows().map(|w| w.rewards));
        let mut ends: Vec<u8> = windows().flat_map(|w| w.kinds).map(|&kind| code(kind)).collect();
        archive.bytes(&format!("{name}.ends"), &mut ends)?;
        if self.shape.policy > 0 {
            archive.save_parts(&format!("{name}.policies"), windows().map(|w| w.policies));
        }
        Ok(())
    }

    fn load(
        &mut self,
        name: &str,
        rules: &Rules<'_, O, A>,
        archive: &mut Archive,
    ) -> Result<(), ArchiveError> {
        let (mut observations, mut actions, mut policies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rewards, mut ends) = (Vec::new(), Vec::new());
        archive.list(&format!("{name}.{}", Self::OBSERVATIONS), &mut observations)?;
        archive.list(&format!("{name}.actions"), &mut actions)?;
        archive.f32s(&format!("{name}.rewards"), &mut rewards)?;
        archive.bytes(&format!("{name}.ends"), &mut ends)?;
        if self.shape.policy > 0 {
            archive.f32s(&format!("{name}.policies"), &mut policies)?;
        }
        let Shape { observation: o, action: a, policy: p } = self.shape;
        let (n, windows) = (self.num_steps(), self.windows.len());
        let lengths = [observations.len(), actions.len(), policies.len(), rewards.len(), ends.len()];
        if lengths != [(n + windows) * o, n * a, (n + windows) * p, n, n] {
            return Err(content(name, "", "its parts do not fit together"));
        }
        let kinds = kinds(name, &ends, rules.truncates)?;
        let (mut t, mut entry) = (0, 0);
        for i in 0..windows {
            let n = self.windows[i].steps();
            let window = Window {
                observations: &observations[entry * o..][..(n + 1) * o],
                actions: &actions[t * a..][..n * a],
                rewards: &rewards[t..][..n],
                kinds: &kinds[t..][..n],
                policies: &policies[entry * p..][..(n + 1) * p],
            };
            self.check(name, rules, &window)?;
            self.clear(self.windows[i]);
            self.write(i, window);
            (t, entry) = (t + n, entry + n + 1);
        }
        Ok(())
    }

    /// Whether an environment can have shown a window.
    fn check(
        &self,
        name: &str,
        rules: &Rules<'_, O, A>,
        window: &Window<'_, O, A>,
    ) -> Result<(), ArchiveError> {
        let observations = format!(".{}", Self::OBSERVATIONS);
        for observation in window.observations.chunks_exact(self.shape.observation) {
            (rules.observation)(observation).map_err(|e| content(name, &observations, &e))?;
        }
        for action in window.actions.chunks_exact(self.shape.action) {
            (rules.action)(action).map_err(|e| content(name, ".actions", &e))?;
        }
        Self::check_numbers(name, window)
    }

    /// Whether all numbers of a window can be saved.
    fn check_numbers(name: &str, window: &Window<'_, O, A>) -> Result<(), ArchiveError> {
        let not_finite = |part: &str| Err(content(name, part, "it has a number that is not finite"));
        let observations = format!(".{}", Self::OBSERVATIONS);
        match () {
            () if !window.observations.iter().all(|x| x.is_finite()) => not_finite(&observations),
            () if !window.actions.iter().all(|x| x.is_finite()) => not_finite(".actions"),
            () if !window.rewards.iter().all(|x| x.is_finite()) => not_finite(".rewards"),
            () if !window.policies.iter().all(|p| (0.0..=1.0).contains(p)) => {
                Err(content(name, ".policies", "it has a number that is no probability"))
            }
            () => Ok(()),
        }
    }
}

fn kinds(name: &str, ends: &[u8], truncates: bool) -> Result<Vec<StepKind>, ArchiveError> {
    let wrong = if truncates { "0, 1 and 2" } else { "0 and 1" };
    let kind = |&end: &u8| decoded(end).filter(|&kind| truncates || kind != StepKind::Truncated);
    let kinds: Option<Vec<StepKind>> = ends.iter().map(kind).collect();
    kinds.ok_or_else(|| content(name, ".ends", &format!("it is something other than {wrong}")))
}

/// A window as bytes of a log.
fn encode<O: Element, A: Element>(window: &Window<'_, O, A>, bytes: &mut Vec<u8>) {
    O::encode(window.observations, bytes);
    A::encode(window.actions, bytes);
    f32::encode(window.rewards, bytes);
    bytes.extend(window.kinds.iter().map(|&kind| code(kind)));
    f32::encode(window.policies, bytes);
}

/// The numbers of a window of a log.
#[derive(Default)]
struct Record<O, A> {
    observations: Vec<O>,
    actions: Vec<A>,
    rewards: Vec<f32>,
    ends: Vec<u8>,
    policies: Vec<f32>,
}

impl<O: Element, A: Element> Record<O, A> {
    fn decode(&mut self, shape: Shape, steps: usize, mut bytes: &[u8]) {
        let mut next = |length: usize| bytes.split_off(..length).unwrap_or_default();
        take((steps + 1) * shape.observation, &mut next, &mut self.observations);
        take(steps * shape.action, &mut next, &mut self.actions);
        take(steps, &mut next, &mut self.rewards);
        take(steps, &mut next, &mut self.ends);
        take((steps + 1) * shape.policy, &mut next, &mut self.policies);
    }

    fn window<'a>(&'a self, kinds: &'a [StepKind]) -> Window<'a, O, A> {
        Window {
            observations: &self.observations,
            actions: &self.actions,
            rewards: &self.rewards,
            kinds,
            policies: &self.policies,
        }
    }
}

fn take<'a, T: Element>(count: usize, next: &mut impl FnMut(usize) -> &'a [u8], numbers: &mut Vec<T>) {
    numbers.clear();
    T::decode(next(count * T::BYTES), numbers);
}
