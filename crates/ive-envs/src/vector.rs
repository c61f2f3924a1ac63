//! Many environments in step, each starting over by itself.

use crate::batched::Batch;
use crate::environment::{Environment, StepError, StepKind, same_length};
use crate::state::StateError;

/// Environments of one kind that take their steps together.
///
/// An environment whose episode ends starts the next one within the same step: its [`Batch::rewards`] and [`Batch::kinds`]
/// belong to the end, its row of [`Batch::observations`] is the new beginning, and what was seen last is kept in
/// [`Batch::last_observations`].
///
/// ```
/// use ive_envs::{StepKind, VectorEnvironment, registry};
/// let worlds = (0..8).map(|seed| registry::make("minatar:breakout", &[], seed));
/// let mut worlds = VectorEnvironment::new(worlds.collect::<Result<_, _>>()?)?;
/// worlds.reset()?;
/// for _ in 0..100 {
///     let batch = worlds.step(&[1; 8])?;
///     assert_eq!(batch.observations.len(), 8 * 400);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct VectorEnvironment<E: Environment> {
    worlds: Vec<E>,
    length: usize,
    observations: Vec<E::Element>,
    last_observations: Vec<E::Element>,
    rewards: Vec<f64>,
    discounts: Vec<f64>,
    kinds: Vec<StepKind>,
}

impl<E: Environment> VectorEnvironment<E> {
    /// These environments together; call [`reset`](Self::reset) to begin.
    ///
    /// # Errors
    /// If there is none, or their observations differ in length.
    pub fn new(worlds: Vec<E>) -> Result<Self, StepError> {
        let none = StepError::Length { what: "worlds", expected: 1, got: 0 };
        let length = worlds.first().ok_or(none)?.spec().observation_len();
        for world in &worlds {
            same_length("observation", length, world.spec().observation_len())?;
        }
        let n = worlds.len();
        Ok(Self {
            worlds,
            length,
            observations: vec![E::Element::default(); n * length],
            last_observations: vec![E::Element::default(); n * length],
            rewards: vec![0.0; n],
            discounts: vec![1.0; n],
            kinds: vec![StepKind::First; n],
        })
    }

    /// The environments themselves.
    pub fn environments(&self) -> &[E] {
        &self.worlds
    }

