//! Agents by name: their presets, and how they are made from a plan.

use std::collections::BTreeMap;
use std::path::Path;

use ive_agents::dqn::{self, Dqn};
use ive_agents::dreamer::{self, Dreamer};
use ive_agents::muesli::{self, Muesli};
use ive_agents::nn::Backend;
use ive_agents::vpn::{self, Vpn};
use ive_agents::{Agent, AgentError, Player, Source};
use ive_envs::OptionError;
use ive_envs::registry::{self, Kinds, Registered};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{Plan, greedy};
use crate::exit::{Failure, Outcome};
use crate::settings::{Change, Layers, check_changes, range, read_file, suggest};

/// An agent that can be trained.
#[derive(Debug)]
pub struct Kind {
    /// As it is typed.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What it changes in the presets of its family.
    variant: &'static [&'static str],
    family: &'static Family,
}

/// What agents with the same code and settings share.
#[derive(Debug)]
pub(super) struct Family {
    /// The names and texts of the presets; the first is the default.
    pub(super) presets: &'static [(&'static str, &'static str)],
    /// Which environments it can learn.
    pub(super) learns: &'static [Kinds],
    /// Refuses settings without making anything.
    pub(super) check: fn(&Plan) -> Outcome,
    /// Its settings with those that it does not name: what came later has a default.
    pub(super) complete: fn(&Plan) -> Outcome<Table>,
    /// The settings whose schedules refer to the number of steps.
    pub(super) schedules: fn(&Plan) -> Outcome<Vec<&'static str>>,
    /// The agent at its beginning.
    pub(super) make: fn(&Making<'_>) -> Outcome<Box<dyn Agent>>,
}

/// What an agent is made of.
pub(super) struct Making<'a> {
    pub(super) plan: &'a Plan,
    environment: Registered,
    backend: Backend,
}

/// All agents: one row each.
pub const AGENTS: &[Kind] = &[
    Kind {
        name: "dqn",
        aliases: &[],
        summary: "deep Q-network, as MinAtar's authors publish it",
        variant: &[],
        family: &DQN,
    },
    Kind {
        name: "mu-ive",
        aliases: &["vpn"],
        summary: "value prediction network, acting on the mean of its 1- to 5-step values",
        variant: &[],
        family: &VPN,
    },
    Kind {
        name: "vpn-v1",
        aliases: &[],
        summary: "the same, acting on its 1-step value alone",
        variant: &["weights=[1.0]", "branching=[4]"],
        family: &VPN,
    },
    Kind {
        name: "vpn-v5",
        aliases: &[],
        summary: "the same, acting on its 5-step value alone",
        variant: &["weights=[0.0, 0.0, 0.0, 0.0, 1.0]"],
        family: &VPN,
    },
    Kind {
        name: "dreamer",
        aliases: &[],
        summary: "Dreamer for the walker: a world model, imagination, and plans that seek what it does not know",
        variant: &[],
        family: &DREAMER,
    },
    Kind {
        name: "muesli",
        aliases: &[],
        summary: "Muesli: a policy, and a value and a model that agree about it; boards and pictures",
        variant: &[],
        family: &MUESLI,
    },
    #[cfg(test)]
    Kind {
        name: "fake",
        aliases: &[],
        summary: "learns nothing, quickly",
        variant: &[],
        family: &super::tests::FAKE,
    },
];

const DQN: Family = Family {
    presets: &[
        ("default", include_str!("../../presets/dqn.default.toml")),
        // What is published is what works.
        ("paper-literal", include_str!("../../presets/dqn.default.toml")),
        ("smoke", include_str!("../../presets/dqn.smoke.toml")),
    ],
    learns: Dqn::LEARNS,
    check: |plan| checked(plan, dqn::Config::check),
    complete: completed::<dqn::Config>,
    schedules: |_| Ok(Vec::new()),
    make: |making| {
        let agent = Dqn::new(&typed(making.plan)?, making.source::<Dqn>()?, making.plan.seed);
        making.done(agent.map(|agent| agent.with_backend(&making.backend)))
    },
};

