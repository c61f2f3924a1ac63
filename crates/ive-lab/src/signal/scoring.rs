//! From predictions to scores: the members of every state, μ, σ, σ/|μ| and μ + βσ, a part of the states at a time.

use ive::{Discounts, Members, Predictions};

use super::results::Results;
use super::source::{Chunk, Convention, Source};
use crate::exit::{Failure, Outcome};

/// States that are worked on at a time.
const CHUNK: usize = 1 << 16;
/// A smaller |μ| counts as this one where σ is divided by it.
pub const SMALLEST_MU: f64 = 1e-9;

/// How predictions are scored.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// γ, where there are no discounts.
    pub gamma: Option<f64>,
    /// Over which k; all that there are, if nothing is said.
    pub members: Option<Members>,
    /// β of μ + βσ, if that is wanted.
    pub beta: Option<f64>,
    /// 0 for the population form of σ, 1 for the sample form.
    pub ddof: usize,
    /// Which reward belongs to which state, where that must be said.
    pub convention: Option<Convention>,
}

impl Rule {
    /// The members, for paths of so many steps.
    fn members(&self, horizon: usize) -> Outcome<Members> {
        let members = self.members.clone().map_or_else(|| Members::new(0..=horizon), Ok);
        let members =
            members.map_err(|e| Failure::data(format!("the predictions have {horizon} steps: {e}")))?;
        if members.len() < 2 {
            return Err(Failure::data(format!(
                "σ is the spread of two members or more, and these predictions have only {members}; log some imagined steps"
            )));
        }
        if members.horizon() > horizon {
            return Err(Failure::usage(format!(
                "--members: there are predictions for k=0..{horizon}, not {members}"
            )));
        }
        Ok(members)
    }

    /// γ, unless there are discounts.
    fn gamma(&self, has_discounts: bool) -> Outcome<Option<f64>> {
        match (self.gamma, has_discounts) {
            (Some(_), true) => Err(Failure::usage(
                "there are discounts, which contain γ already (γ times the probability of going on); leave out --gamma, or the discounts",
            )),
            (None, false) => Err(Failure::usage("there are no discounts; say --gamma")),
            (gamma, _) => Ok(gamma),
        }
    }
}

/// Scores all states of a source.
pub fn score(source: &mut Source, rule: &Rule) -> Outcome<Results> {
    let (members, gamma) = (rule.members(source.horizon)?, rule.gamma(source.has_discounts)?);
    let mut results = Results::new(members, rule.beta.is_some(), &source.carried);
    while let Some(chunk) = source.next(CHUNK)? {
        let before = results.states();
        add(&chunk, gamma, rule, &mut results).map_err(|e| match e {
            Wrong::Number(e) => Failure::data(located(&e, before, chunk.width)),
            Wrong::Disk(e) => Failure::io(format!("cannot keep the scores: {e}")),
        })?;
    }
    if results.states() == 0 {
        return Err(Failure::data("there are no states in the predictions"));
    }
    Ok(results)
}

/// Which number of which state is not finite; states are counted from 0 through the whole file.
fn located(error: &ive::Error, before: usize, width: usize) -> String {
    let ive::Error::NotFinite { what, index, value } = error else {
        return format!("in the predictions for states from {before} on: {error}");
    };
    let (k, state) = (index / width, before + index % width);
    let which = match *what {
        "values [k + 1, batch]" => format!("the value at k = {k}"),
        "rewards [k, batch]" => format!("the reward of step {}", k + 1),
        "discounts [k, batch]" => format!("the discount of step {}", k + 1),
        other => other.to_owned(),
    };
    format!("state {state}: {which} is {value}, not a finite number")
}

enum Wrong {
    Number(ive::Error),
    Disk(std::io::Error),
}

impl From<ive::Error> for Wrong {
    fn from(e: ive::Error) -> Self {
        Self::Number(e)
    }
}

fn add(chunk: &Chunk, gamma: Option<f64>, rule: &Rule, results: &mut Results) -> Result<(), Wrong> {
    let discounts = match (gamma, &chunk.discounts) {
        (None, Some(each)) => Discounts::Each(each.as_slice()),
        (gamma, _) => Discounts::Constant(gamma.unwrap_or(1.0)),
    };
    let predictions = Predictions::new(&chunk.rewards, &chunk.values, discounts, chunk.width)?;
    let (ensemble, found) = predictions.score(&results.members, rule.ddof)?;
    let relative: Vec<f64> =
        found.mean.iter().zip(&found.std).map(|(mu, sigma)| sigma / mu.abs().max(SMALLEST_MU)).collect();
    let optimistic: Option<Vec<f64>> = rule
        .beta
        .map(|beta| found.mean.iter().zip(&found.std).map(|(mu, sigma)| mu + beta * sigma).collect());
    let rows = ensemble.members().chain([found.mean.as_slice(), &found.std, &relative]);
    let rows = rows.chain(optimistic.as_deref()).chain(chunk.carried.iter().map(Vec::as_slice));
    results.push(chunk.width, rows).map_err(Wrong::Disk)
}
