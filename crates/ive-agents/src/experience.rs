//! What an agent has seen and done: windows of consecutive steps in a ring of fixed size.
//!
//! A window of n steps has n + 1 entries. Entry t holds what was seen then, and the action, reward and kind of the step that
//! led there; entry 0 is led to by none: action 0, reward 0, [`StepKind::First`]. So one window has two faces, both of them
//! slices without a copy:
//!
//! - [`Window`]: n + 1 observations and the n steps between them, `(oₜ, aₜ, rₜ₊₁, oₜ₊₁)`. Windows of one length from each
//!   environment in turn may cross episodes; the kinds say where. DQN has windows of one step, VPN of ten, Muesli of a whole
//!   rollout with the probabilities by which each action was chosen.
//! - [`Sequence`]: entries with what led to them, `(aₜ₋₁, rₜ, oₜ)`, as recurrent models consume them. With whole episodes as
//!   windows, [`Experience::draw_sequence`] draws an episode, and a start within it, as Dreamer does.
//!
//! The end of value and the end of an episode are different things: [`discount`] is zero only where a world ended, while
//! [`StepKind::is_last`] is true also where an episode was cut off.

use ive::Rng;
use ive_envs::StepKind;

use crate::AgentError;
use crate::archive::Element;

mod saved;
#[cfg(test)]
mod tests;

pub use saved::Rules;

/// Experience that can take more bytes than this is a log of a checkpoint, of which only what is new is saved. Less is saved whole,
/// so that generations of checkpoints share nothing.
pub const WHOLE: f64 = 64e6;

/// What the value behind a step counts for: 0 where the world ended, else 1, also where an episode was cut off.
pub fn discount(kind: StepKind) -> f32 {
    if kind == StepKind::Terminated { 0.0 } else { 1.0 }
}

/// How many numbers the parts of an entry have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of an observation: words of bits, bytes of pixels, numbers.
    pub observation: usize,
    /// Of an action: 1 where actions are numbered.
    pub action: usize,
    /// Of the policy that chose the action: one probability per action, or 0 if they are not kept.
    pub policy: usize,
}

impl Shape {
    /// Bytes of an entry: its parts, a reward and a kind.
    pub fn entry_bytes<O: Element, A: Element>(&self) -> usize {
        self.observation * O::BYTES + self.action * A::BYTES + 4 * self.policy + 5
    }

    /// Bytes that a window of so many steps takes, with the note of its place.
    pub fn window_bytes<O: Element, A: Element>(&self, steps: usize) -> f64 {
        (steps as f64 + 1.0) * self.entry_bytes::<O, A>() as f64 + size_of::<Place>() as f64
    }
}

/// Steps of one environment, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window<'a, O, A> {
    /// `[steps + 1, observation]`. The one behind the last step of an episode is the first of the next.
    pub observations: &'a [O],
    /// The actions taken, `[steps, action]`.
    pub actions: &'a [A],
    /// The rewards that followed, `[steps]`.
    pub rewards: &'a [f32],
    /// How the steps ended, `[steps]`.
    pub kinds: &'a [StepKind],
    /// The probabilities of all actions at each observation when it was acted upon, `[steps + 1, policy]`.
    pub policies: &'a [f32],
}

impl<'a, O, A> Window<'a, O, A> {
    /// How many steps it has.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// The observation behind the last step, if there is value behind it.
    pub fn last_observation(&self) -> Option<&'a [O]> {
        let length = self.observations.len() / (self.steps() + 1);
        let counts = self.kinds.last().is_some_and(|&kind| discount(kind) > 0.0);
        counts.then(|| &self.observations[self.observations.len() - length..])
    }

    /// So many of its steps, from one on.
    #[must_use]
    pub fn part(&self, start: usize, steps: usize) -> Self {
        let entries = self.steps() + 1;
        let (o, p) = (self.observations.len() / entries, self.policies.len() / entries);
        let a = self.actions.len() / self.steps();
        Self {
            observations: &self.observations[start * o..][..(steps + 1) * o],
            actions: &self.actions[start * a..][..steps * a],
            rewards: &self.rewards[start..][..steps],
            kinds: &self.kinds[start..][..steps],
            policies: &self.policies[start * p..][..(steps + 1) * p],
        }
    }
}

/// Entries of one window, one after the other, each with the step that led to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence<'a, O, A> {
    /// `[length, observation]`.
    pub observations: &'a [O],
    /// The actions that led there, `[length, action]`: zeros at the start of a window.
    pub actions: &'a [A],
    /// The rewards of these actions, `[length]`: zero at the start of a window.
    pub rewards: &'a [f32],
    /// How these steps ended, `[length]`: [`StepKind::First`] at the start of a window.
    pub kinds: &'a [StepKind],
    /// The probabilities of all actions at each observation, `[length, policy]`.
    pub policies: &'a [f32],
}

