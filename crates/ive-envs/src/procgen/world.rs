//! One environment as an [`Environment`].

use super::library::OBSERVATION;
use super::{ACTIONS, Game, Options, Procgen, SIDE};
use crate::environment::{Environment, Sight, Spec, StepError, StepKind, TimeStep, same_length};
use crate::registry::OptionError;
use crate::state::{Archive, StateError};

/// A game in progress.
///
/// The library starts the next episode within the step that ends one, and never paints the end. So the observation at an
/// end is the one before it, one step old: nothing depends on it where an episode terminated, and where it was truncated
/// it is the nearest that a learner can bootstrap from. The next episode waits until [`reset_into`] asks for it; a reset
/// in the middle of an episode gives that one up.
///
/// [`reset_into`]: Environment::reset_into
#[derive(Debug)]
pub(super) struct World {
    spec: Spec,
    /// Name and options, written into saved states.
    identity: String,
    game: Procgen,
    /// How the episode ended, if it did.
    over: Option<StepKind>,
    /// Whether the library has begun an episode that nobody asked for yet.
    waiting: bool,
    /// What was seen last of an episode that is over.
    last: Vec<u8>,
}

impl World {
    pub(super) fn new(game: Game, options: &Options, seed: u64) -> Result<Self, OptionError> {
        let spec = super::spec(game);
        let identity = format!("{} {options}", spec.name);
        let game = Procgen::new(game, options, 1, 1, seed)?;
        Ok(Self { spec, identity, game, over: None, waiting: true, last: vec![0; OBSERVATION] })
    }

    fn observation(&self) -> &[u8] {
        if self.over.is_some() { &self.last } else { self.game.frame().observations }
    }
}

impl Environment for World {
    type Action = usize;
    type Element = u8;

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset_into(&mut self, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", OBSERVATION, observation.len())?;
        if !self.waiting {
            self.game.restart();
        }
        (self.waiting, self.over) = (false, None);
        observation.copy_from_slice(self.observation());
        Ok(TimeStep::new(StepKind::First, 0.0))
    }

    fn step_into(&mut self, action: usize, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", OBSERVATION, observation.len())?;
        let num_actions = ACTIONS.len();
        if action >= num_actions {
            return Err(StepError::Action { action, num_actions });
        }
        if let Some(kind) = self.over {
            observation.copy_from_slice(&self.last);
            return Ok(TimeStep::new(kind, 0.0));
        }
        self.last.copy_from_slice(self.game.frame().observations);
        let now = self.game.step(&[action])?;
        let (kind, reward) = (now.kinds[0], f64::from(now.rewards[0]));
        self.waiting = kind.is_last();
        self.over = self.waiting.then_some(kind);
        observation.copy_from_slice(self.observation());
        Ok(TimeStep::new(kind, reward))
    }

    fn observe_into(&self, observation: &mut [u8]) -> Result<(), StepError> {
        same_length("observation", OBSERVATION, observation.len())?;
        observation.copy_from_slice(self.observation());
        Ok(())
    }

    fn sight(&self, _: usize) -> Option<Sight> {
        Some(Sight::Pixels { side: SIDE, rgb: self.observation().to_vec() })
    }

    fn save(&self) -> Vec<u8> {
        let mut archive = Archive::saving(&self.identity);
        let written = archive
            .flag(&mut self.waiting.clone())
            .and_then(|()| archive.kind(&mut self.over.unwrap_or(StepKind::Mid)))
            .and_then(|()| archive.bytes(&mut self.over.map_or(Vec::new(), |_| self.last.clone())));
        archive.rest(&mut self.game.save());
        written.and_then(|()| archive.finish()).expect("writing to memory does not fail")
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut archive = Archive::loading(&self.identity, state)?;
        let (mut waiting, mut kind, mut last, mut game) = (false, StepKind::Mid, Vec::new(), Vec::new());
        archive.flag(&mut waiting)?;
        archive.kind(&mut kind)?;
        archive.bytes(&mut last)?;
        archive.rest(&mut game);
        let over = kind.is_last().then_some(kind);
        let expected = if over.is_some() { OBSERVATION } else { 0 };
        if last.len() != expected || (over.is_some() && !waiting) {
            return Err(StateError::Corrupt { what: "the end of its episode does not fit" });
        }
        self.game.restore(&game)?;
        (self.waiting, self.over) = (waiting, over);
        if over.is_some() {
            self.last = last;
        }
        Ok(())
    }
}
