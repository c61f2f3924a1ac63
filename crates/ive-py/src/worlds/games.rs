//! The kinds of worlds that there are, behind one door.

use super::fleet::{Autoreset, Fleet, Out};
use super::{Actions, Observations};
use ive_envs::procgen::{self, Procgen};
use ive_envs::registry::{self, AnyEnvironment};
use ive_envs::walker::picture::{Renderer, Sampling};
use ive_envs::walker::{self, Pixels, Walker};
use ive_envs::{ByteEnvironment, Environment, OptionError, Spec, StepError, StepKind, minatar};

/// Pixels per cell of a picture of MinAtar, and along a side of one of the walker.
const CELL: usize = 16;
const SIDE: usize = 256;

/// How worlds are made, again and again.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) autoreset: Autoreset,
    pub(crate) limit: Option<u32>,
    pub(crate) threads: usize,
}

/// Why worlds did not do what they were told.
pub(crate) enum Refused {
    /// A world refused.
    Step(StepError),
    /// Actions or observations are of another type than these worlds have.
    Type,
}

impl From<StepError> for Refused {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

/// Worlds of any kind.
pub(crate) struct Games {
    plan: Plan,
    spec: Spec,
    kind: Kind,
}

enum Kind {
    Bytes(Fleet<ByteEnvironment>),
    Walker(Fleet<Walker>),
    Pixels(Fleet<Pixels>),
    Procgen(Box<Levels>),
}

/// Procgen's own batch: its library starts over within the step that ends an episode, and never paints the end.
struct Levels {
    games: Procgen,
    /// What was shown before the last step, the nearest that there is to the end of an episode.
    before: Vec<u8>,
    /// Whether the library has begun episodes that nobody asked for yet.
    waiting: bool,
}

impl Plan {
    fn open(&self, seed: u64) -> Result<AnyEnvironment, OptionError> {
        registry::open(&self.name, &self.options(), seed)
    }

    fn options(&self) -> Vec<(&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// The game, if it is one of Procgen's and to be played in the library's own batches.
    fn procgen(&self) -> Option<procgen::Game> {
        let game = self.name.strip_prefix("procgen:").and_then(procgen::Game::from_name);
        game.filter(|_| self.autoreset == Autoreset::SameStep)
    }

    fn levels(&self, game: procgen::Game, envs: usize, seed: u64) -> Result<Levels, OptionError> {
        let mut options = procgen::Options::default();
        self.options().iter().try_for_each(|(key, value)| options.set(key, value))?;
        let games = Procgen::new(game, &options, envs, self.threads, seed)?;
        let before = games.frame().observations.to_vec();
        Ok(Levels { games, before, waiting: true })
    }
}

impl Games {
    /// Worlds of these seeds. Procgen's batches know one seed, the first, and number their games from it.
    pub(crate) fn new(plan: Plan, seeds: &[u64]) -> Result<Self, OptionError> {
        let first = seeds.first().copied().unwrap_or(0);
        if let Some(game) = plan.procgen() {
            let (shape, channels) = (vec![64, 64, 3], vec!["red", "green", "blue"]);
            let spec = Spec { name: plan.name.clone(), shape, channels, actions: procgen::ACTIONS.to_vec() };
            let kind = Kind::Procgen(Box::new(plan.levels(game, seeds.len(), first)?));
            return Ok(Self { plan, spec, kind });
        }
        let (mut bytes, mut walkers, mut pixels) = (Vec::new(), Vec::new(), Vec::new());
        for &seed in seeds {
            match plan.open(seed)? {
                AnyEnvironment::Bytes(world) => bytes.push(world),
                AnyEnvironment::Walker(world) => walkers.push(*world),
                AnyEnvironment::Pixels(world) => pixels.push(*world),
            }
        }
        let (autoreset, limit, threads) = (plan.autoreset, plan.limit, plan.threads);
        let (spec, kind) = if let Some(world) = bytes.first() {
            (world.spec().clone(), Kind::Bytes(Fleet::new(bytes, autoreset, limit, threads)))
        } else if let Some(world) = walkers.first() {
            (world.spec().clone(), Kind::Walker(Fleet::new(walkers, autoreset, limit, threads)))
        } else {
            let world = match pixels.first() {
                Some(world) => world.spec().clone(),
                None => return Err(OptionError::UnknownName { name: plan.name, near: Vec::new() }),
            };
            (world, Kind::Pixels(Fleet::new(pixels, autoreset, limit, threads)))
        };
        Ok(Self { plan, spec, kind })
    }

    pub(crate) fn observation_len(&self) -> usize {
        self.spec.observation_len()
    }

    pub(crate) fn shape(&self) -> Vec<usize> {
        self.spec.shape.clone()
    }

