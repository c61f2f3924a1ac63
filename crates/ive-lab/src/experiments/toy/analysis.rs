//! The two pictures of Figure 1, and what they claim.

use ive::{ValueEnsemble, mean, mean_and_error, quantile};
use serde_json::json;

use super::run::Line;
use super::sweep::Settings;
use crate::claim::{Claim, Verdict, interval};
use crate::exit::{Failure, Outcome};
use crate::experiments::ours;
use crate::report::plot::{self, Curve, Figure, Panel, colour};
use crate::report::{Findings, table::Table, table::plus_minus, unit::Unit};

/// The claim "zero at the data": σ there must fall below this share of what it was before training.
const NEARLY_ZERO: f64 = 0.1;

/// Judges the finished seeds.
pub fn findings(settings: &Settings, done: &[(u64, Line)]) -> Outcome<Findings> {
    let column = |of: fn(&Line) -> f64| done.iter().map(|(_, l)| of(l)).collect::<Vec<f64>>();
    let after = column(|l| l.ratio[1]);
    let fall = column(|l| l.at_data[1] / l.at_data[0]);
    let (ratio_range, fall_range) = (interval(&after, mean)?, interval(&fall, mean)?);
    let claims = vec![
        Claim {
            hypothesis: "Fig. 1",
            claim: "After training the members disagree away from the data more than at the data".into(),
            unit: Unit::RATIO,
            measure: "mean σ-IVE further than 0.5 from all data, divided by mean σ-IVE at the data".into(),
            effect: mean(&after),
            interval: ratio_range.ends(),
            verdict: Verdict::above(1.0, ratio_range.ends()),
            undecided: ratio_range.undecided(),
            note: format!("before training {}", plus_minus(mean_and_error(&column(|l| l.ratio[0])))),
        },
        Claim {
            hypothesis: "Fig. 1",
            claim: "Training brings the disagreement at the data to (nearly) zero".into(),
            unit: Unit::SHARE,
            measure: format!(
                "σ-IVE at the data after training as a share of before; nearly zero means below {NEARLY_ZERO}"
            ),
            effect: mean(&fall),
            interval: fall_range.ends(),
            verdict: Verdict::below(NEARLY_ZERO, fall_range.ends()),
            undecided: fall_range.undecided(),
            note: format!(
                "σ at the data after training {:.4}; 0 would be exact agreement",
                mean(&column(|l| l.at_data[1]))
            ),
        },
    ];
    let mut table = Table::new(
        "σ-IVE over seeds, mean ± standard error; ratio: away from the data / at the data",
        &["", "before", "after"],
    );
    let row = |x: &[f64], y: &[f64]| [plus4(x), plus4(y)];
    let name = |n: &str, cells: [String; 2]| std::iter::once(n.to_owned()).chain(cells);
    table.row(name("σ at the data", row(&column(|l| l.at_data[0]), &column(|l| l.at_data[1]))));
    table.row(name("ratio", row(&column(|l| l.ratio[0]), &after)));
    let median = |x: &[f64]| ours(quantile(x, 0.5)).map(|m| format!("{m:.3}"));
    table.row(name("ratio, median", [median(&column(|l| l.ratio[0]))?, median(&after)?]));
    table.row(name("error of the members at the data", [String::new(), plus4(&column(|l| l.error))]));
    Ok(Findings {
        name: "toy",
        title: "An ensemble on a line (Figure 1)".into(),
        scale: format!(
            "{} seeds (the paper: 1) of {} steps (the paper does not say how many, nor where its ten targets lie).",
            done.len(),
            settings.steps
        ),
        text: vec![format!(
            "One model and one value function on the line from −3 to 3, trained so that all k-step values, k = 0..{}, agree with ten given \
             targets. Where there is a target the members agree; elsewhere nothing makes them.",
            settings.horizon
        )],
        claims,
        figures: figure(settings, done)?.into_iter().collect(),
        tables: vec![("toy_sigma", table)],
        data: Vec::new(),
        numbers: json!({
            "seeds": done.len(),
            "members": format!("k=0..{}", settings.horizon),
            "ratio_before": mean_and_error(&column(|l| l.ratio[0])),
            "ratio_after": mean_and_error(&after),
            "sigma_at_data_before": mean_and_error(&column(|l| l.at_data[0])),
            "sigma_at_data_after": mean_and_error(&column(|l| l.at_data[1])),
            "per_seed_ratio_after": after,
        }),
    })
}

