//! Does σ notice strange states?
//!
//! Ordinary states are collected from ε-greedy play; each is [corrupted](super::corruption), and two detectors score both:
//!
//! - σ-IVE over the members k = 1.. along the plan;
//! - the trivial one, "low predicted value": −μ-IVE (−Q of an agent without a model).
//!
//! What counts is the AUROC, the probability that a corrupted state scores higher than an ordinary one. σ is only worth
//! something where it beats the trivial detector: strange states often look worthless, and then a low value says it all.

use ive::{Rng, auroc, mean};
use ive_agents::Agent;
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;
use serde::Serialize;

use super::corruption::Corruption;
use super::episode::{member_set, mu, sigma, turn};
use crate::exit::{Failure, Outcome};

/// The probability of a random action while ordinary states are collected.
pub const EPSILON: f64 = 0.05;
/// Worlds that are played side by side for that.
const WORLDS: usize = 16;
/// A state is kept every so many steps: neighbours are nearly the same.
const APART: usize = 8;
/// States for which the agent decides at once.
const AT_ONCE: usize = 64;
/// Streams of the seed.
const PLAYING: u64 = 1;
const CORRUPTING: u64 = 2;

/// How well corrupted states are told from ordinary ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// What was done to the states.
    pub corruption: &'static str,
    /// AUROC of σ-IVE; `None` for an agent without a model.
    pub sigma: Option<f64>,
    /// AUROC of −μ-IVE, or −Q for an agent without a model.
    pub low_value: f64,
    /// The larger of the two, `sigma` or `low_value`; `None` if they are equal or there is only one.
    pub better: Option<&'static str>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How many ordinary states.
    pub states: usize,
    /// Which members σ and μ are taken over, `k=1..5`.
    pub members: Option<String>,
    /// Mean σ-IVE of the ordinary states.
    pub mean_sigma: Option<f64>,
    /// Mean μ-IVE of the ordinary states, or Q.
    pub mean_value: f64,
    /// For each corruption.
    pub detections: Vec<Detection>,
}

/// Scores of some states.
#[derive(Clone, Debug, Default)]
struct Scores {
    members: usize,
    sigma: Vec<f64>,
    low_value: Vec<f64>,
}

/// Collects `states` ordinary states and scores both detectors on every corruption of them. `world` makes a world of a
/// seed.
pub fn detect(
    agent: &mut dyn Agent,
    world: &dyn Fn(u64) -> ByteWorld,
    states: usize,
    seed: u64,
) -> Outcome<Report> {
    let root = Rng::from_seed(seed);
    let ordinary = collect(agent, world, states, &root.fold_in(PLAYING))?;
    let usual = score(agent, &ordinary);
    let has_members = usual.members > 0;
    let area = |usual: &[f64], unusual: &[f64]| {
        auroc(usual, unusual).map_err(|e| Failure::internal(format!("strange states: {e}")))
    };
    let mut detections = Vec::new();
    for (number, corruption) in Corruption::ALL.into_iter().enumerate() {
        let rng = &mut root.fold_in(CORRUPTING).fold_in(number as u64);
        let unusual = score(agent, &corruption.apply(&ordinary, rng));
        let low_value = area(&usual.low_value, &unusual.low_value)?;
        let sigma = if has_members { Some(area(&usual.sigma, &unusual.sigma)?) } else { None };
        let better = sigma.filter(|&s| s != low_value);
        let better = better.map(|s| if s > low_value { "sigma" } else { "low_value" });
        detections.push(Detection { corruption: corruption.name(), sigma, low_value, better });
    }
    Ok(Report {
        states: ordinary.len(),
        members: member_set(usual.members).map(|set| set.to_string()),
        mean_sigma: has_members.then(|| mean(&usual.sigma)),
        mean_value: -mean(&usual.low_value),
        detections,
    })
}

