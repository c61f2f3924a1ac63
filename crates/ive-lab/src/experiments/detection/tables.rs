//! The tables of the study.

use ive::mean_and_error;

use super::analysis::{Effect, View, corrupted, gain, over_shifts, risk};
use super::detectors::Detector;
use super::gridworld::Outcome as Grid;
use super::survey::{Asked, Found, Risk};
use super::sweep::{BASE, Cell};
use crate::exit::Outcome;
use crate::experiments::minatar::published::title;
use crate::experiments::runs::compare::{pair, paired};
use crate::report::table::{Table, grouped};

/// Tables of the report, each with a file name.
pub fn all(view: &View<'_>, grid: &[Grid]) -> Outcome<Vec<(&'static str, Table)>> {
    let mut all = vec![
        ("detection_auroc", shifts(view, "AUROC", |found| found.auroc)?),
        ("detection_fpr95", shifts(view, "FPR95 (0 is best)", |found| found.fpr95)?),
        ("detection_summary", summary(view)?),
        ("detection_variants", variants(view)?),
        ("detection_return", returns(view)),
        ("detection_guard", guards(view)?),
    ];
    if !grid.is_empty() {
        all.push(("detection_gridworld", gridworld(grid)));
    }
    Ok(all)
}

fn cell(effect: Option<Effect>) -> String {
    effect.map_or("–".to_owned(), |e| {
        let (low, high) = e.interval;
        if low.is_finite() {
            format!("{:.2} [{low:.2}, {high:.2}]", e.mean)
        } else {
            format!("{:.2}", e.mean)
        }
    })
}

/// A row for each shift, of agents of the base after the longest training.
fn shifts(view: &View<'_>, name: &str, measure: fn(&Found) -> f64) -> Outcome<Table> {
    let longest = view.settings.longest();
    let caption = format!(
        "{name} of each detector for each shift, agents without changes after {} steps: mean over games and seeds [95 % t interval over seeds].",
        grouped(longest)
    );
    let mut table = Table::new(&caption, &["shift"]);
    table.head.extend(Detector::ALL.map(|d| d.label().to_owned()));
    let mut names: Vec<(String, bool)> = Vec::new();
    for found in view.answers.iter().flat_map(|(_, asked)| &asked.found) {
        let key = (found.shift.clone(), found.natural);
        if !names.contains(&key) {
            names.push(key);
        }
    }
    for (shift, natural) in names {
        let mut row = vec![if natural { format!("{shift} (natural)") } else { shift.clone() }];
        for detector in Detector::ALL {
            let of = |asked: &Asked| over_shifts(asked, detector, &|found| found.shift == shift, measure);
            row.push(cell(view.effect(BASE, longest, &of)?));
        }
        table.row(row);
    }
    Ok(table)
}

/// A row for each variant, length and detector.
fn summary(view: &View<'_>) -> Outcome<Table> {
    let caption = "All agents: AUROC averaged over corruptions and over natural shifts; area under the risk–coverage curve divided by the \
                   mean error (below 1: leaving out high scores lowers the error), ordinary states and with those of natural shifts; rank \
                   correlation of score and error. Means over games and seeds [95 % t interval over seeds].";
    let head = ["agent", "steps", "detector", "corrupted", "natural", "risk", "risk, shifted", "correlation"];
    let mut table = Table::new(caption, &head);
    for variant in view.settings.all_variants() {
        for steps in view.lengths() {
            for detector in Detector::ALL {
                let auroc = |natural: bool| {
                    let of = move |asked: &Asked| {
                        over_shifts(asked, detector, &|found| found.natural == natural, |found| found.auroc)
                    };
                    view.effect(variant, steps, &of)
                };
                let risks: [fn(&Risk) -> f64; 3] = [|r| r.ordinary, |r| r.shifted, |r| r.correlation];
                let mut row = vec![variant.to_owned(), grouped(steps), detector.label().to_owned()];
                row.push(cell(auroc(false)?));
                row.push(cell(auroc(true)?));
                for of in risks {
                    row.push(cell(view.effect(variant, steps, &|asked| risk(asked, detector, of))?));
                }
                table.row(row);
            }
        }
    }
    Ok(table)
}

