//! Makes the runs of the trials that are missing, and hands all finished ones to the analysis.

use super::analysis;
use super::sweep::{Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::Judged;
use crate::experiments::fleet::Fleet;
use crate::progress::Session;
use crate::store::Store;

/// `replay=7/breakout/seed-0`.
fn name(cell: &Cell) -> String {
    format!("{}/{}/seed-{}", cell.change, cell.game.name(), cell.seed)
}

/// Makes all runs that are not finished yet and compares those that are.
pub fn all(settings: &Settings, store: &Store, session: &Session) -> Outcome<Judged> {
    let cells = settings.cells()?;
    let total = cells.len();
    let fleet = Fleet {
        label: "trials",
        root: store.root(),
        steps: settings.steps,
        greedy_episodes: settings.greedy_episodes,
        name: &name,
        plan: &|cell| settings.plan(cell),
    };
    let (done, failed) = fleet.complete(cells, session);
    let findings = if done.is_empty() { None } else { Some(analysis::findings(settings, &done)?) };
    Ok(Judged { findings, failure: fleet.summed_up(failed, total) })
}
