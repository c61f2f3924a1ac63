//! Curves, verdicts on H4 and H5, and what they depend on.

use ive::{mean, mean_and_error};
use ive_agents::tabular::ensembles::UNIFORM;
use ive_envs::grid::{Reaching, reaching};
use serde_json::json;

use super::run::{Curves, METHODS};
use super::sensitivity;
use super::sweep::{ReachingName, Settings};
use crate::claim::{Claim, Verdict, interval};
use crate::exit::Outcome;
use crate::experiments::tabular::compared_with_paper;
use crate::progress::Session;
use crate::report::plot::{self, Curve, Panel, colour};
use crate::report::{Findings, table::Table, table::plus_minus, unit::Unit};

/// "On par" means: the interval of the difference lies within this margin.
const ON_PAR: f64 = 0.05;

const COLOURS: [&str; 4] = [colour::IVE, colour::EVE, colour::EMVE, colour::GREEDY];

/// Judges the finished seeds.
pub fn findings(settings: &Settings, done: &[(u64, Curves)], session: &Session) -> Outcome<Findings> {
    let curves: Vec<&Curves> = done.iter().map(|(_, c)| c).collect();
    let members = settings.members()?;
    let uniform = [settings.learning.wind, settings.shifted_wind]
        .map(|w| reaching(&UNIFORM, w, settings.steps, settings.kind()));
    let panel = |title: &str, side: fn(&Curves) -> &Vec<Vec<f64>>, uniform: &[f64]| {
        let mut drawn = vec![Curve {
            label: "uniform".into(),
            colour: colour::UNIFORM,
            points: points(uniform),
            width: 1.5,
            ..Curve::default()
        }];
        for m in (0..METHODS.len()).rev() {
            let at = |l: usize| mean_and_error(&curves.iter().map(|c| side(c)[m][l]).collect::<Vec<_>>());
            let (means, errors): (Vec<f64>, Vec<f64>) = (0..settings.steps).map(at).unzip();
            let label = if m == 3 { METHODS[m].to_owned() } else { format!("σ-{}", METHODS[m]) };
            let spread = if errors[0].is_finite() { errors } else { Vec::new() };
            drawn.push(Curve {
                label,
                colour: COLOURS[m],
                points: points(&means),
                spread,
                width: 2.0,
                dashed: false,
            });
        }
        Panel {
            title: title.into(),
            x: "steps l".into(),
            y: match settings.reaching {
                ReachingName::BeingAt => "probability at the unseen cell".into(),
                ReachingName::FirstPassage => "probability of having been there".into(),
            },
            curves: drawn,
            ..Panel::default()
        }
    };
    let panels = [
        panel(&format!("Optimism: seek σ (δ = {})", settings.learning.wind), |c| &c.optimism, &uniform[0]),
        panel(&format!("Pessimism: avoid σ (δ = {})", settings.shifted_wind), |c| &c.pessimism, &uniform[1]),
    ];
    let caption = format!(
        "Figure 5. Probability of {} the cell that the data leave out, l steps after the start, when the policy seeks \
         (first panel) or avoids (second panel) disagreement. Mean and standard error over {} seeds. σ-IVE has the members {members}, σ-EVE \
         and σ-EMVE have {}. Where actions tie, {} is taken.",
        match settings.reaching {
            ReachingName::BeingAt => "being at",
            ReachingName::FirstPassage => "having been at",
        },
        done.len(),
        settings.ensemble,
        settings.ties,
    );
    let figure = plot::lines("reaching", &caption, &panels, 2)?;

    let last = settings.steps - 1;
    let end = |side: fn(&Curves) -> &Vec<Vec<f64>>, m: usize| {
        curves.iter().map(|c| side(c)[m][last]).collect::<Vec<f64>>()
    };
    let visited = Visited {
        seeking: curves.iter().map(|c| c.visited[0]).collect(),
        uniform: reaching(&UNIFORM, settings.learning.wind, settings.steps, Reaching::FirstPassage)[last],
    };
    let claims = claims(settings, &end, &uniform, last, &visited)?;
    let mut tables = vec![
        ("reaching_curves", curve_table(settings, &curves, &uniform)),
        ("reaching_paired", paired(&end)),
    ];
    if settings.sensitivity_seeds > 0 {
        tables.push(("reaching_sensitivity", sensitivity::table(settings, session)?));
    }
    let at_end = |side: fn(&Curves) -> &Vec<Vec<f64>>| {
        let of = |m| mean_and_error(&end(side, m));
        json!(
            METHODS
                .iter()
                .enumerate()
                .map(|(m, name)| (*name, of(m)))
                .collect::<std::collections::BTreeMap<_, _>>()
        )
    };
    Ok(Findings {
        name: "reaching",
        title: "Seeking and avoiding what is not known (Figure 5)".into(),
        scale: scale(settings, done.len()),
        text: vec![
            "All rewards are zero, and the data never show the top-left cell. A policy that follows σ upwards should go to that \
             cell, one that follows it downwards should stay away, even when the wind is five times as strong as in the data."
                .into(),
            what_is_measured(settings.reaching, mean(&visited.seeking), visited.uniform),
            "The greedy policy follows the learned action values. Their truth is zero everywhere, so it follows the random starting \
             values of pairs that were never tried: it is an explorer too, and the fair comparison is with it, not with chance."
                .into(),
            "With a converged model, σ-EMVE is exactly zero wherever there are data, so most of its choices are ties and its curve \
             is decided by the tie rule (see the sensitivity table)."
                .into(),
        ],
        claims,
        figures: vec![figure],
        tables,
        data: Vec::new(),
        numbers: json!({
            "seeds": done.len(),
            "members": members.to_string(),
            "final_step": settings.steps,
            "optimism_final_mean_and_error": at_end(|c| &c.optimism),
            "pessimism_final_mean_and_error": at_end(|c| &c.pessimism),
            "first_passage_final": { "IVE": mean_and_error(&visited.seeking), "uniform": visited.uniform },
            "uniform_final": { "optimism": uniform[0][last], "pessimism": uniform[1][last] },
        }),
    })
}

