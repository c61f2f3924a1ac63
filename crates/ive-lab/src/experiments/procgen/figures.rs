//! Figure 4, left and right; the gap beside its controls; curves of training.

use ive::mean_and_error;
use ive_envs::procgen::Game;

use super::analysis::{of, per_run};
use super::evaluate::Set;
use super::levels::normalised;
use super::reading::By;
use super::run::Tested;
use super::sweep::{Settings, Variant};
use crate::exit::Outcome;
use crate::experiments::runs::compare::average;
use crate::experiments::runs::record::{curve, drawn};
use crate::report::plot::{self, Curve, DotPanel, Dots, Figure, Line, Marker, Panel};

/// Colours that stay apart for colour-blind eyes: training levels, unseen levels, a random policy.
const SEEN: &str = "#009e73";
const UNSEEN: &str = "#cc79a7";
const RANDOM: &str = "#777777";
/// Of the agent and its controls.
const VARIANTS: [(Variant, &str); 3] =
    [(Variant::Prior, "#d55e00"), (Variant::NoPrior, "#0072b2"), (Variant::WarmUp, "#777777")];
/// Numbers of levels in curves, from few to many.
const COUNTS: [&str; 6] = ["#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#cc79a7"];

/// All figures, of the games that have a finished run.
pub fn all(settings: &Settings, runs: &[Tested]) -> Outcome<Vec<Figure>> {
    let mut games = settings.games()?;
    games.retain(|game| runs.iter().any(|t| t.cell().game == *game && t.cell().variant == Variant::Prior));
    if games.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = vec![figure4(settings, runs, &games)?];
    all.extend(gaps(settings, runs, &games)?);
    all.push(training(settings, runs, &games)?);
    Ok(all)
}

/// Marker, colour, and the number of a run that it shows.
type Kind<'a> = (Marker, &'static str, &'a dyn Fn(&Tested) -> Option<f64>);

