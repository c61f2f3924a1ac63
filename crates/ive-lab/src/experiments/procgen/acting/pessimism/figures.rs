//! Figure 14: return by β.

use super::{Careful, of, per_run, tested};
use crate::exit::Outcome;
use crate::experiments::procgen::acting::{RANDOM, SEEN, UNSEEN, over_seeds, places};
use crate::experiments::procgen::evaluate::Set;
use crate::experiments::procgen::levels::normalised;
use crate::experiments::procgen::sweep::Settings;
use crate::report::plot::{self, DotPanel, Dots, Figure, Line, Marker};

const KINDS: [(Marker, &str, Set, &str); 2] = [
    (Marker::Circle, SEEN, Set::Seen, "training levels"),
    (Marker::Square, UNSEEN, Set::Unseen, "unseen levels"),
];

/// Half of an interval; none where it has no ends.
fn half((_, (low, high)): (f64, (f64, f64))) -> f64 {
    (high - low) / 2.0
}

/// Returns on training and on unseen levels, a panel for each game and number of levels.
pub fn figure14(settings: &Settings, runs: &[Careful]) -> Outcome<Figure> {
    let betas = settings.betas();
    let places = places(settings, &tested(runs))?;
    let mut panels = Vec::new();
    for &place in &places {
        let some = of(runs, place);
        let mut dots = Vec::new();
        for (i, (marker, colour, set, _)) in KINDS.into_iter().enumerate() {
            let mut points = Vec::new();
            for (at, &beta) in betas.iter().enumerate() {
                let found = over_seeds(&per_run(&some, |t| t.score(settings, beta, set))?)?;
                if found.0.is_finite() {
                    points.push(((at + 1) as f64 + 0.2 * (i as f64 - 0.5), found.0, half(found)));
                }
            }
            dots.push(Dots { marker, colour, points });
        }
        // A random policy, at β = 0, which it does not have.
        let (mode, zero) = (settings.mode()?, betas.iter().position(|b| *b == 0.0).unwrap_or(0));
        let random = per_run(&some, |t| {
            Ok(Some(normalised(place.0, mode, t.tested.set(Set::RandomSeen).mean_return())))
        })?;
        let random = over_seeds(&random)?.0;
        dots.push(Dots {
            marker: Marker::Diamond,
            colour: RANDOM,
            points: vec![((zero + 1) as f64, random, f64::NAN)],
        });
        panels.push(DotPanel {
            title: format!("{}, {} levels", place.0.name(), place.1),
            y: "normalised return".into(),
            categories: betas.iter().map(|beta| format!("β = {beta}")).collect(),
            dots,
        });
    }
    let legend: Vec<(Marker, &str)> = KINDS
        .iter()
        .map(|(marker, _, _, label)| (*marker, *label))
        .chain([(Marker::Diamond, "random policy, training levels")])
        .collect();
    let caption = format!(
        "Fig. 14. Normalised return of finished agents that act by softmax(z − β d), d = {} of k = 1..{}. Mean and 95 % t interval over seeds; β = 0 is the agent as it is.",
        settings.pessimism_signal, settings.pessimism_depth
    );
    let games = places.iter().filter(|place| place.1 == places[0].1).count();
    plot::dots("figure14", &caption, &panels, &legend, games.clamp(1, 3))
}

/// What each β adds to the return of the same agent.
pub fn gains(settings: &Settings, runs: &[Careful]) -> Outcome<Figure> {
    let mut lines = Vec::new();
    for place in places(settings, &tested(runs))? {
        let some = of(runs, place);
        for beta in settings.betas().into_iter().filter(|beta| *beta != 0.0) {
            let mut dots = Vec::new();
            for (_, _, set, _) in KINDS {
                let all = per_run(&some, |t| t.gain(settings, beta, set))?;
                dots.push(if all.is_empty() { None } else { Some(over_seeds(&all)?) });
            }
            lines.push(Line { label: format!("{}, {} levels, β = {beta}", place.0.name(), place.1), dots });
        }
    }
    let caption = "What each β adds to the normalised return of the same agent without it: mean and 95 % t interval over seeds, whether they have learned or not. To the right \
                   of zero it pays to avoid what is not known.";
    let kinds = KINDS.map(|(_, colour, _, label)| (colour, label));
    plot::forest("figure14_gain", caption, "gain over β = 0", 0.0, &kinds, &lines)
}