/// What the figure and the claims measure, and what the other reading would give.
fn what_is_measured(reaching: ReachingName, seeking: f64, uniform: f64) -> String {
    match reaching {
        ReachingName::BeingAt => format!(
            "The paper speaks of reaching the cell, but its protocol measures the probability of being there at step l, and so do the \
             figure and the claims. A policy that stays once it has arrived does well by that measure. Having been there at least once \
             (first passage) is another question: the probability is {seeking:.3} when seeking σ-IVE and {uniform:.3} under the uniform \
             policy. That line is listed beside the claims (docs/deviations.md, 10)."
        ),
        ReachingName::FirstPassage => "Here the figure and the claims measure the probability of having been at the cell at least once \
             (first passage). The protocol of the paper measures that of being there at step l (docs/deviations.md, 10)."
            .to_owned(),
    }
}

fn points(y: &[f64]) -> Vec<(f64, f64)> {
    y.iter().enumerate().map(|(i, y)| ((i + 1) as f64, *y)).collect()
}

fn scale(settings: &Settings, seeds: usize) -> String {
    let learning = compared_with_paper(&settings.learning);
    format!("{seeds} seeds (the paper: 100) with {learning}.")
}

type Side = fn(&Curves) -> &Vec<Vec<f64>>;

/// The probability of having been at the unseen cell at least once within all steps.
struct Visited {
    /// When seeking σ-IVE, seed by seed.
    seeking: Vec<f64>,
    /// Under the uniform policy.
    uniform: f64,
}