    /// Starts an episode in every environment.
    ///
    /// # Errors
    /// If an environment refuses.
    pub fn reset(&mut self) -> Result<Batch<'_, E::Element>, StepError> {
        for (world, observation) in
            self.worlds.iter_mut().zip(self.observations.chunks_exact_mut(self.length))
        {
            world.reset_into(observation)?;
        }
        self.rewards.fill(0.0);
        self.discounts.fill(1.0);
        self.kinds.fill(StepKind::First);
        Ok(self.batch())
    }

    /// One step in every environment, with an action for each.
    ///
    /// # Errors
    /// If the number of actions is wrong, or an environment refuses its action; the environments before that one have moved then.
    pub fn step(&mut self, actions: &[E::Action]) -> Result<Batch<'_, E::Element>, StepError> {
        same_length("actions", self.worlds.len(), actions.len())?;
        let mut observations = self.observations.chunks_exact_mut(self.length);
        for (i, world) in self.worlds.iter_mut().enumerate() {
            let Some(observation) = observations.next() else { break };
            let step = world.step_into(actions[i], observation)?;
            if step.kind.is_last() {
                self.last_observations[i * self.length..][..self.length].copy_from_slice(observation);
                world.reset_into(observation)?;
            }
            self.rewards[i] = step.reward;
            self.discounts[i] = step.discount;
            self.kinds[i] = step.kind;
        }
        Ok(self.batch())
    }

    /// What all environments show now.
    pub fn batch(&self) -> Batch<'_, E::Element> {
        Batch {
            observations: &self.observations,
            last_observations: &self.last_observations,
            rewards: &self.rewards,
            discounts: &self.discounts,
            kinds: &self.kinds,
        }
    }

    /// The complete state of every environment.
    pub fn save(&self) -> Vec<Vec<u8>> {
        self.worlds.iter().map(E::save).collect()
    }

    /// Takes over saved states; [`batch`](Self::batch) then shows their observations, without a reward.
    ///
    /// # Errors
    /// If the number of states is wrong or one of them is refused; the environments before that one have changed then.
    pub fn restore(&mut self, states: &[Vec<u8>]) -> Result<(), StateError> {
        let wrong = StateError::Corrupt { what: "it holds another number of worlds" };
        if states.len() != self.worlds.len() {
            return Err(wrong);
        }
        let rows = self.observations.chunks_exact_mut(self.length);
        for ((world, state), observation) in self.worlds.iter_mut().zip(states).zip(rows) {
            world.restore(state)?;
            world.observe_into(observation).map_err(|_| wrong.clone())?;
        }
        self.rewards.fill(0.0);
        self.discounts.fill(1.0);
        self.kinds.fill(StepKind::Mid);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Environment, StepKind, VectorEnvironment, registry};
    use ive::Rng;

    /// A batch is nothing but its environments one by one.
    #[test]
    fn batch_equals_single_worlds_with_resets_by_hand() {
        let make = |seed| registry::make("minatar:breakout", &[], seed).unwrap();
        let mut batch = VectorEnvironment::new((0..5).map(make).collect()).unwrap();
        let mut singles: Vec<_> = (0..5).map(make).collect();
        batch.reset().unwrap();
        for world in &mut singles {
            world.reset();
        }
        let (mut rng, mut ends) = (Rng::from_seed(3), 0);
        for _ in 0..200 {
            let actions: Vec<usize> = (0..5).map(|_| rng.below(6)).collect();
            let now = batch.step(&actions).unwrap();
            for (i, world) in singles.iter_mut().enumerate() {
                let mut step = world.step(actions[i]).unwrap();
                assert_eq!(
                    (step.kind, step.reward, step.discount),
                    (now.kinds[i], now.rewards[i], now.discounts[i])
                );
                if step.kind == StepKind::Terminated {
                    ends += 1;
                    assert_eq!(step.observation, now.last_observations[i * 400..][..400]);
                    step = world.reset();
                }
                assert_eq!(step.observation, now.observations[i * 400..][..400]);
            }
        }
        assert!(ends > 10, "only {ends} episodes ended");
    }

    #[test]
    fn restored_batch_continues_bit_by_bit() {
        let make = |seed| registry::make("minatar:seaquest", &[], seed).unwrap();
        let mut batch = VectorEnvironment::new((0..3).map(make).collect()).unwrap();
        batch.reset().unwrap();
        for t in 0..77 {
            batch.step(&[t % 6, 4, 5]).unwrap();
        }
        let mut other = VectorEnvironment::new((9..12).map(make).collect()).unwrap();
        other.restore(&batch.save()).unwrap();
        assert_eq!(other.batch().observations, batch.batch().observations);
        for t in 0..100 {
            let actions = [4, t % 6, 1];
            assert_eq!(
                other.step(&actions).unwrap().observations,
                batch.step(&actions).unwrap().observations
            );
        }
        assert_eq!(other.save(), batch.save());
    }

    #[test]
    fn wrong_numbers_are_refused() {
        let world = registry::make("minatar:freeway", &[], 0).unwrap();
        let mut batch = VectorEnvironment::new(vec![world]).unwrap();
        assert_eq!(batch.step(&[]).unwrap_err().to_string(), "actions: expected length 1, got 0");
        let refused = batch.step(&[6]).unwrap_err().to_string();
        assert_eq!(refused, "action 6 does not exist: this environment has the actions 0 to 5");
        assert!(VectorEnvironment::<crate::ByteEnvironment>::new(Vec::new()).is_err());
    }
}
