//! Does σ notice states that are out of distribution?
//!
//! The agent is shown ordinary states from ε-greedy play and corruptions of them, and detectors score both:
//!
//! - σ-IVE over the members along the plan;
//! - σ-IVE divided by |μ-IVE|, since values and their disagreement often grow together;
//! - the trivial one, "low predicted value": −μ-IVE (−Q of an agent without a model);
//! - whatever scores an agent has of its own ([`Player::further`](ive_agents::Player::further)).
//!
//! Where an environment offers odd starts, the first steps of episodes from there are judged in the same way, against those of ordinary episodes.
//!
//! What counts is the AUROC, the probability that a corrupted state scores higher than an ordinary one. σ is only worth
//! something where it beats the trivial detector: strange states often look worthless, and then a low value says it all.
//! Below 0.5 a detector is worse than chance: an alarm on high scores would be silent there.

use std::borrow::Cow;

use ive::mean;
use ive_agents::evaluation::{Scored, Scores};
use serde::Serialize;

use super::clusters;
use crate::exit::Outcome;

/// A smaller |μ| counts as this one where σ is divided by it.
const SMALLEST_MU: f64 = 1e-9;

/// How well a detector tells corrupted states from ordinary ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Area {
    /// AUROC.
    pub auroc: f64,
    /// Its 95 % interval by resampling episodes; none with fewer than ten of them.
    pub interval: Option<(f64, f64)>,
}

/// How well a score of the agent's own does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Own {
    /// Its name.
    pub score: &'static str,
    /// AUROC.
    pub auroc: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
}

/// What the detectors make of a corruption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// What was done to the states.
    pub corruption: Cow<'static, str>,
    /// AUROC of σ-IVE; `None` for an agent without a model.
    pub sigma: Option<f64>,
    /// Its 95 % interval.
    pub sigma_interval: Option<(f64, f64)>,
    /// AUROC of σ-IVE / |μ-IVE|.
    pub sigma_over_mu: Option<f64>,
    /// Its 95 % interval.
    pub sigma_over_mu_interval: Option<(f64, f64)>,
    /// AUROC of −μ-IVE, or −Q for an agent without a model.
    pub low_value: f64,
    /// Its 95 % interval.
    pub low_value_interval: Option<(f64, f64)>,
    /// What the agent's own scores make of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Own>,
    /// The larger of σ and low value, `sigma` or `low_value`; `None` if they are equal or there is only one.
    pub better: Option<&'static str>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How many ordinary states.
    pub states: usize,
    /// From how many episodes they are.
    pub episodes: usize,
    /// Which members σ and μ are taken over, `k=1..5`.
    pub members: Option<String>,
    /// Mean σ-IVE of the ordinary states.
    pub mean_sigma: Option<f64>,
    /// Mean μ-IVE of the ordinary states, or Q.
    pub mean_value: f64,
    /// For each corruption.
    pub detections: Vec<Detection>,
}

/// What the detectors say of some states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// σ-IVE; empty for an agent without a model.
    pub sigma: Vec<f64>,
    /// σ-IVE / |μ-IVE|; likewise.
    pub sigma_over_mu: Vec<f64>,
    /// −μ-IVE, or −Q.
    pub low_value: Vec<f64>,
}

impl Points {
    /// What they say of states that an agent has scored.
    pub fn of(scores: &Scores) -> Self {
        let Some(members) = &scores.members else {
            return Self { low_value: scores.values.iter().map(|value| -value).collect(), ..Self::default() };
        };
        let both: Vec<(f64, f64)> = members.iter().map(|m| (m.mu(), m.sigma())).collect();
        Self {
            sigma: both.iter().map(|(_, sigma)| *sigma).collect(),
            sigma_over_mu: both.iter().map(|(mu, sigma)| sigma / mu.abs().max(SMALLEST_MU)).collect(),
            low_value: both.iter().map(|(mu, _)| -mu).collect(),
        }
    }
}

