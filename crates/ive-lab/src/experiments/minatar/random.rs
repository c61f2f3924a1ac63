//! What a uniformly random policy gets: the zero of normalised scores.

use ive::Rng;
use ive_envs::Environment;
use ive_envs::minatar::{self, Game, Options};

use crate::exit::{Failure, Outcome};

/// The seed of the worlds and actions of the random policy; not among the seeds of agents.
const SEED: u64 = 0x5eed_0000;

/// Returns of `episodes` episodes in which every action is drawn uniformly from all six.
pub fn returns(game: Game, options: &Options, episodes: u64) -> Outcome<Vec<f64>> {
    let ours =
        |e: &dyn std::fmt::Display| Failure::internal(format!("random policy on {}: {e}", game.name()));
    let mut world = minatar::make(game, options, SEED).map_err(|e| ours(&e))?;
    let actions = world.spec().actions.len();
    let mut observation = vec![0; world.spec().observation_len()];
    let mut rng = Rng::from_seed(SEED).fold_in(1);
    let mut episode = || -> Result<f64, ive_envs::StepError> {
        world.reset_into(&mut observation)?;
        let mut total = 0.0;
        loop {
            let step = world.step_into(rng.below(actions), &mut observation)?;
            total += step.reward;
            if step.kind.is_last() {
                return Ok(total);
            }
        }
    };
    (0..episodes).map(|_| episode().map_err(|e| ours(&e))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::mean_and_error;

    /// The prototype in Python found .50 on Breakout, 3.0 on Space Invaders and .48 on Asterix with the original games;
    /// four standard errors of our estimate plus the rounding of theirs are allowed.
    #[test]
    fn random_returns_are_those_of_the_original_games() {
        for (game, expected, rounding) in
            [(Game::Breakout, 0.50, 0.05), (Game::SpaceInvaders, 3.0, 0.3), (Game::Asterix, 0.48, 0.05)]
        {
            let (mean, error) = mean_and_error(&returns(game, &Options::default(), 1000).unwrap());
            assert!((mean - expected).abs() < 4.0 * error + rounding, "{}: {mean} ± {error}", game.name());
        }
    }
}
