//! The claims of Figure 4: σ on unseen levels over σ on training levels (H1, H2), beside its control, and how both change with the number of levels (H3).

use ive::{StratifiedMean, mean};

use super::analysis::{of, per_run};
use super::drawn::{self, Draw, Unit};
use super::evaluate::Set;
use super::reading::{By, Pair};
use super::run::Tested;
use super::sweep::{Settings, Variant};
use crate::claim::{Claim, UNBOUNDED, Verdict};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::report::unit;

/// In every game that takes part in a verdict there are at least so many seeds that have learned.
pub const SEEDS_NEEDED: usize = 5;
/// An effect over seeds, with its 95 % interval or why there is none.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Mean over games of the mean over seeds; NaN without any.
    pub value: f64,
    /// Its ends.
    pub interval: (f64, f64),
    /// Why nothing can be decided.
    pub undecided: Option<String>,
}

/// The mean over games of the mean over seeds, with Student's t within games. `[game][seed]`; games without enough seeds are left out, and if
/// none is left, the reason is given.
pub fn effect(games: &[Vec<f64>], why_few: &str) -> Outcome<Effect> {
    let enough: Vec<Vec<f64>> = games.iter().filter(|seeds| seeds.len() >= SEEDS_NEEDED).cloned().collect();
    if enough.is_empty() {
        let all: Vec<f64> = games.concat();
        let most = games.iter().map(Vec::len).max().unwrap_or(0);
        let reason = format!("{most} seeds that have learned, at least {SEEDS_NEEDED} in a game are needed");
        let reason = if why_few.is_empty() { reason } else { format!("{reason}: {why_few}") };
        let value = if all.is_empty() { f64::NAN } else { mean(&all) };
        return Ok(Effect { value, interval: UNBOUNDED, undecided: Some(reason) });
    }
    let found = ours(StratifiedMean::new(&enough))?;
    Ok(Effect { value: found.mean, interval: ours(found.interval(0.95))?, undecided: None })
}

/// The same of a statistic of what each seed contributes, `[game][seed]`, for logarithms: the exponential, with an interval over seeds and levels. Says
/// how wide it would be over seeds alone.
fn ratio(
    settings: &Settings,
    games: &[Vec<Unit<'_>>],
    statistic: &dyn Fn(&[&Tested], &Draw) -> Option<f64>,
    why_few: &str,
) -> Outcome<(Effect, String)> {
    let all = Draw::default();
    let known = |unit: &&Unit<'_>| statistic(unit, &all).is_some();
    let games: Vec<Vec<Unit<'_>>> =
        games.iter().map(|units| units.iter().filter(known).cloned().collect()).collect();
    let values = |units: &Vec<Unit<'_>>| units.iter().filter_map(|unit| statistic(unit, &all)).collect();
    let found = effect(&games.iter().map(values).collect::<Vec<_>>(), why_few)?;
    if found.undecided.is_some() {
        return Ok((Effect { value: found.value.exp(), ..found }, counted(&games)));
    }
    let enough: Vec<Vec<Unit<'_>>> = games.into_iter().filter(|units| units.len() >= SEEDS_NEEDED).collect();
    let (low, high) = drawn::interval(&enough, statistic, settings.replicates as usize)?;
    let about = format!(
        "{}; 95 % interval over seeds and levels, over seeds alone [{:.2}, {:.2}]",
        counted(&enough),
        found.interval.0.exp(),
        found.interval.1.exp()
    );
    Ok((Effect { value: found.value.exp(), interval: (low.exp(), high.exp()), undecided: None }, about))
}

/// The first three reasons, and how many more there are.
pub fn first_three(mut reasons: Vec<String>) -> String {
    let more = reasons.len().saturating_sub(3);
    reasons.truncate(3);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    reasons.join("; ") + &tail
}

/// What each seed that has learned contributes, `[game][seed]`, and why others have not.
fn learned<'a>(
    settings: &Settings,
    runs: &'a [Tested],
    levels: u32,
    unit: impl Fn(&'a Tested) -> Option<Unit<'a>>,
) -> Outcome<(Vec<Vec<Unit<'a>>>, String)> {
    let (mut games, mut reasons) = (Vec::new(), Vec::new());
    for game in settings.games()? {
        let mut seeds = Vec::new();
        for run in of(runs, game, levels, Variant::Prior) {
            match run.not_learned(settings) {
                Some(why) => reasons.push(format!("{} seed {}: {why}", game.name(), run.cell().seed)),
                None => seeds.extend(unit(run)),
            }
        }
        games.push(seeds);
    }
    Ok((games, first_three(reasons)))
}

/// How many runs decide, and on which games.
fn counted(games: &[Vec<Unit<'_>>]) -> String {
    let seeds: usize = games.iter().map(Vec::len).sum();
    let mut names: Vec<&str> = games.iter().flatten().map(|unit| unit[0].cell().game.name()).collect();
    names.dedup();
    let names = if names.is_empty() { "no game".to_owned() } else { names.join(", ") };
    format!("{seeds} seeds that have learned on {names}")
}

/// H1 and H2: σ on unseen levels over σ on training levels.
pub fn higher_on_unseen(settings: &Settings, runs: &[Tested], levels: u32) -> Outcome<Claim> {
    let judged = settings.judged()?;
    let (games, reasons) = learned(settings, runs, levels, |t| Some(vec![t]))?;
    let gap = |unit: &[&Tested], draw: &Draw| unit[0].log_ratio(judged.score, draw);
    let (found, counted) = ratio(settings, &games, &gap, &reasons)?;
    let all: Vec<&Tested> = runs
        .iter()
        .filter(|t| t.cell().levels == levels && t.cell().variant == Variant::Prior)
        .filter(|t| t.not_learned(settings).is_none())
        .collect();
    let areas =
        mean_or(&per_run(&all, |t| t.ranking(judged.score, By::Agent).ok()?.map(|r| r.detection().auroc)));
    let random = mean_or(&per_run(&all, |t| t.means(judged.score, By::Random).map(Pair::log_ratio)));
    Ok(Claim {
        hypothesis: "H1, H2",
        claim: format!("{} is higher on unseen levels than on {levels} training levels", judged.symbol),
        unit: unit::Unit::RATIO,
        measure: format!(
            "mean σ on unseen levels divided by mean σ on training levels, {}; geometric mean over {counted}",
            judged.how,
        ),
        effect: found.value,
        interval: found.interval,
        verdict: Verdict::above(1.0, found.interval),
        undecided: found.undecided,
        note: format!(
            "AUROC of single states {areas:.2}; the same ratio on states of a random policy {:.2}{}",
            random.exp(),
            if reasons.is_empty() { String::new() } else { format!("; left out: {reasons}") }
        ),
    })
}

/// Whether the gap is larger than that of the control in which only the heads were fitted, run by run of the same seed.
pub fn more_than_heads<'a>(settings: &Settings, runs: &'a [Tested], levels: u32) -> Outcome<Claim> {
    let score = settings.judged()?.score;
    let with_heads = |run: &'a Tested| {
        let heads = of(runs, run.cell().game, levels, Variant::WarmUp);
        let same = heads.into_iter().find(|t| t.cell().seed == run.cell().seed)?;
        Some(vec![run, same])
    };
    let (games, reasons) = learned(settings, runs, levels, with_heads)?;
    let beyond = |unit: &[&Tested], draw: &Draw| {
        Some(unit[0].log_ratio(score, draw)? - unit[1].log_ratio(score, draw)?)
    };
    let (found, counted) = ratio(settings, &games, &beyond, &reasons)?;
    Ok(Claim {
        hypothesis: "control",
        claim: format!(
            "With {levels} levels, more so than right after the warm-up of the heads, before anything is learned"
        ),
        unit: unit::Unit::RATIO,
        measure: format!(
            "the ratio of H1 and H2 divided by that of the same seed with its heads fitted on a random torso; geometric mean over {counted}"
        ),
        effect: found.value,
        interval: found.interval,
        verdict: Verdict::above(1.0, found.interval),
        undecided: found.undecided,
        note: "where this is not above 1, the gap needs no learning of policy, model or torso".into(),
    })
}

