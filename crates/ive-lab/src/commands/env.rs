//! `ive env`: which worlds there are, and what happens in them step by step.

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand, ValueEnum};
use ive::Rng;
use ive_envs::minatar::ByteWorld;
use ive_envs::{Environment, OptionError, StepKind, fnv1a, registry};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The arguments of `ive env`.
#[derive(Args, Debug)]
pub struct EnvArgs {
    #[command(subcommand)]
    command: EnvCommand,
}

#[derive(Subcommand, Debug)]
enum EnvCommand {
    /// List the worlds.
    List {
        /// One JSON object per world.
        #[arg(long)]
        json: bool,
    },
    /// Show a world: observation, actions, options, origin, licence.
    Show {
        /// Its name, such as minatar:breakout.
        name: String,
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print every step of a run, to compare it with another implementation.
    Trace(TraceArgs),
}

/// The choices that every command with a world shares.
#[derive(Args, Debug)]
pub struct WorldArgs {
    /// The world, such as minatar:breakout (`ive env list` names all).
    pub name: String,
    /// The seed of the world.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Random numbers of our own, or those of the original.
    #[arg(long, value_enum)]
    rng: Option<RngName>,
    /// The probability that the last action is executed again.
    #[arg(long, value_name = "P")]
    sticky: Option<f64>,
    /// Keep the difficulty as it is at the start.
    #[arg(long)]
    no_ramping: bool,
    /// Any other option of the world; may be repeated.
    #[arg(long = "option", short = 'o', value_name = "KEY=VALUE")]
    options: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RngName {
    /// xoshiro256++.
    Ive,
    /// NumPy's `RandomState`.
    Numpy,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Each line holds the step, the action passed in, the reward, whether the episode ended, and the 64-bit FNV-1a hash of
the observation: one byte, 0 or 1, per entry, in the order row, column, channel. The world starts over after every end.

Examples:
  ive env trace minatar:breakout --rng numpy --seed 3 --actions random --steps 1000
  ive env trace minatar:seaquest --rng numpy --sticky 0 --actions moves.txt --json
  ive env trace minatar:seaquest -o oxygen_flash=on --steps 500")]
struct TraceArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// A file with one action number per line, or `random`.
    #[arg(long, default_value = "random", value_name = "FILE|random")]
    actions: String,
    /// How many steps [default: all of the file, or 1000].
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Runs `ive env`.
///
/// # Errors
/// If a world, option or action does not exist, or reading or writing fails.
pub fn run(args: &EnvArgs) -> Outcome {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match &args.command {
        EnvCommand::List { json } => list(&mut out, *json),
        EnvCommand::Show { name, json } => {
            show(&mut out, &registry::find(name).map_err(|error| refused(&error))?, *json)
        }
        EnvCommand::Trace(args) => {
            let mut world = args.world.make()?;
            let actions = args.actions(world.spec().actions.len())?;
            trace(&mut out, &mut world, &actions, args.json)
        }
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::io(format!("cannot write: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The world or option that does not exist, told to the user.
fn refused(error: &OptionError) -> Failure {
    Failure::usage(error.to_string())
}

impl WorldArgs {
    /// The world that was asked for.
    pub fn make(&self) -> Outcome<ByteWorld> {
        self.make_over(&BTreeMap::new())
    }

    /// The world that was asked for, with these options where the command line does not say otherwise.
    pub fn make_over(&self, base: &BTreeMap<String, String>) -> Outcome<ByteWorld> {
        let mut options = Vec::new();
        for option in &self.options {
            let malformed = || Failure::usage(format!("option `{option}` is not of the form key=value"));
            options.push(option.split_once('=').ok_or_else(malformed)?);
        }
        let sticky = self.sticky.map(|p| p.to_string());
        options.extend(sticky.as_deref().map(|p| ("sticky", p)));
        options.extend(self.no_ramping.then_some(("ramping", "off")));
        options
            .extend(self.rng.map(|rng| ("rng", if matches!(rng, RngName::Numpy) { "numpy" } else { "ive" })));
        let typed: Vec<&str> = options.iter().map(|(key, _)| *key).collect();
        let left = base.iter().filter(|(key, _)| !typed.contains(&key.as_str()));
        options.extend(left.map(|(key, value)| (key.as_str(), value.as_str())));
        registry::make(&self.name, &options, self.seed).map_err(|error| refused(&error))
    }
}

impl TraceArgs {
    /// As many actions as there are steps.
    fn actions(&self, num_actions: usize) -> Outcome<Vec<usize>> {
        if self.actions == "random" {
            // A stream of its own: the world's draws do not depend on the policy.
            let mut rng = Rng::from_seed(self.world.seed).fold_in(1);
            return Ok((0..self.steps.unwrap_or(1000)).map(|_| rng.below(num_actions)).collect());
        }
        let path = Path::new(&self.actions);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::io(format!("cannot read {}: {error}", path.display())))?;
        let mut actions = parse_actions(&text, num_actions)
            .map_err(|(line, what)| Failure::data(format!("{}:{line}: {what}", path.display())))?;
        let steps = self.steps.unwrap_or(actions.len());
        if actions.len() < steps {
            let (got, last) = (actions.len(), actions.len() + 1);
            let path = path.display();
            return Err(Failure::data(format!(
                "{path}:{last}: the file ends after {got} actions, {steps} are needed"
            )));
        }
        actions.truncate(steps);
        Ok(actions)
    }
}

/// One action number per line; on failure the line and what is wrong with it.
fn parse_actions(text: &str, num_actions: usize) -> Result<Vec<usize>, (usize, String)> {
    let parse = |(i, line): (usize, &str)| match line.trim().parse::<usize>() {
        Err(_) => Err((i + 1, format!("`{}` is not an action number", line.trim()))),
        Ok(action) if action >= num_actions => {
            Err((i + 1, format!("action {action} does not exist: there are 0 to {}", num_actions - 1)))
        }
        Ok(action) => Ok(action),
    };
    text.lines().enumerate().map(parse).collect()
}

fn list(out: &mut impl Write, json: bool) -> io::Result<()> {
    for entry in registry::entries() {
        if json {
            writeln!(out, "{}", describe(&entry))?;
        } else {
            writeln!(out, "{:<24} {}", entry.name, entry.summary)?;
        }
    }
    Ok(())
}

fn describe(entry: &registry::Entry) -> serde_json::Value {
    let options: Vec<_> = entry
        .options
        .iter()
        .map(|o| serde_json::json!({"key": o.key, "default": o.default, "values": o.values, "meaning": o.meaning}))
        .collect();
    serde_json::json!({
        "name": entry.name, "summary": entry.summary, "shape": entry.shape, "channels": entry.channels,
        "actions": entry.actions, "minimal_actions": entry.minimal_actions, "options": options,
        "origin": entry.origin, "licence": entry.licence,
    })
}

fn show(out: &mut impl Write, entry: &registry::Entry, json: bool) -> io::Result<()> {
    if json {
        return writeln!(out, "{}", describe(entry));
    }
    let numbered = |names: &[&str]| {
        let each: Vec<String> = names.iter().enumerate().map(|(i, name)| format!("{i} {name}")).collect();
        each.join(", ")
    };
    let shape: Vec<String> = entry.shape.iter().map(ToString::to_string).collect();
    writeln!(out, "{}: {}\n", entry.name, entry.summary)?;
    writeln!(out, "observation  {} bytes 0 or 1: row, column, channel", shape.join(" × "))?;
    writeln!(out, "channels     {}", numbered(entry.channels))?;
    writeln!(out, "actions      {}", numbered(&entry.actions))?;
    writeln!(out, "minimal      {}", numbered(&entry.minimal_actions))?;
    writeln!(out, "origin       {}", entry.origin)?;
    writeln!(out, "licence      {}", entry.licence)?;
    writeln!(out, "\noptions")?;
    for option in entry.options {
        writeln!(
            out,
            "  {:<13} {} [{}; default {}]",
            option.key, option.meaning, option.values, option.default
        )?;
    }
    Ok(())
}

fn trace(out: &mut impl Write, world: &mut ByteWorld, actions: &[usize], json: bool) -> io::Result<()> {
    let mut observation = vec![0; world.spec().observation_len()];
    let refused = |error| io::Error::other(format!("the world refused a step: {error}"));
    world.reset_into(&mut observation).map_err(refused)?;
    for (i, &action) in actions.iter().enumerate() {
        let step = world.step_into(action, &mut observation).map_err(refused)?;
        let (number, hash, terminal) = (i + 1, fnv1a(&observation), step.kind == StepKind::Terminated);
        let reward = step.reward;
        if json {
            writeln!(
                out,
                r#"{{"step":{number},"action":{action},"reward":{reward},"terminal":{terminal},"hash":"{hash:016x}"}}"#
            )?;
        } else {
            writeln!(out, "{number:>8}  action {action}  reward {reward:>2}  {terminal:<5}  {hash:016x}")?;
        }
        if terminal {
            world.reset_into(&mut observation).map_err(refused)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_numbers_that_exist() {
        assert_eq!(parse_actions("0\n 5 \n3\n", 6), Ok(vec![0, 5, 3]));
        assert_eq!(parse_actions("0\nx\n", 6), Err((2, "`x` is not an action number".into())));
        assert_eq!(parse_actions("0\n1\n6", 6), Err((3, "action 6 does not exist: there are 0 to 5".into())));
        assert_eq!(parse_actions("-1", 6), Err((1, "`-1` is not an action number".into())));
        assert_eq!(parse_actions("1\n\n2", 6), Err((2, "`` is not an action number".into())));
    }
}
