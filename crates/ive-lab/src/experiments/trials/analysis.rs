//! What each change gains over the base.

use std::collections::BTreeMap;

use ive::{mean, mean_and_error};
use ive_envs::minatar::{Game, Options};
use serde_json::{Value, json};

use super::sweep::{BASE, Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::minatar::published::title;
use crate::experiments::minatar::random;
use crate::experiments::minatar::score::Scale;
use crate::experiments::runs::compare::{average, pair, ranged};
use crate::experiments::runs::record::{Measure, Record};
use crate::report::Findings;
use crate::report::plot::{self, Line, colour};
use crate::report::table::{Table, grouped};

/// What a change gains: the mean over games of the difference to the base with the same game and seed, on the scale of
/// Table 2 ([`Scale`]): 1 is the way from the uniform policy to the best published agent.
#[derive(Clone, Debug)]
pub struct Gain {
    pub effect: f64,
    /// 95 % t interval, spread measured between seeds of the same game; unbounded with one seed.
    pub interval: (f64, f64),
}

/// What settings are chosen by: the score of a run that wobbles least, and the one without exploration.
const MEASURES: [Measure; 2] = [Measure::SecondHalf, Measure::Greedy];

type Runs<'a> = BTreeMap<(&'a str, usize, u64), &'a Record<Cell>>;

fn key(record: &Record<Cell>) -> (&str, usize, u64) {
    (&record.cell.change, record.cell.game as usize, record.cell.seed)
}

fn scores(runs: &Runs<'_>, change: &str, game: Game, measure: Measure) -> BTreeMap<u64, f64> {
    let of = runs.iter().filter(|((c, g, _), _)| *c == change && *g == game as usize);
    of.filter_map(|((.., seed), run)| Some((*seed, run.score(measure)?))).collect()
}

/// None without a pair in every game.
fn gain(runs: &Runs<'_>, scales: &[Scale], change: &str, measure: Measure) -> Outcome<Option<Gain>> {
    let of_game = |scale: &Scale| {
        let (ours, base) =
            (scores(runs, change, scale.game, measure), scores(runs, BASE, scale.game, measure));
        let pair = |(seed, x): (&u64, &f64)| Some(scale.normalised(*x) - scale.normalised(*base.get(seed)?));
        let pairs: Vec<f64> = ours.iter().filter_map(pair).collect();
        (!pairs.is_empty()).then_some(pairs)
    };
    let strata: Option<Vec<Vec<f64>>> = scales.iter().map(of_game).collect();
    let Some(strata) = strata else { return Ok(None) };
    Ok(average(&strata)?.map(|(effect, interval)| Gain { effect, interval }))
}

