//! Imagined paths: what a model predicts on its way, step by step.

use crate::error::{finite, in_range, same_length};
use crate::{MAX_HORIZON, Model, Policy, Result, Rng, ValueFunction};

/// The predictions along one imagined path from each of b start states.
///
/// It is filled by [`unroll`], or by hand from logged predictions of any system in any language:
///
/// ```
/// use ive::{Rollout, ValueEnsemble};
/// let mut path = Rollout::start(vec![1.0])?;                 // v̂(s⁰)
/// path.push(&[0.5], &[0.9], &[2.0])?;                        // r¹, γ, v̂(s¹)
/// let ensemble = ValueEnsemble::implicit(&path);
/// assert_eq!(ensemble.member(1), [0.5 + 0.9 * 2.0]);
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    batch: usize,
    /// `[k, b]`, k = 0..n.
    values: Vec<f64>,
    /// `[k, b]`, k = 1..n.
    rewards: Vec<f64>,
    discounts: Vec<f64>,
    /// The k-step values v̂ᵏ(s⁰), `[k, b]`, k = 0..n.
    estimates: Vec<f64>,
    /// `Σ_{i<k} γⁱ rⁱ⁺¹` and γᵏ so far, `[b]`.
    reward_sum: Vec<f64>,
    discount: Vec<f64>,
}

impl Rollout {
    /// A path that has not moved yet: the values of the start states, `[b]`.
    ///
    /// # Errors
    /// If a value is not finite.
    pub fn start(values: Vec<f64>) -> Result<Self> {
        finite("values at step 0", &values)?;
        let batch = values.len();
        Ok(Self {
            batch,
            estimates: values.clone(),
            values,
            rewards: Vec::new(),
            discounts: Vec::new(),
            reward_sum: vec![0.0; batch],
            discount: vec![1.0; batch],
        })
    }

    /// Adds a step: the reward and discount of the step and the value of the state it leads to, `[b]` each.
    ///
    /// # Errors
    /// If a length differs from the batch, a number is not finite, a discount is outside [0, 1], the value of a start
    /// state by way of this step is not finite, or the path would be longer than [`MAX_HORIZON`]. The path is unchanged
    /// then.
    pub fn push(&mut self, reward: &[f64], discount: &[f64], values: &[f64]) -> Result<()> {
        in_range("horizon k", (self.horizon() + 1) as f64, 0.0, MAX_HORIZON as f64)?;
        for (what, x) in [
            ("rewards of a step", reward),
            ("discounts of a step", discount),
            ("values after a step", values),
        ] {
            same_length(what, self.batch, x.len())?;
            finite(what, x)?;
        }
        discount.iter().try_for_each(|&d| in_range("discount", d, 0.0, 1.0))?;
        let reward_sum: Vec<f64> =
            (0..self.batch).map(|i| self.reward_sum[i] + self.discount[i] * reward[i]).collect();
        let product: Vec<f64> = self.discount.iter().zip(discount).map(|(product, d)| product * d).collect();
        let estimates: Vec<f64> = (0..self.batch).map(|i| reward_sum[i] + product[i] * values[i]).collect();
        finite("k-step values of the start states", &estimates)?;
        self.estimates.extend_from_slice(&estimates);
        (self.reward_sum, self.discount) = (reward_sum, product);
        self.rewards.extend_from_slice(reward);
        self.discounts.extend_from_slice(discount);
        self.values.extend_from_slice(values);
        Ok(())
    }

    /// How many states the path starts from.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How many steps the path has.
    pub fn horizon(&self) -> usize {
        self.rewards.len().checked_div(self.batch).unwrap_or(0)
    }

    /// v̂(sᵏ), `[b]`.
    pub fn values(&self, k: usize) -> &[f64] {
        &self.values[k * self.batch..(k + 1) * self.batch]
    }

    /// rᵏ, the reward of the k-th step, k = 1..n, `[b]`.
    pub fn rewards(&self, k: usize) -> &[f64] {
        &self.rewards[(k - 1) * self.batch..k * self.batch]
    }

    /// The discount of the k-th step, k = 1..n, `[b]`.
    pub fn discounts(&self, k: usize) -> &[f64] {
        &self.discounts[(k - 1) * self.batch..k * self.batch]
    }

    /// v̂ᵏ(s⁰): what the first k steps and the value behind them say about the start states, `[b]`:
    ///
    /// `v̂ᵏ(s) = Σ_{i=0}^{k-1} γⁱ rⁱ⁺¹ + γᵏ v̂(sᵏ)`, with the products of the predicted discounts in place of γⁱ. Always
    /// finite. Paper: Sec. 3.3, Eq. (7), with the summation bounds of Eq. (23).
    pub fn k_step_values(&self, k: usize) -> &[f64] {
        &self.estimates[k * self.batch..(k + 1) * self.batch]
    }
}

/// Unrolls the model from `start` for `horizon` steps with actions of the policy. `rng` is consumed by the model and
/// the policy.
///
/// # Errors
/// If the model fails, or predicts a wrong number of rewards, discounts or values, or one that is not finite.
pub fn unroll<S, A>(
    model: &(impl Model<S, A> + ?Sized),
    value: &(impl ValueFunction<S> + ?Sized),
    policy: &(impl Policy<S, A> + ?Sized),
    start: S,
    horizon: usize,
    rng: &mut Rng,
) -> Result<Rollout> {
    let path = Rollout::start(value.values(&start)?)?;
    extend(path, model, value, policy, start, None, horizon, rng)
}

/// As [`unroll`], once for each first action; later actions come from the policy. This gives action values q̂ᵏ(s, a)
/// for k ≥ 1. Every branch sees the same random numbers. Paper: App. C.2, Eq. (23).
///
/// [`ValueEnsemble::from_branches`](crate::ValueEnsemble::from_branches) makes one ensemble of state-action pairs of them.
///
/// # Errors
/// As [`unroll`].
pub fn branch<S: Clone, A>(
    model: &(impl Model<S, A> + ?Sized),
    value: &(impl ValueFunction<S> + ?Sized),
    policy: &(impl Policy<S, A> + ?Sized),
    start: &S,
    actions: &[A],
    horizon: usize,
    rng: &mut Rng,
) -> Result<Vec<Rollout>> {
    let root = Rollout::start(value.values(start)?)?;
    let common = rng.split();
    let one =
        |a| extend(root.clone(), model, value, policy, start.clone(), Some(a), horizon, &mut common.clone());
    actions.iter().map(one).collect()
}

#[expect(clippy::too_many_arguments, reason = "private tail of the two functions above")]
fn extend<S, A>(
    mut path: Rollout,
    model: &(impl Model<S, A> + ?Sized),
    value: &(impl ValueFunction<S> + ?Sized),
    policy: &(impl Policy<S, A> + ?Sized),
    mut states: S,
    first: Option<&A>,
    horizon: usize,
    rng: &mut Rng,
) -> Result<Rollout> {
    in_range("horizon k", horizon as f64, 0.0, MAX_HORIZON as f64)?;
    for k in 0..horizon {
        let step = match first {
            Some(a) if k == 0 => model.imagine(&states, a, rng)?,
            _ => model.imagine(&states, &policy.act(&states, rng)?, rng)?,
        };
        states = step.next;
        path.push(&step.reward, &step.discount, &value.values(&states)?)?;
    }
    Ok(path)
}
