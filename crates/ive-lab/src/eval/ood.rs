//! Does σ notice states that are out of distribution?
//!
//! Ordinary states are collected from ε-greedy play; each is [corrupted](super::corruption), and three detectors score
//! both:
//!
//! - σ-IVE over the members along the plan;
//! - σ-IVE divided by |μ-IVE|, since values and their disagreement often grow together;
//! - the trivial one, "low predicted value": −μ-IVE (−Q of an agent without a model).
//!
//! What counts is the AUROC, the probability that a corrupted state scores higher than an ordinary one. σ is only worth
//! something where it beats the trivial detector: strange states often look worthless, and then a low value says it all.
//! Below 0.5 a detector is worse than chance: an alarm on high scores would be silent there.

use ive::{Members, Rng, mean};
use ive_agents::Agent;
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;
use serde::Serialize;

use super::corruption::Corruption;
use super::episode::{mu, sigma, turn};
use super::{clusters, members};
use crate::exit::Outcome;

/// The probability of a random action while ordinary states are collected.
pub const EPSILON: f64 = 0.05;
/// Worlds that are played side by side for that.
const WORLDS: usize = 16;
/// A state is kept every so many steps: neighbours are nearly the same.
const APART: usize = 8;
/// States for which the agent decides at once.
const AT_ONCE: usize = 64;
/// A smaller |μ| counts as this one where σ is divided by it.
const SMALLEST_MU: f64 = 1e-9;
/// Streams of the seed.
const PLAYING: u64 = 1;
const CORRUPTING: u64 = 2;

/// How well a detector tells corrupted states from ordinary ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Area {
    /// AUROC.
    pub auroc: f64,
    /// Its 95 % interval by resampling episodes; none with fewer than ten of them.
    pub interval: Option<(f64, f64)>,
}

/// What the detectors make of a corruption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// What was done to the states.
    pub corruption: &'static str,
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

/// States from play, and the episode from which each is, counted from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct States {
    /// Observations.
    pub sights: Vec<Vec<u8>>,
    /// The episode of each.
    pub episodes: Vec<usize>,
}

/// Scores of some states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Which members there are.
    pub members: Option<Members>,
    /// They themselves, for each state.
    pub values: Vec<Vec<f64>>,
    /// σ-IVE.
    pub sigma: Vec<f64>,
    /// σ-IVE / |μ-IVE|.
    pub sigma_over_mu: Vec<f64>,
    /// −μ-IVE, or −Q.
    pub low_value: Vec<f64>,
}

/// Everything that was seen and said, for files and pictures.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The ordinary states.
    pub ordinary: States,
    /// What the agent says of them.
    pub usual: Scores,
    /// For each corruption: the corrupted states, and what the agent says of them.
    pub unusual: Vec<(Corruption, Vec<Vec<u8>>, Scores)>,
}

/// Collects `states` ordinary states and scores them and every corruption of them. `world` makes a world of a seed.
pub fn look(
    agent: &mut dyn Agent,
    world: &dyn Fn(u64) -> ByteWorld,
    states: usize,
    seed: u64,
    wish: Option<&Members>,
) -> Outcome<Experiment> {
    let root = Rng::from_seed(seed);
    let ordinary = collect(agent, world, states, &root.fold_in(PLAYING))?;
    let usual = score(agent, &ordinary.sights, wish)?;
    let mut unusual = Vec::new();
    for (number, corruption) in Corruption::ALL.into_iter().enumerate() {
        let rng = &mut root.fold_in(CORRUPTING).fold_in(number as u64);
        let corrupted = corruption.apply(&ordinary.sights, rng);
        let scores = score(agent, &corrupted, wish)?;
        unusual.push((corruption, corrupted, scores));
    }
    Ok(Experiment { ordinary, usual, unusual })
}