/// Dots for each number of levels: mean and standard error over seeds, a little beside each other.
fn dots(settings: &Settings, runs: &[Tested], game: Game, kinds: &[Kind<'_>]) -> Vec<Dots> {
    let counts = settings.counts();
    let shift = |i: usize| 0.16 * (i as f64 - (kinds.len() as f64 - 1.0) / 2.0);
    let one = |(i, (marker, colour, number)): (usize, &Kind<'_>)| {
        let point = |(at, levels): (usize, &u32)| {
            let all = per_run(&of(runs, game, *levels, Variant::Prior), number);
            let (mean, error) = if all.is_empty() { return None } else { mean_and_error(&all) };
            Some(((at + 1) as f64 + shift(i), mean, error))
        };
        Dots { marker: *marker, colour, points: counts.iter().enumerate().filter_map(point).collect() }
    };
    let all = kinds.iter().enumerate().map(one);
    all.filter(|dots| !dots.points.is_empty()).collect()
}

fn figure4(settings: &Settings, runs: &[Tested], games: &[Game]) -> Outcome<Figure> {
    let (mode, judged) = (settings.mode()?, settings.judged()?);
    let categories: Vec<String> = settings.counts().iter().map(|n| format!("{n} levels")).collect();
    let mut panels = Vec::new();
    for &game in games {
        let returned = |set| move |t: &Tested| Some(normalised(game, mode, t.set(set).mean_return()));
        let (seen, unseen, random) = (returned(Set::Seen), returned(Set::Unseen), returned(Set::RandomSeen));
        panels.push(DotPanel {
            title: format!("{}: return", game.name()),
            y: "normalised return".into(),
            categories: categories.clone(),
            dots: dots(
                settings,
                runs,
                game,
                &[
                    (Marker::Circle, SEEN, &seen),
                    (Marker::Square, UNSEEN, &unseen),
                    (Marker::Diamond, RANDOM, &random),
                ],
            ),
        });
        let seen = |t: &Tested| t.means(judged.score, By::Agent).map(|p| p.seen);
        let unseen = |t: &Tested| t.means(judged.score, By::Agent).map(|p| p.unseen);
        let good: usize = settings
            .counts()
            .iter()
            .flat_map(|levels| of(runs, game, *levels, Variant::Prior))
            .filter(|t| t.not_learned(settings).is_none())
            .count();
        let all = runs.iter().filter(|t| t.cell().game == game && t.cell().variant == Variant::Prior).count();
        panels.push(DotPanel {
            title: format!("{}: σ, {good} of {all} learned", game.name()),
            y: format!("mean {}", judged.symbol),
            categories: categories.clone(),
            dots: dots(
                settings,
                runs,
                game,
                &[(Marker::Circle, SEEN, &seen), (Marker::Square, UNSEEN, &unseen)],
            ),
        });
    }
    let legend = [
        (Marker::Circle, "training levels"),
        (Marker::Square, "unseen levels"),
        (Marker::Diamond, "random policy"),
    ];
    let caption = format!(
        "{}. Left: normalised return on training levels and on levels that the agent has not seen, by the number of training levels. Right: mean {} on the \
         same levels ({}). Mean and standard error over seeds. Where agents have not learned, σ is shown but says nothing.",
        judged.figure, judged.symbol, judged.how
    );
    plot::dots("figure4", &caption, &panels, &legend, 2)
}

/// ln(σ unseen / σ seen) of the agent and of the controls.
fn gaps(settings: &Settings, runs: &[Tested], games: &[Game]) -> Outcome<Option<Figure>> {
    let (mut lines, judged) = (Vec::new(), settings.judged()?);
    for &game in games {
        for levels in settings.counts() {
            let mut dots = Vec::new();
            for (variant, _) in VARIANTS {
                let all = per_run(&of(runs, game, levels, variant), |t| t.gap(judged.score));
                dots.push(average(&[all])?);
            }
            lines.push(Line { label: format!("{}, {levels} levels", game.name()), dots });
        }
    }
    if lines.iter().all(|line| line.dots.iter().all(Option::is_none)) {
        return Ok(None);
    }
    let caption = "The gap beside its controls: ln(mean σ on unseen levels / mean σ on training levels), mean over seeds and 95 % t interval. To the right of \
                   zero σ is higher on unseen levels. “Heads only” has learned nothing but to cancel the random priors on a random torso; no priors: \
                   the same agent without them.";
    let kinds = VARIANTS.map(|(variant, colour)| (colour, variant.label()));
    plot::forest("figure4_gap", caption, "ln(σ unseen / σ seen)", 0.0, &kinds, &lines).map(Some)
}

/// Returns and explained variance on the way.
fn training(settings: &Settings, runs: &[Tested], games: &[Game]) -> Outcome<Figure> {
    let mut panels = Vec::new();
    for &game in games {
        for (name, y) in
            [("return_100", "return, last 100 episodes"), ("explained_variance", "explained variance")]
        {
            let curves: Vec<Curve> = settings
                .counts()
                .iter()
                .enumerate()
                .map(|(at, levels)| {
                    let some = of(runs, game, *levels, Variant::Prior);
                    let points = curve(some.iter().map(|t| &t.run), name, settings.curve_points);
                    drawn(&format!("{levels} levels"), COUNTS[at % COUNTS.len()], &points)
                })
                .collect();
            let bound = (name == "explained_variance").then_some((settings.least_explained, RANDOM));
            panels.push(Panel {
                title: game.name().to_owned(),
                x: "thousand frames".into(),
                y: y.to_owned(),
                curves,
                levels: bound.into_iter().collect(),
                ..Panel::default()
            });
        }
    }
    let caption = "Training: return of the last 100 episodes, and how much of the variance of returns the value explains (dashed: below this σ is not \
                   read). Mean and standard error over seeds.";
    plot::lines("figure4_training", caption, &panels, 2)
}
