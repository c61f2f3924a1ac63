//! How well scores tell states out of distribution from ordinary ones, on the user's own data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ive::{ClusterBootstrap, Detection, Estimate, Ranking, RiskCoverage, Rng};
use serde::Serialize;

use super::source::{Columns, NO_SCORES};
use crate::exit::{Failure, Outcome};
use crate::output::layout;
use crate::report::number::{fixed, ranged};
use crate::report::table::Table;

/// With fewer episodes a bootstrap interval is too narrow to be believed.
pub const MIN_EPISODES: usize = 10;
/// The stream of resampling, the same for every score: differences between scores are then not those of the draw.
pub const SEED: u64 = 95;

/// A number, with its 95 % interval if there are enough episodes for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The number.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
}

impl Measure {
    fn text(&self) -> String {
        let range = |(low, high)| format!(" [{}, {}]", fixed(low, 2), fixed(high, 2));
        format!("{}{}", fixed(self.value, 2), self.interval.map_or(String::new(), range))
    }
}

impl From<Estimate> for Measure {
    fn from(e: Estimate) -> Self {
        Self { value: e.value, interval: Some((e.low, e.high)) }
    }
}

impl From<f64> for Measure {
    fn from(value: f64) -> Self {
        Self { value, interval: None }
    }
}

/// The measures of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Area under the ROC curve.
    pub auroc: Measure,
    /// Area under the precision–recall curve.
    pub aupr: Measure,
    /// False-positive rate where 95 % are found.
    pub fpr95: Measure,
}

impl<T: Into<Measure>> From<Detection<T>> for Measures {
    fn from(d: Detection<T>) -> Self {
        Self { auroc: d.auroc.into(), aupr: d.aupr.into(), fpr95: d.fpr95.into() }
    }
}

/// What a score is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Its name in the file; `-mean` is the mean with the other sign.
    pub score: String,
    /// For people.
    pub label: String,
    /// As a detector.
    pub detection: Measures,
    /// By how much that exceeds the first score, in pairs.
    pub difference: Option<Measures>,
    /// The area under its risk–coverage curve, where errors are known.
    pub aurc: Option<Measure>,
    /// By how much that exceeds the best possible one.
    pub excess_aurc: Option<Measure>,
}

/// States of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The file.
    pub file: String,
    /// How many states it has.
    pub states: usize,
    /// From how many episodes, if it says so.
    pub episodes: Option<usize>,
}

/// Everything that is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In distribution.
    pub inside: Side,
    /// Out of distribution.
    pub outside: Side,
    /// Whether state i of the one is state i of the other under a shift.
    pub paired: bool,
    /// How often episodes were resampled.
    pub replicates: usize,
    /// The mean error over the states whose error is known.
    pub mean_error: Option<f64>,
    /// Scores, σ-IVE first.
    pub scores: Vec<Judgement>,
    /// Columns that only one of the files has.
    pub left_out: Vec<String>,
}

/// A score on both sides.
#[derive(Debug)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// For people.
    pub label: String,
    /// Of states in distribution.
    pub inside: Vec<f64>,
    /// Of states out of it.
    pub outside: Vec<f64>,
    /// Both in order.
    pub ranking: Ranking,
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// Files, in distribution and out of it.
    pub files: (&'a Path, &'a Path),
    /// Their columns.
    pub columns: (&'a Columns, &'a Columns),
    /// Whether rows belong together.
    pub paired: bool,
    /// How often to resample.
    pub replicates: usize,
}

/// How a column is called by people, and whether low values are suspicious.
fn meaning(name: &str) -> (String, bool) {
    match name {
        "std" => ("σ-IVE".to_owned(), false),
        "relative" => ("σ/|μ|".to_owned(), false),
        "mean" => ("low value".to_owned(), true),
        "score" => ("μ+βσ".to_owned(), false),
        other => (other.to_owned(), false),
    }
}