const VPN: Family = Family {
    presets: &[
        ("default", include_str!("../../presets/vpn.default.toml")),
        ("paper-literal", include_str!("../../presets/vpn.paper-literal.toml")),
        ("smoke", include_str!("../../presets/vpn.smoke.toml")),
    ],
    learns: Vpn::LEARNS,
    check: |plan| checked(plan, vpn::Config::check),
    complete: completed::<vpn::Config>,
    schedules: |plan| Ok(typed::<vpn::Config>(plan)?.schedules()),
    make: |making| {
        let agent = Vpn::new(&typed(making.plan)?, making.source::<Vpn>()?, making.plan.seed);
        making.done(agent.map(|agent| agent.with_backend(&making.backend)))
    },
};

const DREAMER: Family = Family {
    presets: &[
        ("default", include_str!("../../presets/dreamer.default.toml")),
        ("pixels", include_str!("../../presets/dreamer.pixels.toml")),
        ("smoke", include_str!("../../presets/dreamer.smoke.toml")),
    ],
    learns: &[Dreamer::<f64>::LEARNS[0], Dreamer::<u8>::LEARNS[0]],
    check: |plan| checked(plan, dreamer::Config::check),
    complete: completed::<dreamer::Config>,
    schedules: |_| Ok(Vec::new()),
    make: |making| {
        let (config, seed) = (typed(making.plan)?, making.plan.seed);
        if making.environment.kinds() == Dreamer::<u8>::LEARNS[0] {
            let agent = Dreamer::<u8>::new(&config, making.source::<Dreamer<u8>>()?, seed);
            return making.done(agent.map(|agent| agent.with_backend(&making.backend)));
        }
        let agent = Dreamer::<f64>::new(&config, making.source::<Dreamer<f64>>()?, seed);
        making.done(agent.map(|agent| agent.with_backend(&making.backend)))
    },
};

const MUESLI: Family = Family {
    presets: &[
        ("default", include_str!("../../presets/muesli.default.toml")),
        ("paper", include_str!("../../presets/muesli.paper.toml")),
        ("smoke", include_str!("../../presets/muesli.smoke.toml")),
    ],
    learns: Muesli::LEARNS,
    check: |plan| checked(plan, muesli::Config::check),
    complete: completed::<muesli::Config>,
    schedules: |plan| Ok(typed::<muesli::Config>(plan)?.schedules()),
    make: |making| {
        let agent = Muesli::new(&typed(making.plan)?, making.source::<Muesli>()?, making.plan.seed);
        making.done(agent.map(|agent| agent.with_backend(&making.backend)))
    },
};

impl Making<'_> {
    /// The environments, for an agent that learns their kind.
    pub(super) fn source<P: Player>(&self) -> Outcome<Source<P::Action, P::Element>> {
        P::source(&self.environment)
            .ok_or_else(|| unlearnable(&self.plan.agent, P::LEARNS, &self.environment))
    }

    /// The agent, or why there is none.
    pub(super) fn done(&self, made: Result<impl Agent + 'static, AgentError>) -> Outcome<Box<dyn Agent>> {
        made.map(|agent| Box::new(agent) as _).map_err(|e| failed(&self.plan.agent, e))
    }
}

/// Refuses settings of an agent outside of their ranges.
pub(super) fn checked<C: DeserializeOwned>(plan: &Plan, check: fn(&C) -> Result<(), AgentError>) -> Outcome {
    check(&typed(plan)?).map_err(|e| failed(&plan.agent, e))
}

/// Settings with every key.
fn completed<C: DeserializeOwned + Serialize>(plan: &Plan) -> Outcome<Table> {
    let mut settings = Table::try_from(typed::<C>(plan)?)
        .map_err(|e| Failure::internal(format!("settings cannot be written down: {e}")))?;
    settings.remove("steps");
    Ok(settings)
}

/// The settings of a plan with those that it does not name, because it is older than they are.
pub fn complete(plan: &Plan) -> Outcome<Table> {
    (Kind::find(&plan.agent)?.family.complete)(plan)
}

