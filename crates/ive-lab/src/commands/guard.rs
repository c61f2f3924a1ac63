//! `ive guard`: alarms, in a file of scores or as they come.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::Args;
use ive::{GuardUnit, binomial_interval};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::{self, layout};
use crate::signal::alarm::{GuardFile, Scoring, columns, percent, pick};
use crate::signal::summary::short;

/// Arguments of `ive guard`.
#[derive(Args, Debug)]
#[command(after_help = "\
Judges scores by a guard of ive calibrate. Scores come from a file (predictions in it are scored as \
the held-out ones were), or without --scores line by line from standard input: numbers, or JSON \
objects with the score under its name and perhaps episode. Every alarm is a line on standard output, \
printed at once. A score that is not finite is an alarm. The summary goes to standard error.

Examples:
  ive guard guard.json --scores logs/shifted.npz
  my-agent --log-sigma | ive guard guard.json --stop || fallback
  tail -f scores.jsonl | ive guard guard.json --json

Exit codes: 0 no alarm, 1 an alarm, 64 usage, 65 a damaged file or line, 74 input or output.")]
pub struct GuardArgs {
    /// The guard, as ive calibrate wrote it
    guard: PathBuf,
    /// Scores or predictions to judge [default: standard input, line by line]
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// End at the first alarm
    #[arg(long)]
    stop: bool,
    /// Print alarms as JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// The exit code of a command that has seen an alarm.
const ALARM: u8 = 1;

/// Runs the command.
pub fn run(args: &GuardArgs) -> Outcome {
    let made = GuardFile::read(&args.guard)?;
    let mut watch = Watch { made: &made, json: args.json, states: 0, alarms: 0, episodes: BTreeMap::new() };
    match &args.scores {
        Some(file) => from_file(&mut watch, file, args.stop)?,
        None => from_lines(&mut watch, args.stop)?,
    }
    watch.summary()?;
    if watch.alarms > 0 { Err(Failure { code: ALARM, message: String::new() }) } else { Ok(()) }
}

/// What has been seen so far.
struct Watch<'a> {
    made: &'a GuardFile,
    json: bool,
    states: usize,
    alarms: usize,
    /// Whether each episode had an alarm.
    episodes: BTreeMap<i64, bool>,
}

impl Watch<'_> {
    /// Judges a score; whether it is an alarm.
    fn judge(&mut self, score: f64, episode: Option<i64>) -> Outcome<bool> {
        let state = self.states;
        self.states += 1;
        let alarm = self.made.guard.is_alarm(score);
        if let Some(episode) = episode {
            *self.episodes.entry(episode).or_default() |= alarm;
        }
        if !alarm {
            return Ok(false);
        }
        self.alarms += 1;
        let threshold = self.made.guard.threshold();
        let line = if self.json {
            // JSON has no number for what is not finite.
            json!({ "state": state, "episode": episode, "score": score, "threshold": threshold }).to_string()
        } else {
            let where_ = episode.map_or(String::new(), |e| format!(", episode {e}"));
            let above = if score.is_finite() {
                format!("{} > {}", short(score), short(threshold))
            } else {
                format!("{score}, not finite")
            };
            format!("alarm at state {state}{where_}: {above}")
        };
        output::print(&format!("{line}\n"))?;
        Ok(true)
    }

    /// How often there was an alarm, beside what the guard promises.
    fn summary(&self) -> Outcome {
        let share = |alarms: usize, of: usize, what: &str| -> Outcome<String> {
            if of == 0 {
                return Ok(format!("no {what}"));
            }
            let (low, high) =
                binomial_interval(alarms, of, 0.95).map_err(|e| Failure::internal(e.to_string()))?;
            let interval = format!("{} to {}", percent(low), percent(high));
            Ok(format!(
                "{alarms} of {of} {what} with an alarm ({}; {interval})",
                percent(alarms as f64 / of as f64)
            ))
        };
        let mut text = share(self.alarms, self.states, "states")?;
        if !self.episodes.is_empty() {
            let alarmed = self.episodes.values().filter(|alarm| **alarm).count();
            text += &format!(", {}", share(alarmed, self.episodes.len(), "episodes")?);
        } else if self.made.guard.unit() == GuardUnit::Episode {
            text += "; the guard counts by episode, and none were named";
        }
        let text = format!("{text}. {}.", self.made.promise());
        output::say(layout::fold(&text, output::width(), 0).trim_end());
        Ok(())
    }
}

