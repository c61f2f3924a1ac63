//! The walker seen from outside: the same environment with pictures for observations, as the paper's agents meet it.

use super::picture::{Renderer, SIDE};
use super::{Action, Walker};
use crate::environment::{Environment, Sight, Spec, StepError, TimeStep, same_length};
use crate::state::StateError;
use std::sync::OnceLock;

/// A [`Walker`] that shows a picture of 64 × 64 pixels, `[row, column, colour]`, in place of its numbers.
///
/// The pictures are those of our own [`Renderer`]. Saved states are those of the walker: a picture is a function of its pose.
///
/// ```no_run
/// use ive_envs::walker::{Options, Pixels, Task, make};
/// use ive_envs::Environment;
/// let mut world = Pixels::new(make(Task::Walk, &Options::default(), 1)?);
/// let first = world.reset();
/// assert_eq!(first.observation.len(), 64 * 64 * 3);
/// println!("the torso is {} m up", 1.3 + world.walker().qpos()[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pixels {
    walker: Walker,
    spec: Spec,
    renderer: Renderer,
    /// What one sees now.
    picture: Vec<u8>,
    /// What the walker itself would show.
    numbers: Vec<f64>,
}

impl Pixels {
    /// This walker, seen from outside.
    pub fn new(walker: Walker) -> Self {
        // The sky takes milliseconds to draw and is always the same; clones share it.
        static RENDERER: OnceLock<Renderer> = OnceLock::new();
        let renderer = RENDERER.get_or_init(Renderer::default).clone();
        let spec = Spec {
            shape: vec![SIDE, SIDE, 3],
            channels: vec!["red", "green", "blue"],
            ..walker.spec().clone()
        };
        let (picture, numbers) = (vec![0; renderer.len()], vec![0.0; walker.spec().observation_len()]);
        let mut world = Self { walker, spec, renderer, picture, numbers };
        world.look();
        world
    }

    /// The walker itself, with its pose and its velocities.
    pub fn walker(&self) -> &Walker {
        &self.walker
    }

    /// The walker without pictures.
    pub fn into_walker(self) -> Walker {
        self.walker
    }

    fn look(&mut self) {
        let drawn = self.renderer.render_into(self.walker.qpos(), &mut self.picture);
        drawn.expect("MuJoCo keeps positions finite or the step fails, and the buffer was made to measure");
    }
}

impl Environment for Pixels {
    type Action = Action;
    type Element = u8;

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset_into(&mut self, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", self.picture.len(), observation.len())?;
        let step = self.walker.reset_into(&mut self.numbers)?;
        self.look();
        observation.copy_from_slice(&self.picture);
        Ok(step)
    }

    fn step_into(&mut self, action: Action, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        same_length("observation", self.picture.len(), observation.len())?;
        let step = self.walker.step_into(action, &mut self.numbers)?;
        self.look();
        observation.copy_from_slice(&self.picture);
        Ok(step)
    }

    fn observe_into(&self, observation: &mut [u8]) -> Result<(), StepError> {
        same_length("observation", self.picture.len(), observation.len())?;
        observation.copy_from_slice(&self.picture);
        Ok(())
    }

    fn sight(&self, side: usize) -> Option<Sight> {
        self.walker.sight(side)
    }

    fn save(&self) -> Vec<u8> {
        self.walker.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.walker.restore(state)?;
        self.look();
        Ok(())
    }
}