/// Where a window lies: its first entry, and how many steps it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: u32,
    steps: u32,
}

impl Place {
    fn start(self) -> usize {
        self.at as usize
    }

    fn steps(self) -> usize {
        self.steps as usize
    }

    fn end(self) -> usize {
        self.start() + self.steps() + 1
    }
}

/// A ring of windows. Observations have entries of type `O`: `u64` for bits, `u8` for pixels, `f32`. Actions have entries of type
/// `A`: `u8` for numbered ones, `f32` for continuous ones.
#[derive(Clone, Debug)]
pub struct Experience<O, A> {
    shape: Shape,
    /// How many steps every window has, if all have the same number.
    steps: Option<usize>,
    /// Entries that there is room for.
    room: usize,
    observations: Vec<O>,
    actions: Vec<A>,
    rewards: Vec<f32>,
    kinds: Vec<StepKind>,
    policies: Vec<f32>,
    /// The windows by their place, the first one at entry 0.
    windows: Vec<Place>,
    /// Which of them is the oldest and goes next; their number while there is room.
    next: usize,
    /// Whether a checkpoint saves only what is new.
    logged: bool,
    /// How many bytes of the log there have been in all.
    end: u64,
}

impl<O: Element, A: Element> Experience<O, A> {
    /// Room for so many windows of so many steps each.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn windows(shape: Shape, steps: usize, count: usize) -> Result<Self, AgentError> {
        let room = steps.saturating_add(1).saturating_mul(count);
        Self::with_room(shape, Some(steps), room, count)
    }

    /// Room for whole episodes of any length. Each takes one entry more than it has steps, for its first observation.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn episodes(shape: Shape, entries: usize) -> Result<Self, AgentError> {
        Self::with_room(shape, None, entries, 0)
    }

    /// Takes addresses for everything at once. Memory is used as it is filled, and never moved.
    fn with_room(shape: Shape, steps: Option<usize>, room: usize, count: usize) -> Result<Self, AgentError> {
        let bytes =
            room as f64 * shape.entry_bytes::<O, A>() as f64 + count as f64 * size_of::<Place>() as f64;
        let mut all = Self {
            shape,
            steps,
            room,
            observations: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            kinds: Vec::new(),
            policies: Vec::new(),
            windows: Vec::new(),
            next: 0,
            logged: bytes > WHOLE,
            end: 0,
        };
        let taken = u32::try_from(room).ok().and_then(|_| {
            all.observations.try_reserve_exact(room.checked_mul(shape.observation)?).ok()?;
            all.actions.try_reserve_exact(room.checked_mul(shape.action)?).ok()?;
            all.policies.try_reserve_exact(room.checked_mul(shape.policy)?).ok()?;
            all.rewards.try_reserve_exact(room).ok()?;
            all.kinds.try_reserve_exact(room).ok()?;
            all.windows.try_reserve_exact(count).ok()
        });
        taken.map(|()| all).ok_or_else(|| {
            let problem =
                format!("would take {:.1} GB of memory, which this machine does not have", bytes / 1e9);
            AgentError::Setting { key: "replay_capacity", problem }
        })
    }

    /// The same, of which a checkpoint saves only what is new, however small it is. What was pushed must not be changed then.
    #[must_use]
    pub fn logged(self) -> Self {
        Self { logged: true, ..self }
    }

    /// Windows of zeros, to be written step by step.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn zeroed(shape: Shape, steps: usize, count: usize) -> Result<Self, AgentError> {
        let mut all = Self::windows(shape, steps, count)?;
        for _ in 0..count {
            all.allot(steps);
        }
        Ok(all)
    }

    /// How many windows there are.
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// How many steps there are.
    pub fn num_steps(&self) -> usize {
        self.windows.iter().map(|window| window.steps()).sum()
    }

    /// A window.
    pub fn get(&self, i: usize) -> Window<'_, O, A> {
        let (at, n) = (self.windows[i].start(), self.windows[i].steps());
        let Shape { observation: o, action: a, policy: p } = self.shape;
        Window {
            observations: &self.observations[at * o..][..(n + 1) * o],
            actions: &self.actions[(at + 1) * a..][..n * a],
            rewards: &self.rewards[at + 1..][..n],
            kinds: &self.kinds[at + 1..][..n],
            policies: &self.policies[at * p..][..(n + 1) * p],
        }
    }

    /// So many entries of a window, from one on.
    pub fn sequence(&self, i: usize, start: usize, length: usize) -> Sequence<'_, O, A> {
        assert!(start + length <= self.windows[i].steps() + 1, "a sequence lies within one window");
        let at = self.windows[i].start() + start;
        let Shape { observation: o, action: a, policy: p } = self.shape;
        Sequence {
            observations: &self.observations[at * o..][..length * o],
            actions: &self.actions[at * a..][..length * a],
            rewards: &self.rewards[at..][..length],
            kinds: &self.kinds[at..][..length],
            policies: &self.policies[at * p..][..length * p],
        }
    }

    /// A sequence of so many entries: a window drawn uniformly from those that are long enough, then a start drawn
    /// uniformly. `None` if none is long enough.
    pub fn draw_sequence(&self, length: usize, rng: &mut Rng) -> Option<Sequence<'_, O, A>> {
        let starts = |place: &Place| (place.steps() + 2).saturating_sub(length);
        if length == 0 || !self.windows.iter().any(|place| starts(place) > 0) {
            return None;
        }
        loop {
            let i = rng.below(self.len());
            let starts = starts(&self.windows[i]);
            if starts > 0 {
                return Some(self.sequence(i, rng.below(starts), length));
            }
        }
    }

    /// Writes an observation of a window; t may be the number of steps, for the one behind the last.
    pub fn set_observation(&mut self, i: usize, t: usize, observation: &[O]) {
        let (at, o) = (self.windows[i].start() + t, self.shape.observation);
        self.observations[at * o..][..o].copy_from_slice(observation);
    }

    /// Writes step t of a window: the action upon observation t, and what followed.
    pub fn set_step(&mut self, i: usize, t: usize, action: &[A], reward: f32, kind: StepKind) {
        let (at, a) = (self.windows[i].start() + t + 1, self.shape.action);
        self.actions[at * a..][..a].copy_from_slice(action);
        (self.rewards[at], self.kinds[at]) = (reward, kind);
    }

    /// Writes the probabilities of all actions at an observation of a window.
    pub fn set_policy(&mut self, i: usize, t: usize, policy: &[f32]) {
        let (at, p) = (self.windows[i].start() + t, self.shape.policy);
        self.policies[at * p..][..p].copy_from_slice(policy);
    }

    /// Adds a window, in place of the oldest if there is no room.
    pub fn push(&mut self, window: Window<'_, O, A>) {
        let i = self.allot(window.steps());
        self.write(i, window);
    }

    /// Adds a window of one step, without a policy.
    pub fn push_step(&mut self, before: &[O], after: &[O], action: &[A], reward: f32, kind: StepKind) {
        let i = self.allot(1);
        self.set_observation(i, 0, before);
        self.set_observation(i, 1, after);
        self.set_step(i, 0, action, reward, kind);
    }

    fn write(&mut self, i: usize, window: Window<'_, O, A>) {
        let Shape { observation: o, action: a, policy: p } = self.shape;
        let (at, n) = (self.windows[i].start(), self.windows[i].steps());
        self.observations[at * o..][..(n + 1) * o].copy_from_slice(window.observations);
        self.actions[(at + 1) * a..][..n * a].copy_from_slice(window.actions);
        self.rewards[at + 1..][..n].copy_from_slice(window.rewards);
        self.kinds[at + 1..][..n].copy_from_slice(window.kinds);
        self.policies[at * p..][..(n + 1) * p].copy_from_slice(window.policies);
    }

    /// Makes room for a window behind the newest one, or at the beginning; those that lie there are the oldest, and go.
    fn allot(&mut self, steps: usize) -> usize {
        assert!((1..self.room).contains(&steps), "a window of {steps} steps in a ring of {}", self.room);
        assert!(self.steps.is_none_or(|n| n == steps), "all windows have as many steps");
        let behind = |all: &Self| all.next.checked_sub(1).map_or(0, |newest| all.windows[newest].end());
        if behind(self) + steps + 1 > self.room {
            self.windows.truncate(self.next);
            self.next = 0;
        }
        let place = Place { at: behind(self) as u32, steps: steps as u32 };
        let gone = self.windows[self.next..].iter().take_while(|old| old.start() < place.end()).count();
        if gone == 1 {
            self.windows[self.next] = place;
        } else {
            self.windows.splice(self.next..self.next + gone, [place]);
        }
        self.end += self.record_bytes(steps);
        let i = self.next;
        // An episode of one step is the shortest.
        self.next = if place.end() + 2 > self.room { 0 } else { i + 1 };
        self.clear(place);
        i
    }

    fn clear(&mut self, place: Place) {
        let Shape { observation: o, action: a, policy: p } = self.shape;
        let (at, end) = (place.start(), place.end());
        if self.rewards.len() < end {
            self.observations.resize(end * o, O::default());
            self.actions.resize(end * a, A::default());
            self.policies.resize(end * p, 0.0);
            self.rewards.resize(end, 0.0);
            self.kinds.resize(end, StepKind::Mid);
        }
        self.actions[at * a..][..a].fill(A::default());
        (self.rewards[at], self.kinds[at]) = (0.0, StepKind::First);
    }
}