fn claims(
    settings: &Settings,
    end: &dyn Fn(Side, usize) -> Vec<f64>,
    uniform: &[Vec<f64>; 2],
    last: usize,
    visited: &Visited,
) -> Outcome<Vec<Claim>> {
    let difference = |side: Side, other: &[f64]| -> Vec<f64> {
        end(side, 0).iter().zip(other.iter().cycle()).map(|(a, b)| a - b).collect()
    };
    let (up, down): (Side, Side) = (|c| &c.optimism, |c| &c.pessimism);
    let l = settings.steps;
    let there = match settings.reaching {
        ReachingName::BeingAt => format!("is at the unseen cell at step {l}"),
        ReachingName::FirstPassage => format!("visits the unseen cell within {l} steps"),
    };
    let claim = |hypothesis,
                 claim: String,
                 measure: String,
                 d: &[f64],
                 judge: &dyn Fn((f64, f64)) -> Verdict,
                 note: String| {
        let range = interval(d, mean)?;
        Ok(Claim {
            hypothesis,
            claim,
            unit: Unit::PROBABILITIES,
            measure,
            effect: mean(d),
            interval: range.ends(),
            verdict: judge(range.ends()),
            undecided: range.undecided(),
            note,
        })
    };
    let above = |i| Verdict::above(0.0, i);
    let ahead = |d: &[f64]| {
        format!(
            "{:.0} % of the seeds are above",
            100.0 * d.iter().filter(|x| **x > 0.0).count() as f64 / d.len() as f64
        )
    };
    let to_uniform = difference(up, &uniform[0][last..]);
    let to_greedy = difference(up, &end(up, 3));
    let to_eve = difference(up, &end(up, 1));
    let from_uniform: Vec<f64> = difference(down, &uniform[1][last..]).iter().map(|d| -d).collect();
    let from_greedy: Vec<f64> = difference(down, &end(down, 3)).iter().map(|d| -d).collect();
    let of = match settings.reaching {
        ReachingName::BeingAt => "probability of being there",
        ReachingName::FirstPassage => "probability of having been there",
    };
    let mut claims = vec![
        claim(
            "H4",
            format!("Seeking σ-IVE {there} more often than a uniform policy"),
            format!("{of}, minus that of the uniform policy"),
            &to_uniform,
            &above,
            ahead(&to_uniform),
        ),
        claim(
            "H4",
            format!("Seeking σ-IVE {there} more often than the greedy policy"),
            format!("{of}, minus that of the greedy policy, paired by seed"),
            &to_greedy,
            &above,
            ahead(&to_greedy),
        ),
        claim(
            "H4",
            format!("Seeking σ-IVE {there} as often as seeking σ-EVE, within ±{ON_PAR}"),
            format!("{of}, minus that when seeking σ-EVE, paired by seed"),
            &to_eve,
            &|i| Verdict::within(ON_PAR, i),
            ahead(&to_eve),
        ),
        claim(
            "H5",
            format!("Avoiding σ-IVE under stronger wind {there} less often than a uniform policy"),
            format!("{of} under the uniform policy, minus that when avoiding"),
            &from_uniform,
            &above,
            ahead(&from_uniform),
        ),
        claim(
            "H5",
            format!("Avoiding σ-IVE under stronger wind {there} less often than the greedy policy"),
            format!("{of} under the greedy policy, minus that when avoiding, paired by seed"),
            &from_greedy,
            &above,
            ahead(&from_greedy),
        ),
    ];
    if settings.reaching == ReachingName::BeingAt {
        let d: Vec<f64> = visited.seeking.iter().map(|p| p - visited.uniform).collect();
        let first_passage = claim(
            "H4",
            format!(
                "Seeking σ-IVE has visited the unseen cell within {l} steps more often than a uniform policy"
            ),
            "first passage: probability of having been there at least once, minus that of the uniform policy"
                .into(),
            &d,
            &above,
            format!(
                "{:.3} when seeking, {:.3} under the uniform policy",
                mean(&visited.seeking),
                visited.uniform
            ),
        );
        claims.insert(1, first_passage);
    }
    claims.into_iter().collect()
}

fn curve_table(settings: &Settings, curves: &[&Curves], uniform: &[Vec<f64>; 2]) -> Table {
    let steps: Vec<usize> = [10, 20, 50, 100, 150].into_iter().filter(|l| *l <= settings.steps).collect();
    let head: Vec<String> = [String::new(), "policy".to_owned()]
        .into_iter()
        .chain(steps.iter().map(|l| format!("l = {l}")))
        .collect();
    let mut table = Table::new(
        match settings.reaching {
            ReachingName::BeingAt => {
                "Probability of being at the unseen cell at step l, mean ± standard error over seeds"
            }
            ReachingName::FirstPassage => {
                "Probability of having been at the unseen cell within l steps, mean ± standard error over seeds"
            }
        },
        &[],
    );
    table.head = head;
    for (i, (name, side)) in
        [("seek", (|c| &c.optimism) as Side), ("avoid", |c| &c.pessimism)].into_iter().enumerate()
    {
        for (m, method) in METHODS.iter().enumerate() {
            let cell = |l: &usize| {
                plus_minus(mean_and_error(&curves.iter().map(|c| side(c)[m][l - 1]).collect::<Vec<_>>()))
            };
            table.row([name.to_owned(), (*method).to_owned()].into_iter().chain(steps.iter().map(cell)));
        }
        let exact = steps.iter().map(|l| format!("{:.3}", uniform[i][l - 1]));
        table.row([name.to_owned(), "uniform (exact)".to_owned()].into_iter().chain(exact));
    }
    table
}

fn paired(end: &dyn Fn(Side, usize) -> Vec<f64>) -> Table {
    let mut table = Table::new(
        "Paired differences to IVE at the last step, difference of probabilities, mean ± standard error",
        &["", "IVE minus", "difference"],
    );
    for (name, side) in [("seek", (|c| &c.optimism) as Side), ("avoid", |c| &c.pessimism)] {
        for m in 1..METHODS.len() {
            let d: Vec<f64> = end(side, 0).iter().zip(end(side, m)).map(|(a, b)| a - b).collect();
            table.row([name.to_owned(), METHODS[m].to_owned(), plus_minus(mean_and_error(&d))]);
        }
    }
    table
}