/// What somebody wants to train.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// The name of the preset; empty for the default one.
    pub preset: &'a str,
    /// The name of the environment.
    pub world: &'a str,
    /// The options of the environment.
    pub options: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// Environment steps, if not those of the preset.
    pub steps: Option<u64>,
    /// A settings file, with a table per agent.
    pub file: Option<&'a Path>,
    /// Changes from the command line.
    pub changes: &'a [Change],
    /// Where gradients are computed; `cpu` if nobody says.
    pub device: Option<&'a str>,
    /// Greedy episodes at the end; 100 if nobody says.
    pub greedy_episodes: Option<usize>,
    /// Lowers `log_every`, where nobody set it, so that learning curves have at least so many points; 0 leaves it alone.
    pub points: u64,
}

impl Kind {
    /// The agent of a name.
    pub fn find(name: &str) -> Outcome<&'static Self> {
        let found = AGENTS.iter().find(|kind| kind.name == name || kind.aliases.contains(&name));
        found.ok_or_else(|| {
            let known: Vec<String> = AGENTS.iter().map(|kind| kind.name.to_owned()).collect();
            Failure::usage(format!("there is no agent `{name}`{}", suggest(name, known.iter())))
        })
    }

    /// The settings of a preset, to be changed.
    fn layers(&self, preset: &str) -> Outcome<Layers> {
        let mut layers = Layers::from_preset(self.name, self.preset(preset)?)?;
        let variant: Result<Vec<Change>, String> = self.variant.iter().map(|c| Change::parse(c)).collect();
        layers.add_changes(&variant.map_err(Failure::internal)?)?;
        Ok(layers)
    }

    fn preset(&self, name: &str) -> Outcome<&'static str> {
        let found = self.family.presets.iter().find(|(known, _)| *known == name || name.is_empty());
        found.map(|(_, text)| *text).ok_or_else(|| {
            let known: Vec<String> =
                self.family.presets.iter().map(|(known, _)| (*known).to_owned()).collect();
            Failure::usage(format!("{} has no preset `{name}`{}", self.name, suggest(name, known.iter())))
        })
    }
}

/// The plan of a request: preset ← file ← command line, every name checked.
pub fn resolve(request: &Request<'_>) -> Outcome<Plan> {
    let kind = Kind::find(request.agent)?;
    let mut layers = kind.layers(request.preset)?;
    let mut logs = request.changes.iter().any(|change| change.sets("log_every"));
    if let Some(path) = request.file {
        let shown = path.display().to_string();
        let file = read_file(path)?;
        file.keys().try_for_each(|name| {
            Kind::find(name).map(|_| ()).map_err(|e| Failure::config(format!("{shown}: {}", e.message)))
        })?;
        layers.add_file(&file, &shown)?;
        logs |= file.get(kind.name).is_some_and(|section| section.get("log_every").is_some());
    }
    check_changes(request.changes, std::slice::from_ref(&layers))?;
    layers.add_changes(request.changes)?;
    let mut settings: Table = layers.build()?;
    let preset_steps =
        settings.remove("steps").and_then(|v| v.as_integer()).and_then(|n| u64::try_from(n).ok());
    let steps = request.steps.or(preset_steps).unwrap_or(0);
    if let (Some(Value::Integer(every)), false, 1..) = (settings.get_mut("log_every"), logs, request.points) {
        *every = (*every).min(i64::try_from(steps / request.points).unwrap_or(i64::MAX).max(1));
    }
    let plan = Plan {
        device: request.device.unwrap_or("cpu").to_owned(),
        greedy_episodes: request.greedy_episodes.unwrap_or(100),
        extended: Vec::new(),
        agent: kind.name.to_owned(),
        world: request.world.to_owned(),
        options: request.options.clone(),
        seed: request.seed,
        steps,
        schedule_steps: None,
        settings,
    };
    plan.check()?;
    Ok(plan)
}

