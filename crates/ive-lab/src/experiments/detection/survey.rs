//! What one trained agent is asked: how well each detector tells shifted states from ordinary ones, and whether states with
//! high scores are those whose value is wrong.

use ive::{Members, Ranking, RiskCoverage, mean, spearman};
use ive_agents::Agent;
use ive_agents::evaluation::{Scored, Survey};
use serde::{Deserialize, Serialize};

use super::detectors::Detector;
use super::guarded::{self, Played};
use super::sweep::{BASE, Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::run::agents::failed;

/// The stream of a run's seed from which the survey comes.
const SURVEY: u64 = 0x7375_7276;

/// How well a detector finds the states of a shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The shift.
    pub shift: String,
    /// Whether the environment can show such states.
    pub natural: bool,
    /// The key of the detector.
    pub detector: String,
    pub auroc: f64,
    /// The share of ordinary states that score as high as 95 % of the shifted ones.
    pub fpr95: f64,
}

/// What a detector says of the error of the value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// The key of the detector.
    pub detector: String,
    /// Area under the risk–coverage curve divided by the mean error, ordinary states: 1 for a score that knows nothing.
    pub ordinary: f64,
    /// The same for ordinary states and those of natural shifts together.
    pub shifted: f64,
    /// Rank correlation of score and error, ordinary states.
    pub correlation: f64,
}

/// What one agent said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The name of the run.
    pub run: String,
    /// Mean return of its greedy episodes.
    pub greedy: f64,
    /// Mean distance of the value of ordinary states to the return that followed.
    pub error: f64,
    pub found: Vec<Found>,
    pub risks: Vec<Risk>,
    /// Returns with and without a fallback; only of the longest training.
    pub played: Vec<Played>,
}

/// Asks the agent of a run.
pub fn ask(settings: &Settings, cell: &Cell, agent: &mut dyn Agent, greedy: f64) -> Outcome<Asked> {
    let wanted = ours(Members::new(0..=settings.trained(&settings.plan(cell)?)?))?;
    let survey = Survey {
        members: Some(wanted),
        discount: agent.summary().discount,
        shifts: settings.shifts(cell.game)?,
        lasting: settings.corruption_lasts,
        distilled: settings.distilled as usize,
        ..Survey::new(settings.states as usize, ive::Rng::from_seed(cell.seed).fold_in(SURVEY).next_u64())
    };
    let scored = agent.scores(&survey).map_err(|e| failed(&settings.agent, e))?;
    let longest = cell.steps == settings.longest() && cell.variant == BASE;
    let played = if longest { guarded::play(settings, cell, agent)? } else { Vec::new() };
    let errors = errors(&scored);
    Ok(Asked {
        run: cell.name(),
        greedy,
        error: mean(&errors),
        found: found(&scored)?,
        risks: risks(&scored, &errors)?,
        played,
    })
}

/// `|v̂ − G|` of each ordinary state.
fn errors(scored: &Scored) -> Vec<f64> {
    distance(&scored.ordinary.scores.values, &scored.ordinary.realised)
}

fn distance(values: &[f64], realised: &[f64]) -> Vec<f64> {
    values.iter().zip(realised).map(|(v, g)| (v - g).abs()).collect()
}

fn found(scored: &Scored) -> Outcome<Vec<Found>> {
    let mut all = Vec::new();
    for detector in Detector::ALL {
        let Some(usual) = detector.scores(&scored.ordinary.scores) else { continue };
        let corrupted = scored.corrupted.iter().map(|scores| (scores, false));
        let shifted = scored.shifted.iter().map(|met| (&met.scores, true));
        for (scores, natural) in corrupted.chain(shifted) {
            let Some(strange) = detector.scores(scores) else { continue };
            let found = ours(Ranking::new(&usual, &strange))?.detection();
            all.push(Found {
                shift: scores.name.to_string(),
                natural,
                detector: detector.key().to_owned(),
                auroc: found.auroc,
                fpr95: found.fpr95,
            });
        }
    }
    Ok(all)
}

fn risks(scored: &Scored, errors: &[f64]) -> Outcome<Vec<Risk>> {
    let mut all = Vec::new();
    for detector in Detector::ALL {
        let Some(mut scores) = detector.scores(&scored.ordinary.scores) else { continue };
        let relative = |scores: &[f64], errors: &[f64]| -> Outcome<f64> {
            let average = mean(errors);
            // Where every value is right there is nothing to know.
            let area = ours(RiskCoverage::new(scores, errors))?.area();
            Ok(if average > 0.0 { area / average } else { 1.0 })
        };
        let ordinary = relative(&scores, errors)?;
        // A score that is the same everywhere has no ranks.
        let correlation = spearman(&scores, errors).unwrap_or(0.0);
        let mut errors = errors.to_vec();
        for met in &scored.shifted {
            scores.extend(detector.scores(&met.scores).unwrap_or_default());
            errors.extend(distance(&met.scores.values, &met.realised));
        }
        let shifted = relative(&scores, &errors)?;
        all.push(Risk { detector: detector.key().to_owned(), ordinary, shifted, correlation });
    }
    Ok(all)
}