/// Compares the finished runs.
pub fn findings(settings: &Settings, done: &[Record<Cell>]) -> Outcome<Findings> {
    let runs: Runs<'_> = done.iter().map(|record| (key(record), record)).collect();
    let mut scales = Vec::new();
    for game in settings.games()? {
        let returns = random::returns(game, &Options::default(), settings.random_episodes)?;
        scales.push(Scale { game, random: mean_and_error(&returns) });
    }
    let mut gains: BTreeMap<&str, [Option<Gain>; 2]> = BTreeMap::new();
    for change in settings.variants() {
        let [second_half, greedy] = MEASURES.map(|m| gain(&runs, &scales, change, m));
        gains.insert(change, [second_half?, greedy?]);
    }
    let mut order: Vec<&str> = settings.variants().collect();
    let total = |c: &str| gains[c].iter().flatten().map(|g| g.effect).sum::<f64>();
    order.sort_by(|a, b| total(b).total_cmp(&total(a)));
    Ok(Findings {
        name: "trials",
        title: "Which settings of the value prediction network matter on MinAtar".into(),
        scale: scale(settings, done.len())?,
        text: text(),
        claims: Vec::new(),
        figures: vec![figure(&order, &gains)?],
        tables: vec![("trials", table(settings, &runs, &scales, &order, &gains))],
        data: vec![("runs", rows(&runs))],
        numbers: json!({
            "runs": done.len(),
            "base": settings.plan(&Cell { change: BASE.to_owned(), game: scales[0].game, seed: 0 })?.settings,
            "uniform": scales.iter().map(|s| (s.game.name(), s.random.0)).collect::<BTreeMap<_, _>>(),
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
    ["Each line is one change, everything else as in the base. Gain: difference to the base with the same game and seed, in units of \
      (best mean of the paper's Table 2 − uniform policy), averaged over games. Its interval is Student's t with spread between seeds of the same game. With so many lines about one in twenty \
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
    plot::forest("trials_gain", caption, "gain over the base", 0.0, &kinds, &lines)
}

fn table(
    settings: &Settings,
    runs: &Runs<'_>,
    scales: &[Scale],
    order: &[&str],
    gains: &BTreeMap<&str, [Option<Gain>; 2]>,
) -> Table {
    let mut table = Table::new(
        &format!(
            "Return of runs of {} steps, mean ± standard error over seeds: training episodes of the second half, then {} greedy ones; \
             predicted over realised value, and explained variance of the rewards predicted one and five steps ahead (r¹, r⁵), over the \
             last tenth of a run and all games; steps per CPU second (depends on the machine and on what else it did).",
            grouped(settings.steps),
            settings.greedy_episodes
        ),
        &["change"],
    );
    for scale in scales {
        table.head.extend(MEASURES.map(|m| format!("{}, {}", title(scale.game), m.name())));
    }
    table.head.extend(
        [
            "gain, second half",
            "gain, greedy",
            "predicted/realised",
            "r¹ explained",
            "r⁵ explained",
            "steps/CPU-s",
        ]
        .map(str::to_owned),
    );
    for change in order {
        let mut row = vec![(*change).to_owned()];
        for scale in scales {
            for measure in MEASURES {
                let values: Vec<f64> = scores(runs, change, scale.game, measure).into_values().collect();
                row.push(if values.is_empty() { "–".into() } else { pair(mean_and_error(&values)) });
            }
        }
        for gain in &gains[change] {
            row.push(gain.as_ref().map_or("–".into(), |g| ranged(g.effect, g.interval)));
        }
        let of = || runs.iter().filter(|((c, ..), _)| c == change).map(|(_, run)| *run);
        let average = |values: Vec<f64>, digits: usize| {
            if values.is_empty() { "–".to_owned() } else { format!("{:.digits$}", mean(&values)) }
        };
        row.push(average(of().filter_map(Record::overestimation).collect(), 2));
        for name in ["reward_explained_1", "reward_explained_5"] {
            row.push(average(of().filter_map(|r| r.at_end(name)).collect(), 2));
        }
        row.push(average(of().filter_map(|r| r.speed).collect(), 0));
        table.row(row);
    }
    table
}

fn rows(runs: &Runs<'_>) -> Table {
    let head =
        ["change", "game", "seed", "steps", "training", "second_half", "greedy", "predicted_over_realised"];
    let explained = [1, 2, 3, 4, 5].map(|k| format!("reward_explained_{k}"));
    let mut table = Table::new("", &head);
    table.head.extend(explained.clone());
    let shown = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for ((change, ..), r) in runs {
        let row = [
            (*change).to_owned(),
            r.cell.game.name().to_owned(),
            r.cell.seed.to_string(),
            r.steps.to_string(),
            shown(r.score(Measure::Training)),
            shown(r.score(Measure::SecondHalf)),
            shown(r.score(Measure::Greedy)),
            shown(r.overestimation()),
        ];
        table.row(row.into_iter().chain(explained.iter().map(|name| shown(r.at_end(name)))));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::runs::compare::UNBOUNDED;

    fn run(change: &str, game: Game, seed: u64, training: f64) -> Record<Cell> {
        Record {
            cell: Cell { change: change.to_owned(), game, seed },
            steps: 100,
            training: Some(training),
            greedy: vec![training],
            log: Vec::new(),
            speed: None,
        }
    }

    /// By hand. Breakout, best 22 and uniform 2 (scale 20): base 4 and 6, changed 6 and 6, differences 0.1 and 0. Asterix, best
    /// 18.3 and uniform 8.3 (scale 10): base 2 and 2, changed 3 and 2, differences 0.1 and 0. Both games average 0.05, each with
    /// variance 0.005 of the difference, so the standard error is √(2·0.0025)/2 and t with 2 degrees of freedom is 4.302653
    /// (SciPy).
    #[test]
    fn gains_are_paired_by_seed_and_averaged_over_games() {
        let mut all = Vec::new();
        for (change, game, values) in [
            (BASE, Game::Breakout, [4.0, 6.0]),
            ("x=1", Game::Breakout, [6.0, 6.0]),
            (BASE, Game::Asterix, [2.0, 2.0]),
            ("x=1", Game::Asterix, [3.0, 2.0]),
        ] {
            for (seed, x) in values.into_iter().enumerate() {
                all.push(run(change, game, seed as u64, x));
            }
        }
        let mut runs: Runs<'_> = all.iter().map(|record| (key(record), record)).collect();
        let scales = [(Game::Breakout, 2.0), (Game::Asterix, 8.3)]
            .map(|(game, random)| Scale { game, random: (random, 0.0) });
        let found = gain(&runs, &scales, "x=1", Measure::Training).unwrap().unwrap();
        let half = 4.302_652_73 * 0.005_f64.sqrt() / 2.0;
        assert!((found.effect - 0.05).abs() < 1e-12, "{found:?}");
        assert!((found.interval.1 - 0.05 - half).abs() < 1e-8, "{found:?}");
        assert!(gain(&runs, &scales, "absent", Measure::Training).unwrap().is_none());
        runs.retain(|key, _| key.2 == 0);
        let one_seed = gain(&runs, &scales, "x=1", Measure::Greedy).unwrap().unwrap();
        assert_eq!(one_seed.interval, UNBOUNDED);
    }
}
