//! Scores that Muesli offers beside the members of one path: σ of members averaged over many paths, σ of explicit value heads.
//! Paper: App. D.1 (100 sequences) and D.2 (σ-EVE(5)).

use ive::standard_deviation;

use super::agent::Muesli;
use super::player::Draws;
use crate::AgentError;
use crate::player::{Further, Player as _};

/// Sequences of actions of the former. Paper: App. D.1.
const PATHS: usize = 100;
/// σ over k = 1..n, n as far as the model was trained to predict, each k-step value averaged over many sequences of actions.
pub const SEQUENCES: &str = "σ-IVE of 100 sequences";
/// The same over k = 0..n.
pub const SEQUENCES_WITH_ZERO: &str = "σ-IVE of 100 sequences, with k = 0";
/// The stream of a situation from which the sequences are drawn.
const STREAM: u64 = 0x6d61_6e79;

fn sigma(values: &[f64]) -> Result<f64, AgentError> {
    standard_deviation(values, 0).map_err(|_| AgentError::Prediction)
}

/// The scores of situations; each draws from what is carried there, so it does not matter which others are asked about.
pub(super) fn scores(
    muesli: &mut Muesli,
    observations: &[u8],
    memories: &[Draws],
) -> Result<Vec<Further>, AgentError> {
    let (depth, length) = (muesli.config().unroll, muesli.spec().observation_len());
    let (mut many, mut with_zero) = (Vec::new(), Vec::new());
    for (observation, memory) in observations.chunks_exact(length).zip(memories) {
        let rng = &mut memory.imagining().fold_in(STREAM);
        let members = muesli.members(observation, depth, PATHS, rng)?.remove(0);
        many.push(sigma(&members[1..])?);
        with_zero.push(sigma(&members)?);
    }
    let mut all = vec![(SEQUENCES, many), (SEQUENCES_WITH_ZERO, with_zero)];
    if muesli.config().value_heads > 1 {
        let heads = muesli.head_values(observations);
        all.push((Further::EVE, heads.iter().map(|values| sigma(values)).collect::<Result<_, _>>()?));
    }
    Ok(all.into_iter().map(|(name, scores)| Further { name, scores }).collect())
}
