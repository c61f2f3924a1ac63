//! Physics, a task and a generator of starting poses, as an [`Environment`].

use super::mujoco::{Physics, STATE, State, Unstable, is_usable};
use super::options::Options;
use super::task::{self, EPISODE, JOINTS, MOTOR_NAMES, MOTORS, OBSERVATION, OBSERVATION_NAMES, Task};
use super::{MakeError, picture};
use crate::environment::{Environment, Sight, Spec, StepError, StepKind, TimeStep, same_length};
use crate::native::Package;
use crate::random::Stream;
use crate::state::{Archive, StateError};

/// One number for each motor, from −1 to 1. What lies beyond is cut off, as the motors do.
pub type Action = [f64; MOTORS];

/// The action with these numbers.
///
/// # Errors
/// If there are not six of them, or one is not finite.
pub fn action(numbers: &[f64]) -> Result<Action, StepError> {
    same_length("action", MOTORS, numbers.len())?;
    let mut action = [0.0; MOTORS];
    action.copy_from_slice(numbers);
    clipped(&action)?;
    Ok(action)
}

/// What the motors make of an action.
fn clipped(action: &Action) -> Result<Action, StepError> {
    match action.iter().position(|x| !x.is_finite()) {
        Some(motor) => Err(StepError::NotFinite { action: MOTOR_NAMES[motor] }),
        None => Ok(action.map(|x| x.clamp(-1.0, 1.0))),
    }
}

/// What changes while the walker walks, apart from the physics.
#[derive(Clone, Debug)]
struct Progress {
    stream: Stream,
    /// Where episodes start, if not at random.
    pose: Option<[f64; JOINTS]>,
    control_steps: u32,
    raw_reward: f64,
}

impl Progress {
    fn archive(&mut self, physics: &mut State, archive: &mut Archive) -> Result<(), StateError> {
        self.stream.archive(archive)?;
        let mut fixed = self.pose.is_some();
        archive.flag(&mut fixed)?;
        let mut pose = self.pose.unwrap_or_default();
        pose.iter_mut().try_for_each(|x| archive.number(x))?;
        self.pose = fixed.then_some(pose);
        let mut steps = self.control_steps as i32;
        archive.int(&mut steps, 0..=EPISODE as i32)?;
        self.control_steps = steps as u32;
        archive.number(&mut self.raw_reward)?;
        physics.0.iter_mut().try_for_each(|x| archive.number(x))
    }
}

/// A walker in its environment.
#[derive(Debug)]
pub struct Walker {
    spec: Spec,
    /// Name, options and engine, written into saved states.
    identity: String,
    task: Task,
    options: Options,
    physics: Physics,
    progress: Progress,
}

impl Walker {
    pub(super) fn new(task: Task, options: Options, seed: u64, physics: Physics) -> Self {
        let name = format!("walker:{}", task.name());
        // The engine belongs to the identity: another version would continue a state differently, if only a little.
        let identity = format!("{name} {options} mujoco={}", physics.engine().version);
        let spec = Spec {
            name,
            shape: vec![OBSERVATION],
            channels: OBSERVATION_NAMES.to_vec(),
            actions: MOTOR_NAMES.to_vec(),
        };
        let stream = Stream::new(options.generator, seed);
        let progress = Progress { stream, pose: None, control_steps: 0, raw_reward: 0.0 };
        Self { spec, identity, task, options, physics, progress }
    }

    /// The same environment with all episodes starting at rest in this pose instead of a random one.
    ///
    /// # Errors
    /// If a number is not finite or too large.
    pub fn starting_at(mut self, qpos: [f64; JOINTS]) -> Result<Self, MakeError> {
        if let Some(index) = qpos.iter().position(|&x| !is_usable(x)) {
            return Err(MakeError::Pose { index });
        }
        self.progress.pose = Some(qpos);
        Ok(self)
    }

    /// What the walker is to do.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The positions, in the order of [`task`](super::task).
    pub fn qpos(&self) -> &[f64; JOINTS] {
        &self.physics.motion().qpos
    }

