//! What is read off one run: has it learned, what does it get, what is σ on known and on unknown levels.

use ive::{Ranking, mean, mean_and_error, quantile};

use super::evaluate::{Evaluated, REALISED, Set, VALUE};
use super::run::Tested;
use super::sweep::{Cell, Settings, Variant};
use crate::exit::Outcome;
use crate::experiments::ours;

impl Evaluated {
    /// The mean return of its episodes.
    pub fn mean_return(&self) -> f64 {
        mean(&self.returns.iter().map(|(_, total)| *total).collect::<Vec<_>>())
    }

    /// The mean return on each level.
    fn by_level(&self) -> Vec<f64> {
        let of = |place: usize| {
            let some: Vec<f64> =
                self.returns.iter().filter(|(at, _)| *at == place).map(|(_, x)| *x).collect();
            mean(&some)
        };
        (0..self.levels.len()).map(of).collect()
    }

    /// A score of each state; none if this agent does not have it.
    pub fn score(&self, name: &str) -> Option<&[f64]> {
        self.scores.get(name).map(Vec::as_slice).filter(|all| !all.is_empty())
    }

    /// `1 − mean((G − v̂)²) / var(G)` over the states: how much of the returns v̂ explains; none while all returns are the same.
    pub fn explained(&self) -> Option<f64> {
        let (value, real) = (self.score(VALUE)?, self.score(REALISED)?);
        let errors: Vec<f64> = value.iter().zip(real).map(|(v, g)| (g - v).powi(2)).collect();
        let variance = ive::standard_deviation(real, 0).ok()?.powi(2);
        (variance > 1e-10).then(|| 1.0 - mean(&errors) / variance)
    }
}

/// A number on known and on unknown levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub seen: f64,
    pub unseen: f64,
}

impl Pair {
    /// ln(unseen / seen), by which runs are compared: doubling and halving count alike.
    pub fn log_ratio(self) -> f64 {
        (self.unseen / self.seen).ln()
    }
}

/// Whose states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The agent's.
    Agent,
    /// A random policy's, on the same levels.
    Random,
}

impl By {
    fn sets(self) -> [Set; 2] {
        match self {
            Self::Agent => [Set::Seen, Set::Unseen],
            Self::Random => [Set::RandomSeen, Set::RandomUnseen],
        }
    }
}

/// How much better than a random policy an agent is on its training levels: the mean over levels, and its standard error.
pub fn above_random(tested: &Tested) -> (f64, f64) {
    let (agent, random) = (tested.set(Set::Seen).by_level(), tested.set(Set::RandomSeen).by_level());
    mean_and_error(&agent.iter().zip(random).map(|(a, r)| a - r).collect::<Vec<_>>())
}

impl Tested {
    /// Which run.
    pub fn cell(&self) -> &Cell {
        &self.run.cell
    }

    /// What it gets and says in a set.
    pub fn set(&self, set: Set) -> &Evaluated {
        &self.sets[set as usize]
    }

    /// Explained variance of returns over the last tenth of training.
    pub fn explained(&self) -> Option<f64> {
        self.run.at_end("explained_variance")
    }

    /// Why it has not learned, if so: its value explains too little, or it is not better than a random policy on the levels it was trained on
    /// by at least two standard errors over levels. The control that is not to learn is never refused.
    pub fn not_learned(&self, settings: &Settings) -> Option<String> {
        if self.cell().variant == Variant::WarmUp {
            return None;
        }
        let least = settings.least_explained;
        match self.explained() {
            None => return Some("explained variance unknown".into()),
            Some(share) if share < least => {
                return Some(format!("explained variance {share:.2}, below {least:.2}"));
            }
            Some(_) => {}
        }
        let (gain, error) = above_random(self);
        let error = if error.is_finite() { error } else { f64::INFINITY };
        (gain <= 2.0 * error)
            .then(|| format!("return on training levels {gain:+.2} ± {error:.2} above a random policy's"))
    }

    /// Means of a score; none if the agent does not have it.
    pub fn means(&self, score: &str, by: By) -> Option<Pair> {
        let [seen, unseen] = by.sets().map(|set| self.set(set).score(score).map(mean));
        Some(Pair { seen: seen?, unseen: unseen? })
    }

    /// Medians of a score.
    pub fn medians(&self, score: &str, by: By) -> Option<Pair> {
        let [seen, unseen] = by.sets().map(|set| quantile(self.set(set).score(score)?, 0.5).ok());
        Some(Pair { seen: seen?, unseen: unseen? })
    }

    /// The statistic that decides, fixed before any run: for Fig. 4, ln of mean σ on unseen levels over mean σ on training levels, k = 1..5, one sequence of
    /// actions. None where σ is zero on one side.
    pub fn gap(&self, score: &str) -> Option<f64> {
        self.means(score, By::Agent).map(Pair::log_ratio).filter(|x| x.is_finite())
    }

    /// States of unseen levels ranked against states of training levels by a score.
    pub fn ranking(&self, score: &str, by: By) -> Outcome<Option<Ranking>> {
        let [seen, unseen] = by.sets().map(|set| self.set(set).score(score));
        let (Some(seen), Some(unseen)) = (seen, unseen) else { return Ok(None) };
        ours(Ranking::new(seen, unseen)).map(Some)
    }

    /// The levels of the states of a ranking, and how many levels there are: seen, unseen.
    pub fn clusters(&self, by: By) -> [(&[usize], usize); 2] {
        by.sets().map(|set| (self.set(set).places.as_slice(), self.set(set).levels.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::SIGMA;
    use super::super::made_up::{settings, tested};
    use super::*;
    use ive_envs::procgen::Game;

    fn cell(variant: Variant) -> Cell {
        Cell { game: Game::FruitBot, levels: 10, variant, seed: 0 }
    }

    /// By hand: v̂ is off by 1 everywhere and the returns have variance 4.
    #[test]
    fn explained_variance_is_one_minus_error_over_variance() {
        let mut set = Evaluated::default();
        set.scores.insert(VALUE.into(), vec![1.0, 5.0]);
        set.scores.insert(REALISED.into(), vec![0.0, 4.0]);
        assert_eq!(set.explained(), Some(0.75));
        set.scores.insert(REALISED.into(), vec![4.0, 4.0]);
        assert_eq!(set.explained(), None);
    }

    #[test]
    fn an_agent_that_explains_nothing_or_gets_nothing_has_not_learned() {
        let s = settings();
        let good = tested(cell(Variant::Prior), 0.8, 5.0, 1.5);
        assert_eq!(good.not_learned(&s), None);
        let blind = tested(cell(Variant::Prior), 0.1, 5.0, 1.5).not_learned(&s).unwrap();
        assert_eq!(blind, "explained variance 0.10, below 0.30");
        let poor = tested(cell(Variant::Prior), 0.8, -2.0, 1.5).not_learned(&s).unwrap();
        assert!(poor.starts_with("return on training levels"), "{poor}");
        assert_eq!(tested(cell(Variant::WarmUp), 0.0, -2.0, 1.5).not_learned(&s), None);
    }

    #[test]
    fn the_gap_is_the_logarithm_of_the_ratio_of_means() {
        let t = tested(cell(Variant::Prior), 0.8, 5.0, 2.0);
        assert!((t.gap(SIGMA).unwrap() - 2.0f64.ln()).abs() < 1e-9, "{:?}", t.gap(SIGMA));
        assert!(t.means("sigma_heads", By::Agent).is_none());
    }
}
