//! The portrait of an episode: what the agent expected, what came, where it was unsure, and what it saw.

use ive_envs::minatar::Game;

use super::episode::{Episode, Step, member_set};
use crate::exit::Outcome;
use crate::report::film::{Curve, Film, Strip};
use crate::report::plot::colour;

/// Draws an episode that was watched, as PNG.
pub fn draw(episode: &Episode, game: Game, title: &str, discount: f64) -> Outcome<Vec<u8>> {
    let of = |number: &dyn Fn(&Step) -> f64| episode.steps.iter().map(number).collect::<Vec<f64>>();
    let curve = |label: String, colour, values| Curve { label, colour, values };
    let set = member_set(episode.members()).map(|set| set.to_string());
    let name =
        set.as_ref().map_or("predicted value".to_owned(), |set| format!("predicted value: μ-IVE ({set})"));
    let value = of(&|step| step.mu().unwrap_or(step.value));
    let low = value.iter().map(|v| -v).collect();
    let sigma: Option<Vec<f64>> = episode.steps.iter().map(Step::sigma).collect();
    let mut strips = vec![Strip {
        height: 210.0,
        curves: vec![
            curve(format!("realised return (γ = {discount})"), colour::UNIFORM, of(&|step| step.realised)),
            curve(name, colour::EVE, value.clone()),
        ],
    }];
    if let (Some(set), Some(sigma)) = (&set, &sigma) {
        let label = format!("disagreement: σ-IVE ({set})");
        strips.push(Strip { height: 130.0, curves: vec![curve(label, colour::IVE, sigma.clone())] });
    }
    let trivial = "the trivial detector: low predicted value (−μ)";
    let trivial = if set.is_some() { trivial } else { "low predicted value" };
    strips.push(Strip { height: 90.0, curves: vec![curve(trivial.to_owned(), colour::GREEDY, low)] });
    let (peak, why) = sigma.as_ref().map_or_else(
        || (largest(value.iter().map(|v| -v)), "lowest value"),
        |sigma| (largest(sigma.iter().copied()), "σ is largest"),
    );
    let caption = |step: &Step| match (step.mu(), step.sigma()) {
        (Some(mu), Some(sigma)) => format!("μ {mu:.2}, σ {sigma:.3}\nrealised {:.2}", step.realised),
        _ => format!("value {:.2}\nrealised {:.2}", step.value, step.realised),
    };
    let film = Film {
        title: title.to_owned(),
        subtitle: super::show::line(episode),
        game,
        sights: &episode.sights,
        rewards: of(&|step| step.reward),
        strips,
        highlight: (peak, why),
        captions: episode.steps.iter().map(caption).collect(),
    };
    film.png()
}

/// Where a number is largest; the first of equals.
fn largest(numbers: impl Iterator<Item = f64>) -> usize {
    let best = numbers.enumerate().fold((0, f64::NEG_INFINITY), |b, (i, x)| if x > b.1 { (i, x) } else { b });
    best.0
}