/// The scores that both files have, σ-IVE first, and the names of those that only one has.
pub fn scores(sides: &Sides<'_>) -> Outcome<(Vec<Judged>, Vec<String>)> {
    let (inside, outside) = sides.columns;
    let mut names: Vec<&String> = inside.columns.iter().map(|c| &c.0).collect();
    names.sort_by_key(|name| ["std", "relative", "mean"].iter().position(|n| n == name).unwrap_or(3));
    let (mut judged, mut left_out) = (Vec::new(), Vec::new());
    for name in names.into_iter().filter(|name| !NO_SCORES.contains(&name.as_str())) {
        let (Some(a), Some(b)) = (inside.get(name), outside.get(name)) else {
            left_out.push(name.clone());
            continue;
        };
        let (label, low) = meaning(name);
        let turned = |x: &[f64]| x.iter().map(|x| if low { -x } else { *x }).collect::<Vec<f64>>();
        let (a, b) = (turned(a), turned(b));
        let ranking = Ranking::new(&a, &b).map_err(|e| Failure::data(format!("`{name}`: {e}")))?;
        let name = if low { format!("-{name}") } else { name.clone() };
        judged.push(Judged { name, label, inside: a, outside: b, ranking });
    }
    let only_outside = outside.columns.iter().map(|c| &c.0).filter(|n| inside.get(n).is_none());
    left_out.extend(only_outside.filter(|n| !NO_SCORES.contains(&n.as_str())).cloned());
    if judged.is_empty() {
        let (a, b) = (inside.names(), outside.names());
        return Err(Failure::data(format!(
            "the files have no score in common: one holds {a}, the other {b}"
        )));
    }
    Ok((judged, left_out))
}

/// Judges scores.
pub fn judge(sides: &Sides<'_>, judged: &[Judged], left_out: Vec<String>) -> Outcome<Report> {
    let side = |file: &Path, columns: &Columns| -> Outcome<(Side, Vec<usize>)> {
        let named = columns.episodes(file)?;
        let count = named.as_ref().map(|e| number_of(e));
        let about = Side { file: file.display().to_string(), states: columns.states(), episodes: count };
        Ok((about, named.unwrap_or_else(|| (0..columns.states()).collect())))
    };
    let (inside, in_episodes) = side(sides.files.0, sides.columns.0)?;
    let (outside, out_episodes) = side(sides.files.1, sides.columns.1)?;
    if sides.paired && inside.states != outside.states {
        let (a, b) = (inside.states, outside.states);
        return Err(Failure::usage(format!(
            "--paired: there are {a} states in distribution and {b} out of it"
        )));
    }
    let groups: &[&[usize]] = if sides.paired { &[&in_episodes] } else { &[&in_episodes, &out_episodes] };
    let bootstrap = bootstrap(groups, sides.replicates)?;
    let risk = Risk::new(sides, &in_episodes, &out_episodes)?;
    let mut found = Vec::new();
    for score in judged {
        let ranking = &score.ranking;
        let (mut detection, mut difference) = (ranking.detection().into(), None);
        if let Some(bootstrap) = &bootstrap {
            detection = ranking.estimate(bootstrap).map_err(|e| broken(&e))?.into();
            if score.name != judged[0].name {
                let paired = ranking.difference(&judged[0].ranking, bootstrap).map_err(|e| broken(&e))?;
                difference = Some(paired.into());
            }
        }
        let (aurc, excess_aurc) = risk.as_ref().map(|risk| risk.of(score)).transpose()?.unzip();
        let (name, label) = (score.name.clone(), score.label.clone());
        found.push(Judgement { score: name, label, detection, difference, aurc, excess_aurc });
    }
    let mean_error = risk.map(|risk| ive::mean(&risk.errors));
    let (paired, replicates) = (sides.paired, sides.replicates);
    Ok(Report { inside, outside, paired, replicates, mean_error, scores: found, left_out })
}

fn broken(e: &ive::Error) -> Failure {
    Failure::internal(format!("judging the scores: {e}"))
}

