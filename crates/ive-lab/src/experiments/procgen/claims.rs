//! The claims of Figure 4: σ on unseen levels over σ on training levels (H1, H2), beside its control, and how both change with the number of levels (H3).

use ive::{StratifiedMean, mean};

use super::analysis::{of, per_run};
use super::reading::{By, Pair};
use super::run::Tested;
use super::sweep::{Settings, Variant};
use crate::claim::{Claim, UNBOUNDED, Verdict};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::report::unit::Unit;

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

impl Effect {
    /// The same of the exponentials: ratios in place of logarithms.
    fn exponential(mut self) -> Self {
        self.value = self.value.exp();
        self.interval = (self.interval.0.exp(), self.interval.1.exp());
        if self.undecided.is_some() {
            self.interval = UNBOUNDED;
        }
        self
    }
}
/// The first three reasons, and how many more there are.
pub fn first_three(mut reasons: Vec<String>) -> String {
    let more = reasons.len().saturating_sub(3);
    reasons.truncate(3);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    reasons.join("; ") + &tail
}

/// Numbers of the runs that have learned, `[game][seed]`, and why others have not.
fn learned(
    settings: &Settings,
    runs: &[Tested],
    levels: u32,
    number: impl Fn(&Tested) -> Option<f64>,
) -> Outcome<(Vec<Vec<f64>>, String)> {
    let (mut games, mut reasons) = (Vec::new(), Vec::new());
    for game in settings.games()? {
        let mut seeds = Vec::new();
        for run in of(runs, game, levels, Variant::Prior) {
            match run.not_learned(settings) {
                Some(why) => reasons.push(format!("{} seed {}: {why}", game.name(), run.cell().seed)),
                None => seeds.extend(number(run)),
            }
        }
        games.push(seeds);
    }
    Ok((games, first_three(reasons)))
}

fn counted(games: &[Vec<f64>]) -> String {
    let seeds: usize = games.iter().map(Vec::len).sum();
    let played = games.iter().filter(|seeds| !seeds.is_empty()).count();
    format!("{seeds} runs that have learned on {played} of {} games", games.len())
}

/// H1 and H2: σ on unseen levels over σ on training levels.
pub fn higher_on_unseen(settings: &Settings, runs: &[Tested], levels: u32) -> Outcome<Claim> {
    let judged = settings.judged()?;
    let (games, reasons) = learned(settings, runs, levels, |t| t.gap(judged.score))?;
    let found = effect(&games, &reasons)?.exponential();
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
        unit: Unit::RATIO,
        measure: format!(
            "mean σ on unseen levels divided by mean σ on training levels, {}; geometric mean over {}",
            judged.how,
            counted(&games)
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
pub fn more_than_heads(settings: &Settings, runs: &[Tested], levels: u32) -> Outcome<Claim> {
    let score = settings.judged()?.score;
    let beyond = |run: &Tested| {
        let heads = of(runs, run.cell().game, levels, Variant::WarmUp);
        let same = heads.into_iter().find(|t| t.cell().seed == run.cell().seed)?;
        Some(run.gap(score)? - same.gap(score)?)
    };
    let (games, reasons) = learned(settings, runs, levels, beyond)?;
    let found = effect(&games, &reasons)?.exponential();
    Ok(Claim {
        hypothesis: "control",
        claim: format!(
            "With {levels} levels, more so than right after the warm-up of the heads, before anything is learned"
        ),
        unit: Unit::RATIO,
        measure: format!(
            "the ratio of H1 and H2 divided by that of the same seed with its heads fitted on a random torso; geometric mean over {}",
            counted(&games)
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
    let slopes = |number: &dyn Fn(&Tested) -> Option<f64>| -> Outcome<(Vec<Vec<f64>>, String)> {
        let (mut games, mut reasons) = (Vec::new(), Vec::new());
        for game in settings.games()? {
            let mut seeds = Vec::new();
            for seed in 0..settings.seeds {
                let points: Option<Vec<(f64, f64)>> = counts
                    .iter()
                    .map(|&levels| {
                        let all = of(runs, game, levels, Variant::Prior);
                        let run = all.into_iter().find(|t| t.cell().seed == seed)?;
                        if let Some(why) = run.not_learned(settings) {
                            reasons.push(format!("{} with {levels} levels, seed {seed}: {why}", game.name()));
                            return None;
                        }
                        Some((f64::from(levels).log10(), number(run)?))
                    })
                    .collect();
                seeds.extend(points.map(|points| slope(&points)));
            }
            games.push(seeds);
        }
        Ok((games, first_three(reasons)))
    };
    let shown = counts.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let claim = |what: &str, measure: &str, number: &dyn Fn(&Tested) -> Option<f64>| -> Outcome<Claim> {
        let (games, reasons) = slopes(number)?;
        let found = effect(&games, &reasons)?.exponential();
        Ok(Claim {
            hypothesis: "H3",
            claim: what.to_owned(),
            unit: Unit::RATIO,
            measure: format!(
                "factor by which {measure} changes for ten times as many training levels ({shown}), least squares in logarithms for each seed with \
                 all numbers of levels; {}",
                counted(&games)
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
            &|t: &Tested| t.log_unseen(judged.score),
        )?,
        claim(
            "The gap between unseen and training levels falls as training levels grow",
            "mean σ on unseen levels divided by that on training levels",
            &|t: &Tested| t.gap(judged.score),
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
