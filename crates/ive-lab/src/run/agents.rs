//! Agents by name: their presets, and how they are made from a plan.

use std::collections::BTreeMap;
use std::path::Path;

use ive_agents::dqn::{self, Dqn};
use ive_agents::nn::Backend;
use ive_agents::vpn::{self, Vpn};
use ive_agents::{Agent, AgentError};
use ive_envs::minatar::ByteWorld;
use ive_envs::registry;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::Plan;
use crate::exit::{Failure, Outcome};
use crate::settings::{Change, Layers, check_changes, read_file, suggest};

/// An agent that can be trained.
#[derive(Debug)]
pub struct Kind {
    /// As it is typed.
    pub name: &'static str,
    /// Other names for it.
    aliases: &'static [&'static str],
    /// The names and texts of its presets; the first is the default.
    presets: &'static [(&'static str, &'static str)],
    /// What it changes in them.
    variant: &'static [&'static str],
}

/// What is published is what works.
const DQN_PRESETS: &[(&str, &str)] = &[
    ("default", include_str!("../../presets/dqn.default.toml")),
    ("paper-literal", include_str!("../../presets/dqn.default.toml")),
    ("smoke", include_str!("../../presets/dqn.smoke.toml")),
];

const VPN_PRESETS: &[(&str, &str)] = &[
    ("default", include_str!("../../presets/vpn.default.toml")),
    ("paper-literal", include_str!("../../presets/vpn.paper-literal.toml")),
    ("smoke", include_str!("../../presets/vpn.smoke.toml")),
];

/// All agents.
pub const AGENTS: &[Kind] = &[
    Kind { name: "dqn", aliases: &[], presets: DQN_PRESETS, variant: &[] },
    Kind { name: "mu-ive", aliases: &["vpn"], presets: VPN_PRESETS, variant: &[] },
    Kind { name: "vpn-v1", aliases: &[], presets: VPN_PRESETS, variant: &["weights=[1.0]", "branching=[4]"] },
    Kind {
        name: "vpn-v5",
        aliases: &[],
        presets: VPN_PRESETS,
        variant: &["weights=[0.0, 0.0, 0.0, 0.0, 1.0]"],
    },
    #[cfg(test)]
    Kind { name: "fake", aliases: &[], presets: &[("default", super::tests::fake::PRESET)], variant: &[] },
];

