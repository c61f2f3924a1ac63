//! Figure 13 as a table, and tables for programs.

use ive::standard_deviation;
use ive_agents::Bonus;

use super::{Trained, gains_at, of, tested};
use crate::exit::Outcome;
use crate::experiments::procgen::acting::{label, over_seeds, places};
use crate::experiments::procgen::evaluate::Set;
use crate::experiments::procgen::sweep::Settings;
use crate::experiments::runs::compare::{pair, ranged};
use crate::experiments::runs::record::curve;
use crate::report::table::Table;

/// The figure as a table.
pub fn table(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Table> {
    let caption = "Fig. 13 as a table. Return of training: the last 100 episodes, with the bonus. Normalised returns after training, without the bonus: mean and 95 % t \
                   interval over seeds. Gain: minus the plain agent of the same seed, where one of the two has learned. sd: over seeds, on unseen levels. Shift: by how much the bonus \
                   changes the policy, half the sum of differences, at the end of training.";
    let head = [
        "game",
        "levels",
        "",
        "learned",
        "return of training",
        "seen",
        "unseen",
        "gain, seen",
        "gain, unseen",
        "sd",
        "shift",
    ];
    let mut table = Table::new(caption, &head);
    for place in places(settings, &tested(runs))? {
        for &bonus in order {
            let some = of(runs, place, bonus);
            if some.is_empty() {
                continue;
            }
            let scores = |set| some.iter().map(|t| t.score(settings, set)).collect::<Outcome<Vec<f64>>>();
            let shown = |all: &[f64]| over_seeds(all).map(|(value, ends)| ranged(value, ends));
            let gain = |set| -> Outcome<String> {
                let all = gains_at(settings, runs, place, (bonus, set), &mut Vec::new())?;
                if bonus.is_none() || all.is_empty() { Ok("–".into()) } else { shown(&all) }
            };
            let training: Vec<f64> = some.iter().filter_map(|t| t.tested.run.training).collect();
            let shift: Vec<f64> = some.iter().filter_map(|t| t.tested.run.at_end("policy_shift")).collect();
            let unseen = scores(Set::Unseen)?;
            let good = some.iter().filter(|t| t.tested.not_learned(settings).is_none()).count();
            if bonus == order[1] {
                table.highlighted.push(table.rows.len());
            }
            table.row([
                place.0.name().to_owned(),
                place.1.to_string(),
                label(bonus),
                format!("{good} of {}", some.len()),
                pair(ive::mean_and_error(&training)),
                shown(&scores(Set::Seen)?)?,
                shown(&unseen)?,
                gain(Set::Seen)?,
                gain(Set::Unseen)?,
                standard_deviation(&unseen, 1).map_or("–".into(), |sd| format!("{sd:.3}")),
                if shift.is_empty() { "–".into() } else { format!("{:.3}", ive::mean(&shift)) },
            ]);
        }
    }
    Ok(table)
}

/// One row per run and set, for programs.
pub fn data(settings: &Settings, runs: &[Trained]) -> Outcome<Table> {
    let head = [
        "game",
        "levels",
        "bonus",
        "seed",
        "set",
        "learned",
        "episodes",
        "steps",
        "return",
        "return_normalised",
        "return_training",
        "policy_shift",
    ];
    let mut table = Table::new("One row per run and set", &head);
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for run in runs {
        let cell = run.tested.cell();
        for set in Set::ALL {
            let found = run.tested.set(set);
            table.row([
                cell.game.name().to_owned(),
                cell.levels.to_string(),
                run.bonus.map_or("none".into(), |bonus| bonus.to_string()),
                cell.seed.to_string(),
                set.word().to_owned(),
                run.tested.not_learned(settings).is_none().to_string(),
                found.returns.len().to_string(),
                found.steps.to_string(),
                found.mean_return().to_string(),
                run.score(settings, set)?.to_string(),
                number(run.tested.run.training),
                number(run.tested.run.at_end("policy_shift")),
            ]);
        }
    }
    Ok(table)
}

/// The curves of training, for programs.
pub fn curves(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Table> {
    let head = ["game", "levels", "bonus", "number", "step", "seeds", "mean", "error"];
    let mut table = Table::new("Means over seeds on the way", &head);
    for place in places(settings, &tested(runs))? {
        for &bonus in order {
            let some = of(runs, place, bonus);
            for name in ["return_100", "explained_variance", "entropy", "action_signal", "policy_shift"] {
                for (step, mean, error) in
                    curve(some.iter().map(|t| &t.tested.run), name, settings.curve_points)
                {
                    let error = if error.is_finite() { error.to_string() } else { String::new() };
                    let who = bonus.map_or("none".into(), |bonus| bonus.to_string());
                    let words = [place.0.name().to_owned(), place.1.to_string(), who, name.to_owned()];
                    table.row(words.into_iter().chain([
                        step.to_string(),
                        some.len().to_string(),
                        mean.to_string(),
                        error,
                    ]));
                }
            }
        }
    }
    Ok(table)
}
