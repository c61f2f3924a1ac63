//! Intervals for states that are not independent: those of one episode resemble each other, so episodes are resampled,
//! not states.

use crate::error::{at_least, finite, in_range};
use crate::{Error, Result, Rng, mean, quantile};

/// A number and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Estimate {
    /// The number, of all states as they are.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A percentile bootstrap that resamples whole clusters of states, such as episodes, with replacement.
///
/// States come in groups, for example those in distribution and those out of it; clusters are drawn within each group.
/// A statistic sees how often each state is there: `weights[group][state]`, whole numbers. Every call draws the same
/// resamples, so that two scores on the same states can be compared in pairs: the interval of their difference is that of
/// a statistic which returns it. With fewer than about ten clusters the interval is too narrow to be believed.
///
/// ```
/// use ive::{ClusterBootstrap, Ranking, Rng};
/// let (episodes_in, episodes_out) = ([0, 0, 1, 1, 2, 2], [7, 7, 8, 9]);
/// let bootstrap = ClusterBootstrap::new(&[&episodes_in, &episodes_out], 0.95, 1000, &Rng::from_seed(0))?;
/// let sigma = Ranking::new(&[0.1, 0.2, 0.1, 0.3, 0.2, 0.4], &[0.5, 0.3, 0.9, 0.7])?;
/// let found = sigma.estimate(&bootstrap)?;
/// assert!(found.auroc.low <= found.auroc.value && found.auroc.value <= found.auroc.high);
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClusterBootstrap {
    groups: Vec<Group>,
    confidence: f64,
    replicates: usize,
    rng: Rng,
}

/// The states of a group.
#[derive(Clone, Debug)]
struct Group {
    /// The cluster of each state, numbered from 0 without gaps.
    cluster_of: Vec<usize>,
    clusters: usize,
}

impl Group {
    fn new(names: &[usize]) -> Self {
        let mut known = names.to_vec();
        known.sort_unstable();
        known.dedup();
        let cluster_of = names.iter().map(|name| known.partition_point(|k| k < name)).collect();
        Self { cluster_of, clusters: known.len() }
    }

    /// How often each state is there when as many clusters as there are were drawn with replacement.
    fn draw(&self, rng: &mut Rng, weights: &mut [f64]) {
        let mut times = vec![0.0; self.clusters];
        (0..self.clusters).for_each(|_| times[rng.below(self.clusters)] += 1.0);
        weights.iter_mut().zip(&self.cluster_of).for_each(|(weight, &cluster)| *weight = times[cluster]);
    }
}

impl ClusterBootstrap {
    /// For groups of states, each given as the names of the clusters of its states. `rng` is where resamples come from;
    /// it is not advanced.
    ///
    /// # Errors
    /// If there is no group or no replicate, a group has fewer than two clusters, or the confidence is not between 0 and
    /// 1.
    pub fn new(groups: &[&[usize]], confidence: f64, replicates: usize, rng: &Rng) -> Result<Self> {
        if groups.is_empty() || replicates == 0 {
            return Err(Error::Empty { what: "groups and replicates of a bootstrap" });
        }
        in_range("confidence", confidence, 0.0, 1.0)?;
        let groups: Vec<Group> = groups.iter().map(|names| Group::new(names)).collect();
        groups.iter().try_for_each(|group| at_least("episodes to resample", 2, group.clusters))?;
        Ok(Self { groups, confidence, replicates, rng: rng.clone() })
    }

    /// How many states each group has.
    pub fn states(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.cluster_of.len()).collect()
    }

    /// How many clusters each group has.
    pub fn clusters(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.clusters).collect()
    }

    /// Some statistics of the weights `[group][state]`, each with its interval.
    ///
    /// # Errors
    /// If a statistic is not finite.
    pub fn estimate<const N: usize>(
        &self,
        statistics: impl Fn(&[Vec<f64>]) -> [f64; N],
    ) -> Result<[Estimate; N]> {
        let mut weights: Vec<Vec<f64>> = self.states().into_iter().map(|n| vec![1.0; n]).collect();
        let values = statistics(&weights);
        let mut drawn = [const { Vec::new() }; N];
        let rng = &mut self.rng.clone();
        for _ in 0..self.replicates {
            self.groups.iter().zip(&mut weights).for_each(|(group, weights)| group.draw(rng, weights));
            drawn.iter_mut().zip(statistics(&weights)).for_each(|(all, x)| all.push(x));
        }
        let tail = (1.0 - self.confidence) / 2.0;
        let mut estimates = [Estimate { value: 0.0, low: 0.0, high: 0.0 }; N];
        for ((estimate, value), drawn) in estimates.iter_mut().zip(values).zip(&drawn) {
            finite("statistic of the states", &[value])?;
            *estimate = Estimate { value, low: quantile(drawn, tail)?, high: quantile(drawn, 1.0 - tail)? };
        }
        Ok(estimates)
    }
}