    /// The velocities, in the order of the positions.
    pub fn qvel(&self) -> &[f64; JOINTS] {
        &self.physics.motion().qvel
    }

    /// How many control steps of the episode are over.
    pub fn control_steps(&self) -> u32 {
        self.progress.control_steps
    }

    /// The reward of the last step without the threshold, summed over its control steps.
    pub fn raw_reward(&self) -> f64 {
        self.progress.raw_reward
    }

    /// The version of the MuJoCo in use, such as `3.17.0`.
    pub fn engine_version(&self) -> &'static str {
        &self.physics.engine().version
    }

    /// What to tell the user when the MuJoCo in use is not the file that was compared with dm_control.
    pub fn warning(&self) -> Option<String> {
        let engine = self.physics.engine();
        (!engine.exact).then(|| {
            let pinned = Package::Mujoco.version();
            format!(
                "this MuJoCo is {}, not the {pinned} that was compared with dm_control: no parity",
                engine.version
            )
        })
    }

    fn show(&self, observation: &mut [f64]) {
        observation.copy_from_slice(&task::observation(self.qpos(), self.qvel()));
    }

    /// One control step, and its reward.
    fn control_step(&mut self, action: &Action) -> Result<f64, Unstable> {
        self.physics.control_step(action)?;
        let velocity = if self.task.speed().is_some() { self.physics.velocity() } else { 0.0 };
        Ok(task::reward(self.task, self.qpos(), velocity))
    }
}

impl Environment for Walker {
    type Action = Action;
    type Element = f64;

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset_into(&mut self, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", OBSERVATION, observation.len())?;
        let fixed = self.progress.pose.map(|qpos| (qpos, [0.0; JOINTS]));
        let (qpos, qvel) = fixed.unwrap_or_else(|| self.options.start.draw(&mut self.progress.stream));
        self.physics.begin(&qpos, &qvel);
        (self.progress.control_steps, self.progress.raw_reward) = (0, 0.0);
        self.show(observation);
        Ok(TimeStep::new(StepKind::First, 0.0))
    }

    fn step_into(&mut self, action: Action, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        let action = clipped(&action)?;
        same_length("observation", OBSERVATION, observation.len())?;
        let before = self.physics.state();
        let start = self.progress.control_steps;
        let end = EPISODE.min(start + self.options.repeat);
        let (mut raw, mut reward) = (0.0, 0.0);
        for control_steps in start..end {
            let Ok(earned) = self.control_step(&action) else {
                self.physics.set_state(&before);
                return Err(StepError::Unstable { control_steps });
            };
            raw += earned;
            reward += task::threshold(earned, self.options.threshold);
        }
        (self.progress.control_steps, self.progress.raw_reward) = (end, raw);
        self.show(observation);
        let kind = if end == EPISODE { StepKind::Truncated } else { StepKind::Mid };
        Ok(TimeStep::new(kind, reward))
    }

    fn observe_into(&self, observation: &mut [f64]) -> Result<(), StepError> {
        same_length("observation", OBSERVATION, observation.len())?;
        self.show(observation);
        Ok(())
    }

    fn sight(&self, side: usize) -> Option<Sight> {
        picture::of(self.qpos(), side).ok().map(|rgb| Sight::Pixels { side, rgb })
    }

    fn save(&self) -> Vec<u8> {
        let mut archive = Archive::saving(&self.identity);
        let saved = self.progress.clone().archive(&mut self.physics.state(), &mut archive);
        saved.and_then(|()| archive.finish()).expect("writing to memory does not fail")
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let mut archive = Archive::loading(&self.identity, state)?;
        let (mut progress, mut physics) = (self.progress.clone(), State([0.0; STATE]));
        progress.archive(&mut physics, &mut archive)?;
        archive.finish()?;
        if !(physics.is_usable() && progress.pose.iter().flatten().all(|&x| is_usable(x))) {
            return Err(StateError::Corrupt { what: "a number is too large for the physics" });
        }
        self.physics.set_state(&physics);
        self.progress = progress;
        Ok(())
    }
}
