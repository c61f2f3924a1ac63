//! Who plays: you, dice, nobody, or an agent of a run.

use ive::Rng;
use ive_agents::Agent;
use ive_envs::{ByteWorld, Environment, Spec};
use std::convert::Infallible;
use std::path::PathBuf;

use super::thought::Thought;
use crate::commands::env::WorldArgs;
use crate::eval::episode::{mu, sigma};
use crate::exit::{Failure, Outcome};
use crate::run::search::find;
use crate::run::{agents::worlds, load};

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

/// Who plays, awake.
pub(super) enum Mind {
    /// Does what the keys say.
    Hand,
    /// Draws one of so many actions.
    Dice(Rng, usize),
    /// Does what it thinks best.
    Agent(Box<dyn Agent>),
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

    /// The world with numbered actions that was asked for, and who plays in it. An agent knows only its own world, but may meet it with other
    /// options.
    pub(super) fn ready(&self, args: &WorldArgs) -> Outcome<(ByteWorld, Mind)> {
        if *self == Self::Zero {
            return Err(Failure::usage("--policy zero is for the walker, whose motors it leaves off"));
        }
        let Self::Run(run) = self else {
            let world = args.make()?;
            let dice = Mind::Dice(Rng::from_seed(args.seed).fold_in(1), world.spec().actions.len());
            return Ok((world, if *self == Self::Random { dice } else { Mind::Hand }));
        };
        let dir = find(run).map_err(|failure| Failure {
            message: format!("--policy takes keyboard, random or a run: {}", failure.message),
            ..failure
        })?;
        let (plan, agent) = load(&dir)?;
        let here = dir.display();
        if plan.world != args.name {
            let (knows, asked) = (plan.world, &args.name);
            return Err(Failure::usage(format!("the agent of {here} plays {knows}, not {asked}")));
        }
        let world = args.make_over(&plan.options)?;
        let known = worlds(&plan)?(0);
        let form = |spec: &Spec| (spec.shape.clone(), spec.actions.clone());
        if form(known.spec()) != form(world.spec()) {
            return Err(Failure::usage(format!(
                "the agent of {here} was trained with other actions; leave the option `actions` as it was"
            )));
        }
        Ok((world, Mind::Agent(agent)))
    }
}

impl Mind {
    /// What an agent expects in a state; nothing of others.
    pub(super) fn thought(&mut self, observation: &[u8]) -> Option<Thought> {
        let Self::Agent(agent) = self else { return None };
        let decision = agent.decide(observation).pop()?;
        let (mu, sigma) = (mu(&decision.members), sigma(&decision.members));
        Some(Thought { mu: mu.unwrap_or(decision.value), sigma })
    }

    /// What to do in a state; `by_hand` is what the keys say.
    pub(super) fn choose(&mut self, observation: &[u8], by_hand: usize) -> Outcome<usize> {
        match self {
            Self::Hand => Ok(by_hand),
            Self::Dice(rng, num_actions) => Ok(rng.below(*num_actions)),
            Self::Agent(agent) => {
                let action = agent.act(observation).pop();
                action.ok_or_else(|| Failure::internal("no decision for an observation"))
            }
        }
    }
}