fn from_file(watch: &mut Watch<'_>, file: &Path, stop: bool) -> Outcome {
    let (columns, _) = columns(file, watch.made.scoring.as_ref().map(Scoring::rule).as_ref())?;
    let episodes = columns.episodes(file)?;
    for (i, score) in pick(&columns, &watch.made.score, file)?.into_iter().enumerate() {
        if watch.judge(score, episodes.as_ref().map(|e| e[i] as i64))? && stop {
            break;
        }
    }
    Ok(())
}

fn from_lines(watch: &mut Watch<'_>, stop: bool) -> Outcome {
    let mut input = std::io::stdin().lock();
    let mut number = 0;
    loop {
        let mut line = String::new();
        number += 1;
        match input.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
                return Err(Failure::data(format!("line {number} of standard input is no text")));
            }
            Err(e) => return Err(Failure::io(format!("cannot read standard input: {e}"))),
        }
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (score, episode) = parse(line, &watch.made.score)
            .map_err(|reason| Failure::data(format!("line {number} of standard input: {reason}")))?;
        if watch.judge(score, episode)? && stop {
            return Ok(());
        }
    }
}

/// A number, or an object with the score under its name. A score of `null` is one that JSON cannot say: not finite.
fn parse(line: &str, name: &str) -> Result<(f64, Option<i64>), String> {
    let (key, sign) = name.strip_prefix('-').map_or((name, 1.0), |key| (key, -1.0));
    if let Ok(x) = line.parse::<f64>() {
        return Ok((sign * x, None));
    }
    let shown = || line.chars().take(60).collect::<String>();
    let object: Value =
        serde_json::from_str(line).map_err(|_| format!("`{}` is no number and no JSON", shown()))?;
    let score = match object.get(key) {
        Some(Value::Null) => f64::NAN,
        Some(value) => value.as_f64().ok_or_else(|| format!("`{key}` is {value}, no number"))?,
        None => return Err(format!("`{}` has no `{key}`", shown())),
    };
    let episode = match object.get("episode") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let whole = value.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15);
            Some(whole.ok_or_else(|| format!("`episode` is {value}, no whole number"))? as i64)
        }
    };
    Ok((sign * score, episode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbers_or_objects() {
        assert_eq!(parse("0.5", "std"), Ok((0.5, None)));
        assert_eq!(parse("0.5", "-mean"), Ok((-0.5, None)));
        assert_eq!(parse(r#"{"std": 2, "episode": 7}"#, "std"), Ok((2.0, Some(7))));
        assert_eq!(parse(r#"{"mean": 2}"#, "-mean"), Ok((-2.0, None)));
        assert_eq!(parse(r#"{"std": 2, "episode": 7.0}"#, "std"), Ok((2.0, Some(7))));
        assert_eq!(parse(r#"{"std": 2, "episode": null}"#, "std"), Ok((2.0, None)));
        let named = parse(r#"{"std": 2, "episode": "ep8"}"#, "std");
        assert_eq!(named.unwrap_err(), "`episode` is \"ep8\", no whole number");
        assert!(parse("nan", "std").unwrap().0.is_nan());
        assert!(parse(r#"{"std": null}"#, "std").unwrap().0.is_nan());
        assert_eq!(parse("high", "std").unwrap_err(), "`high` is no number and no JSON");
        assert_eq!(parse(r#"{"sigma": 1}"#, "std").unwrap_err(), "`{\"sigma\": 1}` has no `std`");
        assert_eq!(parse(r#"{"std": "x"}"#, "std").unwrap_err(), "`std` is \"x\", no number");
    }
}
