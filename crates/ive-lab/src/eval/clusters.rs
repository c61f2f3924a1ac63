//! AUROC with an interval for states that are not independent: those of one episode resemble each other, so episodes are
//! resampled, not states.

use ive::{ClusterBootstrap, Ranking, Rng};

use crate::exit::Outcome;
use crate::experiments::ours;
use crate::signal::judge::{MIN_EPISODES, SEED};

/// How often episodes are resampled.
const REPLICATES: usize = 1000;

/// AUROC and its 95 % interval, if there are enough episodes for one. `episodes[i]` is the episode of state i, counted
/// from 0; the scores are those of the same states, ordinary and corrupted.
pub fn auroc(ordinary: &[f64], corrupted: &[f64], episodes: &[usize]) -> Outcome<(f64, Option<(f64, f64)>)> {
    let ranking = ours(Ranking::new(ordinary, corrupted))?;
    if episodes.iter().max().is_none_or(|last| last + 1 < MIN_EPISODES) {
        return Ok((ranking.detection().auroc, None));
    }
    let bootstrap = ours(ClusterBootstrap::new(&[episodes], 0.95, REPLICATES, &Rng::from_seed(SEED)))?;
    let [found] = ours(bootstrap.estimate(|weights| [ranking.weighted_auroc(&weights[0], &weights[0])]))?;
    Ok((found.value, Some((found.low, found.high))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies of a state inside its episode say nothing new: the interval stays, where one over states would shrink.
    #[test]
    fn copies_within_an_episode_do_not_narrow_the_interval() {
        let rng = &mut Rng::from_seed(4);
        let draw = |rng: &mut Rng, shift: f64| (0..30).map(|_| rng.uniform() + shift).collect::<Vec<f64>>();
        let (ordinary, corrupted) = (draw(rng, 0.0), draw(rng, 0.3));
        let episodes: Vec<usize> = (0..30).collect();
        let once = auroc(&ordinary, &corrupted, &episodes).unwrap();
        let copied = auroc(&ordinary.repeat(20), &corrupted.repeat(20), &episodes.repeat(20)).unwrap();
        assert!((once.0 - copied.0).abs() < 1e-12);
        let ((a, b), (c, d)) = (once.1.unwrap(), copied.1.unwrap());
        assert!(
            (a - c).abs() < 1e-12 && (b - d).abs() < 1e-12 && a < once.0 && once.0 < b,
            "{once:?} {copied:?}"
        );
        let few: Vec<usize> = (0..30).map(|i| i % 9).collect();
        assert_eq!(auroc(&ordinary, &corrupted, &few).unwrap().1, None);
    }
}