fn number_of(episodes: &[usize]) -> usize {
    episodes.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// None, where there are too few episodes for intervals.
fn bootstrap(groups: &[&[usize]], replicates: usize) -> Outcome<Option<ClusterBootstrap>> {
    if groups.iter().any(|group| number_of(group) < MIN_EPISODES) {
        return Ok(None);
    }
    let made = ClusterBootstrap::new(groups, 0.95, replicates, &Rng::from_seed(SEED));
    made.map(Some).map_err(|e| broken(&e))
}

/// Errors of states, in and out of distribution together, where both files have them.
struct Risk {
    errors: Vec<f64>,
    both: bool,
    bootstrap: Option<ClusterBootstrap>,
}

impl Risk {
    fn new(sides: &Sides<'_>, inside: &[usize], outside: &[usize]) -> Outcome<Option<Self>> {
        let (Some(a), b) = (sides.columns.0.get("error"), sides.columns.1.get("error")) else {
            return Ok(None);
        };
        let (mut errors, mut episodes) = (a.to_vec(), inside.to_vec());
        if let Some(b) = b {
            errors.extend_from_slice(b);
            // Episodes of the two files are different ones, unless states are paired: those of the first then count for both.
            if sides.paired {
                episodes.extend_from_slice(inside);
            } else {
                let [taken, names] =
                    [inside, outside].map(|all| all.iter().copied().collect::<BTreeSet<usize>>());
                let free = (0..).filter(|name| !taken.contains(name));
                let renamed: BTreeMap<usize, usize> = names.into_iter().zip(free).collect();
                episodes.extend(outside.iter().map(|name| renamed[name]));
            }
        }
        let bootstrap = bootstrap(&[&episodes], sides.replicates)?;
        Ok(Some(Self { errors, both: b.is_some(), bootstrap }))
    }

    fn of(&self, score: &Judged) -> Outcome<(Measure, Measure)> {
        let mut scores = score.inside.clone();
        if self.both {
            scores.extend_from_slice(&score.outside);
        }
        let curve =
            RiskCoverage::new(&scores, &self.errors).map_err(|e| Failure::data(format!("`error`: {e}")))?;
        match &self.bootstrap {
            None => Ok((curve.area().into(), curve.excess().into())),
            Some(bootstrap) => {
                let found = curve.estimate(bootstrap).map_err(|e| broken(&e))?;
                Ok((found.area.into(), found.excess.into()))
            }
        }
    }
}

impl Report {
    /// For people.
    pub fn text(&self, width: usize) -> String {
        let mut table = Table::new("", &["score", "AUROC", "AUPR", "FPR95"]);
        for s in &self.scores {
            let measures = [&s.detection.auroc, &s.detection.aupr, &s.detection.fpr95];
            table.row([s.label.clone()].into_iter().chain(measures.map(Measure::text)));
        }
        let side = |side: &Side| {
            let from = side.episodes.map_or(String::new(), |n| format!(" from {n} episodes"));
            format!("{} states{from}", side.states)
        };
        let share = self.outside.states as f64 / (self.inside.states + self.outside.states) as f64;
        let mut out = layout::fold(
            &format!("{} in distribution, {} out of it.", side(&self.inside), side(&self.outside)),
            width,
            0,
        );
        out += &format!("\n{}", layout::table(&table, width));
        let words = format!(
            "AUROC: 0.5 is chance. AUPR: {share:.2} is chance. FPR95: share of ordinary states above the threshold that finds 95 %. {}",
            self.intervals()
        );
        out += &layout::fold(&words, width, 0);
        out + &self.differences(width) + &self.risk(width) + &self.notes(width)
    }

    fn intervals(&self) -> String {
        let given = self.inside.episodes.is_some() && self.outside.episodes.is_some();
        if self.scores.iter().any(|s| s.detection.auroc.interval.is_none()) {
            format!("No intervals: they need {MIN_EPISODES} episodes on each side.")
        } else if given {
            format!("95 % intervals by resampling whole episodes ({} times).", self.replicates)
        } else {
            "95 % intervals as if states were independent: too narrow if they come from episodes; add an array `episode`."
                .to_owned()
        }
    }

    fn differences(&self, width: usize) -> String {
        let first = &self.scores[0].label;
        let mut table = Table::new("", &["score", &format!("AUROC minus that of {first}")]);
        for s in &self.scores {
            if let Some(difference) = &s.difference {
                let Measure { value, interval } = difference.auroc;
                let verdict = match interval {
                    Some((low, _)) if low > 0.0 => "better",
                    Some((_, high)) if high < 0.0 => "worse",
                    _ => "not decided",
                };
                table.row([s.label.clone(), format!("{}, {verdict}", ranged(value, interval))]);
            }
        }
        if table.rows.is_empty() { String::new() } else { format!("\n{}", layout::table(&table, width)) }
    }

    fn risk(&self, width: usize) -> String {
        let Some(mean) = self.mean_error else { return String::new() };
        let short = super::summary::short;
        let mut table = Table::new("", &["score", "area under risk–coverage", "excess"]);
        for s in &self.scores {
            let text = |m: &Option<Measure>| {
                let range = |(low, high)| format!(" [{}, {}]", short(low), short(high));
                m.map_or(String::new(), |m| {
                    format!("{}{}", short(m.value), m.interval.map_or(String::new(), range))
                })
            };
            table.row([s.label.clone(), text(&s.aurc), text(&s.excess_aurc)]);
        }
        let words = format!(
            "Mean error of the states with the lowest scores, averaged over all shares of states. A score that knows nothing has the mean error, {}; an excess of 0 is perfect.",
            short(mean)
        );
        format!("\n{}{}", layout::table(&table, width), layout::fold(&words, width, 0))
    }

    fn notes(&self, width: usize) -> String {
        let silent: Vec<&str> =
            self.scores.iter().filter(|s| s.detection.auroc.value < 0.5).map(|s| s.label.as_str()).collect();
        let mut out = String::new();
        if !silent.is_empty() {
            let text =
                format!("\nBelow 0.5: {}. An alarm on high scores would be silent there.", silent.join(", "));
            out += &layout::fold(&text, width, 0);
        }
        if !self.left_out.is_empty() {
            out += &layout::fold(
                &format!("\nOnly in one of the files: {}.", self.left_out.join(", ")),
                width,
                0,
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(list: &[(&str, Vec<f64>)]) -> Columns {
        Columns { columns: list.iter().map(|(name, x)| ((*name).to_owned(), x.clone())).collect() }
    }

    fn report(a: &Columns, b: &Columns) -> Report {
        let sides = Sides {
            files: (Path::new("a"), Path::new("b")),
            columns: (a, b),
            paired: false,
            replicates: 200,
        };
        let (judged, left_out) = scores(&sides).unwrap();
        judge(&sides, &judged, left_out).unwrap()
    }

    fn line(n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|i| i as f64 / n as f64 + shift).collect()
    }

    #[test]
    fn sigma_comes_first_and_low_values_are_suspicious() {
        let episodes: Vec<f64> = (0..40).map(|i| f64::from(i / 2)).collect();
        let side = |shift: f64| {
            columns(&[
                ("episode", episodes.clone()),
                ("rnd", line(40, -shift)),
                ("mean", line(40, -shift)),
                ("std", line(40, shift)),
            ])
        };
        let found = report(&side(0.0), &side(2.0));
        let labels: Vec<&str> = found.scores.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["σ-IVE", "low value", "rnd"]);
        let areas: Vec<f64> = found.scores.iter().map(|s| s.detection.auroc.value).collect();
        assert_eq!(areas, [1.0, 1.0, 0.0]);
        let difference = found.scores[2].difference.unwrap().auroc;
        assert_eq!((difference.value, difference.interval), (-1.0, Some((-1.0, -1.0))));
        let text = found.text(80);
        assert!(text.contains("rnd") && text.contains("worse") && text.contains("Below 0.5: rnd."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn few_episodes_have_no_intervals_and_errors_have_a_risk() {
        let side = |shift: f64| columns(&[("std", line(9, shift)), ("error", line(9, shift))]);
        let found = report(&side(0.0), &side(0.3));
        assert_eq!(found.scores[0].detection.auroc.interval, None);
        // σ has the order of the errors.
        assert_eq!(found.scores[0].excess_aurc.unwrap().value, 0.0);
        assert!((found.mean_error.unwrap() - (4.0 / 9.0 + 0.15)).abs() < 1e-12);
        assert!(found.text(80).contains("No intervals"));
    }

    #[test]
    fn files_without_a_common_score_are_refused() {
        let (a, b) = (columns(&[("std", vec![1.0])]), columns(&[("rnd", vec![1.0])]));
        let sides = Sides {
            files: (Path::new("a"), Path::new("b")),
            columns: (&a, &b),
            paired: false,
            replicates: 9,
        };
        let refused = scores(&sides).unwrap_err().message;
        assert_eq!(refused, "the files have no score in common: one holds std, the other rnd");
    }
}
