//! Figure 4 as a table, other readings of σ, who has learned, and tables for programs.

use ive::mean_and_error;
use ive_agents::Further;
use ive_agents::muesli::further::{SEQUENCES, SEQUENCES_WITH_ZERO};

use super::analysis::{auroc, of, per_run};
use super::evaluate::{SIGMA, SIGMA_RELATIVE, SIGMA_WITH_ZERO, Set};
use super::levels::normalised;
use super::reading::{By, above_random};
use super::run::Tested;
use super::sweep::{Settings, Variant};
use crate::exit::Outcome;
use crate::experiments::runs::compare::{pair, ranged};
use crate::experiments::runs::record::curve;
use crate::report::table::{Table, plus_minus};

fn over_seeds(all: Vec<f64>) -> (f64, f64) {
    mean_and_error(&all)
}

fn shown((mean, error): (f64, f64)) -> String {
    if mean.is_finite() { plus_minus((mean, error)) } else { "–".into() }
}

/// What every cell of the experiment has runs of: game, number of levels, variant.
fn kinds(settings: &Settings) -> Outcome<Vec<(ive_envs::procgen::Game, u32, Variant)>> {
    let mut all = Vec::new();
    for game in settings.games()? {
        for levels in settings.counts() {
            all.extend(settings.variants()?.into_iter().map(|variant| (game, levels, variant)));
        }
    }
    Ok(all)
}

/// The table of the figure.
pub fn figure4(settings: &Settings, runs: &[Tested]) -> Outcome<Table> {
    let judged = settings.judged()?;
    let caption = format!(
        "{} as a table. Returns are normalised (0 and 1: the constants of Procgen's authors). σ: mean {}, {}, in units of reward. Means ± standard errors over \
         seeds; AUROC of unseen against seen states [95 % interval over seeds and levels]. “learned”: runs whose σ may be read.",
        judged.figure, judged.symbol, judged.how
    );
    let head = [
        "game",
        "levels",
        "",
        "learned",
        "explained variance",
        "return, seen",
        "return, unseen",
        "random, seen",
        "σ, seen",
        "σ, unseen",
        "ratio",
        "AUROC",
    ];
    let mut table = Table::new(&caption, &head);
    let mode = settings.mode()?;
    for (game, levels, variant) in kinds(settings)? {
        let some = of(runs, game, levels, variant);
        if some.is_empty() {
            continue;
        }
        let returned = |set| {
            pair(over_seeds(per_run(&some, |t| Some(normalised(game, mode, t.set(set).mean_return())))))
        };
        let sigma = |unseen: bool| {
            let number =
                |t: &Tested| t.means(judged.score, By::Agent).map(|p| if unseen { p.unseen } else { p.seen });
            shown(over_seeds(per_run(&some, number)))
        };
        let ratio = over_seeds(per_run(&some, |t| t.gap(judged.score))).0.exp();
        let area = auroc(&some, judged.score, By::Agent, settings.replicates as usize)?;
        let good = some.iter().filter(|t| t.not_learned(settings).is_none()).count();
        let judged =
            if variant == Variant::WarmUp { "–".to_owned() } else { format!("{good} of {}", some.len()) };
        if variant == Variant::Prior {
            table.highlighted.push(table.rows.len());
        }
        table.row([
            game.name().to_owned(),
            levels.to_string(),
            variant.label().to_owned(),
            judged,
            pair(over_seeds(per_run(&some, Tested::explained))),
            returned(Set::Seen),
            returned(Set::Unseen),
            returned(Set::RandomSeen),
            sigma(false),
            sigma(true),
            if ratio.is_finite() { format!("{ratio:.2}") } else { "–".into() },
            area.map_or("–".into(), |(value, interval)| ranged(value, interval)),
        ]);
    }
    Ok(table)
}

