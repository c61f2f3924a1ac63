//! `ive calibrate`: a threshold with a stated false-alarm rate.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ive::GuardUnit;

use super::score::ScoringArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, file, layout};
use crate::signal::alarm::{GuardFile, HeldOut, Scoring, columns, percent};
use crate::signal::summary::short;

/// Arguments of `ive calibrate`.
#[derive(Args, Debug)]
#[command(after_help = "\
FILE holds scores of ordinary states that nobody trained on (what ive score wrote, or any NPZ, CSV \
or Parquet with a number for each state), or predictions, which are scored first. The threshold is \
the ⌈(n + 1)(1 − rate)⌉-th smallest of n scores. A new ordinary score that is exchangeable with them \
is above it with a probability of at most the rate, whatever their distribution.

States of one episode resemble each other and are not exchangeable. With an array episode the unit \
is therefore the episode, whose score is the largest of its steps: at most the stated share of \
ordinary episodes raise one alarm or more. A rate of 0.01 needs 99 held-out units, one of 0.05 needs 19.

Examples:
  ive calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o guard.json
  ive calibrate scores.npz --rate 0.01 --per step -o guard.json
  ive calibrate scores.npz --rate 0.01 --score=-mean -o low-value.json

Exit codes: 0 done, 64 usage, 65 too few scores or a damaged file, 74 input or output.")]
pub struct CalibrateArgs {
    /// Held-out scores or predictions
    file: PathBuf,
    /// The false-alarm rate
    #[arg(long, value_name = "R")]
    rate: f64,
    /// What false alarms are counted by [default: episode, if the file knows episodes]
    #[arg(long, value_enum)]
    per: Option<Per>,
    /// Which score; -NAME if low ones are suspicious
    #[arg(long, value_name = "NAME", default_value = "std", allow_hyphen_values = true)]
    score: String,
    #[command(flatten)]
    scoring: ScoringArgs,
    /// Where the guard goes
    #[arg(short, long, value_name = "FILE.json")]
    output: PathBuf,
    /// Print the guard as JSON, too
    #[arg(long)]
    json: bool,
}

/// What false alarms are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Per {
    /// States, if they are exchangeable
    Step,
    /// Whole episodes
    Episode,
}

/// Runs the command.
pub fn run(args: &CalibrateArgs) -> Outcome {
    file::check("--output", &args.output, &["json"])?;
    let to_stdout = file::is_stdout(&args.output);
    if to_stdout && args.json {
        return Err(Failure::usage("--output and --json cannot share standard output"));
    }
    let rule = args.scoring.rule();
    let (columns, from_predictions) = columns(&args.file, Some(&rule))?;
    let scoring = from_predictions.then(|| Scoring::of(&rule));
    let held_out = HeldOut { file: &args.file, columns: &columns, scoring };
    let unit = args.per.map(|per| match per {
        Per::Step => GuardUnit::Step,
        Per::Episode => GuardUnit::Episode,
    });
    let made = GuardFile::calibrate(&held_out, &args.score, args.rate, unit)?;
    let json = made.json()?;
    file::write(&args.output, &json)?;
    if args.json {
        return output::bytes(&json);
    }
    let tell: super::score::Tell = if to_stdout { super::score::aside } else { output::print };
    tell(&text(&made)?)
}

fn text(made: &GuardFile) -> Outcome<String> {
    let guard = &made.guard;
    let units = if guard.unit() == GuardUnit::Episode { "episodes" } else { "states" };
    let (low, high) = guard.rate_interval(0.9).map_err(|e| Failure::internal(e.to_string()))?;
    let fold = |text: &str| layout::fold(text, output::width(), 0);
    let mut out = fold(&format!(
        "threshold for `{}`: {}, from {} held-out {units}",
        made.score,
        short(guard.threshold()),
        guard.n()
    ));
    out += &fold(&format!(
        "{}, on average over all held-out {units} that might have been drawn. With those that were, the rate of this guard lies between {} and {} (90 %).",
        made.promise(),
        percent(low),
        percent(high)
    ));
    if guard.unit() == GuardUnit::Step {
        out += &fold(
            "This holds for states that are exchangeable. Neighbours in an episode are not: use --per episode for them.",
        );
    }
    Ok(out)
}