/// How well each detector does.
pub fn judge(scored: &Scored) -> Outcome<Report> {
    let usual = Points::of(&scored.ordinary.scores);
    let area = |usual: &[f64], unusual: &[f64]| -> Outcome<Area> {
        let (auroc, interval) = clusters::auroc(usual, unusual, &scored.ordinary.episodes)?;
        Ok(Area { auroc, interval })
    };
    let members = scored.ordinary.scores.members.as_ref().and_then(|all| all.first());
    let with_model = |a: &[f64], b: &[f64]| members.map(|_| area(a, b)).transpose();
    let mut detections = Vec::new();
    for corrupted in &scored.corrupted {
        let points = Points::of(corrupted);
        let low = area(&usual.low_value, &points.low_value)?;
        let sigma = with_model(&usual.sigma, &points.sigma)?;
        let relative = with_model(&usual.sigma_over_mu, &points.sigma_over_mu)?;
        let mut further = Vec::new();
        for (before, after) in scored.ordinary.scores.further.iter().zip(&corrupted.further) {
            let Area { auroc, interval } = area(&before.scores, &after.scores)?;
            further.push(Own { score: before.name, auroc, interval });
        }
        let better = sigma.map(|s| s.auroc).filter(|&s| s != low.auroc);
        detections.push(Detection {
            corruption: corrupted.name.clone(),
            sigma: sigma.map(|a| a.auroc),
            sigma_interval: sigma.and_then(|a| a.interval),
            sigma_over_mu: relative.map(|a| a.auroc),
            sigma_over_mu_interval: relative.and_then(|a| a.interval),
            low_value: low.auroc,
            low_value_interval: low.interval,
            further,
            better: better.map(|s| if s > low.auroc { "sigma" } else { "low_value" }),
        });
    }
    Ok(Report {
        states: scored.ordinary.episodes.len(),
        episodes: scored.ordinary.episodes.iter().max().map_or(0, |last| last + 1),
        members: members.map(|members| members.ks().to_string()),
        mean_sigma: members.map(|_| mean(&usual.sigma)),
        mean_value: -mean(&usual.low_value),
        detections,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::{Members, Rng};
    use ive_agents::evaluation::Survey;
    use ive_agents::{AgentError, Decision, Estimates, Evaluate, Player, Source, Wish};
    use ive_envs::minatar::{Game, Options, make};
    use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered};
    use ive_envs::{ByteEnvironment, Environment, Spec};
    use std::sync::Arc;

    /// Its members are zero and the number of ones on the board: σ is half of it, and so is μ.
    struct Counter(Source<usize, u8>, Spec);

    fn environment(seed: u64) -> ByteEnvironment {
        make(Game::Breakout, &Options::default(), seed).unwrap()
    }

    impl Counter {
        fn new() -> Self {
            Self(Arc::new(environment), environment(0).spec().clone())
        }
    }

    impl Player for Counter {
        type Action = usize;
        type Element = u8;
        type Memory = ();
        const LEARNS: &'static [Kinds] =
            &[Kinds { observation: ObservationKind::Board, action: ActionKind::Numbered }];

        fn source(_: &Registered) -> Option<Source<usize, u8>> {
            None
        }
        fn environments(&self) -> &Source<usize, u8> {
            &self.0
        }
        fn spec(&self) -> &Spec {
            &self.1
        }
        fn begin(&self, _: &Rng) {}
        fn decide(
            &mut self,
            observations: &[u8],
            _: &mut [()],
            _: Wish<'_>,
        ) -> Result<Vec<Decision<usize>>, AgentError> {
            let ones = |board: &[u8]| board.iter().map(|&b| f64::from(b)).sum::<f64>();
            let members = |board| Estimates::new(Members::new(1..=2).unwrap(), vec![0.0, ones(board)]);
            let decide = |board| Decision { action: 0, value: 0.0, members: Some(members(board)) };
            Ok(observations.chunks(400).map(decide).collect())
        }
    }

    fn scores(states: usize, seed: u64) -> Scored {
        Counter::new().scores(&Survey::new(states, seed)).unwrap()
    }

    fn detect(states: usize, seed: u64) -> Report {
        judge(&scores(states, seed)).unwrap()
    }

    /// What the counter cannot see scores exactly one half, what it must see exactly zero or one.
    #[test]
    fn detectors_find_what_they_can_and_nothing_else() {
        let report = detect(100, 3);
        assert_eq!((report.states, report.members.as_deref()), (100, Some("k=1..2")));
        let of = |name: &str| {
            let found = report.detections.iter().find(|d| d.corruption == name).unwrap();
            (found.sigma.unwrap(), found.low_value, found.better)
        };
        for blind in ["cells shuffled", "noise (same density)", "channels rolled", "upside down"] {
            assert_eq!(of(blind), (0.5, 0.5, None), "{blind}");
        }
        assert_eq!(of("dense noise (30 %)"), (1.0, 0.0, Some("sigma")));
        assert_eq!(of("empty board"), (0.0, 1.0, Some("low_value")));
        assert_eq!(report.mean_sigma.unwrap(), report.mean_value);
        // σ / |μ| is 1 for every board with something on it, and 0 for the empty one.
        let relative = |i: usize| report.detections[i].sigma_over_mu.unwrap();
        assert_eq!((relative(0), relative(6)), (0.5, 0.0));
    }

    #[test]
    fn the_seed_decides_everything() {
        let at = |seed| scores(50, seed);
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        assert_eq!(at(1).ordinary.scores.values.len(), 50);
        let mut episodes = at(1).ordinary.episodes;
        episodes.sort_unstable();
        episodes.dedup();
        assert!(episodes.len() >= 16 && episodes.iter().copied().eq(0..episodes.len()), "{episodes:?}");
        assert_eq!(detect(20, 7), detect(20, 7));
    }
}
