//! The contract between an environment and whoever acts in it.
//!
//! An [`Environment`] owns its generator: a seed and a sequence of actions determine everything, and [`save`] /
//! [`restore`] carry the *complete* state, generator included, so that a resumed run continues bit by bit. Termination
//! (the environment ended: the future is worth nothing) and truncation (we stopped watching) are different [`StepKind`]s;
//! [`TimeStep::discount`] is zero only at termination.
//!
//! [`save`]: Environment::save
//! [`restore`]: Environment::restore
//!
//! ```
//! use ive_envs::{StepKind, minatar};
//! let mut world = minatar::make(minatar::Game::Breakout, &minatar::Options::default(), 7)?;
//! let mut now = world.reset();
//! while !now.kind.is_last() {
//!     now = world.step(1)?;
//! }
//! assert_eq!((now.kind, now.discount), (StepKind::Terminated, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::minatar::Game;
use crate::state::StateError;
use std::fmt;

/// Where in an episode a step lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// The start of an episode: there is no reward yet.
    First,
    /// The episode goes on.
    Mid,
    /// The episode is over for good; nothing of value follows.
    Terminated,
    /// The episode was cut off, although the environment would have gone on.
    Truncated,
}

impl StepKind {
    /// Whether the episode ended here, in either way.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Terminated | Self::Truncated)
    }
}

/// What an agent sees after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeStep<O> {
    /// Where in the episode we are.
    pub kind: StepKind,
    /// The observation; `()` where it was written into the caller's buffer.
    pub observation: O,
    /// The reward of the step that led here.
    pub reward: f64,
    /// 0 at termination, else 1. A learner multiplies its γ with it.
    pub discount: f64,
}

impl TimeStep<()> {
    /// The step with this kind and reward, and the discount that belongs to the kind.
    #[inline]
    pub fn new(kind: StepKind, reward: f64) -> Self {
        let discount = if kind == StepKind::Terminated { 0.0 } else { 1.0 };
        Self { kind, observation: (), reward, discount }
    }

    /// The same step together with its observation.
    pub fn with<O>(self, observation: O) -> TimeStep<O> {
        TimeStep { kind: self.kind, observation, reward: self.reward, discount: self.discount }
    }
}

/// What an environment shows and what it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The registered name, such as `minatar:breakout`.
    pub name: String,
    /// The shape of an observation, row-major.
    pub shape: Vec<usize>,
    /// What the entries of the last axis mean.
    pub channels: Vec<&'static str>,
    /// The names of the actions, in the order of their numbers.
    pub actions: Vec<&'static str>,
}

impl Spec {
    /// How many entries an observation has.
    pub fn observation_len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What a person sees of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A board of MinAtar.
    Board {
        /// The game, which says how its objects are painted.
        game: Game,
        /// `[row, column, channel]`, 0 or 1.
        cells: Vec<u8>,
    },
    /// A square picture.
    Pixels {
        /// Pixels a side.
        side: usize,
        /// `[row, column, colour]`: red, green and blue.
        rgb: Vec<u8>,
    },
}

/// An environment that cannot take a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepError {
    /// There is no such action.
    Action {
        /// The number given.
        action: usize,
        /// How many actions there are.
        num_actions: usize,
    },
    /// A number of an action is infinite or not a number.
    NotFinite {
        /// Which part of the action.
        action: &'static str,
    },
    /// The physics of the environment could not go on: its numbers got too large.
    Unstable {
        /// After how many control steps of the episode.
        control_steps: u32,
    },
    /// A buffer or a batch has the wrong length.
    Length {
        /// Which one.
        what: &'static str,
        /// The length needed.
        expected: usize,
        /// The length given.
        got: usize,
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action { action, num_actions } => {
                write!(
                    f,
                    "action {action} does not exist: this environment has the actions 0 to {}",
                    num_actions - 1
                )
            }
            Self::NotFinite { action } => write!(f, "action {action} must be a finite number"),
            Self::Unstable { control_steps } => write!(
                f,
                "the simulation became unstable after {control_steps} control steps; reset the environment to go on"
            ),
            Self::Length { what, expected, got } => {
                write!(f, "{what}: expected length {expected}, got {got}")
            }
        }
    }
}