/// What a change of the agent's settings does to its signal, run by run of the same game and seed.
fn variants(view: &View<'_>) -> Outcome<Table> {
    let longest = view.settings.longest();
    let caption = format!(
        "Changed agents minus agents without changes after {} steps, runs of the same game and seed paired: AUROC averaged over corruptions, risk (below 0: \
         better than without the change), and greedy return in shares of the return without the change. Means over games and seeds [95 % t interval over seeds].",
        grouped(longest)
    );
    let mut table = Table::new(
        &caption,
        &["agent", "σ, k=1..5", "σ, k=0..5", "σ/|μ|", "low value", "risk of σ", "return"],
    );
    let sigmas = [Detector::Sigma, Detector::SigmaWithZero, Detector::Relative, Detector::LowValue];
    for variant in view.settings.all_variants().filter(|v| *v != BASE) {
        let difference = |of: &dyn Fn(&Asked) -> Option<f64>| -> Outcome<String> {
            let [changed, base] = [variant, BASE].map(|v| view.strata(v, longest, of));
            Ok(cell(Effect::of(&paired(&changed, &base))?))
        };
        let mut row = vec![variant.to_owned()];
        for detector in sigmas {
            row.push(difference(&|asked| corrupted(asked, detector))?);
        }
        row.push(difference(&|asked| risk(asked, Detector::Sigma, |r| r.ordinary))?);
        row.push(cell(Effect::of(&relative_returns(view, variant, longest))?));
        table.row(row);
    }
    Ok(table)
}

/// Greedy returns of changed agents minus those of the base, in shares of the mean return of the base on that game.
fn relative_returns(view: &View<'_>, variant: &str, steps: u64) -> Vec<Vec<f64>> {
    let [changed, base] = [variant, BASE].map(|v| view.strata(v, steps, &|asked| Some(asked.greedy)));
    let pairs = paired(&changed, &base);
    let usual = base.iter().map(|runs| ive::mean(&runs.iter().map(|run| run.1).collect::<Vec<_>>()));
    // Shares of nothing are no number.
    let shares = |(runs, usual): (Vec<f64>, f64)| -> Vec<f64> {
        if usual > 0.0 { runs.iter().map(|x| x / usual).collect() } else { Vec::new() }
    };
    pairs.into_iter().zip(usual).map(shares).collect()
}

/// What the agents are worth.
fn returns(view: &View<'_>) -> Table {
    let caption = "Return of greedy episodes, mean ± standard error over seeds, and the mean error of the value of ordinary states in brackets.";
    let mut table = Table::new(caption, &["agent", "steps"]);
    table.head.extend(view.games.iter().map(|game| title(*game).to_owned()));
    for variant in view.settings.all_variants() {
        for steps in view.lengths() {
            let greedy = view.strata(variant, steps, &|asked| Some(asked.greedy));
            let errors = view.strata(variant, steps, &|asked| Some(asked.error));
            let average = |runs: &[(u64, f64)]| {
                let values: Vec<f64> = runs.iter().map(|run| run.1).collect();
                mean_and_error(&values)
            };
            let cells = greedy.iter().zip(&errors).map(|(g, e)| {
                let error = average(e).0;
                let error = if error.is_finite() { format!(" ({error:.2})") } else { String::new() };
                pair(average(g)) + &error
            });
            table.row([variant.to_owned(), grouped(steps)].into_iter().chain(cells));
        }
    }
    table
}

