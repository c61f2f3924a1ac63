//! Which of the unstated choices matter: one change at a time.

use ive::{auroc, mean_and_error};
use ive_envs::grid::PAIRS;
use rayon::prelude::*;

use super::run::{METHODS, curves};
use super::sweep::{Settings, TieRule};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::experiments::tabular::{LearnerName, Learning};
use crate::progress::Session;
use crate::report::table::{Table, plus_minus};

/// A row: what is changed, and the changed settings.
type Row = (String, Settings);

/// The limit of the learners is a thousand times faster than the learners, so most rows use it, with many seeds; rows
/// about the learning rate need the learners themselves.
fn rows(base: &Settings) -> Vec<Row> {
    let limit = with(base, base.sensitivity_seeds, |l| l.learner = LearnerName::Limit);
    let sgd = with(base, base.sensitivity_sgd_seeds, |l| l.learner = LearnerName::Sgd);
    let mut rows = Vec::new();
    for discount in [0.9, 0.95, 0.99] {
        rows.push((format!("γ = {discount}"), with(&limit, limit.seeds, |l| l.discount = discount)));
    }
    for (k_min, k_max) in [(0, 5), (0, 4), (1, 5), (0, 1), (0, 20)] {
        rows.push((format!("members k={k_min}..{k_max}"), Settings { k_min, k_max, ..limit.clone() }));
    }
    for ties in [TieRule::Random, TieRule::First, TieRule::Uniform] {
        rows.push((format!("ties: {ties:?}").to_lowercase(), Settings { ties, ..limit.clone() }));
    }
    for ddof in [0, 1] {
        rows.push((format!("ddof {ddof}"), Settings { ddof, ..limit.clone() }));
    }
    if base.sensitivity_sgd_seeds > 0 {
        for learning_rate in [5e-5, 5e-4, 5e-3] {
            let name = format!("Adam at {learning_rate:e}, {} epochs", base.learning.epochs);
            rows.push((name, with(&sgd, sgd.seeds, |l| l.learning_rate = learning_rate)));
        }
    }
    rows
}

/// Settings with other seeds and another way of learning.
fn with(base: &Settings, seeds: u64, change: impl Fn(&mut Learning)) -> Settings {
    let mut settings = Settings { seeds, ..base.clone() };
    change(&mut settings.learning);
    settings
}

/// The table: probabilities at the last step for every row.
pub fn table(base: &Settings, session: &Session) -> Outcome<Table> {
    let mut table = Table::new(
        "Sensitivity: probability at the unseen cell at the last step, mean ± standard error, and the area under the ROC curve of σ-IVE for unvisited pairs; one change at a time from the settings \
         of this run. Rows without Adam use the limit of the learners.",
        &[
            "change",
            "seeds",
            "seek IVE",
            "EVE",
            "EMVE",
            "greedy",
            "avoid IVE",
            "EVE",
            "EMVE",
            "greedy",
            "AUROC IVE",
        ],
    );
    let rows = rows(base);
    let bar = session.bar("choices", rows.len(), "rows");
    for (name, settings) in rows {
        let go_on = || !session.stopped();
        let ends: Vec<Option<[f64; 9]>> = (0..settings.seeds)
            .into_par_iter()
            .map(|s| measures(&settings, s, &go_on))
            .collect::<Outcome<_>>()?;
        let Some(ends) = ends.into_iter().collect::<Option<Vec<_>>>() else {
            table.caption += " INTERRUPTED: rows are missing.";
            break;
        };
        let column = |i: usize| plus_minus(mean_and_error(&ends.iter().map(|e| e[i]).collect::<Vec<_>>()));
        table.row([name, settings.seeds.to_string()].into_iter().chain((0..9).map(column)));
        bar.inc(1);
    }
    bar.finish();
    Ok(table)
}

/// The ends of the curves of one seed, optimism of the four methods and then pessimism, and how well σ-IVE tells visited
/// pairs from others (area under the ROC curve). `None` if asked to stop.
fn measures(settings: &Settings, seed: u64, go_on: &(dyn Fn() -> bool + Sync)) -> Outcome<Option<[f64; 9]>> {
    let Some((data, learned)) = settings.learning.learn(seed, settings.ensemble, &|| go_on())? else {
        return Ok(None);
    };
    let all = curves(settings, &learned, seed)?;
    let sigma = ours(learned.implicit(&settings.members()?, settings.ddof))?.pairs;
    let of = |visited: bool| {
        (0..PAIRS).filter(|&p| data.visited(p) == visited).map(|p| sigma[p]).collect::<Vec<_>>()
    };
    let detection = ours(auroc(&of(true), &of(false)))?;
    let (last, n) = (settings.steps - 1, METHODS.len());
    Ok(Some(std::array::from_fn(|i| match i {
        8 => detection,
        _ if i < n => all.optimism[i][last],
        _ => all.pessimism[i - n][last],
    })))
}