impl std::error::Error for StepError {}

/// An environment one can act in, one step at a time.
///
/// The `_into` methods never allocate; [`reset`](Self::reset) and [`step`](Self::step) are the comfortable versions.
pub trait Environment {
    /// What is passed to a step: `usize` for numbered actions, an array where there is a number for each motor.
    type Action: Copy;
    /// One entry of an observation.
    type Element: Copy + Default;

    /// What the environment shows and accepts.
    fn spec(&self) -> &Spec;

    /// Starts an episode and writes its first observation.
    ///
    /// # Errors
    /// If the buffer has the wrong length.
    fn reset_into(&mut self, observation: &mut [Self::Element]) -> Result<TimeStep<()>, StepError>;

    /// Takes a step and writes the observation after it.
    ///
    /// After the end of an episode a step changes nothing, is worth nothing and is again terminated.
    ///
    /// # Errors
    /// If the action does not exist, the buffer has the wrong length or the physics cannot go on. The environment has not
    /// moved then.
    fn step_into(
        &mut self,
        action: Self::Action,
        observation: &mut [Self::Element],
    ) -> Result<TimeStep<()>, StepError>;

    /// Writes what the environment shows now, for instance after [`restore`](Self::restore).
    ///
    /// # Errors
    /// If the buffer has the wrong length.
    fn observe_into(&self, observation: &mut [Self::Element]) -> Result<(), StepError>;

    /// The complete state: two environments with equal states have equal futures.
    fn save(&self) -> Vec<u8>;

    /// Takes over a state saved by an environment of the same name and options.
    ///
    /// # Errors
    /// If the bytes are damaged, of another version or of another environment. The environment is unchanged then.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;

    /// What a person sees now, if there is something to see. `side` is how many pixels a side are wanted; only
    /// environments that draw themselves heed it.
    fn sight(&self, side: usize) -> Option<Sight> {
        let _ = side;
        None
    }

    /// Starts an episode.
    fn reset(&mut self) -> TimeStep<Vec<Self::Element>> {
        let mut observation = vec![Self::Element::default(); self.spec().observation_len()];
        let step = self.reset_into(&mut observation);
        step.expect("the buffer was made to measure").with(observation)
    }

    /// Takes a step.
    ///
    /// # Errors
    /// If the action does not exist.
    fn step(&mut self, action: Self::Action) -> Result<TimeStep<Vec<Self::Element>>, StepError> {
        let mut observation = vec![Self::Element::default(); self.spec().observation_len()];
        Ok(self.step_into(action, &mut observation)?.with(observation))
    }
}

/// An environment whose kind is known only by its actions and observations.
pub type BoxedEnvironment<A, E> = Box<dyn Environment<Action = A, Element = E> + Send>;

/// An environment with numbered actions and observations of bytes, whichever it is.
pub type ByteEnvironment = BoxedEnvironment<usize, u8>;

impl<E: Environment + ?Sized> Environment for Box<E> {
    type Action = E::Action;
    type Element = E::Element;

    fn spec(&self) -> &Spec {
        (**self).spec()
    }
    fn reset_into(&mut self, observation: &mut [E::Element]) -> Result<TimeStep<()>, StepError> {
        (**self).reset_into(observation)
    }
    #[inline]
    fn step_into(
        &mut self,
        action: E::Action,
        observation: &mut [E::Element],
    ) -> Result<TimeStep<()>, StepError> {
        (**self).step_into(action, observation)
    }
    fn observe_into(&self, observation: &mut [E::Element]) -> Result<(), StepError> {
        (**self).observe_into(observation)
    }
    fn save(&self) -> Vec<u8> {
        (**self).save()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        (**self).restore(state)
    }
    fn sight(&self, side: usize) -> Option<Sight> {
        (**self).sight(side)
    }
}

/// `Ok` when a buffer has the length that is needed.
#[inline]
pub(crate) fn same_length(what: &'static str, expected: usize, got: usize) -> Result<(), StepError> {
    if expected == got { Ok(()) } else { Err(StepError::Length { what, expected, got }) }
}