/// How well each detector does.
pub fn judge(experiment: &Experiment) -> Outcome<Report> {
    let Experiment { ordinary, usual, unusual } = experiment;
    let area = |usual: &[f64], unusual: &[f64]| -> Outcome<Area> {
        let (auroc, interval) = clusters::auroc(usual, unusual, &ordinary.episodes)?;
        Ok(Area { auroc, interval })
    };
    let has_members = usual.members.is_some();
    let with_model = |a: &[f64], b: &[f64]| if has_members { area(a, b).map(Some) } else { Ok(None) };
    let mut detections = Vec::new();
    for (corruption, _, scores) in unusual {
        let low = area(&usual.low_value, &scores.low_value)?;
        let sigma = with_model(&usual.sigma, &scores.sigma)?;
        let relative = with_model(&usual.sigma_over_mu, &scores.sigma_over_mu)?;
        let better = sigma.map(|s| s.auroc).filter(|&s| s != low.auroc);
        detections.push(Detection {
            corruption: corruption.name(),
            sigma: sigma.map(|a| a.auroc),
            sigma_interval: sigma.and_then(|a| a.interval),
            sigma_over_mu: relative.map(|a| a.auroc),
            sigma_over_mu_interval: relative.and_then(|a| a.interval),
            low_value: low.auroc,
            low_value_interval: low.interval,
            better: better.map(|s| if s > low.auroc { "sigma" } else { "low_value" }),
        });
    }
    Ok(Report {
        states: ordinary.sights.len(),
        episodes: ordinary.episodes.iter().max().map_or(0, |last| last + 1),
        members: usual.members.as_ref().map(ToString::to_string),
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
) -> Outcome<States> {
    let mut worlds: Vec<ByteWorld> = (0..WORLDS).map(|i| world(rng.fold_in(i as u64).next_u64())).collect();
    let mut acting = rng.fold_in(WORLDS as u64);
    let mut sights: Vec<Vec<u8>> = worlds.iter_mut().map(|world| world.reset().observation).collect();
    let mut kept = States::default();
    // The episode that goes on in each world, by the number of its first kept state; numbered without gaps below.
    let (mut current, mut begun) = ((0..WORLDS).collect::<Vec<usize>>(), WORLDS);
    for t in 1.. {
        let actions = agent.act(&sights.concat());
        for (i, ((world, sight), greedy)) in worlds.iter_mut().zip(&mut sights).zip(actions).enumerate() {
            let random = acting.uniform() < EPSILON;
            let action = if random { acting.below(world.spec().actions.len()) } else { greedy };
            if turn(world, action, sight)?.1 {
                *sight = world.reset().observation;
                (current[i], begun) = (begun, begun + 1);
            }
        }
        if t % APART == 0 {
            let wanted = count - kept.sights.len();
            kept.sights.extend(sights.iter().take(wanted).cloned());
            kept.episodes.extend(current.iter().take(wanted));
        }
        if kept.sights.len() == count {
            break;
        }
    }
    let mut seen: Vec<usize> = kept.episodes.clone();
    seen.sort_unstable();
    seen.dedup();
    kept.episodes.iter_mut().for_each(|e| *e = seen.partition_point(|s| s < e));
    Ok(kept)
}

fn score(agent: &mut dyn Agent, states: &[Vec<u8>], wish: Option<&Members>) -> Outcome<Scores> {
    let mut scores = Scores::default();
    for some in states.chunks(AT_ONCE) {
        for decision in members::decide(agent, &some.concat(), wish)? {
            let value = mu(&decision.members).unwrap_or(decision.value);
            scores.members = members::set(decision.members.len(), wish);
            scores.low_value.push(-value);
            scores.sigma.extend(sigma(&decision.members));
            scores.sigma_over_mu.extend(sigma(&decision.members).map(|s| s / value.abs().max(SMALLEST_MU)));
            scores.values.push(decision.members);
        }
    }
    Ok(scores)
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

    fn detect(states: usize, seed: u64) -> Report {
        judge(&look(&mut Counter, &world, states, seed, None).unwrap()).unwrap()
    }

    /// What the counter cannot see scores exactly one half, what it must see exactly zero or one.
    #[test]
    fn detectors_find_what_they_can_and_nothing_else() {
        let report = detect(100, 3);
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
        // σ / |μ| is 1 for every board with something on it, and 0 for the empty one.
        let relative = |i: usize| report.detections[i].sigma_over_mu.unwrap();
        assert_eq!((relative(0), relative(6)), (0.5, 0.0));
    }

    #[test]
    fn the_seed_decides_everything() {
        let at = |seed| collect(&mut Counter, &world, 50, &Rng::from_seed(seed)).unwrap();
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        assert_eq!(at(1).sights.len(), 50);
        let mut episodes = at(1).episodes;
        episodes.sort_unstable();
        episodes.dedup();
        assert!(episodes.len() >= WORLDS && episodes.iter().copied().eq(0..episodes.len()), "{episodes:?}");
        assert_eq!(detect(20, 7), detect(20, 7));
    }
}
