//! The tables of the report, and the long ones for programs.

use ive::mean_and_error;
use ive_envs::minatar::Game;

use super::depths::{DEEPEST, Depths};
use super::published::{Method, best, table_2, title};
use super::run::{Record, of};
use super::score::{Scale, strata};
use super::sweep::{Cell, Settings};
use crate::experiments::runs::compare::{Comparison, Ranged, pair, paired, ranged};
use crate::experiments::runs::record::{Measure, curve};
use crate::report::table::{Table, grouped};

fn over_seeds(values: Vec<f64>) -> (f64, f64) {
    mean_and_error(&values)
}

/// Mean and standard error of the score of an agent on a game; not a number without runs.
pub fn score(records: &[Record], game: Game, method: Method, measure: Measure) -> (f64, f64) {
    over_seeds(of(records, game, method).filter_map(|r| r.score(measure)).collect())
}

fn with_games(caption: &str, first: &[&str], scales: &[Scale]) -> Table {
    let mut table = Table::new(caption, first);
    table.head.extend(scales.iter().map(|s| title(s.game).to_owned()));
    table
}

/// Table 2: our measures above the paper's number.
pub fn table2(settings: &Settings, records: &[Record], scales: &[Scale], methods: &[Method]) -> Table {
    let caption = format!(
        "Table 2. Mean return ± standard error over seeds. Ours after {} steps: the last 100 training episodes \
         (with exploration), the same averaged over the second half of the run, and {} greedy episodes. The paper's \
         numbers are those of its Table 2 (three runs of 2M steps; it does not say over which episodes). The uniform \
         policy is ours, {} episodes.",
        grouped(settings.steps),
        settings.greedy_episodes,
        grouped(settings.random_episodes)
    );
    let mut table = with_games(&caption, &["agent", ""], scales);
    for &method in methods {
        let mut row = |name: &str, cells: Vec<String>| {
            table.row([method.label().to_owned(), name.to_owned()].into_iter().chain(cells));
        };
        for measure in Measure::ALL {
            let cell = |s: &Scale| pair(score(records, s.game, method, measure));
            row(measure.name(), scales.iter().map(cell).collect());
        }
        let paper = |s: &Scale| table_2(method, s.game);
        row("the paper", scales.iter().map(|s| format!("{:.1} ± {:.1}", paper(s).0, paper(s).1)).collect());
    }
    let random = scales.iter().map(|s| pair(s.random));
    table.row(["uniform policy".to_owned(), String::new()].into_iter().chain(random));
    table
}

/// Interquartile means of normalised scores.
pub fn averages(rows: &[(Method, [Option<Ranged>; 3])], scales: &[Scale]) -> Table {
    let caption = "Normalised score (0: uniform policy, 1: the best mean of the paper's Table 2 for that game), interquartile mean over \
                   all runs and games [95 % bootstrap interval, runs resampled within games: too narrow with few seeds]. The \
                   paper: the same of its published means.";
    let mut table = Table::new(caption, &["agent", "training", "second half", "greedy", "the paper"]);
    for (method, ours) in rows {
        let cell = |o: &Option<Ranged>| o.map_or("–".to_owned(), |(v, i)| ranged(v, i));
        let paper: Vec<f64> = scales.iter().map(|s| s.normalised(table_2(*method, s.game).0)).collect();
        let paper = ive::interquartile_mean(&paper).map_or("–".to_owned(), |v| format!("{v:.3}"));
        let ours = ours.each_ref().map(cell);
        table.row([method.label().to_owned()].into_iter().chain(ours).chain([paper]));
    }
    table
}

/// Mean over games of the difference of normalised means in the paper's table.
pub fn paper_difference(scales: &[Scale], a: Method, b: Method) -> f64 {
    let of = |s: &Scale| s.normalised(table_2(a, s.game).0) - s.normalised(table_2(b, s.game).0);
    scales.iter().map(of).sum::<f64>() / scales.len() as f64
}

/// The paired comparisons, with the differences game by game.
pub fn comparisons(
    records: &[Record],
    scales: &[Scale],
    rows: &[(Method, Measure, Option<Comparison>)],
) -> Table {
    let caption = "μ-IVE(5) minus another agent, runs paired by game and seed. Difference of normalised scores, mean over games [95 % t \
                   interval]; probability that a run of μ-IVE(5) is the better of two on the same game [95 % bootstrap interval]; the \
                   difference of the published means; then the differences of the returns themselves, mean ± standard error.";
    let head = ["minus", "", "normalised", "probability", "the paper"];
    let mut table = with_games(caption, &head, scales);
    for (other, measure, comparison) in rows {
        let (effect, improvement) = match comparison {
            Some(c) => (ranged(c.effect, c.interval), ranged(c.improvement, c.improvement_interval)),
            None => ("–".into(), "–".into()),
        };
        let paper = format!("{:.3}", paper_difference(scales, Method::MeanOfMembers, *other));
        let of = |m| strata(records, scales, m, *measure);
        let pairs = paired(&of(Method::MeanOfMembers), &of(*other));
        let raw = scales.iter().zip(pairs).map(|(s, d)| {
            let width = best(s.game) - s.random.0;
            pair(over_seeds(d.iter().map(|x| x * width).collect()))
        });
        let first = [other.label().to_owned(), measure.name().to_owned(), effect, improvement, paper];
        table.row(first.into_iter().chain(raw));
    }
    table
}

