//! What each change gains over the base.

use std::collections::BTreeMap;

use ive::{StratifiedMean, mean, mean_and_error};
use ive_envs::minatar::{Game, Options};
use serde_json::{Value, json};

use super::sweep::{BASE, Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::fleet::Done;
use crate::experiments::minatar::published::{Method, title};
use crate::experiments::minatar::record::{Measure, Record};
use crate::experiments::minatar::score::UNBOUNDED;
use crate::experiments::minatar::{random, tables};
use crate::experiments::ours;
use crate::report::Findings;
use crate::report::plot::{self, Line, colour};
use crate::report::table::{Table, grouped};

/// What a change gains: the mean over games of `(score − score of the base) / (mean score of the base − random)` over
/// pairs of runs with the same game and seed. 0 is as good as the base, −1 as bad as the uniform policy.
#[derive(Clone, Debug)]
pub struct Gain {
    pub effect: f64,
    /// 95 % t interval, spread measured between seeds of the same game; unbounded with one seed.
    pub interval: (f64, f64),
}

/// What settings are chosen by: the score of a run that wobbles least, and the one without exploration.
const MEASURES: [Measure; 2] = [Measure::SecondHalf, Measure::Greedy];

type Runs<'a> = BTreeMap<(&'a str, usize, u64), Record>;

fn scores(runs: &Runs<'_>, change: &str, game: Game, measure: Measure) -> BTreeMap<u64, f64> {
    let of = runs.iter().filter(|((c, g, _), _)| *c == change && *g == game as usize);
    of.filter_map(|((.., seed), run)| Some((*seed, run.score(measure)?))).collect()
}

/// None without a pair in every game, and where the base is as bad as the uniform policy.
fn gain(runs: &Runs<'_>, uniform: &[(Game, f64)], change: &str, measure: Measure) -> Outcome<Option<Gain>> {
    let of_game = |&(game, random): &(Game, f64)| {
        let (ours, base) = (scores(runs, change, game, measure), scores(runs, BASE, game, measure));
        let pairs: Vec<(f64, f64)> =
            ours.iter().filter_map(|(seed, x)| Some((*x, *base.get(seed)?))).collect();
        let level = mean(&pairs.iter().map(|p| p.1).collect::<Vec<_>>()) - random;
        (!pairs.is_empty()).then(|| pairs.iter().map(|(x, b)| (x - b) / level).collect::<Vec<f64>>())
    };
    let strata: Option<Vec<Vec<f64>>> = uniform.iter().map(of_game).collect();
    let Some(strata) = strata else { return Ok(None) };
    let effect = mean(&strata.iter().map(|d| mean(d)).collect::<Vec<_>>());
    if !effect.is_finite() {
        return Ok(None);
    }
    let interval = if strata.iter().any(|d| d.len() < 2) {
        UNBOUNDED
    } else {
        ours(StratifiedMean::new(&strata).and_then(|m| m.interval(0.95)))?
    };
    Ok(Some(Gain { effect, interval }))
}

/// Compares the finished runs.
pub fn findings(settings: &Settings, done: &[(Cell, Done)]) -> Outcome<Findings> {
    let method =
        Method::ALL.into_iter().find(|m| m.word() == settings.agent).unwrap_or(Method::MeanOfMembers);
    let runs: Runs<'_> = done
        .iter()
        .map(|(c, done)| {
            let record = Record::of(c.game, method, c.seed, done.clone());
            ((c.change.as_str(), c.game as usize, c.seed), record)
        })
        .collect();
    let mut uniform = Vec::new();
    for game in settings.games()? {
        uniform.push((game, mean(&random::returns(game, &Options::default(), settings.random_episodes)?)));
    }
    let mut gains: BTreeMap<&str, [Option<Gain>; 2]> = BTreeMap::new();
    for change in settings.variants() {
        let [second_half, greedy] = MEASURES.map(|m| gain(&runs, &uniform, change, m));
        gains.insert(change, [second_half?, greedy?]);
    }
    let mut order: Vec<&str> = settings.variants().collect();
    let key = |c: &str| gains[c].iter().flatten().map(|g| g.effect).sum::<f64>();
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    Ok(Findings {
        name: "trials",
        title: "Which settings of the value prediction network matter on MinAtar".into(),
        scale: scale(settings, done.len())?,
        text: text(),
        claims: Vec::new(),
        figures: vec![figure(&order, &gains)?],
        tables: vec![("trials", table(settings, &runs, &uniform, &order, &gains))],
        data: vec![("runs", rows(&runs))],
        numbers: json!({
            "runs": done.len(),
            "base": settings.plan(&Cell { change: BASE.to_owned(), game: uniform[0].0, seed: 0 })?.settings,
            "uniform": uniform.iter().map(|(g, x)| (g.name(), *x)).collect::<BTreeMap<_, _>>(),
            "gain": gains.iter().map(|(c, both)| (*c, both.each_ref().map(|g| numbers(g.as_ref())))).collect::<BTreeMap<_, _>>(),
        }),
    })
}

fn numbers(gain: Option<&Gain>) -> Value {
    let finite = |x: f64| x.is_finite().then_some(x);
    gain.map_or(
        Value::Null,
        |g| json!({ "effect": g.effect, "interval": [finite(g.interval.0), finite(g.interval.1)] }),
    )
}

fn scale(settings: &Settings, finished: usize) -> Outcome<String> {
    let planned = settings.cells()?.len();
    let games: Vec<&str> = settings.games()?.into_iter().map(title).collect();
    let mut out = format!(
        "{} of preset {}, {} steps per run, {} seeds, {}; not an experiment of the paper.",
        settings.agent,
        settings.agent_preset,
        grouped(settings.steps),
        settings.seeds,
        games.join(" and ")
    );
    if finished < planned {
        out += &format!(" Not complete: {finished} of {planned} runs are finished.");
    }
    Ok(out)
}

