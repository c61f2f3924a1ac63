//! Figure 13: returns of training, returns without the bonus, and gains over the plain agent.

use ive::mean_and_error;
use ive_agents::Bonus;

use super::{Trained, gains, of, tested};
use crate::exit::Outcome;
use crate::experiments::procgen::acting::{RANDOM, SEEN, UNSEEN, label, over_seeds, places};
use crate::experiments::procgen::evaluate::Set;
use crate::experiments::procgen::sweep::Settings;
use crate::experiments::runs::record::{curve, drawn};
use crate::report::plot::{self, Curve, DotPanel, Dots, Figure, Line, Marker, Panel};

/// The plain agent, the one that is judged, and the others by turns.
const COLOURS: [&str; 9] =
    ["#777777", "#d55e00", "#e69f00", "#f0e442", "#0072b2", "#56b4e9", "#88ccee", "#009e73", "#117733"];
const MORE: [&str; 4] = ["#cc79a7", "#aa4499", "#882255", "#ddaadd"];

fn colour(at: usize) -> &'static str {
    COLOURS.get(at).copied().unwrap_or_else(|| MORE[(at - COLOURS.len()) % MORE.len()])
}

/// All figures.
pub fn all(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Vec<Figure>> {
    let mut all = vec![returns(settings, runs, order)?];
    all.extend(forest(settings, runs, order)?);
    all.push(training(settings, runs, order)?);
    Ok(all)
}

/// Normalised returns without the bonus, on training and on unseen levels.
fn returns(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Figure> {
    let kinds = [
        (Marker::Circle, SEEN, Set::Seen),
        (Marker::Square, UNSEEN, Set::Unseen),
        (Marker::Diamond, RANDOM, Set::RandomSeen),
    ];
    let mut panels = Vec::new();
    for place in places(settings, &tested(runs))? {
        let mut dots = Vec::new();
        for (i, (marker, colour, set)) in kinds.into_iter().enumerate() {
            let mut points = Vec::new();
            for (at, &bonus) in order.iter().enumerate() {
                let some = of(runs, place, bonus);
                let all = some.iter().map(|t| t.score(settings, set)).collect::<Outcome<Vec<f64>>>()?;
                if !all.is_empty() {
                    let (mean, error) = mean_and_error(&all);
                    points.push(((at + 1) as f64 + 0.16 * (i as f64 - 1.0), mean, error));
                }
            }
            dots.push(Dots { marker, colour, points });
        }
        panels.push(DotPanel {
            title: format!("{}, {} levels", place.0.name(), place.1),
            y: "normalised return".into(),
            categories: order.iter().map(|bonus| label(*bonus)).collect(),
            dots,
        });
    }
    let legend = [
        (Marker::Circle, "training levels"),
        (Marker::Square, "unseen levels"),
        (Marker::Diamond, "random policy"),
    ];
    let caption = "Fig. 13b and c. Normalised return after training, evaluated without the bonus, by how the agent acted on its signal in training: z, mixed in logit \
                   space; π, in probability space; d, Jensen–Shannon divergence with uniform, decreasing or increasing weights; EVE, of explicit value heads. Mean and standard error over seeds.";
    plot::dots("figure13", caption, &panels, &legend, 1)
}

/// Gains over the plain agent; none while no pair of runs has learned.
fn forest(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Option<Figure>> {
    let mut lines = Vec::new();
    for &bonus in &order[1..] {
        let mut dots = Vec::new();
        for set in [Set::Seen, Set::Unseen] {
            let all = gains(settings, runs, bonus, set)?.0.concat();
            dots.push(if all.is_empty() { None } else { Some(over_seeds(&all)?) });
        }
        lines.push(Line { label: label(bonus), dots });
    }
    if lines.iter().all(|line| line.dots.iter().all(Option::is_none)) {
        return Ok(None);
    }
    let caption = "Normalised return after training minus that of the plain agent with the same seed, both without bonus: mean and 95 % t interval over pairs of which one \
                   has learned, not corrected for the number of lines. The first line is the one that is judged, on unseen levels. A line without a dot has no such pair.";
    let kinds = [(SEEN, "training levels"), (UNSEEN, "unseen levels")];
    plot::forest("figure13_gain", caption, "gain over the plain agent", 0.0, &kinds, &lines).map(Some)
}

/// Returns of training, with the bonus, and how much it changes the policy.
fn training(settings: &Settings, runs: &[Trained], order: &[Option<Bonus>]) -> Outcome<Figure> {
    let mut panels = Vec::new();
    for place in places(settings, &tested(runs))? {
        for (name, y) in
            [("return_100", "return, last 100 episodes"), ("policy_shift", "shift of the policy")]
        {
            let curves = order.iter().enumerate().map(|(at, &bonus)| {
                let some = of(runs, place, bonus);
                let points = curve(some.iter().map(|t| &t.tested.run), name, settings.curve_points);
                let curve = drawn(&label(bonus), colour(at), &points);
                let main = at < 2;
                if main {
                    Curve { width: 2.6, ..curve }
                } else {
                    Curve { width: 1.3, spread: Vec::new(), ..curve }
                }
            });
            let mut curves: Vec<Curve> = curves.filter(|c| !c.points.is_empty()).collect();
            // The plain agent and the one that is judged lie on top.
            curves.reverse();
            panels.push(Panel {
                title: format!("{}, {} levels", place.0.name(), place.1),
                x: "thousand frames".into(),
                y: y.to_owned(),
                curves,
                ..Panel::default()
            });
        }
    }
    let caption = "Fig. 13a. Training: return of the last 100 episodes, with the bonus, and by how much the bonus changes the policy (half the sum of differences). Mean over \
                   seeds; band: standard error, of the plain agent and of the one that is judged.";
    plot::lines("figure13_training", caption, &panels, 2)
}
