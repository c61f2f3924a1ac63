//! A game, its generator and sticky actions, as an [`Environment`].

use super::Game;
use super::board::{Action, CELLS, Rules, Turn};
use crate::environment::{Environment, Sight, Spec, StepError, StepKind, TimeStep, same_length};
use crate::random::Random;
use crate::state::{Archive, StateError};

/// The rules of a game: what a state is, how a turn changes it, what one sees of it.
pub(crate) trait Rulebook: Clone + std::fmt::Debug + Send {
    /// The names of the channels of an observation.
    const CHANNELS: &'static [&'static str];

    /// The state at the start of an episode.
    fn begin(rules: Rules, random: &mut impl Random) -> Self;

    /// Starts over. Games with lists keep their memory.
    fn begin_again(&mut self, rules: Rules, random: &mut impl Random) {
        *self = Self::begin(rules, random);
    }

    /// Plays one turn. A turn that ends the game is nevertheless played to its end.
    fn act(&mut self, action: Action, random: &mut impl Random) -> Turn;

    /// Sets the entries of an observation `[row, column, channel]` that was cleared before.
    fn observe(&self, out: &mut [u8]);

    /// Saves or restores the state.
    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError>;
}

/// A game in progress.
#[derive(Clone, Debug)]
pub(crate) struct World<G, R> {
    spec: Spec,
    kind: Game,
    /// Name and options, written into saved states.
    identity: String,
    rules: Rules,
    sticky: f64,
    actions: &'static [Action],
    random: R,
    game: G,
    /// The action executed last. It survives a reset: stickiness crosses episodes, as in the original.
    last: Action,
    over: bool,
}

impl<G: Rulebook, R: Random> World<G, R> {
    pub(crate) fn new(
        kind: Game,
        identity: String,
        rules: Rules,
        sticky: f64,
        actions: &'static [Action],
        seed: u64,
    ) -> Self {
        let spec = Spec {
            name: format!("minatar:{}", kind.name()),
            shape: vec![10, 10, G::CHANNELS.len()],
            channels: G::CHANNELS.to_vec(),
            actions: actions.iter().map(|action| action.name()).collect(),
        };
        // The first episode must be asked for; until then the environment shows one that took no draws from the seed.
        let game = G::begin(rules, &mut R::from_seed(0));
        let random = R::from_seed(seed);
        Self { spec, kind, identity, rules, sticky, actions, random, game, last: Action::Noop, over: false }
    }

    fn show(&self, observation: &mut [u8]) {
        observation.fill(0);
        self.game.observe(observation);
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        self.random.archive(archive)?;
        let mut last = self.last as u8;
        archive.int(&mut last, 0..=5)?;
        self.last = Action::ALL[usize::from(last)];
        archive.flag(&mut self.over)?;
        self.game.archive(archive)
    }
}

impl<G: Rulebook, R: Random> Environment for World<G, R> {
    type Action = usize;
    type Element = u8;

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset_into(&mut self, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", CELLS * G::CHANNELS.len(), observation.len())?;
        self.game.begin_again(self.rules, &mut self.random);
        self.over = false;
        self.show(observation);
        Ok(TimeStep::new(StepKind::First, 0.0))
    }

    #[inline]
    fn step_into(&mut self, action: usize, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        let num_actions = self.actions.len();
        let wanted = *self.actions.get(action).ok_or(StepError::Action { action, num_actions })?;
        same_length("observation", CELLS * G::CHANNELS.len(), observation.len())?;
        // The draw is made in every step, even when it cannot matter: streams must not depend on options.
        if self.random.uniform() >= self.sticky {
            self.last = wanted;
        }
        let mut turn = Turn { reward: 0, terminal: true };
        if !self.over {
            turn = self.game.act(self.last, &mut self.random);
            self.over = turn.terminal;
        }
        self.show(observation);
        let kind = if turn.terminal { StepKind::Terminated } else { StepKind::Mid };
        Ok(TimeStep::new(kind, f64::from(turn.reward)))
    }

    fn observe_into(&self, observation: &mut [u8]) -> Result<(), StepError> {
        same_length("observation", CELLS * G::CHANNELS.len(), observation.len())?;
        self.show(observation);
        Ok(())
    }

    fn sight(&self, _: usize) -> Option<Sight> {
        let mut cells = vec![0; CELLS * G::CHANNELS.len()];
        self.show(&mut cells);
        Some(Sight::Board { game: self.kind, cells })
    }

    fn save(&self) -> Vec<u8> {
        let mut archive = Archive::saving(&self.identity);
        let saved = self.clone().archive(&mut archive).and_then(|()| archive.finish());
        saved.expect("writing to memory does not fail")
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut archive = Archive::loading(&self.identity, state)?;
        let mut restored = self.clone();
        restored.archive(&mut archive)?;
        archive.finish()?;
        *self = restored;
        Ok(())
    }
}
