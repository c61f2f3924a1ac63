//! The learners of the paper: minibatches and Adam, in single precision. Paper: App. B.1.
//!
//! What makes them fast, without changing what is computed:
//!
//! * Rows that the data never show have zero gradient and zero moments for ever: they take no part.
//! * Gradients follow from counts: a minibatch only counts its steps, and one fused pass over the table makes gradient,
//!   moments and update.
//! * Adam moves a logit by δ, so its exponential is multiplied by e^−δ. The learner keeps the exponentials instead of
//!   the logits: no `exp` remains in the loop, only a cubic in the small δ. The product loses less precision than the
//!   sum would, since logits are larger than one and their updates are not.
//! * Lanes are pairs, eight at a time. There is no contraction of products and sums, so every CPU gives the same bits.

use ive::Rng;
use ive_envs::grid::{ACTIONS, PAIRS, STATES};
use multiversion::multiversion;

use super::Dataset;

/// The optimiser's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step size of Adam, at most [`MAX_LEARNING_RATE`].
    pub learning_rate: f64,
    /// Passes over the data.
    pub epochs: usize,
    /// Steps per minibatch; the last one of an epoch may be shorter.
    pub batch: usize,
    /// Whether each epoch draws a new order. Without it, minibatches are the data in order (for tests).
    pub shuffle: bool,
}

/// Adam moves a logit by at most 3.2 times this; the cubic for e^−δ is exact in single precision up to there.
pub const MAX_LEARNING_RATE: f64 = 0.01;

const LANES: usize = 8;
type Lanes = [f32; LANES];

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Adam with both bias corrections folded into two numbers: `x −= rate·m/(√u + epsilon)`.
struct Adam {
    learning_rate: f64,
    beta1_power: f64,
    beta2_power: f64,
    rate: f32,
    epsilon: f32,
}

impl Adam {
    fn new(learning_rate: f64) -> Self {
        Self { learning_rate, beta1_power: 1.0, beta2_power: 1.0, rate: 0.0, epsilon: 0.0 }
    }

    /// Begins the next step.
    #[inline(always)]
    fn tick(&mut self) {
        self.beta1_power *= BETA1;
        self.beta2_power *= BETA2;
        let correction = (1.0 - self.beta2_power).sqrt();
        self.rate = (self.learning_rate * correction / (1.0 - self.beta1_power)) as f32;
        self.epsilon = (EPSILON * correction) as f32;
    }

    /// Updates the moments of eight entries and returns how far each entry moves down.
    #[inline(always)]
    fn descend(&self, g: Lanes, m: &mut Lanes, u: &mut Lanes) -> Lanes {
        let mut delta = [0.0; LANES];
        for i in 0..LANES {
            m[i] += (1.0 - BETA1) as f32 * (g[i] - m[i]);
            u[i] += (1.0 - BETA2) as f32 * (g[i] * g[i] - u[i]);
            delta[i] = self.rate * m[i] / (u[i].sqrt() + self.epsilon);
        }
        delta
    }
}

impl Sgd {
    /// The largest minibatch: counts are kept in a byte.
    pub const MAX_BATCH: usize = 255;

    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting outside its range, with the range.
    pub fn check(&self) -> ive::Result<()> {
        ive::in_range("learning rate", self.learning_rate, 0.0, MAX_LEARNING_RATE)?;
        ive::in_range("steps per minibatch", self.batch as f64, 1.0, Self::MAX_BATCH as f64)
    }

    /// Expected SARSA under the uniform policy, in place on q̂ `[state, action]`: descends
    /// `mean ½(q̂(s, a) − γ mean_a' q̂(s', a'))²`, no gradient through the target. `order` draws the minibatches.
    ///
    /// # Panics
    /// If [`check`](Self::check) fails.
    pub fn fit_values(&self, data: &Dataset, discount: f64, values: &mut [f64], order: &mut Rng) {
        self.check().expect("settings of the learner");
        let mut steps: Vec<(u8, u8)> =
            data.transitions.iter().map(|t| ((t.state * ACTIONS + t.action) as u8, t.next as u8)).collect();
        let mut q = [[0.0; LANES]; PAIRS.div_ceil(LANES)];
        q.as_flattened_mut().iter_mut().zip(&*values).for_each(|(q, v)| *q = *v as f32);
        fit_values(self, &mut steps, discount as f32, &mut q, order);
        values.iter_mut().zip(q.as_flattened()).for_each(|(v, q)| *v = f64::from(*q));
    }

