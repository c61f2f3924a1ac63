//! `ive score`: σ-IVE from logged predictions, without the model.

use std::path::{Path, PathBuf};

use clap::Args;
use ive::Members;
use serde_json::{Value, json};

use crate::eval::members;
use crate::exit::{Failure, Outcome};
use crate::output::{self, file};
use crate::report::plot::Figure;
use crate::signal::model::ModelArgs;
use crate::signal::results::Format;
use crate::signal::scoring::{Rule, score};
use crate::signal::source::{Convention, Place, Source};
use crate::signal::summary::Summary;
use crate::signal::{draw, example};

/// Arguments of `ive score`.
#[derive(Args, Debug)]
#[command(after_help = "\
Predictions along imagined paths of k steps from a batch of states are all that is needed: rewards \
[k, batch] and values [k + 1, batch], as NPY, or together in one NPZ; or a CSV or Parquet table with \
a row for each state and the columns reward_1.., value_0.., and perhaps discount_1... Further axes \
are flattened into the batch. Other arrays with one number for each state, such as episode, travel \
along into --out. Files larger than memory are read in parts.

Or let the command make the predictions: --model is a folder of ONNX graphs with a model.toml \
(docs/onnx.md), --states the observations or states to start from.

Out come all k-step values (members), their mean (μ) and standard deviation (σ, std), σ/|μ| \
(relative), and with --beta μ+βσ (score).

Read docs/traps.md before you trust σ: which reward belongs to which state, terminals, categorical \
values, sampling noise.

Examples:
  ive score --example logs                      predictions to try it with
  ive score logs/ordinary.npz --gamma 0.9 --plot scores.png
  ive score --rewards r.npy --values v.npy --gamma 0.99 --members 1..5 --out s.npz
  ive score --rewards r.npy --values v.npy --discounts d.npy --out s.parquet
  ive score log.csv --gamma 0.99 --out - | head
  ive score --model folder --states s.npy --horizon 5 --out s.npz

Exit codes: 0 done, 64 usage, 65 files that do not fit or are damaged, numbers that are not finite, \
74 input or output, 78 a model.toml that is wrong.")]
pub struct ScoreArgs {
    /// A file with everything: NPZ (arrays rewards, values, perhaps discounts), CSV or Parquet
    #[arg(conflicts_with_all = ["rewards", "values", "discounts"])]
    file: Option<PathBuf>,
    /// Predicted rewards of the steps, [k, batch], NPY
    #[arg(long, value_name = "FILE")]
    rewards: Option<PathBuf>,
    /// Predicted values of the states on the way, [k + 1, batch], NPY
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    /// Predicted discounts of the steps, [k, batch], NPY: γ times the probability of going on
    #[arg(long, value_name = "FILE")]
    discounts: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    scoring: ScoringArgs,
    /// Also compute μ + βσ: above zero for optimism, below for pessimism
    #[arg(long, value_name = "B", allow_negative_numbers = true, value_parser = finite)]
    beta: Option<f64>,
    /// Write the scores of every state; the ending says how: .npz, .csv, .parquet or .json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw members, histogram and σ over time
    #[arg(long, value_name = "FILE.png|svg")]
    plot: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Write predictions of a small learned model to a directory, to try this with, and stop
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "rewards", "values", "out", "plot", "json"])]
    example: Option<PathBuf>,
}

impl ScoreArgs {
    /// The files that are read.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.file, &self.rewards, &self.values, &self.discounts, &self.model.states];
        all.into_iter().flatten().map(PathBuf::as_path)
    }
}

/// How predictions become scores; the same for all commands that take them.
#[derive(Args, Clone, Debug)]
pub struct ScoringArgs {
    /// The discount, where there are no discounts
    #[arg(long, value_name = "G", value_parser = probability)]
    pub gamma: Option<f64>,
    /// Over which k, 0..5 or 1,3,5 [default: all that there are]
    #[arg(long, value_name = "K..K", value_parser = members::parse)]
    pub members: Option<Members>,
    /// What is subtracted from the number of members in σ: 0 population, 1 sample
    #[arg(long, value_name = "0|1", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub ddof: u8,
    /// Where there is a reward for each of the k + 1 states: whose value contains it (docs/traps.md)
    #[arg(long, value_enum)]
    pub convention: Option<Convention>,
}

impl ScoringArgs {
    /// As a rule.
    pub fn rule(&self) -> Rule {
        let (gamma, members) = (self.gamma, self.members.clone());
        Rule { gamma, members, ddof: usize::from(self.ddof), convention: self.convention, beta: None }
    }
}

fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| "expected a number".to_owned())
}

/// Reads a number from 0 to 1.
pub fn probability(text: &str) -> Result<f64, String> {
    let p = text.parse().map_err(|_| "expected a number between 0 and 1".to_owned())?;
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(format!("{p} is not between 0 and 1")) }
}