fn plus4(x: &[f64]) -> String {
    let (mean, error) = mean_and_error(x);
    if error.is_finite() { format!("{mean:.4} ± {error:.4}") } else { format!("{mean:.4}") }
}

/// Members, mean and band before and after training, if the seed to be shown is finished.
fn figure(settings: &Settings, done: &[(u64, Line)]) -> Outcome<Option<Figure>> {
    let Some((seed, [before, after])) = done.iter().find_map(|(s, l)| l.members.as_ref().map(|m| (s, m)))
    else {
        return Ok(None);
    };
    let (states, targets) = settings.config().data.points();
    let extent = before.iter().chain(after).flatten().chain(&targets);
    let (low, high) = extent.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    let margin = 0.05 * (high - low);
    let panel = |title: &str, members: &Vec<Vec<f64>>, dots: bool| -> Outcome<Panel> {
        let ensemble = ValueEnsemble::from_members(members).map_err(|e| Failure::internal(e.to_string()))?;
        let points = |y: &[f64]| settings.points().into_iter().zip(y.iter().copied()).collect::<Vec<_>>();
        let mut curves: Vec<Curve> = members
            .iter()
            .enumerate()
            .map(|(k, m)| Curve {
                label: if k == 0 { format!("members k = 0..{}", settings.horizon) } else { String::new() },
                colour: colour::EVE,
                points: points(m),
                width: 1.0,
                ..Curve::default()
            })
            .collect();
        // Below the members: where they agree, all of them lie on it.
        curves.insert(
            0,
            Curve {
                label: "mean μ ± σ".into(),
                colour: colour::IVE,
                points: points(&ensemble.mean()),
                spread: ensemble.std(),
                width: 5.0,
                dashed: false,
            },
        );
        Ok(Panel {
            title: title.into(),
            x: "state s".into(),
            y: "value".into(),
            curves,
            dots: if dots {
                states.iter().copied().zip(targets.iter().copied()).collect()
            } else {
                Vec::new()
            },
            y_range: Some((low - margin, high + margin)),
            ..Panel::default()
        })
    };
    let caption = format!(
        "Figure 1. The members k = 0..{} of the implicit value ensemble (thin blue lines), their mean and standard deviation (orange), and the \
         ten targets (dots), before and after {} steps of training. Below: the members minus their mean, which shows where they part, and their \
         standard deviation alone; dots mark where the targets lie. Seed {seed}.",
        settings.horizon, settings.steps
    );
    let sigma = |members: &Vec<Vec<f64>>, label: &str, colour: &'static str| -> Outcome<Curve> {
        let ensemble = ValueEnsemble::from_members(members).map_err(|e| Failure::internal(e.to_string()))?;
        let points = settings.points().into_iter().zip(ensemble.std()).collect();
        Ok(Curve { label: label.into(), colour, points, width: 2.2, ..Curve::default() })
    };
    let before_training = sigma(before, "σ before training", colour::UNIFORM)?;
    let after_training = sigma(after, "σ after training", colour::EMVE)?;
    let heights = before_training.points.iter().chain(&after_training.points).map(|p| p.1);
    let largest = heights.fold(f64::MIN_POSITIVE, f64::max);
    let signal = Panel {
        title: "The signal".into(),
        x: "state s".into(),
        y: "σ-IVE".into(),
        y_range: Some((-0.06 * largest, 1.06 * largest)),
        curves: vec![before_training, after_training],
        dots: states.iter().map(|s| (*s, 0.0)).collect(),
        ..Panel::default()
    };
    let panels = [
        panel("Before training", before, false)?,
        panel("After training", after, true)?,
        apart(settings, after, &states)?,
        signal,
    ];
    plot::lines("toy", &caption, &panels, 2).map(Some)
}

/// The members minus their mean: on the scale of the values they lie on top of each other.
fn apart(settings: &Settings, members: &[Vec<f64>], states: &[f64]) -> Outcome<Panel> {
    let ensemble = ValueEnsemble::from_members(members).map_err(|e| Failure::internal(e.to_string()))?;
    let mean = ensemble.mean();
    let curve = |m: &Vec<f64>| Curve {
        colour: colour::EVE,
        points: settings.points().into_iter().zip(m.iter().zip(&mean).map(|(v, mean)| v - mean)).collect(),
        width: 1.0,
        ..Curve::default()
    };
    Ok(Panel {
        title: "After training: members minus mean".into(),
        x: "state s".into(),
        y: "value minus μ".into(),
        curves: members.iter().map(curve).collect(),
        dots: states.iter().map(|s| (*s, 0.0)).collect(),
        ..Panel::default()
    })
}
