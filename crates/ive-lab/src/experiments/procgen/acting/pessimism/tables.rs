//! Figure 14 as a table, and a table for programs.

use super::{Careful, of, per_run, tested};
use crate::exit::Outcome;
use crate::experiments::procgen::acting::{over_seeds, places};
use crate::experiments::procgen::evaluate::Set;
use crate::experiments::procgen::levels::normalised;
use crate::experiments::procgen::sweep::Settings;
use crate::experiments::runs::compare::ranged;
use crate::report::table::Table;

/// The figure as a table.
pub fn table(settings: &Settings, runs: &[Careful]) -> Outcome<Table> {
    let caption = "Fig. 14 as a table: normalised return by β, and what β adds to β = 0 of the same agent. Mean and 95 % t interval over seeds, whether they have learned or not.";
    let head = ["game", "levels", "β", "seeds", "seen", "unseen", "gain, seen", "gain, unseen"];
    let mut table = Table::new(caption, &head);
    for place in places(settings, &tested(runs))? {
        let some = of(runs, place);
        for beta in settings.betas() {
            let shown = |all: Vec<f64>| over_seeds(&all).map(|(value, ends)| ranged(value, ends));
            let score = |set| shown(per_run(&some, |t| t.score(settings, beta, set))?);
            let gain = |set| {
                if beta == 0.0 {
                    return Ok("–".to_owned());
                }
                shown(per_run(&some, |t| t.gain(settings, beta, set))?)
            };
            if beta == settings.pessimism_judged {
                table.highlighted.push(table.rows.len());
            }
            table.row([
                place.0.name().to_owned(),
                place.1.to_string(),
                beta.to_string(),
                some.len().to_string(),
                score(Set::Seen)?,
                score(Set::Unseen)?,
                gain(Set::Seen)?,
                gain(Set::Unseen)?,
            ]);
        }
    }
    Ok(table)
}

/// One row per run, β and set, for programs.
pub fn data(settings: &Settings, runs: &[Careful]) -> Outcome<Table> {
    let head = [
        "game",
        "levels",
        "seed",
        "beta",
        "set",
        "learned",
        "episodes",
        "steps",
        "return",
        "return_normalised",
    ];
    let mut table = Table::new("One row per run, β and set", &head);
    let mode = settings.mode()?;
    for run in runs {
        let cell = run.tested.cell();
        for (beta, sets) in &run.manners {
            for (set, found) in [Set::Seen, Set::Unseen].iter().zip(sets) {
                table.row([
                    cell.game.name().to_owned(),
                    cell.levels.to_string(),
                    cell.seed.to_string(),
                    beta.to_string(),
                    set.word().to_owned(),
                    run.tested.not_learned(settings).is_none().to_string(),
                    found.returns.len().to_string(),
                    found.steps.to_string(),
                    found.mean_return().to_string(),
                    normalised(cell.game, mode, found.mean_return()).to_string(),
                ]);
            }
        }
    }
    Ok(table)
}
