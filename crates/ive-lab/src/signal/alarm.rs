//! Guards as files: a threshold, what it was set by, and how scores are made that it can judge.

use std::io::Read;
use std::path::Path;

use ive::{Guard, GuardUnit, Members};
use serde::{Deserialize, Serialize};

use super::scoring::Rule;
use super::source::{Columns, Convention, Logged, Source};
use crate::exit::{Failure, Outcome};
use crate::report::date::today;

/// What the field `format` of the file says.
const FORMAT: &str = "ive-guard";
/// Nobody writes larger ones.
const LARGEST: u64 = 1 << 20;

/// A guard with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardFile {
    format: String,
    version: u32,
    /// Threshold, rate, number and unit.
    pub guard: Guard,
    /// Which score it judges: the name of a column, with a minus in front if low ones are suspicious.
    pub score: String,
    /// How predictions become scores, if the held-out file held predictions.
    pub scoring: Option<Scoring>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// The settings of [`Rule`] that matter for σ and μ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// γ; none where there are discounts.
    pub gamma: Option<f64>,
    /// Unroll lengths; all, if none are given.
    pub members: Option<Members>,
    /// 0 or 1.
    pub ddof: usize,
    /// Which reward belongs to which state.
    pub convention: Option<Convention>,
}

impl Scoring {
    /// That of a rule.
    pub fn of(rule: &Rule) -> Self {
        let Rule { gamma, members, ddof, convention, beta: _ } = rule.clone();
        Self { gamma, members, ddof, convention }
    }

    /// As a rule.
    pub fn rule(&self) -> Rule {
        let Self { gamma, members, ddof, convention } = self.clone();
        Rule { gamma, members, ddof, convention, beta: None }
    }
}

/// Who made a guard, when, and of what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    program: String,
    date: String,
    file: String,
    /// Of the file; none for a pipe, which cannot be read twice.
    blake3: Option<String>,
    states: usize,
    episodes: Option<usize>,
}

/// What a file of held-out scores is, for [`GuardFile::calibrate`].
#[derive(Clone, Debug)]
pub struct HeldOut<'a> {
    /// The file.
    pub file: &'a Path,
    /// Its scores.
    pub columns: &'a Columns,
    /// How they were made, if it holds predictions.
    pub scoring: Option<Scoring>,
}

impl GuardFile {
    /// Calibrates a guard for a score; by episode if asked to, or if nothing is said and the file knows episodes.
    pub fn calibrate(
        held_out: &HeldOut<'_>,
        score: &str,
        rate: f64,
        unit: Option<GuardUnit>,
    ) -> Outcome<Self> {
        let scores = pick(held_out.columns, score, held_out.file)?;
        let episodes = held_out.columns.episodes(held_out.file)?;
        let guard = match (unit, &episodes) {
            (Some(GuardUnit::Episode), None) => {
                let file = held_out.file.display();
                return Err(Failure::usage(format!("--per episode: {file} has no array `episode`")));
            }
            (Some(GuardUnit::Step), _) | (_, None) => Guard::calibrate(&scores, rate),
            (_, Some(episodes)) => Guard::calibrate_episodes(&scores, episodes, rate),
        };
        let file = held_out.file.display();
        let guard = guard.map_err(|e| match e {
            ive::Error::OutOfRange { .. } | ive::Error::NotBetween { .. } => {
                Failure::usage(format!("--rate: {e}"))
            }
            e => Failure::data(format!("{file}: {e}")),
        })?;
        let count = |episodes: &Vec<usize>| episodes.iter().collect::<std::collections::BTreeSet<_>>().len();
        let provenance = Provenance {
            program: crate::run::program(),
            date: today(),
            file: file.to_string(),
            blake3: hash(held_out.file)?,
            states: scores.len(),
            episodes: episodes.as_ref().map(count),
        };
        let (format, scoring) = (FORMAT.to_owned(), held_out.scoring.clone());
        Ok(Self { format, version: 1, guard, score: score.to_owned(), scoring, provenance })
    }

    /// Reads a guard.
    pub fn read(path: &Path) -> Outcome<Self> {
        let shown = path.display();
        let unreadable = |e: std::io::Error| Failure::io(format!("cannot read {shown}: {e}"));
        let mut text = Vec::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST).read_to_end(&mut text).map_err(unreadable)?;
        let strange =
            |e: &dyn std::fmt::Display| Failure::data(format!("{shown} is no guard of `ive calibrate`: {e}"));
        let found: Self = serde_json::from_slice(&text).map_err(|e| strange(&e))?;
        match (found.format.as_str(), found.version) {
            (FORMAT, 1) => Ok(found),
            (format, version) => Err(strange(&format!("its format is {format} {version}"))),
        }
    }

    /// As the content of a file.
    pub fn json(&self) -> Outcome<Vec<u8>> {
        let value = serde_json::to_value(self).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(crate::store::pretty(&value))
    }

    /// How many ordinary states or episodes raise an alarm at most, in words.
    pub fn promise(&self) -> String {
        let of = match self.guard.unit() {
            GuardUnit::Episode => "ordinary episodes raise one alarm or more",
            _ => "ordinary states raise an alarm",
        };
        format!("At most {} of {of}", percent(self.guard.rate()))
    }
}

/// `1 %`, with up to two decimals.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The scores of this name; a minus in front turns them round.
pub fn pick(columns: &Columns, score: &str, file: &Path) -> Outcome<Vec<f64>> {
    let (name, sign) = score.strip_prefix('-').map_or((score, 1.0), |name| (name, -1.0));
    let found = columns.get(name).ok_or_else(|| {
        Failure::usage(format!("--score: {} has no `{name}`, only {}", file.display(), columns.names()))
    })?;
    Ok(found.iter().map(|x| sign * x).collect())
}

/// The scores in a file, made by the rule if it holds predictions; and whether it did. Without a rule predictions are refused.
pub fn columns(path: &Path, rule: Option<&Rule>) -> Outcome<(Columns, bool)> {
    let logged = Logged::open(path)?;
    if !logged.has_predictions() {
        return Ok((Columns::read(path, logged)?, false));
    }
    let rule = rule.ok_or_else(|| {
        Failure::usage(format!(
            "{} holds predictions, and the guard was calibrated on scores: score the file first (ive score), as those were",
            path.display()
        ))
    })?;
    let mut source = Source::of(path, logged, rule.convention)?;
    Ok((super::scoring::score(&mut source, rule)?.columns()?, true))
}

/// BLAKE3 of a file, unless it is a pipe.
fn hash(path: &Path) -> Outcome<Option<String>> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let done = std::fs::File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
    done.map_err(|e| Failure::io(format!("cannot read {}: {e}", path.display())))?;
    Ok(Some(hasher.finalize().to_string()))
}