/// What the agents expect at the end of training, divided by what they get.
pub fn overestimation(records: &[Record], scales: &[Scale], methods: &[Method]) -> Table {
    let caption = "Overestimation: predicted value of greedy decisions divided by the discounted return that followed, over the last tenth \
                   of training; mean ± standard error over seeds (in brackets: predicted / realised).";
    let mut table = with_games(caption, &["agent"], scales);
    for &method in methods {
        let cell = |s: &Scale| {
            let runs = of(records, s.game, method);
            let ratio = over_seeds(runs.clone().filter_map(Record::overestimation).collect());
            let end = |name: &str| over_seeds(runs.clone().filter_map(|r| r.at_end(name)).collect()).0;
            let (predicted, realised) = (end("predicted"), end("realised"));
            if predicted.is_finite() && realised.is_finite() {
                format!("{} ({predicted:.2} / {realised:.2})", pair(ratio))
            } else {
                pair(ratio)
            }
        };
        table.row([method.label().to_owned()].into_iter().chain(scales.iter().map(cell)));
    }
    table
}

/// Where the members go wrong: rewards and k-step values, depth by depth.
pub fn depths(records: &[Record], depths: &[(Cell, Depths)], scales: &[Scale], methods: &[Method]) -> Table {
    let caption = "Depth by depth. Rewards: the share of their variance that the model explains after k steps, in fresh windows before \
                   they are learnt, over the last tenth of training (1: all; 0: no better than their mean). Members: mean of q̂ᵏ − G in greedy \
                   episodes, what the member with k steps promises beyond the discounted return that follows; – where the agent's checkpoint is not \
                   there. Mean ± standard error over seeds.";
    let mut table = Table::new(caption, &["agent", "game", ""]);
    table.head.extend((1..=DEEPEST).map(|k| format!("k = {k}")));
    table.head.push("G".to_owned());
    for &method in methods.iter().filter(|m| **m != Method::Dqn) {
        for s in scales {
            let mut row = |what: &str, cells: Vec<String>| {
                let first = [method.label(), title(s.game), what].map(str::to_owned);
                table.row(first.into_iter().chain(cells));
            };
            let runs = || of(records, s.game, method);
            let explained = |k: usize| {
                let name = format!("reward_explained_{k}");
                pair(over_seeds(runs().filter_map(|r| r.at_end(&name)).collect()))
            };
            let cells = (1..=DEEPEST).map(explained).chain(["–".to_owned()]);
            row("rewards", cells.collect());
            let asked = || depths.iter().filter(|(c, _)| c.game == s.game && c.method == method);
            let bias = |k: usize| {
                pair(over_seeds(asked().filter_map(|(_, d)| d.bias.get(k - 1)).copied().collect()))
            };
            let realised = pair(over_seeds(asked().map(|(_, d)| d.realised).collect()));
            row("members", (1..=DEEPEST).map(bias).chain([realised]).collect());
        }
    }
    table
}

/// What the runs cost.
pub fn cost(records: &[Record], scales: &[Scale], methods: &[Method]) -> Table {
    let caption = "Environment steps per second of CPU time, learning and evaluation included, mean over seeds. It depends on the machine \
                   and on what else runs there.";
    let mut table = with_games(caption, &["agent"], scales);
    for &method in methods {
        let cell = |s: &Scale| {
            let (mean, _) = over_seeds(of(records, s.game, method).filter_map(|r| r.speed).collect());
            if mean.is_finite() { format!("{mean:.0}") } else { "–".to_owned() }
        };
        table.row([method.label().to_owned()].into_iter().chain(scales.iter().map(cell)));
    }
    table
}

/// One row per run, for programs.
pub fn runs(records: &[Record], scales: &[Scale]) -> Table {
    let head = [
        "game",
        "agent",
        "seed",
        "steps",
        "training",
        "second_half",
        "greedy",
        "training_normalised",
        "second_half_normalised",
        "greedy_normalised",
        "predicted",
        "realised",
    ];
    let mut table = Table::new("One row per finished run", &head);
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for scale in scales {
        for r in records.iter().filter(|r| r.cell.game == scale.game) {
            let scores = Measure::ALL.map(|m| r.score(m));
            let normalised = scores.map(|score| score.map(|x| scale.normalised(x)));
            let values = scores.into_iter().chain(normalised);
            let values = values.chain([r.at_end("predicted"), r.at_end("realised")]);
            let words = [r.cell.game.name(), r.cell.method.word()].map(str::to_owned);
            let numbers = [r.cell.seed, r.steps].map(|n| n.to_string());
            table.row(words.into_iter().chain(numbers).chain(values.map(number)));
        }
    }
    table
}

/// The curves, for programs: one row per game, agent, logged number and step.
pub fn curves(settings: &Settings, records: &[Record], scales: &[Scale], methods: &[Method]) -> Table {
    let mut table = Table::new(
        "Means over seeds on the way",
        &["game", "agent", "number", "step", "seeds", "mean", "error"],
    );
    for scale in scales {
        for &method in methods {
            let runs = of(records, scale.game, method);
            for name in ["return_100", "predicted", "realised", "sigma", "loss", "gradient_norm", "epsilon"] {
                for (step, mean, error) in curve(runs.clone(), name, settings.curve_points) {
                    let error = if error.is_finite() { error.to_string() } else { String::new() };
                    table.row([
                        scale.game.name().to_owned(),
                        method.word().to_owned(),
                        name.to_owned(),
                        step.to_string(),
                        runs.clone().count().to_string(),
                        mean.to_string(),
                        error,
                    ]);
                }
            }
        }
    }
    table
}
