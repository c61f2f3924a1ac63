//! Many environments of one game, stepped together.

use super::library::{Handle, MAX_STATE, OBSERVATION};
use super::{ACTIONS, Game, Options};
use crate::batched::{Batch, BatchedEnvironment};
use crate::environment::{Spec, StepError, StepKind, TimeStep, same_length};
use crate::registry::OptionError;
use crate::state::{Archive, StateError};

/// What the library calls giving up an episode and starting another.
const GIVE_UP: i32 = -1;

/// The library's seeds have 31 bits. Those that fit are themselves, as in the Python package; others are folded.
fn fold(seed: u64) -> i32 {
    ((seed ^ (seed >> 31) ^ (seed >> 62)) & 0x7fff_ffff) as i32
}

/// Environments of one game that take their steps together.
///
/// The library starts the next episode within the step that ends one: reward and kind then belong to the end, the
/// observation is the new beginning, and the picture of the end is never painted.
///
/// Environment i of a seed is the same game whatever the numbers of environments and threads are, and the same as
/// environment i of the Python package with `rand_seed` = seed, for seeds below 2³¹; larger ones are folded to 31 bits.
#[derive(Debug)]
pub struct Procgen {
    /// Name and options, written into saved states.
    identity: String,
    game: Game,
    handle: Handle,
    /// Steps since the level began, by which the end of time is told from other ends.
    elapsed: Vec<u32>,
    kinds: Vec<StepKind>,
    /// As a [`BatchedEnvironment`]: what it shows and accepts, and the numbers of the last step as learners want them.
    spec: Spec,
    rewards: Vec<f64>,
    discounts: Vec<f64>,
    /// Pictures one step before the time of a level is up, from which one can bootstrap.
    last_observations: Vec<u8>,
}

/// What all environments show after a step, environment by environment, as the library has it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What to act upon next, `[environment, row, column, colour]`: 64 × 64 pixels of red, green and blue.
    pub observations: &'a [u8],
    /// The rewards of the step.
    pub rewards: &'a [f32],
    /// 1 where the observation is the first of an episode, else 0.
    pub firsts: &'a [u8],
    /// How the step ended: [`First`](StepKind::First) before any, [`Truncated`](StepKind::Truncated) where the time of a
    /// level was up and it was not completed. A life lost in that very step cannot be told from it.
    pub kinds: &'a [StepKind],
    /// The numbers of the levels that are shown.
    pub level_seeds: &'a [i32],
    /// The numbers of the levels in which the step was taken.
    pub previous_level_seeds: &'a [i32],
    /// 1 where the step completed its level, else 0.
    pub levels_complete: &'a [u8],
}

impl Procgen {
    /// So many environments on so many threads, in their first episodes. One thread is the caller's own.
    ///
    /// # Errors
    /// If an option does not fit the game, a number is out of range, or the library cannot be had.
    pub fn new(
        game: Game,
        options: &Options,
        envs: usize,
        threads: usize,
        seed: u64,
    ) -> Result<Self, OptionError> {
        options.check(game)?;
        if !(1..=65536).contains(&envs) {
            return Err(OptionError::value("envs", &envs.to_string(), "1 to 65536"));
        }
        if !(1..=1024).contains(&threads) {
            return Err(OptionError::value("threads", &threads.to_string(), "1 to 1024"));
        }
        let handle = Handle::new(game, options, fold(seed), envs, threads)?;
        let identity = format!("procgen:{} envs={envs} {options}", game.name());
        let kinds = vec![StepKind::First; envs];
        Ok(Self {
            identity,
            game,
            handle,
            elapsed: vec![0; envs],
            kinds,
            spec: super::spec(game),
            rewards: vec![0.0; envs],
            discounts: vec![1.0; envs],
            last_observations: vec![0; envs * OBSERVATION],
        })
    }

    /// How many environments there are.
    pub fn num_envs(&self) -> usize {
        self.kinds.len()
    }