/// Returns with and without a fallback.
fn guards(view: &View<'_>) -> Outcome<Table> {
    let settings = view.settings;
    let caption = format!(
        "Agents under a guard that at most {} % of ordinary episodes alarm, calibrated on {} episodes; in its place acts the fallback \
         `{}`, in states with an alarm (step) or from the first alarm to the end (episode). Return, mean over seeds, of {} episodes each; \
         episodes with an alarm and steps of the fallback in per cent, mean over games and seeds; and the gain over the same condition \
         without a guard in shares of the usual return [95 % t interval over seeds].",
        100.0 * settings.guard_rate,
        settings.guard_episodes,
        settings.guard_fallback,
        settings.guard_episodes
    );
    let mut table = Table::new(&caption, &["condition", "guard"]);
    table.head.extend(view.games.iter().map(|game| title(*game).to_owned()));
    table.head.extend(["alarmed", "replaced", "gain"].map(str::to_owned));
    let longest = settings.longest();
    let all = view.answers.iter().flat_map(|(_, asked)| &asked.played);
    let mut rows: Vec<(String, String)> = Vec::new();
    for played in all {
        let key = (played.condition.clone(), played.guard.clone());
        if !rows.contains(&key) {
            rows.push(key);
        }
    }
    for (condition, guard) in rows {
        let played = |asked: &Asked| {
            asked.played.iter().find(|p| p.condition == condition && p.guard == guard).cloned()
        };
        let totals = view.strata(BASE, longest, &|asked| Some(played(asked)?.total));
        let share = |of: &dyn Fn(&Asked) -> Option<f64>| -> Outcome<String> {
            let found = view.effect(BASE, longest, of)?;
            Ok(found.map_or("–".to_owned(), |e| format!("{:.0} %", 100.0 * e.mean)))
        };
        let mut row = vec![condition.clone(), guard.clone()];
        row.extend(totals.iter().map(|runs| {
            let values: Vec<f64> = runs.iter().map(|run| run.1).collect();
            if values.is_empty() { "–".to_owned() } else { pair(mean_and_error(&values)) }
        }));
        row.push(share(&|asked| Some(played(asked)?.alarmed))?);
        row.push(share(&|asked| Some(played(asked)?.replaced))?);
        let gained = view.effect(BASE, longest, &|asked| gain(asked, &condition, &guard))?;
        row.push(if guard == "none" { String::new() } else { cell(gained) });
        table.row(row);
    }
    Ok(table)
}

fn gridworld(grid: &[Grid]) -> Table {
    let caption = "The gridworld: steps in the unseen cell per walk of 20 steps, without and with the guard and its fallback (south), and \
                   the share of walks with an alarm; mean ± standard error over seeds.";
    let mut table = Table::new(caption, &["wind", "without a guard", "with it", "walks with an alarm"]);
    let over = |of: &dyn Fn(&Grid) -> f64| {
        let values: Vec<f64> = grid.iter().map(of).collect();
        let (mean, error) = mean_and_error(&values);
        if error.is_finite() { format!("{mean:.3} ± {error:.3}") } else { format!("{mean:.3}") }
    };
    for (name, of, alarms) in
        [("usual", (|g: &Grid| g.usual) as fn(&Grid) -> [f64; 2], 0), ("shifted", |g: &Grid| g.shifted, 1)]
    {
        table.row([name.to_owned(), over(&|g| of(g)[0]), over(&|g| of(g)[1]), over(&|g| g.alarmed[alarms])]);
    }
    table
}

/// For programs: a row for each agent, shift and detector.
pub fn data(answers: &[(Cell, Asked)]) -> Vec<(&'static str, Table)> {
    let mut found =
        Table::new("", &["agent", "game", "steps", "seed", "shift", "natural", "detector", "auroc", "fpr95"]);
    let mut risks = Table::new(
        "",
        &[
            "agent",
            "game",
            "steps",
            "seed",
            "detector",
            "risk",
            "risk_shifted",
            "correlation",
            "greedy",
            "error",
        ],
    );
    let mut played =
        Table::new("", &["game", "steps", "seed", "condition", "guard", "return", "alarmed", "replaced"]);
    for (cell, asked) in answers {
        let who = [
            cell.variant.clone(),
            cell.game.name().to_owned(),
            cell.steps.to_string(),
            cell.seed.to_string(),
        ];
        for f in &asked.found {
            let rest = [f.shift.clone(), u8::from(f.natural).to_string(), f.detector.clone()];
            let numbers = [f.auroc, f.fpr95].map(|x| x.to_string());
            found.row(who.iter().cloned().chain(rest).chain(numbers));
        }
        for r in &asked.risks {
            let numbers = [r.ordinary, r.shifted, r.correlation, asked.greedy, asked.error];
            let numbers = numbers.map(|x| x.to_string());
            risks.row(who.iter().cloned().chain([r.detector.clone()]).chain(numbers));
        }
        for p in &asked.played {
            let numbers = [p.total, p.alarmed, p.replaced].map(|x| x.to_string());
            let rest = [p.condition.clone(), p.guard.clone()];
            played.row(who[1..].iter().cloned().chain(rest).chain(numbers));
        }
    }
    vec![("found", found), ("risks", risks), ("played", played)]
}
