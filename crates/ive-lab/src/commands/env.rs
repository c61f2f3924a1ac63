//! `ive env`: which environments there are, and what happens in them step by step.

mod numbers;
mod trace;
mod walker;

use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout};
use crate::run::agents::refused;
use clap::{Args, Subcommand, ValueEnum};
use ive_envs::ByteEnvironment;
use ive_envs::registry::{self, ActionKind, AnyEnvironment, OptionInfo};
use std::io::{self, BufWriter, Write};
use trace::TraceArgs;
pub use walker::random_action;

/// The arguments of `ive env`.
#[derive(Args, Debug)]
pub struct EnvArgs {
    #[command(subcommand)]
    command: EnvCommand,
}

#[derive(Subcommand, Debug)]
enum EnvCommand {
    /// List the environments
    List {
        /// One JSON object per environment
        #[arg(long)]
        json: bool,
    },
    /// Show an environment: observation, actions, options, origin, licence
    Show {
        /// Its name, such as minatar:breakout
        name: String,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print every step of a run, to compare it with another implementation
    Trace(TraceArgs),
}

/// The choices that every command with an environment shares.
#[derive(Args, Debug)]
pub struct EnvironmentArgs {
    /// The environment, such as minatar:breakout (`ive env list` names all)
    pub name: String,
    /// The seed of the environment
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = count::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// Random numbers of our own, or those of the original
    #[arg(long, value_enum)]
    rng: Option<RngName>,
    /// The probability that the last action is executed again
    #[arg(long, value_name = "P")]
    sticky: Option<f64>,
    /// Keep the difficulty as it is at the start
    #[arg(long)]
    no_ramping: bool,
    /// Any other option of the environment; may be repeated
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

/// Runs `ive env`.
///
/// # Errors
/// If an environment, option or action does not exist, or reading or writing fails.
pub fn run(args: &EnvArgs) -> Outcome {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match &args.command {
        EnvCommand::List { json } => list(&mut out, *json),
        EnvCommand::Show { name, json } => show(&mut out, &registry::find(name).map_err(refused)?, *json),
        EnvCommand::Trace(args) => args.run(&mut out)?,
    };
    output::written(written.and_then(|()| out.flush()))
}

impl EnvironmentArgs {
    /// The environment that was asked for.
    pub fn make(&self) -> Outcome<ByteEnvironment> {
        let options = self.options()?;
        let options: Vec<(&str, &str)> = options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        registry::make(&self.name, &options, self.seed).map_err(refused)
    }

    /// The environment that was asked for, whatever its actions are.
    pub fn open(&self) -> Outcome<AnyEnvironment> {
        let options = self.options()?;
        let options: Vec<(&str, &str)> = options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        registry::open(&self.name, &options, self.seed).map_err(refused)
    }

    /// The options as they were typed.
    pub fn options(&self) -> Outcome<Vec<(String, String)>> {
        let mut options = Vec::new();
        for option in &self.options {
            let malformed = || Failure::usage(format!("option `{option}` is not of the form key=value"));
            let (key, value) = option.split_once('=').ok_or_else(malformed)?;
            options.push((key.to_owned(), value.to_owned()));
        }
        let rng = self.rng.map(|rng| if matches!(rng, RngName::Numpy) { "numpy" } else { "ive" });
        let flags = [
            ("sticky", self.sticky.map(|p| p.to_string())),
            ("ramping", self.no_ramping.then(|| "off".to_owned())),
            ("rng", rng.map(str::to_owned)),
        ];
        options.extend(flags.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        Ok(options)
    }
}

fn list(out: &mut impl Write, json: bool) -> io::Result<()> {
    for entry in registry::entries() {
        if json {
            writeln!(out, "{}", describe(&entry))?;
        } else {
            write!(
                out,
                "{}",
                layout::fold(&format!("{:<24}{}", entry.name, entry.summary), output::width(), 24)
            )?;
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
        "name": entry.name, "summary": entry.summary, "shape": entry.shape, "entries": entry.entries, "channels": entry.channels,
        "action_kind": if entry.action_kind == ActionKind::Numbered { "numbered" } else { "continuous" },
        "actions": entry.actions, "minimal_actions": entry.minimal_actions, "options": options,
        "origin": entry.origin, "licence": entry.licence,
    })
}

/// Names with their numbers, in lines of a length that one can read; all but the first are indented.
fn numbered(names: &[&str]) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for (i, name) in names.iter().enumerate() {
        let comma = if i + 1 < names.len() { "," } else { "" };
        let item = format!("{i} {name}{comma}");
        let gap = match length {
            0 => "",
            _ if length + 1 + item.len() > 66 => "\n             ",
            _ => " ",
        };
        length = if gap.len() > 1 { item.len() } else { length + gap.len() + item.len() };
        text += gap;
        text += &item;
    }
    text
}

fn show(out: &mut impl Write, entry: &registry::Entry, json: bool) -> io::Result<()> {
    if json {
        return writeln!(out, "{}", describe(entry));
    }
    let shape: Vec<String> = entry.shape.iter().map(ToString::to_string).collect();
    let width = output::width();
    writeln!(out, "{}", layout::fold(&format!("{}: {}", entry.name, entry.summary), width, 2))?;
    let observation = format!("observation  {} {}", shape.join(" × "), entry.entries);
    write!(out, "{}", layout::fold(&observation, width, 13))?;
    let channels = if entry.shape.len() == 1 { "numbers " } else { "channels" };
    writeln!(out, "{channels}     {}", numbered(entry.channels))?;
    match entry.action_kind {
        ActionKind::Numbered => writeln!(out, "actions      {}", numbered(&entry.actions))?,
        ActionKind::Continuous => {
            writeln!(out, "action       {} numbers from −1 to 1", entry.actions.len())?;
            writeln!(out, "motors       {}", numbered(&entry.actions))?;
        }
    }
    if !entry.minimal_actions.is_empty() {
        writeln!(out, "minimal      {}", numbered(&entry.minimal_actions))?;
    }
    write!(out, "{}", layout::fold(&format!("origin       {}", entry.origin), width, 13))?;
    write!(out, "{}", layout::fold(&format!("licence      {}", entry.licence), width, 13))?;
    writeln!(out, "\noptions")?;
    for option in entry.options {
        let OptionInfo { key, meaning, values, default } = option;
        let line = format!("  {key:<17} {meaning} [{values}; default {default}]");
        write!(out, "{}", layout::fold(&line, width, 20))?;
    }
    Ok(())
}
