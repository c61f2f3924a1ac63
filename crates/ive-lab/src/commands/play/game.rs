//! What is played: an environment with numbered actions, or a walker, which is only watched.

use super::player::{Mind, Player};
use super::record::{Recorder, Recording};
use super::view::{PIXELS, View, bytes};
use crate::commands::env::{EnvironmentArgs, random_action};
use crate::exit::{Failure, Outcome};
use ive::Rng;
use ive_envs::registry::AnyEnvironment;
use ive_envs::walker::picture::{MAX_SIDE, PictureError, Renderer, SIDE, Sampling};
use ive_envs::walker::{Action, Walker};
use ive_envs::{ByteEnvironment, Environment, StepError, TimeStep};

/// An environment and who plays in it.
#[expect(clippy::large_enum_variant, reason = "there is one game in a process")]
pub(super) enum Game {
    /// One sees what it shows of itself.
    Bytes { world: ByteEnvironment, mind: Mind, observation: Vec<u8> },
    /// One sees pictures of it, large ones in files.
    Walker {
        walker: Walker,
        /// Moves the motors at random; without it they are off.
        dice: Option<Rng>,
        /// For the screen.
        small: Renderer,
        /// For files, with so many pixels a side.
        large: Renderer,
        side: usize,
    },
}

/// Pixels along a side of the walker's pictures for each one of an observation, unless somebody wants another size.
const WALKER_SCALE: u16 = 4;
/// Control steps of the walker in a second.
const CONTROL_RATE: u32 = 40;

impl Game {
    /// What was asked for, before the first episode.
    pub(super) fn ready(player: &Player, args: &EnvironmentArgs, scale: Option<u16>) -> Outcome<Self> {
        if !args.name.starts_with("walker:") {
            let (world, mind) = player.ready(args)?;
            let observation = vec![0; world.spec().observation_len()];
            return Ok(Self::Bytes { world, mind, observation });
        }
        let side = walker_side(&args.name, scale)?;
        let dice = match player {
            Player::Random => Some(Rng::from_seed(args.seed).fold_in(1)),
            Player::Zero => None,
            Player::Keyboard => {
                let name = &args.name;
                return Err(Failure::usage(format!(
                    "{name} has no keyboard control: choose --policy random or --policy zero"
                )));
            }
            Player::Run(_) => return Err(Failure::internal("agents play their own episodes")),
        };
        let walker = match args.open()? {
            AnyEnvironment::Walker(walker) => *walker,
            AnyEnvironment::Pixels(pixels) => pixels.into_walker(),
            AnyEnvironment::Bytes(_) => return Err(Failure::internal(format!("{} is no walker", args.name))),
        };
        let large = Renderer::new(side, side, Sampling::default()).map_err(undrawn)?;
        Ok(Self::Walker { walker, dice, small: Renderer::default(), large, side })
    }

    /// Steps per second, unless somebody wants it slower or faster: those of the walker take the time they take.
    pub(super) fn fps(&self) -> u16 {
        match self {
            Self::Bytes { .. } => 8,
            Self::Walker { walker, .. } => (CONTROL_RATE / walker.options().repeat).max(1) as u16,
        }
    }

    /// A recorder for its pictures. The walker is drawn larger, where other pictures are enlarged.
    pub(super) fn recorder(&self, name: &str, what: Recording) -> Outcome<Recorder> {
        match self {
            Self::Bytes { .. } => Recorder::new(self.view(name)?, what),
            Self::Walker { side, .. } => {
                Recorder::new(View::Photo(*side), Recording { scale: Some(1), ..what })
            }
        }
    }

    /// How it is shown on the screen.
    pub(super) fn view(&self, name: &str) -> Outcome<View> {
        match self {
            Self::Bytes { world, .. } => View::of(world.sight(PIXELS).as_ref(), name),
            Self::Walker { .. } => Ok(View::Photo(PIXELS)),
        }
    }

    /// The names of its actions; none where there is nothing to choose.
    pub(super) fn actions(&self) -> Vec<&'static str> {
        match self {
            Self::Bytes { world, .. } => world.spec().actions.clone(),
            Self::Walker { .. } => Vec::new(),
        }
    }

    /// Starts an episode.
    pub(super) fn begin(&mut self) -> Outcome {
        match self {
            Self::Bytes { world, observation, .. } => {
                world.reset_into(observation).map(drop).map_err(refused)
            }
            Self::Walker { walker, .. } => {
                walker.reset();
                Ok(())
            }
        }
    }

    /// Takes a step; `by_hand` is what the keys say.
    pub(super) fn turn(&mut self, by_hand: usize) -> Outcome<TimeStep<()>> {
        match self {
            Self::Bytes { world, mind, observation } => {
                world.step_into(mind.choose(by_hand), observation).map_err(refused)
            }
            Self::Walker { walker, dice, .. } => {
                let action = dice.as_mut().map_or(Action::default(), random_action);
                let step = walker.step(action).map_err(refused)?;
                Ok(TimeStep::new(step.kind, step.reward))
            }
        }
    }

    /// What one sees on the screen.
    pub(super) fn shown(&mut self) -> Outcome<Vec<u8>> {
        match self {
            Self::Bytes { world, .. } => Ok(seen(world)),
            Self::Walker { walker, small, .. } => small.render(walker.qpos()).map_err(undrawn),
        }
    }

    /// Shows the recorder what there is to see, if it records.
    pub(super) fn show(&mut self, recorder: &mut Recorder) -> Outcome {
        match self {
            _ if !recorder.is_active() => Ok(()),
            Self::Bytes { world, .. } => recorder.add(&seen(world)),
            Self::Walker { walker, large, .. } => {
                recorder.add(&large.render(walker.qpos()).map_err(undrawn)?)
            }
        }
    }
}

/// What there is to see now.
fn seen(world: &ByteEnvironment) -> Vec<u8> {
    world.sight(PIXELS).as_ref().map_or(&[][..], bytes).to_vec()
}

/// Pixels a side of the walker's pictures.
pub(super) fn walker_side(name: &str, scale: Option<u16>) -> Outcome<usize> {
    let side = SIDE * usize::from(scale.unwrap_or(WALKER_SCALE));
    if side <= MAX_SIDE {
        return Ok(side);
    }
    let most = MAX_SIDE / SIDE;
    Err(Failure::usage(format!("--scale: {name} is drawn with 1 to {most} times {SIDE} pixels a side")))
}

fn refused(error: StepError) -> Failure {
    Failure::internal(error.to_string())
}

fn undrawn(error: PictureError) -> Failure {
    Failure::internal(error.to_string())
}