/// H3: σ on unseen levels, and the gap, fall with the number of training levels: the slope over log₁₀ of that number, by game and seed.
pub fn falls_with_levels(settings: &Settings, runs: &[Tested]) -> Outcome<[Claim; 2]> {
    let (counts, judged) = (settings.counts(), settings.judged()?);
    let (mut games, mut reasons) = (Vec::new(), Vec::new());
    for game in settings.games()? {
        let mut seeds = Vec::new();
        for seed in 0..settings.seeds {
            let run = |&levels: &u32| {
                let run =
                    of(runs, game, levels, Variant::Prior).into_iter().find(|t| t.cell().seed == seed)?;
                match run.not_learned(settings) {
                    None => Some(run),
                    Some(why) => {
                        reasons.push(format!("{} with {levels} levels, seed {seed}: {why}", game.name()));
                        None
                    }
                }
            };
            seeds.extend(counts.iter().map(run).collect::<Option<Unit<'_>>>());
        }
        games.push(seeds);
    }
    let (reasons, shown) =
        (first_three(reasons), counts.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    let claim = |what: &str,
                 measure: &str,
                 number: &dyn Fn(&Tested, &Draw) -> Option<f64>|
     -> Outcome<Claim> {
        let along = |unit: &[&Tested], draw: &Draw| {
            let point = |run: &&Tested| Some((f64::from(run.cell().levels).log10(), number(run, draw)?));
            unit.iter().map(point).collect::<Option<Vec<(f64, f64)>>>().map(|points| slope(&points))
        };
        let (found, counted) = ratio(settings, &games, &along, &reasons)?;
        Ok(Claim {
            hypothesis: "H3",
            claim: what.to_owned(),
            unit: unit::Unit::RATIO,
            measure: format!(
                "factor by which {measure} changes for ten times as many training levels ({shown}), least squares in logarithms for each seed with \
                 all numbers of levels; {counted}"
            ),
            effect: found.value,
            interval: found.interval,
            verdict: Verdict::below(1.0, found.interval),
            undecided: found.undecided,
            note: if reasons.is_empty() { String::new() } else { format!("left out: {reasons}") },
        })
    };
    Ok([
        claim(
            &format!("{} on unseen levels falls as training levels grow", judged.symbol),
            "mean σ on unseen levels",
            &|t: &Tested, draw: &Draw| t.log_mean(judged.score, Set::Unseen, draw),
        )?,
        claim(
            "The gap between unseen and training levels falls as training levels grow",
            "mean σ on unseen levels divided by that on training levels",
            &|t: &Tested, draw: &Draw| t.log_ratio(judged.score, draw),
        )?,
    ])
}

/// The slope of a straight line through points, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (xy, xx) =
        points.iter().fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x).powi(2)));
    xy / xx
}

fn mean_or(all: &[f64]) -> f64 {
    if all.is_empty() { f64::NAN } else { mean(all) }
}
