//! `ive ood`: does σ-IVE tell my states out of distribution from ordinary ones, and do other scores do it better?

use std::path::PathBuf;

use clap::Args;

use super::score::{ScoringArgs, check_figure, shared, write_figure};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, file};
use crate::signal::alarm::columns;
use crate::signal::draw;
use crate::signal::judge::{Sides, judge, scores};

/// Arguments of `ive ood`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each file holds scores (what ive score wrote, or any NPZ, CSV or Parquet with a number for each \
state), or predictions, which are scored first. Scores that both files have are compared: σ-IVE \
(std), σ/|μ| (relative), low value (mean with the other sign), and every other array under its own \
name, high meaning out of distribution.

An array episode makes the intervals honest: states of one episode resemble each other, so whole \
episodes are resampled. An array error (say |value − return|) adds risk and coverage: does leaving \
out states with high scores lower the error of the rest?

Examples:
  ive ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9
  ive ood --in train-scores.npz --out test-scores.npz --plot roc.png --json
  ive ood --in s.npz --out corrupted.npz --paired      row by row the same states

Exit codes: 0 done, 64 usage, 65 files that do not fit or are damaged, 74 input or output.")]
pub struct OodArgs {
    /// States in distribution
    #[arg(long = "in", value_name = "FILE")]
    inside: PathBuf,
    /// States out of distribution
    #[arg(long = "out", value_name = "FILE")]
    outside: PathBuf,
    #[command(flatten)]
    scoring: ScoringArgs,
    /// State i of one file is state i of the other under a shift: resample them together
    #[arg(long)]
    paired: bool,
    /// How often episodes are resampled
    #[arg(long, default_value_t = 1000, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<u32>(100, 100_000))]
    replicates: u32,
    /// Draw ROC curves and histograms
    #[arg(long, value_name = "FILE.png|svg")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &OodArgs) -> Outcome {
    let mut taken = Vec::new();
    if let Some(path) = &args.plot {
        check_figure("--plot", path)?;
        taken.extend(file::is_stdout(path).then_some("--plot"));
    }
    let tell = shared(taken, args.json)?;
    let rule = args.scoring.rule();
    let (inside, outside) = (columns(&args.inside, Some(&rule))?.0, columns(&args.outside, Some(&rule))?.0);
    let sides = Sides {
        files: (&args.inside, &args.outside),
        columns: (&inside, &outside),
        paired: args.paired,
        replicates: args.replicates as usize,
    };
    let (judged, left_out) = scores(&sides)?;
    let report = judge(&sides, &judged, left_out)?;
    if let Some(path) = &args.plot {
        write_figure(path, &draw::detection(&report, &judged)?)?;
    }
    if args.json {
        return output::json(&serde_json::to_value(&report).map_err(|e| Failure::internal(e.to_string()))?);
    }
    tell(&report.text(output::width()))
}
