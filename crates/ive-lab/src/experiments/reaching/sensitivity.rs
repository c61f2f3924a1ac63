//! Which of the unstated choices matter: one change at a time.

use ive::{Ties, auroc, mean_and_error};
use ive_envs::grid::PAIRS;
use rayon::prelude::*;

use super::run::{METHODS, curves};
use super::sweep::{ReachingName, Settings};
use crate::exit::{Failure, Outcome};
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
    for (ties, name) in [(Ties::Random, "random"), (Ties::First, "the first"), (Ties::Uniform, "all alike")] {
        rows.push((format!("ties: {name}"), Settings { ties, ..limit.clone() }));
    }
    for ddof in [0, 1] {
        rows.push((format!("σ with ddof {ddof}"), Settings { ddof, ..limit.clone() }));
    }
    for (reaching, name) in
        [(ReachingName::BeingAt, "being there"), (ReachingName::FirstPassage, "first passage")]
    {
        rows.push((name.to_owned(), Settings { reaching, ..limit.clone() }));
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
        "Sensitivity: probability at the unseen cell at the last step when seeking and when avoiding σ, and the area under the ROC curve \
         of σ-IVE for unvisited pairs; mean ± standard error over seeds, one change at a time from the settings of this run. Rows without Adam use the \
         limit of the learners; those marked (base) change nothing, and repeat the same numbers. The highlighted row leaves out the \
         member k = 0: compare its AUROC, where 0.5 is chance, with the base.",
        &[
            "change",
            "seeds",
            "seek: IVE",
            "EVE",
            "EMVE",
            "greedy",
            "avoid: IVE",
            "EVE",
            "EMVE",
            "greedy",
            "AUROC of IVE",
        ],
    );
    let rows = rows(base);
    let bar = session.bar("choices", rows.len(), "rows");
    let (unchanged, mut repeated) =
        (with(base, base.sensitivity_seeds, |l| l.learner = LearnerName::Limit), None);
    for (mut name, settings) in rows {
        let changes_nothing = same(&settings, &unchanged)?;
        if changes_nothing {
            name += " (base)";
        }
        if settings.k_min > 0 && base.k_min == 0 {
            table.highlighted.push(table.rows.len());
        }
        if let Some(cells) = repeated.as_ref().filter(|_| changes_nothing) {
            table.row(std::iter::once(name).chain(Vec::clone(cells)));
            bar.inc(1);
            continue;
        }
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
        let cells: Vec<String> =
            std::iter::once(settings.seeds.to_string()).chain((0..9).map(column)).collect();
        table.row(std::iter::once(name).chain(cells.clone()));
        if changes_nothing {
            repeated = Some(cells);
        }
        bar.inc(1);
    }
    bar.finish();
    Ok(table)
}

/// Whether two settings are the same in every field.
fn same(a: &Settings, b: &Settings) -> Outcome<bool> {
    let value = |x| serde_json::to_value(x).map_err(|e| Failure::internal(e.to_string()));
    Ok(value(a)? == value(b)?)
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
