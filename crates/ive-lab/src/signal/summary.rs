//! What the scores of many states say, in a few numbers.

use ive::quantile;
use serde::Serialize;

use super::results::{Results, lost};
use crate::exit::{Failure, Outcome};
use crate::output::layout;
use crate::report::table::{Table, grouped};

/// Quantiles are taken over at most so many states, evenly spaced.
pub const SAMPLE: usize = 1_000_000;
/// States with the largest σ that are shown.
const PEAKS: usize = 5;

/// How numbers are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean, over all states.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// 95 % are below.
    pub q95: f64,
    /// The largest.
    pub max: f64,
}

/// A state with a large σ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// Its number, from 0.
    pub state: usize,
    /// Its episode, if that is known.
    pub episode: Option<f64>,
    /// σ.
    pub std: f64,
    /// μ.
    pub mean: f64,
}

/// The scores of all states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many states there are.
    pub states: usize,
    /// Over which members, `k=0..5`.
    pub members: String,
    /// Which states quantiles are taken over: every so many.
    pub every: usize,
    /// σ-IVE.
    pub std: Spread,
    /// μ-IVE.
    pub mean: Spread,
    /// σ/|μ|.
    pub relative: Spread,
    /// Where σ is largest.
    pub largest: Vec<Peak>,
}

impl Summary {
    /// Goes over all states once for each field.
    pub fn new(results: &mut Results) -> Outcome<Self> {
        let every = results.states().div_ceil(SAMPLE).max(1);
        Ok(Self {
            states: results.states(),
            members: results.members.to_string(),
            every,
            std: spread(results, "std", every)?,
            mean: spread(results, "mean", every)?,
            relative: spread(results, "relative", every)?,
            largest: peaks(results)?,
        })
    }

    /// For people.
    pub fn text(&self, width: usize) -> String {
        let mut table = Table::new("", &["", "mean", "min", "median", "95 %", "max"]);
        for (name, s) in [("σ-IVE", self.std), ("μ-IVE", self.mean), ("σ/|μ|", self.relative)] {
            table
                .row([name.to_owned()].into_iter().chain([s.mean, s.min, s.median, s.q95, s.max].map(short)));
        }
        let mut largest = Table::new("", &["largest σ at state", "episode", "σ", "μ"]);
        for peak in &self.largest {
            let episode = peak.episode.map_or("–".to_owned(), |e| e.to_string());
            largest.row([peak.state.to_string(), episode, short(peak.std), short(peak.mean)]);
        }
        let every = match self.every {
            1 => String::new(),
            n => format!(" Quantiles are those of every {n}th state."),
        };
        let head = format!("{} states, members {}.{every}", grouped(self.states as u64), self.members);
        format!(
            "{}\n{}\n{}",
            layout::fold(&head, width, 0),
            layout::table(&table, width),
            layout::table(&largest, width)
        )
    }
}

/// Four digits that mean something.
pub fn short(x: f64) -> String {
    let text = match x.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e5 => {
            let decimals = (3.0 - x.abs().log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.3e}"),
    };
    text.replacen('-', "−", usize::from(x < 0.0))
}

fn spread(results: &mut Results, field: &str, every: usize) -> Outcome<Spread> {
    let (mut sample, mut count, mut mean) = (Vec::new(), 0usize, 0.0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    results.each(field, |part| {
        for &x in part {
            if count.is_multiple_of(every) {
                sample.push(x);
            }
            count += 1;
            // Running, so that no sum grows beyond its numbers.
            mean += (x - mean) / count as f64;
            (min, max) = (min.min(x), max.max(x));
        }
    })?;
    let at = |q| quantile(&sample, q).map_err(|e| Failure::internal(format!("quantiles of `{field}`: {e}")));
    Ok(Spread { mean, min, median: at(0.5)?, q95: at(0.95)?, max })
}

/// The states with the largest σ, the first of equals first.
fn peaks(results: &mut Results) -> Outcome<Vec<Peak>> {
    let at = |name: &str| results.names.iter().position(|n| n == name);
    let (std, mean, episode) = (at("std"), at("mean"), at("episode"));
    let (Some(std), Some(mean)) = (std, mean) else {
        return Err(Failure::internal("scores have μ and σ"));
    };
    let (mut peaks, mut before) = (Vec::<Peak>::new(), 0);
    for part in 0..results.parts() {
        let (sigma, mu) = (results.field(std, part).map_err(lost)?, results.field(mean, part).map_err(lost)?);
        let episodes = episode.map(|field| results.field(field, part)).transpose().map_err(lost)?;
        for i in 0..sigma.len() {
            if peaks.len() == PEAKS && peaks[PEAKS - 1].std >= sigma[i] {
                continue;
            }
            let place = peaks.partition_point(|p| p.std >= sigma[i]);
            let episode = episodes.as_ref().map(|e| e[i]);
            peaks.insert(place, Peak { state: before + i, episode, std: sigma[i], mean: mu[i] });
            peaks.truncate(PEAKS);
        }
        before += sigma.len();
    }
    Ok(peaks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Members;

    #[test]
    fn the_largest_are_found_across_parts() {
        let mut results = Results::new(Members::up_to(0), false, &["episode".to_owned()]);
        for part in [vec![1.0, 9.0, 2.0], vec![9.0, 5.0, 3.0, 8.0]] {
            let zero = vec![0.0; part.len()];
            let rows = [&zero[..], &zero, &part, &zero, &zero];
            results.push(part.len(), rows.into_iter()).unwrap();
        }
        let summary = Summary::new(&mut results).unwrap();
        let found: Vec<(usize, f64)> = summary.largest.iter().map(|p| (p.state, p.std)).collect();
        assert_eq!(found, [(1, 9.0), (3, 9.0), (6, 8.0), (4, 5.0), (5, 3.0)]);
        assert_eq!((summary.std.min, summary.std.max, summary.std.median), (1.0, 9.0, 5.0));
        assert!(summary.text(80).lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn four_digits_are_shown() {
        let shown = [0.0, 1.5, -0.012345, 123.456, 1e-7, 123456789.0].map(short);
        assert_eq!(shown, ["0", "1.500", "−0.01235", "123.5", "1.000e-7", "1.235e8"]);
    }
}