    /// Maximum likelihood, in place on r̂ `[state, action]` and the logits `[state, action, next]`: descends
    /// `mean ½ r̂(s, a)² − log softmax(ℓ(s, a))[s']`. Only visited rows change.
    ///
    /// # Panics
    /// If [`check`](Self::check) fails.
    pub fn fit_model(&self, data: &Dataset, reward: &mut [f64], logits: &mut [f64], order: &mut Rng) {
        self.check().expect("settings of the learner");
        let visited: Vec<usize> = (0..PAIRS).filter(|&p| data.visited(p)).collect();
        let mut lane_of = [0; PAIRS];
        visited.iter().enumerate().for_each(|(lane, &pair)| lane_of[pair] = lane);
        let mut fit = ModelFit::new(visited.len().div_ceil(LANES));
        for (lane, &pair) in visited.iter().enumerate() {
            let row = &logits[pair * STATES..(pair + 1) * STATES];
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            fit.reward[lane / LANES][lane % LANES] = reward[pair] as f32;
            fit.scale[lane] = largest;
            for (s, logit) in row.iter().enumerate() {
                fit.e[(lane / LANES) * STATES + s][lane % LANES] = libm::exp(logit - largest) as f32;
            }
        }
        let mut steps: Vec<(u16, u8)> = data
            .transitions
            .iter()
            .map(|t| {
                let lane = lane_of[t.state * ACTIONS + t.action];
                ((((lane / LANES) * STATES + t.next) * LANES + lane % LANES) as u16, lane as u8)
            })
            .collect();
        fit_model(self, &mut steps, &mut fit, order);
        for (lane, &pair) in visited.iter().enumerate() {
            reward[pair] = f64::from(fit.reward[lane / LANES][lane % LANES]);
            for s in 0..STATES {
                let e = f64::from(fit.e[(lane / LANES) * STATES + s][lane % LANES]);
                logits[pair * STATES + s] = fit.scale[lane] + libm::log(e);
            }
        }
    }

    /// Puts the steps of the next epoch in order: all but the last minibatch need a draw.
    #[inline(always)]
    fn arrange<T>(&self, steps: &mut [T], order: &mut Rng) {
        if self.shuffle {
            let last =
                if steps.len().is_multiple_of(self.batch) { self.batch } else { steps.len() % self.batch };
            order.shuffle_front(steps, steps.len() - last);
        }
    }
}

#[multiversion(targets = "simd")]
fn fit_values(sgd: &Sgd, steps: &mut [(u8, u8)], discount: f32, q: &mut [Lanes; 13], order: &mut Rng) {
    let mut adam = Adam::new(sgd.learning_rate);
    let (mut m, mut u) = ([[0.0; LANES]; 13], [[0.0; LANES]; 13]);
    for _ in 0..sgd.epochs {
        sgd.arrange(steps, order);
        for batch in steps.chunks(sgd.batch) {
            adam.tick();
            let flat = q.as_flattened();
            // 32 entries, so that an index below 32 needs no check.
            let mut target = [0.0f32; 32];
            for (t, q) in target.iter_mut().zip(flat.as_chunks::<ACTIONS>().0) {
                *t = discount * 0.25 * ((q[0] + q[1]) + (q[2] + q[3]));
            }
            let mut g = [[0.0; LANES]; 13];
            let sum = g.as_flattened_mut();
            for &(pair, next) in batch {
                sum[usize::from(pair)] += flat[usize::from(pair)] - target[usize::from(next & 31)];
            }
            let share = 1.0 / batch.len() as f32;
            for i in 0..13 {
                let delta = adam.descend(g[i].map(|x| x * share), &mut m[i], &mut u[i]);
                q[i].iter_mut().zip(delta).for_each(|(q, d)| *q -= d);
            }
        }
    }
}