    /// What all environments show now.
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            observations: self.handle.observations(),
            rewards: self.handle.rewards(),
            firsts: self.handle.firsts(),
            kinds: &self.kinds,
            level_seeds: self.handle.level_seeds(),
            previous_level_seeds: self.handle.previous_level_seeds(),
            levels_complete: self.handle.levels_complete(),
        }
    }

    /// A step in every environment, with an action for each.
    ///
    /// # Errors
    /// If the number of actions is wrong or one does not exist. Nothing has moved then.
    pub fn step(&mut self, actions: &[usize]) -> Result<Frame<'_>, StepError> {
        same_length("actions", self.num_envs(), actions.len())?;
        let num_actions = ACTIONS.len();
        if let Some(&action) = actions.iter().find(|&&action| action >= num_actions) {
            return Err(StepError::Action { action, num_actions });
        }
        self.handle.step(actions.iter().map(|&action| action as i32));
        let (firsts, complete) = (self.handle.firsts(), self.handle.levels_complete());
        for (i, (elapsed, kind)) in self.elapsed.iter_mut().zip(&mut self.kinds).enumerate() {
            *elapsed += 1;
            let (first, complete) = (firsts[i] != 0, complete[i] != 0);
            *kind = match (first, complete) {
                (false, _) => StepKind::Mid,
                (true, false) if *elapsed >= self.game.time_limit() => StepKind::Truncated,
                (true, _) => StepKind::Terminated,
            };
            if first || complete {
                *elapsed = 0;
            }
        }
        Ok(self.frame())
    }

    /// Gives up all episodes and starts others.
    pub fn restart(&mut self) -> Frame<'_> {
        self.handle.step(std::iter::repeat(GIVE_UP));
        self.handle.rewards_mut().fill(0.0);
        self.elapsed.fill(0);
        self.kinds.fill(StepKind::First);
        self.frame()
    }

    /// The complete state of every environment. It does not depend on the number of threads.
    pub fn save(&self) -> Vec<u8> {
        let mut archive = Archive::saving(&self.identity);
        let saved = self.handle.states().enumerate().try_for_each(|(i, mut state)| {
            archive_one(&mut archive, &mut self.elapsed[i].clone(), &mut self.kinds[i].clone(), &mut state)
        });
        saved.and_then(|()| archive.finish()).expect("writing to memory does not fail")
    }

    /// Takes over a state saved by as many environments of the same game and options; they show again what they showed
    /// then.
    ///
    /// # Errors
    /// If the bytes are damaged, of another version or of another game. Nothing has changed then.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut archive = Archive::loading(&self.identity, state)?;
        let n = self.num_envs();
        let (mut elapsed, mut kinds, mut states) =
            (vec![0; n], vec![StepKind::First; n], vec![Vec::new(); n]);
        for i in 0..n {
            archive_one(&mut archive, &mut elapsed[i], &mut kinds[i], &mut states[i])?;
        }
        archive.finish()?;
        // A state of this library begins with the version of its format, the game and sixteen numbers that follow from the
        // options. The library would end the process if the first two were others.
        let mine = self.handle.states().next().unwrap_or_default();
        let head = 4 + 4 + self.game.name().len() + 16 * 4;
        let familiar = |state: &Vec<u8>| {
            state.len() > head && state.len() <= MAX_STATE && state.get(..head) == mine.get(..head)
        };
        if !states.iter().all(familiar) {
            return Err(StateError::Corrupt { what: "it was saved with another library of Procgen" });
        }
        self.handle.set_states(&states);
        (self.elapsed, self.kinds) = (elapsed, kinds);
        Ok(())
    }
}

impl Procgen {
    /// Fills in what a learner wants to know of the step.
    fn note(&mut self) {
        let (rewards, kinds) = (self.handle.rewards(), &self.kinds);
        for (i, (&reward, &kind)) in rewards.iter().zip(kinds).enumerate() {
            let step = TimeStep::new(kind, f64::from(reward));
            (self.rewards[i], self.discounts[i]) = (step.reward, step.discount);
        }
    }
}

impl BatchedEnvironment for Procgen {
    type Action = usize;
    type Element = u8;

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn num_envs(&self) -> usize {
        self.kinds.len()
    }

    fn reset(&mut self) -> Result<Batch<'_, u8>, StepError> {
        // The library begins by itself; what nobody has acted in yet need not be given up.
        if self.kinds.iter().any(|&kind| kind != StepKind::First) {
            self.restart();
        }
        self.note();
        Ok(self.batch())
    }

    fn step(&mut self, actions: &[usize]) -> Result<Batch<'_, u8>, StepError> {
        for (i, &elapsed) in self.elapsed.iter().enumerate() {
            if elapsed + 1 >= self.game.time_limit() {
                let here = i * OBSERVATION..(i + 1) * OBSERVATION;
                self.last_observations[here.clone()].copy_from_slice(&self.handle.observations()[here]);
            }
        }
        Self::step(self, actions)?;
        self.note();
        Ok(self.batch())
    }

    fn batch(&self) -> Batch<'_, u8> {
        Batch {
            observations: self.handle.observations(),
            last_observations: &self.last_observations,
            rewards: &self.rewards,
            discounts: &self.discounts,
            kinds: &self.kinds,
        }
    }

    fn save(&self) -> Vec<Vec<u8>> {
        vec![Self::save(self)]
    }

    fn restore(&mut self, pieces: &[Vec<u8>]) -> Result<(), StateError> {
        let [state] = pieces else {
            return Err(StateError::Corrupt { what: "it is not in one piece" });
        };
        Self::restore(self, state)?;
        self.note();
        Ok(())
    }
}

/// The fields of one environment.
fn archive_one(
    archive: &mut Archive,
    elapsed: &mut u32,
    kind: &mut StepKind,
    state: &mut Vec<u8>,
) -> Result<(), StateError> {
    let mut steps = *elapsed as i32;
    archive.int(&mut steps, 0..=i32::from(u16::MAX))?;
    *elapsed = steps as u32;
    archive.kind(kind)?;
    archive.bytes(state)
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_that_fit_are_themselves() {
        assert_eq!([0, 7, i32::MAX as u64].map(super::fold), [0, 7, i32::MAX]);
        // By hand: 2^31 is one in the second group of 31 bits, 2^62 in the third.
        assert_eq!([1 << 31, 1 << 62, (1 << 62) + 4].map(super::fold), [1, 1, 5]);
    }
}