fn text() -> Vec<String> {
    ["Each line is one change, everything else as in the base. Gain: difference to the base with the same game and seed, divided by \
      what the base has above the uniform policy, averaged over games; +0.1 is a tenth better than the base, −1 no better than \
      chance. Its interval is Student's t with spread between seeds of the same game. With so many lines about one in twenty \
      intervals misses zero by chance: this is for choosing settings, not for claims."]
    .map(str::to_owned)
    .to_vec()
}

fn figure(order: &[&str], gains: &BTreeMap<&str, [Option<Gain>; 2]>) -> Outcome<plot::Figure> {
    let line = |change: &&str| {
        let dots = gains[change].iter().map(|gain| gain.as_ref().map(|g| (g.effect, g.interval)));
        Line { label: (*change).to_owned(), dots: dots.collect() }
    };
    let lines: Vec<Line> = order.iter().map(line).collect();
    let caption =
        "Gain of each change over the base, with 95 % intervals (none where there is one seed only).";
    let kinds = [(colour::IVE, "training, second half"), (colour::EVE, "greedy episodes")];
    plot::forest("trials_gain", caption, "gain over the base", &kinds, &lines)
}

fn table(
    settings: &Settings,
    runs: &Runs<'_>,
    uniform: &[(Game, f64)],
    order: &[&str],
    gains: &BTreeMap<&str, [Option<Gain>; 2]>,
) -> Table {
    let mut table = Table::new(
        &format!(
            "Return of runs of {} steps, mean ± standard error over seeds: training episodes of the second half, then {} greedy ones; \
             predicted over realised value; steps per CPU second (depends on the machine and on what else it did).",
            grouped(settings.steps),
            settings.greedy_episodes
        ),
        &["change"],
    );
    for (game, _) in uniform {
        table.head.extend(MEASURES.map(|m| format!("{}, {}", title(*game), m.name())));
    }
    table.head.extend(
        ["gain, second half", "gain, greedy", "predicted/realised", "steps/CPU-s"].map(str::to_owned),
    );
    for change in order {
        let mut row = vec![(*change).to_owned()];
        for (game, _) in uniform {
            for measure in MEASURES {
                let values: Vec<f64> = scores(runs, change, *game, measure).into_values().collect();
                row.push(if values.is_empty() {
                    "–".into()
                } else {
                    tables::pair(mean_and_error(&values))
                });
            }
        }
        for gain in &gains[change] {
            row.push(gain.as_ref().map_or("–".into(), |g| tables::ranged(g.effect, g.interval)));
        }
        let of = || runs.iter().filter(|((c, ..), _)| c == change).map(|(_, run)| run);
        let average = |values: Vec<f64>, digits: usize| {
            if values.is_empty() { "–".to_owned() } else { format!("{:.digits$}", mean(&values)) }
        };
        row.push(average(of().filter_map(Record::overestimation).collect(), 2));
        row.push(average(of().filter_map(|r| r.speed).collect(), 0));
        table.row(row);
    }
    table
}

fn rows(runs: &Runs<'_>) -> Table {
    let head =
        ["change", "game", "seed", "steps", "training", "second_half", "greedy", "predicted_over_realised"];
    let mut table = Table::new("", &head);
    let shown = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for ((change, ..), r) in runs {
        table.row([
            (*change).to_owned(),
            r.game.name().to_owned(),
            r.seed.to_string(),
            r.steps.to_string(),
            shown(r.score(Measure::Training)),
            shown(r.score(Measure::SecondHalf)),
            shown(r.score(Measure::Greedy)),
            shown(r.overestimation()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(game: Game, seed: u64, training: f64) -> Record {
        Record {
            game,
            method: Method::MeanOfMembers,
            seed,
            steps: 100,
            training: Some(training),
            greedy: vec![training],
            log: Vec::new(),
            speed: None,
        }
    }

    /// By hand: Breakout base 4 and 6 above a uniform policy of 1 (level 4), changed 6 and 6: gains ½ and 0. Asterix base 2
    /// and 2 above 1 (level 1), changed 2.5 and 2: gains ½ and 0. Both games average ¼, each with variance ⅛ of the difference, so
    /// the standard error is √(2·(⅛/2))/2 = √⅛/2 and t with 2 degrees of freedom is 4.302653 (SciPy).
    #[test]
    fn gains_are_paired_by_seed_and_averaged_over_games() {
        let mut runs = Runs::new();
        for (change, game, values) in [
            (BASE, Game::Breakout, [4.0, 6.0]),
            ("x=1", Game::Breakout, [6.0, 6.0]),
            (BASE, Game::Asterix, [2.0, 2.0]),
            ("x=1", Game::Asterix, [2.5, 2.0]),
        ] {
            for (seed, x) in values.into_iter().enumerate() {
                runs.insert((change, game as usize, seed as u64), run(game, seed as u64, x));
            }
        }
        let uniform = [(Game::Breakout, 1.0), (Game::Asterix, 1.0)];
        let found = gain(&runs, &uniform, "x=1", Measure::Training).unwrap().unwrap();
        let half = 4.302_652_73 * 0.125_f64.sqrt() / 2.0;
        assert!((found.effect - 0.25).abs() < 1e-12, "{found:?}");
        assert!((found.interval.1 - 0.25 - half).abs() < 1e-6, "{found:?}");
        assert!(gain(&runs, &uniform, "absent", Measure::Training).unwrap().is_none());
        runs.retain(|key, _| key.2 == 0);
        let one_seed = gain(&runs, &uniform, "x=1", Measure::Greedy).unwrap().unwrap();
        assert_eq!(one_seed.interval, UNBOUNDED);
    }
}