impl Plan {
    /// Refuses what cannot be run, before anything is written. Neither agent nor environment is made.
    pub fn check(&self) -> Outcome {
        range("greedy_episodes", self.greedy_episodes as f64, 0.0, greedy::MAX_EPISODES as f64)?;
        Backend::parse(&self.device).map_err(|e| Failure::usage(e.to_string()))?;
        let kind = Kind::find(&self.agent)?;
        let environment = self.environment()?;
        if !kind.family.learns.contains(&environment.kinds()) {
            return Err(unlearnable(kind.name, kind.family.learns, &environment));
        }
        environment.check_seed(u64::MAX).map_err(|e| {
            Failure::usage(format!(
                "agents draw the seeds of their environments from 64 bits, which does not fit: {e}"
            ))
        })?;
        if self.steps == 0 || self.steps > i64::MAX as u64 {
            return Err(Failure::config(format!("steps: {} is not a number of steps", self.steps)));
        }
        if self.seed > i64::MAX as u64 {
            return Err(Failure::config(format!("seed: {} is larger than {}", self.seed, i64::MAX)));
        }
        if let Some((key, value)) = self.settings.iter().find(|(_, value)| !finite(value)) {
            return Err(Failure::config(format!("{key}: {value} is not a finite number")));
        }
        (kind.family.check)(self)
    }

    /// The environment, with its options; it is not made.
    pub fn environment(&self) -> Outcome<Registered> {
        Registered::with_options(&self.world, &self.options).map_err(refused)
    }
}

/// The settings of an agent whose schedules refer to the number of steps: if that number changes, they change from the
/// first step on.
pub fn schedules(plan: &Plan) -> Outcome<Vec<&'static str>> {
    (Kind::find(&plan.agent)?.family.schedules)(plan)
}

/// Whether all numbers in a value are finite.
fn finite(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::Array(values) => values.iter().all(finite),
        Value::Table(table) => table.values().all(finite),
        _ => true,
    }
}

/// An agent cannot learn an environment of this kind.
fn unlearnable(agent: &str, learns: &[Kinds], environment: &Registered) -> Failure {
    let kinds: Vec<String> = learns.iter().map(Kinds::to_string).collect();
    let mut names: Vec<String> = learns.iter().flat_map(|&kinds| registry::names_of(kinds)).collect();
    names.dedup();
    Failure::usage(format!(
        "{agent} learns {}, and {} has {}; what fits: {}",
        kinds.join(" or "),
        environment.name(),
        environment.kinds(),
        names.join(", ")
    ))
}

/// An environment that does not exist, or whose library cannot be had.
pub fn refused(error: OptionError) -> Failure {
    match error {
        OptionError::Native(error) => error.into(),
        _ => Failure::usage(error.to_string()),
    }
}

/// The settings of an agent in its own type.
pub fn typed<T: DeserializeOwned>(plan: &Plan) -> Outcome<T> {
    let mut settings = plan.settings.clone();
    let steps = plan.schedule_steps.unwrap_or(plan.steps);
    settings.insert("steps".to_owned(), Value::Integer(steps as i64));
    settings
        .try_into()
        .map_err(|e: toml::de::Error| Failure::config(format!("{}: {}", plan.agent, e.message().trim())))
}

/// The agent of a plan, at its beginning.
pub fn make(plan: &Plan) -> Outcome<Box<dyn Agent>> {
    let backend = Backend::parse(&plan.device).map_err(|e| Failure::usage(e.to_string()))?;
    let kind = Kind::find(&plan.agent)?;
    (kind.family.make)(&Making { plan, environment: plan.environment()?, backend })
}

/// The failure of an agent, with the exit code that belongs to it.
pub fn failed(agent: &str, error: AgentError) -> Failure {
    match error {
        AgentError::Setting { .. } => Failure::config(format!("{agent}: {error}")),
        AgentError::Members { .. } => Failure::usage(format!("--members: {error}")),
        AgentError::Action { .. } => Failure::usage(format!("--fallback: {error}")),
        AgentError::Corruption { .. } => Failure::usage(format!("--corrupt: {error}")),
        AgentError::Environment(error) => refused(error),
        _ => Failure::internal(error.to_string()),
    }
}
