//! Pictures of scores.

use super::judge::{Judged, Report};
use super::results::{Results, lost};
use super::summary::{SAMPLE, Summary};
use crate::exit::Outcome;
use crate::report::plot::{Curve, Figure, Panel, colour, lines};

/// Bars of a histogram, points of a curve over time, and ordinary states of the fan.
const BARS: usize = 50;
const POINTS: usize = 600;
const FAN: usize = 24;

/// Bars as the outline of their tops: shares of the numbers between `low` and `high`.
pub fn histogram(numbers: &[f64], low: f64, high: f64) -> Vec<(f64, f64)> {
    let width = if high > low { (high - low) / BARS as f64 } else { 1.0 };
    let mut counts = [0usize; BARS];
    for x in numbers {
        counts[(((x - low) / width).max(0.0) as usize).min(BARS - 1)] += 1;
    }
    let mut outline = vec![(low, 0.0)];
    for (i, count) in counts.iter().enumerate() {
        let share = *count as f64 / numbers.len().max(1) as f64;
        outline.extend([i, i + 1].map(|edge| (low + edge as f64 * width, share)));
    }
    outline.push((low + BARS as f64 * width, 0.0));
    outline
}

fn curve(label: &str, colour: &'static str, points: Vec<(f64, f64)>, width: f64) -> Curve {
    Curve { label: label.to_owned(), colour, points, width, ..Curve::default() }
}

/// The members of some states over k, the histogram of σ, and σ over the states in their order.
pub fn scores(results: &mut Results, summary: &Summary) -> Outcome<Figure> {
    let panels = [fan(results, summary)?, spread(results, summary)?, over_time(results, summary)?];
    let caption = format!("σ-IVE of {} states, members {}", summary.states, summary.members);
    lines("scores", &caption, &panels, 3)
}

/// What each member of a state says, from its mean.
fn fan(results: &mut Results, summary: &Summary) -> Outcome<Panel> {
    let apart = summary.states.div_ceil(FAN).max(1);
    let mut wanted: Vec<(usize, bool)> = (0..summary.states).step_by(apart).map(|s| (s, false)).collect();
    wanted.extend(summary.largest.iter().map(|peak| (peak.state, true)));
    let lengths = results.members.lengths().to_vec();
    let mut curves = Vec::new();
    for (state, large) in wanted {
        let mut values = state_members(results, state)?;
        let middle = values.iter().sum::<f64>() / values.len() as f64;
        values.iter_mut().for_each(|v| *v -= middle);
        let points = lengths.iter().zip(values).map(|(&k, v)| (k as f64, v)).collect();
        let (colour, width) = if large { (colour::IVE, 1.6) } else { ("#9a9a9a", 0.8) };
        curves.push(curve("", colour, points, width));
    }
    Ok(Panel {
        title: "Members of single states".to_owned(),
        x: "k (orange: the five largest σ)".to_owned(),
        y: "k-step value − μ".to_owned(),
        curves,
        ..Panel::default()
    })
}

/// The members of one state.
fn state_members(results: &mut Results, mut state: usize) -> Outcome<Vec<f64>> {
    for part in 0..results.parts() {
        let first = results.field(0, part).map_err(lost)?;
        if state < first.len() {
            let size = results.members.len();
            let member = |m| results.field(m, part).map(|row| row[state]);
            return (0..size).map(member).collect::<std::io::Result<_>>().map_err(lost);
        }
        state -= first.len();
    }
    Ok(Vec::new())
}

fn spread(results: &mut Results, summary: &Summary) -> Outcome<Panel> {
    let (mut sample, mut count) = (Vec::new(), 0usize);
    results.each("std", |part| {
        for &x in part {
            if count.is_multiple_of(summary.every) && sample.len() < SAMPLE {
                sample.push(x);
            }
            count += 1;
        }
    })?;
    let outline = histogram(&sample, summary.std.min, summary.std.max);
    Ok(Panel {
        title: "How large is σ?".to_owned(),
        x: format!("σ-IVE, {}", summary.members),
        y: "share of states".to_owned(),
        curves: vec![curve("", colour::IVE, outline, 1.6)],
        ..Panel::default()
    })
}

