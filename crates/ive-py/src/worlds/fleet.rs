//! Many worlds of one kind in step, with a choice of what happens when an episode ends.

use ive_envs::{Environment, StepError, StepKind, TimeStep};

/// When a world whose episode ended starts the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Autoreset {
    /// Within the same step: the observation is the new beginning, and the last one is kept.
    SameStep,
    /// In the next step, whose action is ignored.
    NextStep,
    /// When it is told to.
    Disabled,
}

impl Autoreset {
    /// The mode of a name of ours.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "same_step" => Some(Self::SameStep),
            "next_step" => Some(Self::NextStep),
            "disabled" => Some(Self::Disabled),
            _ => None,
        }
    }
}

/// Where the results of a step are written to, one entry for each world.
pub(crate) struct Out<'a> {
    pub(crate) rewards: &'a mut [f64],
    pub(crate) terminated: &'a mut [bool],
    pub(crate) truncated: &'a mut [bool],
}

/// A world and where it is in its episode.
struct Seat<E: Environment> {
    world: E,
    over: bool,
    elapsed: u32,
    /// What was seen last of the episode that ended.
    last: Vec<E::Element>,
}

/// Worlds of one kind.
pub(crate) struct Fleet<E: Environment> {
    seats: Vec<Seat<E>>,
    length: usize,
    autoreset: Autoreset,
    limit: u32,
    threads: usize,
}

impl<E> Fleet<E>
where
    E: Environment + Send,
    E::Action: Sync,
    E::Element: Send,
{
    /// These worlds together, their episodes cut off after `limit` steps, stepped on so many threads.
    pub(crate) fn new(worlds: Vec<E>, autoreset: Autoreset, limit: Option<u32>, threads: usize) -> Self {
        let length = worlds.first().map_or(0, |world| world.spec().observation_len());
        let seat = |world| Seat { world, over: false, elapsed: 0, last: vec![E::Element::default(); length] };
        let seats = worlds.into_iter().map(seat).collect();
        Self { seats, length, autoreset, limit: limit.unwrap_or(u32::MAX), threads: threads.max(1) }
    }

    /// World i.
    pub(crate) fn world(&self, i: usize) -> &E {
        &self.seats[i].world
    }

    /// Puts another world in place of one.
    pub(crate) fn replace(&mut self, i: usize, world: E) {
        let seat = &mut self.seats[i];
        (seat.world, seat.over, seat.elapsed) = (world, false, 0);
    }

    /// Starts an episode in the worlds of the mask, and writes what all worlds show.
    pub(crate) fn reset(&mut self, mask: &[bool], out: &mut [E::Element]) -> Result<(), StepError> {
        for ((seat, &wanted), out) in self.seats.iter_mut().zip(mask).zip(out.chunks_mut(self.length)) {
            if wanted {
                seat.world.reset_into(out)?;
                (seat.over, seat.elapsed) = (false, 0);
            } else {
                seat.world.observe_into(out)?;
            }
        }
        Ok(())
    }

    /// A step in every world. Whether an episode ended and the next one began within it.
    pub(crate) fn step(
        &mut self,
        actions: &[E::Action],
        observations: &mut [E::Element],
        out: Out<'_>,
    ) -> Result<bool, StepError> {
        let (autoreset, limit, length) = (self.autoreset, self.limit, self.length);
        let part = self.seats.len().div_ceil(self.threads).max(1);
        let mut parts = self
            .seats
            .chunks_mut(part)
            .zip(actions.chunks(part))
            .zip(observations.chunks_mut(part * length))
            .zip(out.rewards.chunks_mut(part))
            .zip(out.terminated.chunks_mut(part))
            .zip(out.truncated.chunks_mut(part))
            .map(|(((((seats, actions), observations), rewards), terminated), truncated)| {
                move || {
                    step_part(
                        seats,
                        actions,
                        observations,
                        Out { rewards, terminated, truncated },
                        autoreset,
                        limit,
                    )
                }
            });
        let Some(mut first) = parts.next() else { return Ok(false) };
        std::thread::scope(|scope| {
            let others: Vec<_> = parts.map(|part| scope.spawn(part)).collect();
            let mut ended = first();
            for other in others {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                ended = ended.and_then(|ended| Ok(ended | other?));
            }
            ended
        })
    }

    /// The last observations of the episodes of these worlds that ended.
    pub(crate) fn last_observations(&self, worlds: &[usize], out: &mut [E::Element]) {
        let pairs = worlds.iter().zip(out.chunks_mut(self.length));
        pairs.for_each(|(&i, out)| out.copy_from_slice(&self.seats[i].last));
    }

    /// What all worlds show now.
    pub(crate) fn observe(&self, out: &mut [E::Element]) -> Result<(), StepError> {
        let mut pairs = self.seats.iter().zip(out.chunks_mut(self.length));
        pairs.try_for_each(|(seat, out)| seat.world.observe_into(out))
    }

    /// The complete state of every world, and where it is in its episode.
    pub(crate) fn save(&self) -> Vec<Vec<u8>> {
        let one = |seat: &Seat<E>| {
            let mut state = seat.elapsed.to_le_bytes().to_vec();
            state.push(u8::from(seat.over));
            state.extend(seat.world.save());
            state
        };
        self.seats.iter().map(one).collect()
    }

    /// Takes over saved states.
    pub(crate) fn restore(&mut self, states: &[Vec<u8>]) -> Result<(), String> {
        if states.len() != self.seats.len() {
            let (expected, got) = (self.seats.len(), states.len());
            return Err(format!("states: expected {expected}, one for each environment, got {got}"));
        }
        for (seat, state) in self.seats.iter_mut().zip(states) {
            let Some((elapsed, [over @ (0 | 1), state @ ..])) = state.split_first_chunk() else {
                return Err("states: this is not a saved state".into());
            };
            seat.world.restore(state).map_err(|error| error.to_string())?;
            (seat.elapsed, seat.over) = (u32::from_le_bytes(*elapsed), *over == 1);
        }
        Ok(())
    }
}

