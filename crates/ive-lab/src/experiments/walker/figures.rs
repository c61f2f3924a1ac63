//! Learning curves by η, final returns beside the paper's, and what the planners did.

use super::published::{Method, table};
use super::run::{Record, of};
use super::score::{Measure, PLANS, RETURN, scores};
use super::sweep::Settings;
use crate::exit::Outcome;
use crate::experiments::runs::record::{curve, drawn};
use crate::report::plot::{self, Curve, DotPanel, Dots, Figure, Marker, Panel};
use ive::mean_and_error;

/// Panels to a row.
const COLUMNS: usize = 2;

/// All figures, of the thresholds that have a finished run.
pub fn all(settings: &Settings, records: &[Record], methods: &[Method]) -> Outcome<Vec<Figure>> {
    let has = |eta: &&f64| methods.iter().any(|&m| of(settings, records, **eta, m).next().is_some());
    let thresholds: Vec<f64> = settings.thresholds.iter().filter(has).copied().collect();
    let mut figures = Vec::new();
    if !thresholds.is_empty() {
        figures.push(learning(settings, records, &thresholds, methods)?);
        figures.push(finals(settings, records, &thresholds, methods)?);
        figures.extend(plans(settings, records, &thresholds, methods)?);
    }
    Ok(figures)
}

fn panel(title: String, y: &str, curves: Vec<Curve>) -> Panel {
    let top = 1.08 * curves.iter().map(Curve::highest).fold(1e-3, f64::max);
    let x = "thousand steps".into();
    Panel { title, x, y: y.into(), curves, y_range: Some((0.0, top)), ..Panel::default() }
}

fn learning(
    settings: &Settings,
    records: &[Record],
    thresholds: &[f64],
    methods: &[Method],
) -> Outcome<Figure> {
    let one = |&eta: &f64| {
        let of_method = |&m: &Method| {
            drawn(m.label(), m.colour(), &curve(of(settings, records, eta, m), RETURN, settings.curve_points))
        };
        panel(format!("η = {eta}"), "training return", methods.iter().map(of_method).collect())
    };
    let panels: Vec<Panel> = thresholds.iter().map(one).collect();
    let caption = "Learning curves by η: return of training episodes, which contain noise (rewards below η are zero), mean and standard \
                   error over seeds.";
    plot::lines("table1_curves", caption, &panels, COLUMNS)
}

fn finals(
    settings: &Settings,
    records: &[Record],
    thresholds: &[f64],
    methods: &[Method],
) -> Outcome<Figure> {
    let one = |&eta: &f64| {
        let mut dots = Vec::new();
        for (i, &method) in methods.iter().enumerate() {
            let mut add = |marker, shift: f64, (mean, error): (f64, f64)| {
                if mean.is_finite() {
                    let points = vec![((i + 1) as f64 + shift, mean, error)];
                    dots.push(Dots { marker, colour: method.colour(), points });
                }
            };
            add(
                Marker::Circle,
                -0.15,
                mean_and_error(&scores(settings, records, eta, method, Measure::Final)),
            );
            if let Some(paper) = table(method, eta) {
                add(Marker::Diamond, 0.15, paper);
            }
        }
        DotPanel {
            title: format!("η = {eta}"),
            y: "final return".into(),
            categories: methods.iter().map(|m| m.label().replace("(5)", "")).collect(),
            dots,
        }
    };
    let panels: Vec<DotPanel> = thresholds.iter().map(one).collect();
    let legend = [(Marker::Circle, "ours"), (Marker::Diamond, "the paper, 1M steps")];
    let caption = "Table 1 as a picture: final return, mean and standard error over seeds, beside the published one where the paper has that η.";
    plot::dots("table1_final", caption, &panels, &legend, COLUMNS)
}

/// What the planners did at the threshold in focus, or at the last one that was run.
fn plans(
    settings: &Settings,
    records: &[Record],
    thresholds: &[f64],
    methods: &[Method],
) -> Outcome<Option<Figure>> {
    let focus = thresholds.iter().find(|eta| **eta == settings.focus).or(thresholds.last());
    let Some(&eta) = focus else { return Ok(None) };
    let mut panels = Vec::new();
    for (name, title) in PLANS {
        let of_method = |&m: &Method| {
            drawn(m.label(), m.colour(), &curve(of(settings, records, eta, m), name, settings.curve_points))
        };
        let curves: Vec<Curve> =
            methods.iter().map(of_method).filter(|curve| !curve.points.is_empty()).collect();
        if !curves.is_empty() {
            panels.push(panel(title.to_owned(), "", curves));
        }
    }
    if panels.is_empty() {
        return Ok(None);
    }
    let caption = format!(
        "What the planners did at η = {eta}, means and standard errors over seeds: the share of decisions that σ changed, how far \
         planning moved the first action, how much of the variance of the utility over sampled sequences would be due to their actions if each had \
         latent noise of its own, as printed in the paper (the rest is luck), σ of the chosen plan, the spread of the actor, and what was imagined against what was realised."
    );
    plot::lines("table1_plans", &caption, &panels, COLUMNS).map(Some)
}
