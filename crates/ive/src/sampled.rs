//! Ensembles of stochastic models, sample by sample.

use crate::error::{at_least, finite, in_range, same_length};
use crate::{Error, Result, ValueEnsemble, sigma};

/// Samples of the same ensemble, taken one at a time: their mean, and σ with its standard error.
///
/// With a stochastic model or policy one path gives one noisy sample of each member. The noise of sampling must be
/// averaged away before σ is taken, or it reads as disagreement.
///
/// The standard error is a jackknife: how σ moves when samples are left out. Leaving out each sample alone needs all of
/// them until the end. Here they go in turn into a fixed number of groups, and whole groups are left out, so memory is
/// `groups × members × states` however many samples come. With no more samples than groups this *is* the jackknife over
/// single samples, of [`ValueEnsemble::sampled_std`]. The error itself is uncertain by about 1/√(2 (groups − 1)): 16 %
/// with 20 groups.
///
/// ```
/// use ive::{Rng, SampledEnsemble, ValueEnsemble};
/// let rng = &mut Rng::from_seed(0);
/// let mut samples = SampledEnsemble::new(20)?;
/// for _ in 0..10_000 {
///     // Two members at 1 and 3, with unit noise: the true σ is 1.
///     samples.push(&ValueEnsemble::from_members([[1.0 + rng.normal()], [3.0 + rng.normal()]])?)?;
/// }
/// let (sigma, error) = samples.std()?;
/// assert!((sigma[0] - 1.0).abs() < 4.0 * error[0] && error[0] < 0.02);
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SampledEnsemble {
    groups: usize,
    samples: usize,
    /// The sum of the samples of each group, in the form of an ensemble.
    sums: Vec<ValueEnsemble>,
}

impl SampledEnsemble {
    /// No samples yet, to be put into so many groups: 20 is a good choice. One group is enough for the mean.
    ///
    /// # Errors
    /// If there are no groups or more than 2³².
    pub fn new(groups: usize) -> Result<Self> {
        in_range("groups of samples", groups as f64, 1.0, f64::from(u32::MAX))?;
        Ok(Self { groups, samples: 0, sums: Vec::new() })
    }

    /// Some samples in so many groups.
    pub(crate) fn of(samples: &[ValueEnsemble], groups: usize) -> Result<Self> {
        let mut all = Self::new(groups.max(1))?;
        samples.iter().try_for_each(|sample| all.push(sample))?;
        Ok(all)
    }

    /// Takes another sample.
    ///
    /// # Errors
    /// If it has other members or another number of states than those before, or a sum is not finite. It is not taken
    /// then.
    pub fn push(&mut self, sample: &ValueEnsemble) -> Result<()> {
        if let Some(first) = self.sums.first() {
            if first.members != sample.members {
                let (first, other) = (first.members.clone(), sample.members.clone());
                return Err(Error::Members { what: "samples of an ensemble", first, other });
            }
            same_length("members of a sample", first.size, sample.size)?;
            same_length("states of a sample", first.states, sample.states)?;
        }
        let group = self.samples % self.groups;
        if let Some(sum) = self.sums.get_mut(group) {
            let added: Vec<f64> = sum.data.iter().zip(&sample.data).map(|(sum, x)| sum + x).collect();
            finite("sum of the samples", &added)?;
            sum.data = added;
        } else {
            self.sums.push(sample.clone());
        }
        self.samples += 1;
        Ok(())
    }

    /// How many samples were taken.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The mean of the samples, member by member.
    ///
    /// # Errors
    /// If there is no sample, or the sum of all is not finite.
    pub fn mean(&self) -> Result<ValueEnsemble> {
        let mut mean = self.total()?;
        mean.data.iter_mut().for_each(|x| *x /= self.samples as f64);
        Ok(mean)
    }

    /// σ over the members of the mean, and the standard error of that σ, `[state]` each.
    ///
    /// # Errors
    /// As [`mean`](Self::mean); and at least two groups with a sample are needed.
    pub fn std(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        at_least("groups of samples for a standard error", 2, self.sums.len())?;
        let (total, all) = (self.total()?, self.mean()?.std());
        let replicates: Vec<Replicate> =
            (0..self.sums.len()).map(|group| self.without(group, &total)).collect();
        let errors: Vec<f64> =
            (0..all.len()).map(|state| jackknife(all[state], &replicates, state)).collect();
        finite("standard error of σ", &errors)?;
        Ok((all, errors))
    }

    fn total(&self) -> Result<ValueEnsemble> {
        let mut total = self.sums.first().ok_or(Error::Empty { what: "samples of an ensemble" })?.clone();
        for sum in &self.sums[1..] {
            total.data.iter_mut().zip(&sum.data).for_each(|(all, x)| *all += x);
        }
        finite("sum of the samples", &total.data)?;
        Ok(total)
    }

    /// σ when a group is left out.
    fn without(&self, group: usize, total: &ValueEnsemble) -> Replicate {
        let taken = self.samples / self.groups + usize::from(group < self.samples % self.groups);
        let rest = (self.samples - taken) as f64;
        let means: Vec<f64> =
            total.data.iter().zip(&self.sums[group].data).map(|(all, x)| (all - x) / rest).collect();
        Replicate {
            sigma: sigma::of_columns(&means, total.size, 0),
            share: taken as f64 / self.samples as f64,
        }
    }
}

/// A statistic without one group of samples.
struct Replicate {
    /// `[state]`
    sigma: Vec<f64>,
    /// Which share of the samples was left out.
    share: f64,
}

/// The standard error of a statistic from what it is without each of G groups. Groups may differ in size; for equal ones
/// it is `√((G−1)/G Σ_g (θ_g − θ̄)²)`. Busing, Meijer and van der Leeden (1999), *Delete-m jackknife for unequal m*.
fn jackknife(all: f64, replicates: &[Replicate], state: usize) -> f64 {
    let groups = replicates.len() as f64;
    // Pseudo-values θ + (h − 1)(θ − θ_g), where h groups of this size would make up the whole.
    let pseudo = |r: &Replicate| (1.0 / r.share - 1.0) * (all - r.sigma[state]);
    let centre: f64 = replicates.iter().map(|r| (1.0 - r.share) * (all - r.sigma[state])).sum();
    let squares: f64 = replicates.iter().map(|r| (pseudo(r) - centre).powi(2) / (1.0 / r.share - 1.0)).sum();
    (squares / groups).sqrt()
}
