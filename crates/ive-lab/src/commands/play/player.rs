//! Who plays: you, dice, nobody, or an agent of a run.

use ive::Rng;
use ive_envs::{ByteEnvironment, Environment};
use std::convert::Infallible;
use std::path::PathBuf;

use crate::commands::env::EnvironmentArgs;
use crate::exit::{Failure, Outcome};

/// Who plays, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Player {
    /// You.
    Keyboard,
    /// Uniformly random actions.
    Random,
    /// Nobody: the motors of the walker are off.
    Zero,
    /// The agent of the run in this directory.
    Run(PathBuf),
}

/// How actions are chosen.
pub(super) enum Mind {
    /// Does what the keys say.
    Hand,
    /// Draws one of so many actions.
    Dice(Rng, usize),
}

impl Player {
    /// What is neither `keyboard` nor `random` nor `zero` is a directory.
    #[expect(clippy::unnecessary_wraps, reason = "the form that parsers of arguments have")]
    pub(super) fn parse(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "keyboard" => Self::Keyboard,
            "random" => Self::Random,
            "zero" => Self::Zero,
            run => Self::Run(run.into()),
        })
    }

    /// The environment with numbered actions that was asked for, and how actions are chosen in it.
    pub(super) fn ready(&self, args: &EnvironmentArgs) -> Outcome<(ByteEnvironment, Mind)> {
        if *self == Self::Zero {
            return Err(Failure::usage("--policy zero is for the walker, whose motors it leaves off"));
        }
        let environment = args.make()?;
        let dice = Mind::Dice(Rng::from_seed(args.seed).fold_in(1), environment.spec().actions.len());
        Ok((environment, if *self == Self::Random { dice } else { Mind::Hand }))
    }
}

impl Mind {
    /// What to do; `by_hand` is what the keys say.
    pub(super) fn choose(&mut self, by_hand: usize) -> usize {
        match self {
            Self::Hand => by_hand,
            Self::Dice(rng, num_actions) => rng.below(*num_actions),
        }
    }
}
