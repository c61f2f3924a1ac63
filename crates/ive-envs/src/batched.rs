//! Many environments that take their steps together, whoever steps them: ours one by one, or a library all at once.

use ive::Rng;

use crate::environment::{BoxedEnvironment, Environment, Spec, StepError, StepKind};
use crate::registry::OptionError;
use crate::state::StateError;
use crate::vector::VectorEnvironment;

/// What all environments show after a step, environment by environment.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    /// What to act upon next, `[environment, observation]`.
    pub observations: &'a [T],
    /// The last observation of the episode that just ended, `[environment, observation]`; meaningless for other
    /// environments. Procgen paints no ends: there it is the picture one step before, and only where an episode was
    /// truncated.
    pub last_observations: &'a [T],
    /// The rewards of the step.
    pub rewards: &'a [f64],
    /// 0 where an episode was terminated, else 1.
    pub discounts: &'a [f64],
    /// How the step ended.
    pub kinds: &'a [StepKind],
}

/// Environments of one kind that take their steps together.
///
/// One whose episode ends starts the next within the same step: its [`Batch::rewards`] and [`Batch::kinds`] belong to the
/// end, its row of [`Batch::observations`] is the new beginning. [`VectorEnvironment`] makes a batch of any environments;
/// [`Procgen`](crate::procgen::Procgen) is one by itself.
pub trait BatchedEnvironment: Send {
    /// What is passed to a step, for each environment.
    type Action: Copy;
    /// One entry of an observation.
    type Element: Copy + Default;

    /// What each environment shows and accepts.
    fn spec(&self) -> &Spec;

    /// How many there are.
    fn num_envs(&self) -> usize;

    /// Starts an episode in every environment.
    ///
    /// # Errors
    /// If an environment refuses.
    fn reset(&mut self) -> Result<Batch<'_, Self::Element>, StepError>;

    /// One step in every environment, with an action for each.
    ///
    /// # Errors
    /// If the number of actions is wrong, or an environment refuses its action.
    fn step(&mut self, actions: &[Self::Action]) -> Result<Batch<'_, Self::Element>, StepError>;

    /// What all environments show now.
    fn batch(&self) -> Batch<'_, Self::Element>;

    /// The complete state, in one piece or in several.
    fn save(&self) -> Vec<Vec<u8>>;

    /// Takes over what [`save`](Self::save) returned; [`batch`](Self::batch) then shows what it showed.
    ///
    /// # Errors
    /// If the pieces are too many or too few, or one of them is refused.
    fn restore(&mut self, pieces: &[Vec<u8>]) -> Result<(), StateError>;
}

/// A batch whose kind is known only by its actions and observations.
pub type BoxedBatch<A, E> = Box<dyn BatchedEnvironment<Action = A, Element = E>>;

/// Where environments of one kind come from, one at a time or many together.
///
/// A function from a seed to an environment is one; [`Registered`](crate::registry::Registered) makes those of a name.
pub trait Environments: Send + Sync {
    /// What is passed to a step.
    type Action: Copy + 'static;
    /// One entry of an observation.
    type Element: Copy + Default + Send + 'static;

    /// The environment of a seed; call `reset` to begin.
    ///
    /// # Errors
    /// If the seed does not fit, or a native library cannot be had.
    fn one(&self, seed: u64) -> Result<BoxedEnvironment<Self::Action, Self::Element>, OptionError>;

    /// For how many steps of the environment an action holds.
    fn repeat(&self) -> u64 {
        1
    }

    /// So many environments that take their steps together, each with the next seed of the stream.
    ///
    /// # Errors
    /// As [`one`](Self::one), or if there is none.
    fn many(
        &self,
        count: usize,
        seeds: &mut Rng,
    ) -> Result<BoxedBatch<Self::Action, Self::Element>, OptionError> {
        vector(self, count, seeds)
    }
}

/// Single environments, stepped one after the other.
pub(crate) fn vector<M: Environments + ?Sized>(
    source: &M,
    count: usize,
    seeds: &mut Rng,
) -> Result<BoxedBatch<M::Action, M::Element>, OptionError> {
    let all = (0..count).map(|_| source.one(seeds.next_u64())).collect::<Result<Vec<_>, _>>()?;
    let none = |_| OptionError::value("environments", &count.to_string(), "1 or more");
    Ok(Box::new(VectorEnvironment::new(all).map_err(none)?))
}

impl<A, E, F> Environments for F
where
    A: Copy + 'static,
    E: Copy + Default + Send + 'static,
    F: Fn(u64) -> BoxedEnvironment<A, E> + Send + Sync,
{
    type Action = A;
    type Element = E;

    fn one(&self, seed: u64) -> Result<BoxedEnvironment<A, E>, OptionError> {
        Ok(self(seed))
    }
}

impl<E> BatchedEnvironment for VectorEnvironment<E>
where
    E: Environment + Send,
    E::Element: Send,
{
    type Action = E::Action;
    type Element = E::Element;

    fn spec(&self) -> &Spec {
        self.environments()[0].spec()
    }
    fn num_envs(&self) -> usize {
        self.environments().len()
    }
    fn reset(&mut self) -> Result<Batch<'_, E::Element>, StepError> {
        self.reset()
    }
    fn step(&mut self, actions: &[E::Action]) -> Result<Batch<'_, E::Element>, StepError> {
        self.step(actions)
    }
    fn batch(&self) -> Batch<'_, E::Element> {
        self.batch()
    }
    fn save(&self) -> Vec<Vec<u8>> {
        self.save()
    }
    fn restore(&mut self, pieces: &[Vec<u8>]) -> Result<(), StateError> {
        self.restore(pieces)
    }
}
