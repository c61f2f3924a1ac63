//! The portrait of an episode: what the agent expected, what came, where it was unsure, and what it saw.

use ive_envs::Sight;

use super::episode::{Episode, Step};
use super::show::rounded;
use crate::exit::{Failure, Outcome};
use crate::experiments::minatar::published;
use crate::report::film::{Band, Curve, Film, Strip};
use crate::report::plot::colour;

/// What is known of the episode besides its steps.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// Who plays, `mu-ive after 300 000 steps of training`.
    pub agent: &'a str,
    /// Where, `walker:walk`.
    pub environment: &'a str,
    /// γ of the realised return.
    pub discount: f64,
}

/// Draws an episode that was watched, as PNG.
pub fn draw(episode: &Episode, occasion: Occasion<'_>) -> Outcome<Vec<u8>> {
    let Occasion { agent, environment, discount } = occasion;
    let name = match episode.sights.first() {
        Some(Sight::Board { game, .. }) => published::title(*game),
        Some(Sight::Pixels { .. }) => environment,
        None => return Err(Failure::internal("nobody watched the episode")),
    };
    let of = |number: &dyn Fn(&Step) -> f64| episode.steps.iter().map(number).collect::<Vec<f64>>();
    let curve = |label: String, colour, values| Curve { label, colour, values };
    let set = episode.members.as_ref().map(ToString::to_string);
    let value = of(&|step| step.mu().unwrap_or(step.value));
    let sigma: Option<Vec<f64>> = episode.steps.iter().map(Step::sigma).collect();
    let expected = set.as_ref().map_or("expected: value".to_owned(), |set| format!("expected: μ-IVE, {set}"));
    let extreme = |of: fn(f64, f64) -> f64| {
        episode
            .steps
            .iter()
            .map(move |step| step.members.as_ref()?.values().iter().copied().reduce(of))
            .collect::<Option<Vec<_>>>()
    };
    let band = extreme(f64::min).zip(extreme(f64::max)).map(|(low, high)| Band {
        label: "range of the estimates".to_owned(),
        colour: colour::EVE,
        low,
        high,
    });
    let mut strips = vec![Strip {
        height: 190.0,
        axis: "discounted return",
        from_zero: false,
        curves: vec![
            curve(format!("what followed (γ = {discount})"), colour::UNIFORM, of(&|step| step.realised)),
            curve(expected, colour::EVE, value.clone()),
        ],
        band,
        peak: None,
    }];
    let mut highlight = (largest(value.iter().map(|v| -v)), "lowest value");
    if let (Some(set), Some(sigma)) = (&set, &sigma) {
        highlight = (largest(sigma.iter().copied()), "largest σ");
        strips.push(Strip {
            height: 110.0,
            axis: "σ",
            from_zero: true,
            curves: vec![curve(
                format!("how much its estimates disagree: σ-IVE, {set}"),
                colour::IVE,
                sigma.clone(),
            )],
            band: None,
            peak: Some(highlight.0),
        });
    }
    let caption = |step: &Step| match (step.mu(), step.sigma()) {
        (Some(mu), Some(sigma)) => format!("μ {mu:.2}, σ {sigma:.3}\nfollowed: {:.2}", step.realised),
        _ => format!("value {:.2}\nfollowed: {:.2}", step.value, step.realised),
    };
    let unsure = if set.is_some() { ", and where it is unsure" } else { "" };
    let cut = if episode.cut_off { ", cut off" } else { "" };
    let film = Film {
        title: format!("What an agent expects in {name}{unsure}"),
        subtitle: format!(
            "{agent}; one episode of {} steps{cut}, return {}",
            episode.steps.len(),
            rounded(episode.total(), 2)
        ),
        sights: &episode.sights,
        rewards: of(&|step| step.reward),
        strips,
        highlight,
        captions: episode.steps.iter().map(caption).collect(),
    };
    film.png()
}

/// Where a number is largest; the first of equals.
fn largest(numbers: impl Iterator<Item = f64>) -> usize {
    let best = numbers.enumerate().fold((0, f64::NEG_INFINITY), |b, (i, x)| if x > b.1 { (i, x) } else { b });
    best.0
}