/// States from play with ε = 0.05 in sixteen worlds side by side, some steps apart. Every state is one in which the
/// agent had to act.
pub fn collect(
    agent: &mut dyn Agent,
    world: &dyn Fn(u64) -> ByteWorld,
    count: usize,
    rng: &Rng,
) -> Outcome<Vec<Vec<u8>>> {
    let mut worlds: Vec<ByteWorld> = (0..WORLDS).map(|i| world(rng.fold_in(i as u64).next_u64())).collect();
    let mut acting = rng.fold_in(WORLDS as u64);
    let mut sights: Vec<Vec<u8>> = worlds.iter_mut().map(|world| world.reset().observation).collect();
    let mut kept = Vec::with_capacity(count);
    for t in 1.. {
        let actions = agent.act(&sights.concat());
        for ((world, sight), greedy) in worlds.iter_mut().zip(&mut sights).zip(actions) {
            let random = acting.uniform() < EPSILON;
            let action = if random { acting.below(world.spec().actions.len()) } else { greedy };
            if turn(world, action, sight)?.1 {
                *sight = world.reset().observation;
            }
        }
        if t % APART == 0 {
            kept.extend(sights.iter().take(count - kept.len()).cloned());
        }
        if kept.len() == count {
            break;
        }
    }
    Ok(kept)
}

fn score(agent: &mut dyn Agent, states: &[Vec<u8>]) -> Scores {
    let mut scores = Scores::default();
    for decision in states.chunks(AT_ONCE).flat_map(|some| agent.decide(&some.concat())) {
        scores.members = decision.members.len();
        scores.sigma.extend(sigma(&decision.members));
        scores.low_value.push(-mu(&decision.members).unwrap_or(decision.value));
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive_agents::{AgentError, Archive, ArchiveError, Decision, Metrics};
    use ive_envs::minatar::{Game, Options, make};

    /// Its members are zero and the number of ones on the board: σ is half of it, and so is μ.
    struct Counter;

    impl Agent for Counter {
        fn steps(&self) -> u64 {
            0
        }
        fn advance(&mut self, _: &mut Vec<Metrics>) -> Result<(), AgentError> {
            Ok(())
        }
        fn archive(&mut self, _: &mut Archive) -> Result<(), ArchiveError> {
            Ok(())
        }
        fn recent_return(&self) -> Option<f64> {
            None
        }
        fn decide(&mut self, observations: &[u8]) -> Vec<Decision> {
            let ones = |board: &[u8]| board.iter().map(|&b| f64::from(b)).sum::<f64>();
            let decide = |board| Decision { action: 0, value: 0.0, members: vec![0.0, ones(board)] };
            observations.chunks(400).map(decide).collect()
        }
    }

    fn world(seed: u64) -> ByteWorld {
        make(Game::Breakout, &Options::default(), seed).unwrap()
    }

    /// What the counter cannot see scores exactly one half, what it must see exactly zero or one.
    #[test]
    fn detectors_find_what_they_can_and_nothing_else() {
        let report = detect(&mut Counter, &world, 100, 3).unwrap();
        assert_eq!((report.states, report.members.as_deref()), (100, Some("k=1..2")));
        let of = |corruption: Corruption| {
            let found = report.detections.iter().find(|d| d.corruption == corruption.name()).unwrap();
            (found.sigma.unwrap(), found.low_value, found.better)
        };
        for blind in
            [Corruption::CellsShuffled, Corruption::Noise, Corruption::ChannelsRolled, Corruption::Flipped]
        {
            assert_eq!(of(blind), (0.5, 0.5, None), "{}", blind.name());
        }
        assert_eq!(of(Corruption::DenseNoise), (1.0, 0.0, Some("sigma")));
        assert_eq!(of(Corruption::Empty), (0.0, 1.0, Some("low_value")));
        assert_eq!(report.mean_sigma.unwrap(), report.mean_value);
    }

    #[test]
    fn the_seed_decides_everything() {
        let at = |seed| collect(&mut Counter, &world, 50, &Rng::from_seed(seed)).unwrap();
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        assert_eq!(at(1).len(), 50);
        assert_eq!(
            detect(&mut Counter, &world, 20, 7).unwrap(),
            detect(&mut Counter, &world, 20, 7).unwrap()
        );
    }
}