/// The tables of one model while it is fitted. Lanes are visited pairs; `groups` times eight of them.
struct ModelFit {
    /// Exponentials of the logits, `[group, next]`.
    e: Vec<Lanes>,
    m: Vec<Lanes>,
    u: Vec<Lanes>,
    /// How often each step occurs in the minibatch, `[group, next]`.
    counts: Vec<[u8; LANES]>,
    /// Per group: sums of the exponentials, pair counts, r̂ and its moments.
    sums: Vec<Lanes>,
    pairs: Vec<Lanes>,
    reward: Vec<Lanes>,
    reward_m: Vec<Lanes>,
    reward_u: Vec<Lanes>,
    /// What was divided out of the exponentials of each lane, as a logarithm.
    scale: Vec<f64>,
}

impl ModelFit {
    fn new(groups: usize) -> Self {
        let table = |x: f32, n: usize| vec![[x; LANES]; n];
        let (zero, zero_next) = (|| table(0.0, groups), || table(0.0, groups * STATES));
        Self {
            // One and not zero, so that the unused lanes of the last group stay finite.
            e: table(1.0, groups * STATES),
            m: zero_next(),
            u: zero_next(),
            counts: vec![[0; LANES]; groups * STATES],
            sums: zero(),
            pairs: zero(),
            reward: zero(),
            reward_m: zero(),
            reward_u: zero(),
            scale: vec![0.0; groups * LANES],
        }
    }

    /// Recomputes the sums, and rescales a lane whose exponentials have left the comfortable range.
    #[inline(always)]
    fn refresh(&mut self) {
        for (group, rows) in self.e.chunks_exact_mut(STATES).enumerate() {
            let mut sum = [0.0; LANES];
            rows.iter().for_each(|row| (0..LANES).for_each(|i| sum[i] += row[i]));
            for i in 0..LANES {
                if !(1e-12..1e12).contains(&sum[i]) {
                    rows.iter_mut().for_each(|row| row[i] /= sum[i]);
                    self.scale[group * LANES + i] += libm::log(f64::from(sum[i]));
                    sum[i] = rows.iter().map(|row| row[i]).sum();
                }
            }
            self.sums[group] = sum;
        }
    }
}

#[multiversion(targets = "simd")]
fn fit_model(sgd: &Sgd, steps: &mut [(u16, u8)], fit: &mut ModelFit, order: &mut Rng) {
    let mut adam = Adam::new(sgd.learning_rate);
    for _ in 0..sgd.epochs {
        sgd.arrange(steps, order);
        fit.refresh();
        for batch in steps.chunks(sgd.batch) {
            adam.tick();
            let (counts, pairs) = (fit.counts.as_flattened_mut(), fit.pairs.as_flattened_mut());
            for &(cell, lane) in batch {
                counts[usize::from(cell)] += 1;
                pairs[usize::from(lane)] += 1.0;
            }
            update_model(&adam, 1.0 / batch.len() as f32, fit);
        }
    }
}

/// One step of Adam on all lanes: the gradient of a logit is `(n(s, a)·p̂(s' | s, a) − n(s, a, s'))/B`.
#[inline(always)]
fn update_model(adam: &Adam, share: f32, fit: &mut ModelFit) {
    for group in 0..fit.sums.len() {
        let n = fit.pairs[group];
        let r = &mut fit.reward[group];
        let g: Lanes = std::array::from_fn(|i| share * n[i] * r[i]);
        let delta = adam.descend(g, &mut fit.reward_m[group], &mut fit.reward_u[group]);
        (0..LANES).for_each(|i| r[i] -= delta[i]);

        let weight: Lanes = std::array::from_fn(|i| share * n[i] / fit.sums[group][i]);
        let rows = group * STATES..(group + 1) * STATES;
        let (e, counts) = (&mut fit.e[rows.clone()], &mut fit.counts[rows.clone()]);
        let (m, u) = (&mut fit.m[rows.clone()], &mut fit.u[rows]);
        let mut sum = [0.0; LANES];
        for (((e, m), u), counts) in e.iter_mut().zip(m).zip(u).zip(&*counts) {
            let g: Lanes = std::array::from_fn(|i| weight[i] * e[i] - share * f32::from(counts[i]));
            let d = adam.descend(g, m, u);
            for i in 0..LANES {
                // e^−d = 1 − d (1 − d/2 (1 − d/3)) for small d.
                e[i] -= e[i] * (d[i] * (1.0 - d[i] * (0.5 - d[i] * (1.0 / 6.0))));
                sum[i] += e[i];
            }
        }
        counts.as_flattened_mut().fill(0);
        fit.sums[group] = sum;
        fit.pairs[group] = [0.0; LANES];
    }
}
