//! Environments around environments.

use crate::environment::{Environment, Sight, Spec, StepError, StepKind, TimeStep};
use crate::state::{Archive, StateError};

/// An environment whose episodes are truncated after a number of steps.
///
/// ```
/// use ive_envs::{Environment, StepKind, TimeLimit, registry};
/// let mut world = TimeLimit::new(registry::make("minatar:freeway", &[], 0)?, 3);
/// world.reset();
/// let kinds = [0; 3].map(|noop| world.step(noop).unwrap().kind);
/// assert_eq!(kinds, [StepKind::Mid, StepKind::Mid, StepKind::Truncated]);
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimeLimit<E> {
    inner: E,
    limit: u32,
    elapsed: u32,
}

impl<E: Environment> TimeLimit<E> {
    /// The environment, stopped after `limit` steps of an episode.
    pub fn new(inner: E, limit: u32) -> Self {
        Self { inner, limit, elapsed: 0 }
    }

    fn identity(&self) -> String {
        format!("{} limit={}", self.inner.spec().name, self.limit)
    }
}

impl<E: Environment> Environment for TimeLimit<E> {
    type Action = E::Action;
    type Element = E::Element;

    fn spec(&self) -> &Spec {
        self.inner.spec()
    }

    fn reset_into(&mut self, observation: &mut [E::Element]) -> Result<TimeStep<()>, StepError> {
        let step = self.inner.reset_into(observation)?;
        self.elapsed = 0;
        Ok(step)
    }

    fn step_into(
        &mut self,
        action: E::Action,
        observation: &mut [E::Element],
    ) -> Result<TimeStep<()>, StepError> {
        if self.elapsed >= self.limit {
            self.inner.observe_into(observation)?;
            return Ok(TimeStep::new(StepKind::Truncated, 0.0));
        }
        let mut step = self.inner.step_into(action, observation)?;
        self.elapsed += 1;
        if self.elapsed == self.limit && step.kind == StepKind::Mid {
            step.kind = StepKind::Truncated;
        }
        Ok(step)
    }

    fn observe_into(&self, observation: &mut [E::Element]) -> Result<(), StepError> {
        self.inner.observe_into(observation)
    }

    fn sight(&self, side: usize) -> Option<Sight> {
        self.inner.sight(side)
    }

    fn save(&self) -> Vec<u8> {
        let mut archive = Archive::saving(&self.identity());
        let written = archive.word(&mut u64::from(self.elapsed));
        archive.rest(&mut self.inner.save());
        written.and_then(|()| archive.finish()).expect("writing to memory does not fail")
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut archive = Archive::loading(&self.identity(), state)?;
        let (mut elapsed, mut inner) = (0, Vec::new());
        archive.word(&mut elapsed)?;
        archive.rest(&mut inner);
        let beyond = StateError::Corrupt { what: "the episode is longer than its limit" };
        let elapsed = u32::try_from(elapsed).ok().filter(|&steps| steps <= self.limit).ok_or(beyond)?;
        self.inner.restore(&inner)?;
        self.elapsed = elapsed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteEnvironment, registry};

    fn limited(name: &str, limit: u32) -> TimeLimit<ByteEnvironment> {
        TimeLimit::new(registry::make(name, &[], 0).unwrap(), limit)
    }

    #[test]
    fn truncation_keeps_the_discount_and_nothing_follows_it() {
        let mut world = limited("minatar:freeway", 2);
        world.reset();
        world.step(0).unwrap();
        let last = world.step(0).unwrap();
        assert_eq!((last.kind, last.discount), (StepKind::Truncated, 1.0));
        assert_eq!(world.step(0).unwrap(), TimeStep { reward: 0.0, ..last });
        assert_eq!(world.reset().kind, StepKind::First);
        assert_eq!(world.step(0).unwrap().kind, StepKind::Mid);
    }

    #[test]
    fn termination_at_the_limit_stays_termination() {
        let mut world = limited("minatar:freeway", 2501);
        world.reset();
        let kinds: Vec<StepKind> = (0..2501).map(|_| world.step(0).unwrap().kind).collect();
        assert_eq!(kinds[2500], StepKind::Terminated);
    }

    #[test]
    fn saved_state_holds_the_time_elapsed() {
        let mut world = limited("minatar:seaquest", 5);
        world.reset();
        world.step(4).unwrap();
        let saved = world.save();
        let mut other = limited("minatar:seaquest", 5);
        other.restore(&saved).unwrap();
        for _ in 0..4 {
            assert_eq!(other.step(1).unwrap(), world.step(1).unwrap());
        }
        assert_eq!(other.step(1).unwrap().kind, StepKind::Truncated);
        assert!(matches!(limited("minatar:seaquest", 6).restore(&saved), Err(StateError::Foreign { .. })));
    }
}