/// Readings of σ other than the one that decides.
pub fn signals(settings: &Settings, runs: &[Tested]) -> Outcome<Table> {
    let caption = "Other readings, none of which decides: unseen over seen, geometric mean over seeds, and in brackets the AUROC of single states. σ/|μ| \
                   is σ divided by |μ| + 0.1. Random policy: σ-IVE(5) on states of a random policy on the same levels.";
    let head = [
        "game",
        "levels",
        "",
        "mean",
        "median",
        "k = 0..5",
        "σ/|μ|",
        "many sequences",
        "many, k = 0..5",
        "σ-EVE",
        "random policy",
    ];
    let mut table = Table::new(caption, &head);
    for (game, levels, variant) in kinds(settings)? {
        let some = of(runs, game, levels, variant);
        if some.is_empty() {
            continue;
        }
        let ratio = |logs: Vec<f64>| {
            let (mean, _) = over_seeds(logs.into_iter().filter(|x| x.is_finite()).collect());
            if mean.is_finite() { format!("{:.2}", mean.exp()) } else { "–".into() }
        };
        let read = |score: &str, by: By| -> Outcome<String> {
            let logs = per_run(&some, |t| t.means(score, by).map(super::reading::Pair::log_ratio));
            let mut areas = Vec::new();
            for run in &some {
                areas.extend(run.ranking(score, by)?.map(|r| r.detection().auroc));
            }
            if areas.is_empty() {
                return Ok("–".into());
            }
            Ok(format!("{} ({:.2})", ratio(logs), ive::mean(&areas)))
        };
        let medians = per_run(&some, |t| t.medians(SIGMA, By::Agent).map(super::reading::Pair::log_ratio));
        table.row([
            game.name().to_owned(),
            levels.to_string(),
            variant.label().to_owned(),
            read(SIGMA, By::Agent)?,
            ratio(medians),
            read(SIGMA_WITH_ZERO, By::Agent)?,
            read(SIGMA_RELATIVE, By::Agent)?,
            read(SEQUENCES, By::Agent)?,
            read(SEQUENCES_WITH_ZERO, By::Agent)?,
            read(Further::EVE, By::Agent)?,
            read(SIGMA, By::Random)?,
        ]);
    }
    Ok(table)
}

/// Which agents have learned, and why others have not.
pub fn learned(settings: &Settings, runs: &[Tested]) -> Table {
    let caption = "Which agents have learned. Explained variance of returns: at the end of training, and of the states met in evaluation on training and \
                   on unseen levels. Above random: return on training levels minus that of a random policy, mean ± standard error over levels.";
    let head = [
        "run",
        "return of training",
        "explained variance",
        "seen",
        "unseen",
        "above random",
        "σ may be read",
    ];
    let mut table = Table::new(caption, &head);
    let number = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.2}"));
    for run in runs.iter().filter(|t| t.cell().variant != Variant::WarmUp) {
        table.row([
            run.cell().name(),
            number(run.run.training),
            number(run.explained()),
            number(run.set(Set::Seen).explained()),
            number(run.set(Set::Unseen).explained()),
            pair(above_random(run)),
            run.not_learned(settings).map_or("yes".into(), |why| format!("no: {why}")),
        ]);
    }
    table
}

/// One row per run and set of states, for programs.
pub fn runs(settings: &Settings, runs: &[Tested]) -> Outcome<Table> {
    let scores = [SIGMA, SIGMA_WITH_ZERO, SIGMA_RELATIVE, SEQUENCES, SEQUENCES_WITH_ZERO, Further::EVE];
    let first = [
        "game",
        "levels",
        "variant",
        "seed",
        "set",
        "learned",
        "explained_variance",
        "evaluation_explained_variance",
        "visited_levels",
        "episodes",
        "steps",
        "states",
        "return",
        "return_normalised",
    ];
    let mut head: Vec<String> = first.iter().map(|h| (*h).to_owned()).collect();
    head.extend(scores.iter().flat_map(|s| [format!("{s}_mean"), format!("{s}_median")]));
    let mut table = Table { caption: "One row per run and set of states".into(), head, ..Table::default() };
    let mode = settings.mode()?;
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for run in runs {
        for set in Set::ALL {
            let (cell, found) = (run.cell(), run.set(set));
            let total = found.mean_return();
            let mut row = vec![
                cell.game.name().to_owned(),
                cell.levels.to_string(),
                cell.variant.word().to_owned(),
                cell.seed.to_string(),
                set.word().to_owned(),
                run.not_learned(settings).is_none().to_string(),
                number(run.explained()),
                number(found.explained()),
                found.levels.len().to_string(),
                found.returns.len().to_string(),
                found.steps.to_string(),
                found.places.len().to_string(),
                total.to_string(),
                normalised(cell.game, mode, total).to_string(),
            ];
            for score in scores {
                let all = found.score(score);
                row.push(number(all.map(ive::mean)));
                row.push(number(all.and_then(|all| ive::quantile(all, 0.5).ok())));
            }
            table.row(row);
        }
    }
    Ok(table)
}

/// The curves of training, for programs.
pub fn curves(settings: &Settings, runs: &[Tested]) -> Outcome<Table> {
    let head = ["game", "levels", "variant", "number", "step", "seeds", "mean", "error"];
    let mut table = Table::new("Means over seeds on the way", &head);
    for (game, levels, variant) in kinds(settings)? {
        let some = of(runs, game, levels, variant);
        for name in ["return_100", "explained_variance", "entropy", "value_mean", "return_mean", "loss"] {
            for (step, mean, error) in curve(some.iter().map(|t| &t.run), name, settings.curve_points) {
                let error = if error.is_finite() { error.to_string() } else { String::new() };
                let words =
                    [game.name().to_owned(), levels.to_string(), variant.word().to_owned(), name.to_owned()];
                let numbers = [step.to_string(), some.len().to_string(), mean.to_string(), error];
                table.row(words.into_iter().chain(numbers));
            }
        }
    }
    Ok(table)
}
