//! Learning curves, final returns beside the paper's, and what the agents expect against what they get.

use ive::mean_and_error;
use ive_envs::minatar::Game;

use super::depths::{DEEPEST, Depths};
use super::published::{Method, table_2, title};
use super::run::{Record, of};
use super::sweep::{Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::runs::record::{Measure, curve, drawn};
use crate::report::plot::{self, Curve, DotPanel, Dots, Figure, Marker, Panel};

/// Panels to a row.
const COLUMNS: usize = 3;

/// All figures, of the games that have a finished run.
pub fn all(settings: &Settings, records: &[Record], depths: &[(Cell, Depths)]) -> Outcome<Vec<Figure>> {
    let (mut games, methods) = (settings.games()?, settings.methods()?);
    games.retain(|&game| records.iter().any(|record| record.cell.game == game));
    let mut figures = vec![
        learning(settings, records, &games, &methods)?,
        finals(records, &games, &methods)?,
        expectations(settings, records, &games, &methods)?,
    ];
    games.retain(|&game| depths.iter().any(|(cell, _)| cell.game == game));
    if !games.is_empty() {
        figures.push(promises(depths, &games, &methods)?);
    }
    Ok(figures)
}

fn learning(settings: &Settings, records: &[Record], games: &[Game], methods: &[Method]) -> Outcome<Figure> {
    let panel = |&game: &Game| {
        let curves: Vec<Curve> = methods
            .iter()
            .map(|&m| {
                let points = curve(of(records, game, m), "return_100", settings.curve_points);
                drawn(m.label(), m.colour(), &points)
            })
            .collect();
        let top = 1.08 * curves.iter().map(Curve::highest).fold(0.1, f64::max);
        let levels =
            methods.iter().map(|&m| (table_2(m, game).0, m.colour())).filter(|l| l.0 < top).collect();
        Panel {
            title: title(game).into(),
            x: "thousand steps".into(),
            y: "return, last 100 episodes".into(),
            curves,
            levels,
            y_range: Some((0.0, top)),
            ..Panel::default()
        }
    };
    let panels: Vec<Panel> = games.iter().map(panel).collect();
    let caption = "Learning curves: mean return of the last 100 training episodes, mean and standard error over seeds. \
                   Dashed: the paper's final return of the same agent after 2M steps, where the panel reaches that high."
        .to_owned();
    plot::lines("table2_curves", &caption, &panels, COLUMNS)
}

fn finals(records: &[Record], games: &[Game], methods: &[Method]) -> Outcome<Figure> {
    let panel = |&game: &Game| {
        let mut dots = Vec::new();
        for (i, &method) in methods.iter().enumerate() {
            let mut add = |marker, shift: f64, (mean, error): (f64, f64)| {
                if mean.is_finite() {
                    let points = vec![((i + 1) as f64 + shift, mean, error)];
                    dots.push(Dots { marker, colour: method.colour(), points });
                }
            };
            let score = |measure| {
                let runs: Vec<f64> = of(records, game, method).filter_map(|r| r.score(measure)).collect();
                mean_and_error(&runs)
            };
            add(Marker::Circle, -0.22, score(Measure::Training));
            add(Marker::Square, 0.0, score(Measure::Greedy));
            add(Marker::Diamond, 0.22, table_2(method, game));
        }
        DotPanel {
            title: title(game).into(),
            y: "return".into(),
            categories: methods.iter().map(|m| m.label().to_owned()).collect(),
            dots,
        }
    };
    let panels: Vec<DotPanel> = games.iter().map(panel).collect();
    let legend = [
        (Marker::Circle, "training, ours"),
        (Marker::Square, "greedy, ours"),
        (Marker::Diamond, "the paper, 2M steps"),
    ];
    let caption =
        "Table 2 as a picture: final return, mean and standard error over seeds, beside the published one.";
    plot::dots("table2_final", caption, &panels, &legend, COLUMNS)
}

fn expectations(
    settings: &Settings,
    records: &[Record],
    games: &[Game],
    methods: &[Method],
) -> Outcome<Figure> {
    let panel = |&game: &Game| {
        let mut curves = Vec::new();
        for &m in methods {
            let of_name = |name| curve(of(records, game, m), name, settings.curve_points);
            let predicted = drawn(m.label(), m.colour(), &of_name("predicted"));
            let realised = drawn("", m.colour(), &of_name("realised"));
            curves.push(Curve { spread: Vec::new(), width: 1.2, dashed: true, ..realised });
            curves.push(Curve { spread: Vec::new(), ..predicted });
        }
        let top = 1.08 * curves.iter().map(Curve::highest).fold(0.1, f64::max);
        Panel {
            title: title(game).into(),
            x: "thousand steps".into(),
            y: "discounted return".into(),
            curves,
            y_range: Some((0.0, top)),
            ..Panel::default()
        }
    };
    let panels: Vec<Panel> = games.iter().map(panel).collect();
    let caption = "What the agents expect against what they get: the predicted value of the greedy action (solid) and the \
                   discounted return that followed (dashed), means over seeds. Where solid lies above dashed, values are \
                   overestimated.";
    plot::lines("table2_predicted", caption, &panels, COLUMNS)
}

/// What members of each depth promise beyond what follows.
fn promises(depths: &[(Cell, Depths)], games: &[Game], methods: &[Method]) -> Outcome<Figure> {
    let panel = |&game: &Game| {
        let one = |&m: &Method| {
            let asked = || depths.iter().filter(move |(cell, _)| cell.game == game && cell.method == m);
            let at = |k: usize| {
                let seeds: Vec<f64> = asked().filter_map(|(_, d)| d.bias.get(k - 1)).copied().collect();
                let (mean, error) = if seeds.is_empty() { return None } else { mean_and_error(&seeds) };
                Some((k as f64, mean, error))
            };
            Curve::of_means(m.label(), m.colour(), (1..=DEEPEST).filter_map(at))
        };
        Panel {
            title: title(game).into(),
            x: "k".into(),
            y: "member − return".into(),
            curves: methods.iter().filter(|m| **m != Method::Dqn).map(one).collect(),
            levels: vec![(0.0, "#777777")],
            ..Panel::default()
        }
    };
    let panels: Vec<Panel> = games.iter().map(panel).collect();
    let caption = "Where members go wrong: what the k-step value of the action taken promises beyond the discounted return that followed, \
                   greedy episodes, mean and standard error over seeds. Zero (dashed) would be right.";
    plot::lines("table2_depths", caption, &panels, COLUMNS)
}