    pub(crate) fn actions(&self) -> Vec<&'static str> {
        self.spec.actions.clone()
    }

    /// Makes the worlds anew for which there is a seed.
    pub(crate) fn reseed(&mut self, seeds: &[Option<u64>]) -> Result<(), OptionError> {
        if let (Kind::Procgen(levels), Some(game)) = (&mut self.kind, self.plan.procgen()) {
            if let Some(seed) = seeds.first().copied().flatten() {
                **levels = self.plan.levels(game, seeds.len(), seed)?;
            }
            return Ok(());
        }
        for (i, seed) in seeds.iter().enumerate() {
            let Some(seed) = *seed else { continue };
            match (&mut self.kind, self.plan.open(seed)?) {
                (Kind::Bytes(fleet), AnyEnvironment::Bytes(world)) => fleet.replace(i, world),
                (Kind::Walker(fleet), AnyEnvironment::Walker(world)) => fleet.replace(i, *world),
                (Kind::Pixels(fleet), AnyEnvironment::Pixels(world)) => fleet.replace(i, *world),
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts an episode in the worlds of the mask.
    pub(crate) fn reset(&mut self, mask: &[bool], out: Observations<'_>) -> Result<(), Refused> {
        match (&mut self.kind, out) {
            (Kind::Bytes(fleet), Observations::Bytes(out)) => Ok(fleet.reset(mask, out)?),
            (Kind::Walker(fleet), Observations::Reals(out)) => Ok(fleet.reset(mask, out)?),
            (Kind::Pixels(fleet), Observations::Bytes(out)) => Ok(fleet.reset(mask, out)?),
            (Kind::Procgen(levels), Observations::Bytes(out)) => {
                levels.reset();
                out.copy_from_slice(levels.games.frame().observations);
                Ok(())
            }
            _ => Err(Refused::Type),
        }
    }

    /// A step in every world; whether an episode ended and the next one began within it.
    pub(crate) fn step(
        &mut self,
        actions: &Actions,
        observations: Observations<'_>,
        out: Out<'_>,
    ) -> Result<bool, Refused> {
        match (&mut self.kind, observations, actions) {
            (Kind::Bytes(fleet), Observations::Bytes(to), Actions::Numbers(actions)) => {
                check(actions, self.spec.actions.len(), out.rewards.len())?;
                Ok(fleet.step(actions, to, out)?)
            }
            (Kind::Walker(fleet), Observations::Reals(to), Actions::Reals(actions)) => {
                Ok(fleet.step(&motors(actions, out.rewards.len())?, to, out)?)
            }
            (Kind::Pixels(fleet), Observations::Bytes(to), Actions::Reals(actions)) => {
                Ok(fleet.step(&motors(actions, out.rewards.len())?, to, out)?)
            }
            (Kind::Procgen(levels), Observations::Bytes(to), Actions::Numbers(actions)) => {
                check(actions, self.spec.actions.len(), out.rewards.len())?;
                Ok(levels.step(actions, to, out)?)
            }
            _ => Err(Refused::Type),
        }
    }

    /// The last observations of the episodes of these worlds that ended.
    pub(crate) fn last_observations(&self, worlds: &[usize], out: Observations<'_>) -> Result<(), Refused> {
        let length = self.observation_len();
        match (&self.kind, out) {
            (Kind::Bytes(fleet), Observations::Bytes(out)) => fleet.last_observations(worlds, out),
            (Kind::Walker(fleet), Observations::Reals(out)) => fleet.last_observations(worlds, out),
            (Kind::Pixels(fleet), Observations::Bytes(out)) => fleet.last_observations(worlds, out),
            (Kind::Procgen(levels), Observations::Bytes(out)) => {
                for (&i, out) in worlds.iter().zip(out.chunks_mut(length)) {
                    out.copy_from_slice(&levels.before[i * length..(i + 1) * length]);
                }
            }
            _ => return Err(Refused::Type),
        }
        Ok(())
    }

    /// What all worlds show now.
    pub(crate) fn observe(&self, out: Observations<'_>) -> Result<(), Refused> {
        match (&self.kind, out) {
            (Kind::Bytes(fleet), Observations::Bytes(out)) => Ok(fleet.observe(out)?),
            (Kind::Walker(fleet), Observations::Reals(out)) => Ok(fleet.observe(out)?),
            (Kind::Pixels(fleet), Observations::Bytes(out)) => Ok(fleet.observe(out)?),
            (Kind::Procgen(levels), Observations::Bytes(out)) => {
                out.copy_from_slice(levels.games.frame().observations);
                Ok(())
            }
            _ => Err(Refused::Type),
        }
    }

    /// The levels of Procgen.
    pub(crate) fn levels(&self) -> Option<(Vec<i32>, Vec<i32>, Vec<bool>)> {
        let Kind::Procgen(levels) = &self.kind else { return None };
        let frame = levels.games.frame();
        let complete = frame.levels_complete.iter().map(|&byte| byte != 0).collect();
        Some((frame.level_seeds.to_vec(), frame.previous_level_seeds.to_vec(), complete))
    }

    /// A picture of a world for people.
    pub(crate) fn picture(&self, i: usize) -> Result<(usize, usize, Vec<u8>), String> {
        match &self.kind {
            Kind::Bytes(fleet) => {
                let mut seen = vec![0; self.observation_len()];
                fleet.world(i).observe_into(&mut seen).map_err(|error| error.to_string())?;
                let game = self.plan.name.strip_prefix("minatar:").and_then(minatar::Game::from_name);
                let Some(game) = game else { return Ok((self.spec.shape[0], self.spec.shape[1], seen)) };
                let picture = minatar::picture::draw(game, &seen, CELL);
                Ok((picture.side, picture.side, picture.rgb()))
            }
            Kind::Walker(fleet) => walker_picture(fleet.world(i)),
            Kind::Pixels(fleet) => walker_picture(fleet.world(i).walker()),
            Kind::Procgen(levels) => {
                let length = self.observation_len();
                let seen = levels.games.frame().observations[i * length..(i + 1) * length].to_vec();
                Ok((self.spec.shape[0], self.spec.shape[1], seen))
            }
        }
    }

    /// The complete states.
    pub(crate) fn save(&self) -> Vec<Vec<u8>> {
        match &self.kind {
            Kind::Bytes(fleet) => fleet.save(),
            Kind::Walker(fleet) => fleet.save(),
            Kind::Pixels(fleet) => fleet.save(),
            Kind::Procgen(levels) => vec![levels.games.save()],
        }
    }

    /// Takes over saved states.
    pub(crate) fn restore(&mut self, states: &[Vec<u8>]) -> Result<(), String> {
        match (&mut self.kind, states) {
            (Kind::Bytes(fleet), states) => fleet.restore(states),
            (Kind::Walker(fleet), states) => fleet.restore(states),
            (Kind::Pixels(fleet), states) => fleet.restore(states),
            (Kind::Procgen(levels), [state]) => {
                levels.games.restore(state).map_err(|error| error.to_string())?;
                levels.waiting = false;
                Ok(())
            }
            (Kind::Procgen(_), states) => {
                Err(format!("states: Procgen has one for all environments, got {}", states.len()))
            }
        }
    }
}

impl Levels {
    fn reset(&mut self) {
        if !self.waiting {
            self.games.restart();
        }
        self.waiting = false;
    }

    fn step(&mut self, actions: &[usize], observations: &mut [u8], out: Out<'_>) -> Result<bool, StepError> {
        self.before.copy_from_slice(self.games.frame().observations);
        self.waiting = false;
        let frame = self.games.step(actions)?;
        observations.copy_from_slice(frame.observations);
        let mut started_over = false;
        for (i, kind) in frame.kinds.iter().enumerate() {
            out.rewards[i] = f64::from(frame.rewards[i]);
            out.terminated[i] = *kind == StepKind::Terminated;
            out.truncated[i] = *kind == StepKind::Truncated;
            started_over |= kind.is_last();
        }
        Ok(started_over)
    }
}

/// `Ok` when all actions exist, before any world has moved.
fn check(actions: &[usize], num_actions: usize, worlds: usize) -> Result<(), StepError> {
    same_length("actions", worlds, actions.len())?;
    match actions.iter().find(|&&action| action >= num_actions) {
        Some(&action) => Err(StepError::Action { action, num_actions }),
        None => Ok(()),
    }
}

/// A number for each motor of each walker, all of them finite.
fn motors(actions: &[f64], worlds: usize) -> Result<Vec<walker::Action>, StepError> {
    let motors = walker::task::MOTORS;
    same_length("actions", worlds * motors, actions.len())?;
    actions.chunks(motors).map(walker::action).collect()
}

fn same_length(what: &'static str, expected: usize, got: usize) -> Result<(), StepError> {
    if expected == got { Ok(()) } else { Err(StepError::Length { what, expected, got }) }
}

/// A walker larger than its agents see it.
fn walker_picture(walker: &Walker) -> Result<(usize, usize, Vec<u8>), String> {
    let mut renderer = Renderer::new(SIDE, SIDE, Sampling::Edges).map_err(|error| error.to_string())?;
    Ok((SIDE, SIDE, renderer.render(walker.qpos()).map_err(|error| error.to_string())?))
}