/// The mean over units, such as seeds, of a statistic of clusters that all units share, such as the levels of a game on which every
/// seed was tested. Both are random: in each replicate units are drawn with replacement, and the clusters of each group too, the same
/// ones for all units (Owen 2007, *The pigeonhole bootstrap*). The interval is rather too wide than too narrow, but not with fewer
/// than about ten units.
///
/// `clusters` says how many there are in each group; `statistic(unit, times)` sees how often each was drawn, `times[group][cluster]`.
///
/// ```
/// use ive::{Rng, crossed_bootstrap};
/// // Three seeds on two known and three unknown levels; the statistic is a mean over the unknown ones.
/// let found = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [1.5, 2.5, 3.0]];
/// let mean = |seed: usize, times: &[Vec<f64>]| {
///     found[seed].iter().zip(&times[1]).map(|(x, n)| x * n).sum::<f64>() / 3.0
/// };
/// let estimate = crossed_bootstrap(3, &[2, 3], mean, 0.95, 1000, &mut Rng::from_seed(0))?;
/// assert!(estimate.low < estimate.value && estimate.value < estimate.high);
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If there is no unit, no replicate or an empty group, the confidence is not between 0 and 1, or a statistic is not finite.
pub fn crossed_bootstrap(
    units: usize,
    clusters: &[usize],
    statistic: impl Fn(usize, &[Vec<f64>]) -> f64,
    confidence: f64,
    replicates: usize,
    rng: &mut Rng,
) -> Result<Estimate> {
    if units == 0 || replicates == 0 || clusters.contains(&0) {
        return Err(Error::Empty { what: "units, clusters and replicates of a bootstrap" });
    }
    in_range("confidence", confidence, 0.0, 1.0)?;
    let mut times: Vec<Vec<f64>> = clusters.iter().map(|n| vec![1.0; *n]).collect();
    let mean_of = |units: &[usize], times: &[Vec<f64>]| {
        let all: Vec<f64> = units.iter().map(|unit| statistic(*unit, times)).collect();
        finite("statistic of the clusters", &all).map(|()| mean(&all))
    };
    let value = mean_of(&(0..units).collect::<Vec<_>>(), &times)?;
    let mut drawn = Vec::with_capacity(replicates);
    for _ in 0..replicates {
        for group in &mut times {
            let size = group.len();
            group.fill(0.0);
            (0..size).for_each(|_| group[rng.below(size)] += 1.0);
        }
        let sample: Vec<usize> = (0..units).map(|_| rng.below(units)).collect();
        drawn.push(mean_of(&sample, &times)?);
    }
    let tail = (1.0 - confidence) / 2.0;
    Ok(Estimate { value, low: quantile(&drawn, tail)?, high: quantile(&drawn, 1.0 - tail)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted_mean(weights: &[f64], x: &[f64]) -> f64 {
        weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() / weights.iter().sum::<f64>()
    }

    /// Copies of a state inside its episode say nothing new: the interval stays, where one over states would shrink.
    #[test]
    fn copies_within_an_episode_do_not_narrow_the_interval() {
        let x: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17)).collect();
        let episodes: Vec<usize> = (100..130).collect();
        let interval = |x: &[f64], episodes: &[usize]| {
            let bootstrap = ClusterBootstrap::new(&[episodes], 0.95, 500, &Rng::from_seed(1)).unwrap();
            bootstrap.estimate(|w| [weighted_mean(&w[0], x)]).unwrap()[0]
        };
        let (once, copied) = (interval(&x, &episodes), interval(&x.repeat(20), &episodes.repeat(20)));
        for (a, b) in [(once.value, copied.value), (once.low, copied.low), (once.high, copied.high)] {
            assert!((a - b).abs() < 1e-12, "{once:?} {copied:?}");
        }
        assert!(once.low < once.value && once.value < once.high);
        let alone = interval(&x.repeat(20), &(0..600).collect::<Vec<usize>>());
        assert!(alone.high - alone.low < 0.5 * (once.high - once.low));
    }

    /// The interval of a mean of 400 independent normals is close to mean ± 1.96 s.e.; 10 % of its width is allowed,
    /// several times the Monte-Carlo error of 4000 replicates.
    #[test]
    fn with_one_state_to_a_cluster_it_is_the_usual_bootstrap() {
        let mut x = vec![0.0; 400];
        Rng::from_seed(3).fill_normal(&mut x);
        let each: Vec<usize> = (0..400).collect();
        let bootstrap = ClusterBootstrap::new(&[&each], 0.95, 4000, &Rng::from_seed(4)).unwrap();
        let found = bootstrap.estimate(|w| [weighted_mean(&w[0], &x)]).unwrap()[0];
        let (m, se) = crate::mean_and_error(&x);
        assert!((found.low - (m - 1.96 * se)).abs() < 0.2 * se, "{found:?}");
        assert!((found.high - (m + 1.96 * se)).abs() < 0.2 * se, "{found:?}");
        assert_eq!((bootstrap.states(), bootstrap.clusters()), (vec![400], vec![400]));
    }

    #[test]
    fn too_little_is_refused() {
        let rng = &Rng::from_seed(0);
        let refused = ClusterBootstrap::new(&[&[5, 5, 5]], 0.95, 10, rng).unwrap_err().to_string();
        assert_eq!(refused, "episodes to resample: at least 2 are needed, got 1");
        assert!(ClusterBootstrap::new(&[], 0.95, 10, rng).is_err());
        assert!(ClusterBootstrap::new(&[&[1, 2]], 0.95, 0, rng).is_err());
        assert!(ClusterBootstrap::new(&[&[1, 2]], 1.5, 10, rng).is_err());
        let bootstrap = ClusterBootstrap::new(&[&[1, 2]], 0.9, 10, rng).unwrap();
        assert!(matches!(bootstrap.estimate(|_| [f64::NAN]), Err(Error::NotFinite { .. })));
    }

    /// Effects of units and of clusters add up in `x[u][c] = a_u + b_c`, so the variance of the mean is `Var(a)/U + Var(b)/C` with the
    /// population variances of the sample. 400 units and 400 clusters make the percentiles those of a normal; 12 % of the width is
    /// allowed, several times the Monte-Carlo error of 2000 replicates.
    #[test]
    fn units_and_clusters_both_widen_a_crossed_interval() {
        let rng = &mut Rng::from_seed(8);
        let mut effects = vec![vec![0.0; 400]; 2];
        effects.iter_mut().for_each(|x| rng.fill_normal(x));
        effects[1].iter_mut().for_each(|x| *x *= 2.0);
        let statistic =
            |unit: usize, times: &[Vec<f64>]| effects[0][unit] + weighted_mean(&times[0], &effects[1]);
        let found = crossed_bootstrap(400, &[400], statistic, 0.95, 2000, rng).unwrap();
        let variance = |x: &[f64]| crate::standard_deviation(x, 0).unwrap().powi(2) / 400.0;
        let se = (variance(&effects[0]) + variance(&effects[1])).sqrt();
        let middle = mean(&effects[0]) + mean(&effects[1]);
        assert!((found.value - middle).abs() < 1e-12);
        assert!((found.low - (middle - 1.96 * se)).abs() < 0.24 * se, "{found:?} {middle} {se}");
        assert!((found.high - (middle + 1.96 * se)).abs() < 0.24 * se, "{found:?} {middle} {se}");
    }

    #[test]
    fn a_crossed_bootstrap_without_units_or_with_broken_statistics_is_refused() {
        let rng = &mut Rng::from_seed(0);
        assert!(crossed_bootstrap(0, &[2], |_, _| 1.0, 0.95, 10, rng).is_err());
        assert!(crossed_bootstrap(2, &[2, 0], |_, _| 1.0, 0.95, 10, rng).is_err());
        assert!(crossed_bootstrap(2, &[2], |_, _| f64::NAN, 0.95, 10, rng).is_err());
        let constant = crossed_bootstrap(2, &[3], |_, times| times[0].iter().sum(), 0.95, 10, rng).unwrap();
        assert_eq!((constant.low, constant.value, constant.high), (3.0, 3.0, 3.0));
    }
}