/// What somebody wants to train.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// The name of the preset; empty for the default one.
    pub preset: &'a str,
    /// The name of the world.
    pub world: &'a str,
    /// The options of the world.
    pub options: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// Environment steps, if not those of the preset.
    pub steps: Option<u64>,
    /// A settings file, with a table per agent.
    pub file: Option<&'a Path>,
    /// Changes from the command line.
    pub changes: &'a [Change],
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
        let found = self.presets.iter().find(|(known, _)| *known == name || name.is_empty());
        found.map(|(_, text)| *text).ok_or_else(|| {
            let known: Vec<String> = self.presets.iter().map(|(known, _)| (*known).to_owned()).collect();
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
    /// Refuses what cannot be run, before anything is written. No agent is made: its settings decide.
    pub fn check(&self) -> Outcome {
        let _ = worlds(self)?;
        if self.steps == 0 || self.steps > i64::MAX as u64 {
            return Err(Failure::config(format!("steps: {} is not a number of steps", self.steps)));
        }
        if self.seed > i64::MAX as u64 {
            return Err(Failure::config(format!("seed: {} is larger than {}", self.seed, i64::MAX)));
        }
        if let Some((key, value)) = self.settings.iter().find(|(_, value)| !finite(value)) {
            return Err(Failure::config(format!("{key}: {value} is not a finite number")));
        }
        let checked = match Kind::find(&self.agent)?.name {
            "dqn" => typed::<dqn::Config>(self)?.check(),
            "mu-ive" | "vpn-v1" | "vpn-v5" => typed::<vpn::Config>(self)?.check(),
            #[cfg(test)]
            "fake" => typed::<super::tests::fake::Config>(self)?.check(),
            other => return Err(Failure::internal(format!("nobody knows the settings of `{other}`"))),
        };
        checked.map_err(|e| failed(&self.agent, &e))
    }
}

/// The settings of an agent whose schedules refer to the number of steps: if that number changes, they change from the
/// first step on.
pub fn schedules(plan: &Plan) -> Outcome<Vec<&'static str>> {
    match Kind::find(&plan.agent)?.name {
        "mu-ive" | "vpn-v1" | "vpn-v5" => Ok(typed::<vpn::Config>(plan)?.schedules()),
        _ => Ok(Vec::new()),
    }
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

/// The family of environments that agents are made for.
const LEARNABLE: &str = "minatar:";

/// Refuses environments that exist but that no agent can learn yet.
fn learnable(world: &str) -> Outcome {
    if world.starts_with(LEARNABLE) || registry::find(world).is_err() {
        return Ok(());
    }
    let known: Vec<String> =
        registry::entries().into_iter().map(|e| e.name).filter(|name| name.starts_with(LEARNABLE)).collect();
    Err(Failure::usage(format!(
        "there is no agent for {world} yet; all agents learn {} (README, Limits)",
        known.join(", ")
    )))
}

/// Makes the worlds of a plan, by seed.
pub fn worlds(plan: &Plan) -> Outcome<impl Fn(u64) -> ByteWorld + use<>> {
    learnable(&plan.world)?;
    let make = {
        let plan = plan.clone();
        move |seed| {
            let options: Vec<(&str, &str)> =
                plan.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            registry::make(&plan.world, &options, seed)
        }
    };
    make(0).map_err(|e| Failure::usage(e.to_string()))?;
    make(u64::MAX).map_err(|e| {
        Failure::usage(format!(
            "agents draw the seeds of their environments from 64 bits, which does not fit: {e}"
        ))
    })?;
    Ok(move |seed| make(seed).expect("worlds of the smallest and of the largest seed were made"))
}

/// The settings of an agent in its own type.
fn typed<T: DeserializeOwned>(plan: &Plan) -> Outcome<T> {
    let mut settings = plan.settings.clone();
    let steps = plan.schedule_steps.unwrap_or(plan.steps);
    settings.insert("steps".to_owned(), Value::Integer(steps as i64));
    settings
        .try_into()
        .map_err(|e: toml::de::Error| Failure::config(format!("{}: {}", plan.agent, e.message().trim())))
}

/// The agent of a plan, at its beginning, with gradients on a device.
pub fn make(plan: &Plan, device: &str) -> Outcome<Box<dyn Agent>> {
    let worlds = worlds(plan)?;
    let backend = Backend::parse(device).map_err(|e| Failure::usage(e.to_string()))?;
    let agent: Result<Box<dyn Agent>, AgentError> = match Kind::find(&plan.agent)?.name {
        "dqn" => Dqn::new(&typed(plan)?, &worlds, plan.seed).map(|a| Box::new(a.with_backend(&backend)) as _),
        "mu-ive" | "vpn-v1" | "vpn-v5" => {
            Vpn::new(&typed(plan)?, &worlds, plan.seed).map(|a| Box::new(a.with_backend(&backend)) as _)
        }
        #[cfg(test)]
        "fake" => super::tests::fake::Fake::new(typed(plan)?, &worlds, plan.seed).map(|a| Box::new(a) as _),
        other => return Err(Failure::internal(format!("nobody can make the agent `{other}`"))),
    };
    agent.map_err(|e| failed(&plan.agent, &e))
}

/// The failure of an agent, with the exit code that belongs to it.
pub fn failed(agent: &str, error: &AgentError) -> Failure {
    match error {
        AgentError::Setting { .. } => Failure::config(format!("{agent}: {error}")),
        _ => Failure::internal(error.to_string()),
    }
}
