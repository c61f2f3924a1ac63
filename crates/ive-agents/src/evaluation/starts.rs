//! The first steps of episodes that start as none did in training.
//!
//! A corrupted observation is strange to look at; a state that no episode leads to is out of distribution as a whole. Where an environment
//! offers odd starts, the first states of such episodes are scored beside those of ordinary ones.

use ive::{Members, Rng};
use ive_envs::registry::Registered;
use ive_envs::{Action, Environment};

use super::episode::open;
use super::ood::{EPSILON, Met, Scored, Scores};
use super::{decide, further};
use crate::AgentError;
use crate::player::{Player, Wish};

/// The stream of the seed; of the stream of an episode, that of its random actions, and that for agents that draw while they decide.
const STARTING: u64 = 5;
const EXPLORING: u64 = 0x6578_706c;
const DECIDING: u64 = 0x6465_6369;
/// Pixels a side of the picture of a start.
const SIDE: usize = 60;
/// Steps of an episode that are scored from its start on.
const FIRST_STEPS: usize = 8;
/// What the first steps of further ordinary episodes are called.
pub const CONTROL: &str = "ordinary again";

/// Scores of the first steps of episodes: ordinary ones, ordinary ones again with other seeds, and odd ones.
pub(super) fn starts<P: Player>(
    player: &mut P,
    odd: &[(&'static str, Registered)],
    states: usize,
    seed: u64,
    members: Option<&Members>,
) -> Result<Scored, AgentError> {
    let episodes = states.div_ceil(FIRST_STEPS);
    let root = Rng::from_seed(seed).fold_in(STARTING);
    let ordinary = begin(player, "none", None, episodes, &root.fold_in(0), members)?;
    let mut corrupted = vec![begin(player, CONTROL, None, episodes, &root.fold_in(1), members)?];
    for (number, (name, environment)) in odd.iter().enumerate() {
        let rng = root.fold_in(2 + number as u64);
        corrupted.push(begin(player, name, Some(environment), episodes, &rng, members)?);
    }
    let episodes = (0..episodes * FIRST_STEPS).map(|state| state / FIRST_STEPS).collect();
    let ordinary = Met { episodes, realised: Vec::new(), scores: ordinary };
    Ok(Scored { ordinary, corrupted, shifted: Vec::new() })
}

/// The first steps of so many episodes, as play with ε = 0.05 meets them, episode by episode.
fn begin<P: Player>(
    player: &mut P,
    name: &'static str,
    environment: Option<&Registered>,
    episodes: usize,
    rng: &Rng,
    members: Option<&Members>,
) -> Result<Scores, AgentError> {
    let mut all = Scores { name: name.into(), ..Scores::default() };
    let mut estimates = Vec::new();
    for number in 0..episodes as u64 {
        let (mut seeds, mut acting) = (rng.fold_in(number), rng.fold_in(number).fold_in(EXPLORING));
        let mut world = open(player, environment, seeds.next_u64())?;
        let mut seen = world.reset().observation;
        let mut memory = [player.begin(&rng.fold_in(number).fold_in(DECIDING))];
        if number == 0 {
            all.example = world.sight(SIDE);
        }
        for _ in 0..FIRST_STEPS {
            all.add(further(player, &seen, &memory)?);
            let decision = decide(player, &seen, &mut memory, Wish::of(members))?.remove(0);
            all.values.push(decision.value);
            estimates.extend(decision.members);
            let random = acting.uniform() < EPSILON;
            let action = if random { Action::random(world.spec(), &mut acting) } else { decision.action };
            let step = world.step_into(action, &mut seen)?;
            player.remember(&mut memory[0], action, step);
        }
    }
    all.members = (estimates.len() == all.values.len() && !estimates.is_empty()).then_some(estimates);
    Ok(all)
}