/// Runs the command.
pub fn run(args: &ScoreArgs) -> Outcome {
    if let Some(folder) = &args.example {
        return write_example(folder);
    }
    let format = args.out.as_deref().map(format_of).transpose()?;
    for (flag, path) in [("--out", &args.out), ("--plot", &args.plot)] {
        path.as_deref().map_or(Ok(()), |path| file::spare(flag, path, args.inputs()))?;
    }
    let tell = tell_where(args)?;
    let (mut source, rule) = predictions(args)?;
    let mut results = score(&mut source, &rule)?;
    if let (Some(path), Some(format)) = (&args.out, format) {
        file::write_with(path, |out| results.write(format, out))?;
    }
    let summary = Summary::new(&mut results)?;
    if let Some(path) = &args.plot {
        write_figure(path, &draw::scores(&mut results, &summary)?)?;
    }
    if args.json {
        return print_summary(&summary, &rule, source.horizon, args);
    }
    tell(&summary.text(output::width()))?;
    let written = [&args.out, &args.plot].into_iter().flatten().filter(|path| !file::is_stdout(path));
    let lines: String = written.map(|path| format!("written: {}\n", path.display())).collect();
    if lines.is_empty() { Ok(()) } else { tell(&format!("\n{lines}")) }
}

/// Where the predictions come from, and how they are scored.
fn predictions(args: &ScoreArgs) -> Outcome<(Source, Rule)> {
    let mut rule = Rule { beta: args.beta, ..args.scoring.rule() };
    if args.model.model.is_some() {
        if args.model.actions {
            // The value of a state says nothing about actions.
            if rule.members.get_or_insert(after_a_step(args.model.horizon)?).contains(0) {
                return Err(Failure::usage("--members: pairs of states and actions have k = 1.., not 0"));
            }
        }
        return Ok((args.model.open()?, rule));
    }
    let place = Place {
        file: args.file.as_deref(),
        rewards: args.rewards.as_deref(),
        values: args.values.as_deref(),
        discounts: args.discounts.as_deref(),
        convention: args.scoring.convention,
    };
    Ok((Source::open(&place)?, rule))
}

/// The members k = 1..n.
fn after_a_step(n: usize) -> Outcome<Members> {
    Members::new(1..=n).map_err(|e| Failure::usage(e.to_string()))
}

fn write_example(folder: &Path) -> Outcome {
    let written = example::write(folder)?;
    let names: String = written.iter().map(|path| format!("written: {}\n", path.display())).collect();
    let first = folder.join("ordinary.npz");
    output::print(&format!("{names}\nnow: ive score {} --gamma {}\n", first.display(), example::GAMMA))
}

fn print_summary(summary: &Summary, rule: &Rule, horizon: usize, args: &ScoreArgs) -> Outcome {
    let mut value = serde_json::to_value(summary).map_err(|e| Failure::internal(e.to_string()))?;
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let more = json!({ "horizon": horizon, "gamma": rule.gamma, "ddof": rule.ddof, "beta": rule.beta,
        "out": shown(&args.out), "plot": shown(&args.plot) });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    output::json(&value)
}

/// The format of a file by its ending; standard output takes CSV.
fn format_of(path: &Path) -> Outcome<Format> {
    file::check("--out", path, &[])?;
    match Format::of(path) {
        Some(format) => Ok(format),
        None if file::is_stdout(path) || path.exists() && !path.is_file() => Ok(Format::Csv),
        None => Err(Failure::usage(format!(
            "--out: {} does not end in .npz, .csv, .parquet or .json",
            path.display()
        ))),
    }
}

/// Writes a picture as PNG or, by its ending, as SVG.
pub fn write_figure(path: &Path, figure: &Figure) -> Outcome {
    let svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    if svg { file::write(path, figure.svg.as_bytes()) } else { file::write(path, &figure.png) }
}

/// Refuses a place for a picture before any work is done for it.
pub fn check_figure(flag: &str, path: &Path) -> Outcome {
    file::check(flag, path, &["png", "svg"])
}

/// Says something to the user.
pub type Tell = fn(&str) -> Outcome;

/// To standard error, where a file takes standard output.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for `output::print`")]
pub fn aside(text: &str) -> Outcome {
    output::say(text.trim_end_matches('\n'));
    Ok(())
}

/// Where the text goes: to stderr if a file takes stdout.
fn tell_where(args: &ScoreArgs) -> Outcome<Tell> {
    let mut taken = Vec::new();
    for (flag, path) in [("--out", &args.out), ("--plot", &args.plot)] {
        let Some(path) = path else { continue };
        if flag == "--plot" {
            check_figure(flag, path)?;
        }
        if file::is_stdout(path) {
            taken.push(flag);
        }
    }
    shared(taken, args.json)
}

/// Standard output belongs to one of them.
pub fn shared(mut taken: Vec<&str>, json: bool) -> Outcome<Tell> {
    if json && !taken.is_empty() {
        taken.push("--json");
    }
    match taken.as_slice() {
        [] => Ok(output::print),
        [_] => Ok(aside),
        several => Err(Failure::usage(format!("{} cannot share standard output", several.join(" and ")))),
    }
}