/// The largest σ of each stretch of states, and the mean.
fn over_time(results: &mut Results, summary: &Summary) -> Outcome<Panel> {
    let apart = summary.states.div_ceil(POINTS).max(1);
    let points = summary.states.div_ceil(apart);
    let (mut most, mut sum, mut count) = (vec![0.0f64; points], vec![0.0; points], 0usize);
    results.each("std", |part| {
        for &x in part {
            let i = count / apart;
            most[i] = most[i].max(x);
            sum[i] += x;
            count += 1;
        }
    })?;
    let size = |i: usize| apart.min(summary.states - i * apart) as f64;
    let place = |i: usize| (i * apart) as f64;
    let mean: Vec<(f64, f64)> = (0..points).map(|i| (place(i), sum[i] / size(i))).collect();
    let most: Vec<(f64, f64)> = (0..points).map(|i| (place(i), most[i])).collect();
    let mut curves = vec![curve("", colour::IVE, most, 0.9)];
    let mut x = "state, in the order of the file".to_owned();
    if apart > 1 {
        curves.push(curve("", colour::EVE, mean, 1.2));
        x = format!("state (largest and mean of {apart})");
    }
    Ok(Panel { title: "σ over time".to_owned(), x, y: "σ-IVE".to_owned(), curves, ..Panel::default() })
}

/// Colours of detectors, in their order.
const DETECTORS: [&str; 6] =
    [colour::IVE, colour::EVE, colour::EMVE, colour::GREEDY, colour::UNIFORM, "#56b4e9"];

/// ROC curves of all scores, and histograms of the first one in and out of distribution.
pub fn detection(report: &Report, judged: &[Judged]) -> Outcome<Figure> {
    let mut roc = Panel {
        title: "ROC: found against false alarms".to_owned(),
        x: "false-positive rate".to_owned(),
        y: "true-positive rate".to_owned(),
        y_range: Some((0.0, 1.0)),
        ..Panel::default()
    };
    let mut chance = curve("chance", "#bbbbbb", vec![(0.0, 0.0), (1.0, 1.0)], 1.0);
    chance.dashed = true;
    roc.curves.push(chance);
    for (i, score) in judged.iter().enumerate() {
        let label = format!("{} (AUROC {:.2})", score.label, score.ranking.detection().auroc);
        roc.curves.push(curve(&label, DETECTORS[i % DETECTORS.len()], thinned(&score.ranking.roc()), 1.6));
    }
    let mut panels = vec![roc];
    if let Some(first) = judged.first() {
        let all = first.inside.iter().chain(&first.outside).copied();
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let outline = |numbers: &[f64]| histogram(numbers, low, high);
        panels.push(Panel {
            title: format!("{} in (grey) and out of distribution (orange)", first.label),
            x: first.label.clone(),
            y: "share of states".to_owned(),
            curves: vec![
                curve("", colour::UNIFORM, outline(&first.inside), 1.6),
                curve("", colour::IVE, outline(&first.outside), 1.6),
            ],
            ..Panel::default()
        });
    }
    let caption =
        format!("{} states in distribution, {} out of it", report.inside.states, report.outside.states);
    lines("detection", &caption, &panels, 2)
}

/// At most some thousand points of a curve, both ends among them.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let apart = points.len().div_ceil(2000).max(1);
    let mut kept: Vec<(f64, f64)> = points.iter().copied().step_by(apart).collect();
    kept.extend(points.last().copied().filter(|last| kept.last() != Some(last)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_hold_everything_once() {
        let numbers: Vec<f64> = (0..1000).map(|i| f64::from(i % 100)).collect();
        let total: f64 = histogram(&numbers, 0.0, 99.0).iter().skip(1).step_by(2).map(|p| p.1).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        let constant = histogram(&[2.0; 7], 2.0, 2.0);
        assert!(constant.iter().all(|p| p.0.is_finite() && p.1.is_finite()));
    }
}