/// A step in some of the worlds.
fn step_part<E: Environment>(
    seats: &mut [Seat<E>],
    actions: &[E::Action],
    observations: &mut [E::Element],
    out: Out<'_>,
    autoreset: Autoreset,
    limit: u32,
) -> Result<bool, StepError> {
    let length = observations.len() / seats.len().max(1);
    let mut started_over = false;
    for (i, seat) in seats.iter_mut().enumerate() {
        let observation = &mut observations[i * length..(i + 1) * length];
        let step = if seat.over && autoreset == Autoreset::NextStep {
            seat.elapsed = 0;
            seat.world.reset_into(observation)?
        } else {
            seat.step(actions[i], observation, limit)?
        };
        seat.over = step.kind.is_last();
        if seat.over && autoreset == Autoreset::SameStep {
            seat.last.copy_from_slice(observation);
            seat.world.reset_into(observation)?;
            (seat.over, seat.elapsed, started_over) = (false, 0, true);
        }
        out.rewards[i] = step.reward;
        out.terminated[i] = step.kind == StepKind::Terminated;
        out.truncated[i] = step.kind == StepKind::Truncated;
    }
    Ok(started_over)
}

impl<E: Environment> Seat<E> {
    /// A step, cut off at the limit.
    fn step(
        &mut self,
        action: E::Action,
        observation: &mut [E::Element],
        limit: u32,
    ) -> Result<TimeStep<()>, StepError> {
        if self.elapsed >= limit {
            self.world.observe_into(observation)?;
            return Ok(TimeStep::new(StepKind::Truncated, 0.0));
        }
        let mut step = self.world.step_into(action, observation)?;
        self.elapsed += 1;
        if self.elapsed == limit && step.kind == StepKind::Mid {
            step.kind = StepKind::Truncated;
        }
        Ok(step)
    }
}
