//! Scores of Dreamer's own by which states can be told from those that it knows; the larger, the stranger.
//!
//! Besides σ-IVE along the means of the prior, which every decision has as its members: σ-IVE of members that are averaged over sampled
//! futures, how much an observation changes what the model expected, how badly it is reconstructed, and, where there are several value networks, how much
//! they differ.

use ive::Rng;

use super::agent::Dreamer;
use super::config::Config;
use super::memory::Carried;
use super::mind::{ACTOR, MODEL, Mind, VALUE};
use super::network::Latent;
use super::observed::Observed;
use super::player::Inputs;
use super::update::normals;
use crate::nn::{Block, Graph};
use crate::player::Further;

/// Futures over which members are averaged.
const FUTURES: usize = 10;
/// The stream of their noise, of the one that a state carries.
const SAMPLING: u64 = 0x7361_6d70;

/// `KL(N(m₁, s₁²) ‖ N(m₀, s₀²)) = Σ ln(s₀/s₁) + (s₁² + (m₁ − m₀)²) / 2s₀² − ½`, independent dimensions.
fn divergence(posterior: [&[f32]; 2], prior: [&[f32]; 2]) -> f64 {
    let number = |list: &[f32], i: usize| f64::from(list[i]);
    let one = |i: usize| {
        let ([m1, s1], [m0, s0]) = (posterior.map(|x| number(x, i)), prior.map(|x| number(x, i)));
        (s0 / s1).ln() + (s1 * s1 + (m1 - m0).powi(2)) / (2.0 * s0 * s0) - 0.5
    };
    (0..prior[0].len()).map(one).sum()
}

/// `½ Σ (x − y)²`.
fn squares((x, y): (&[f32], &[f32])) -> f64 {
    x.iter().zip(y).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>() / 2.0
}

/// σ of a row of values.
fn spread(row: &[f32]) -> f64 {
    let row: Vec<f64> = row.iter().map(|&x| x.into()).collect();
    ive::standard_deviation(&row, 0).unwrap_or(f64::NAN)
}

/// σ over columns of the mean over `futures` rows, for each state.
fn averaged(members: &[f32], columns: usize, futures: usize) -> Vec<f64> {
    let state = |rows: &[f32]| {
        let column = |k: usize| {
            rows.iter().skip(k).step_by(columns).map(|&x| f64::from(x)).sum::<f64>() / futures as f64
        };
        let means: Vec<f64> = (0..columns).map(column).collect();
        ive::standard_deviation(&means, 0).unwrap_or(f64::NAN)
    };
    members.chunks_exact(futures * columns).map(state).collect()
}

/// Each row of `columns` numbers, so many times in succession.
fn repeated(rows: &[f32], columns: usize, times: usize) -> Vec<f32> {
    rows.chunks_exact(columns).flat_map(|row| row.repeat(times)).collect()
}

impl Mind {
    /// Members k = 0 to `horizon` of each row, `[rows, horizon + 1]`, along a future with noise in states and actions.
    fn sampled(&self, g: &mut dyn Graph, mut state: Latent, config: &Config, rngs: &mut [Rng]) -> Vec<f32> {
        let (rows, stochastic) = (g.shape(state.d)[0], self.model.latent[0]);
        let (mut some, mut features, streams) = (Vec::new(), vec![state.features(g)], rngs.len());
        let mut noise = |columns: usize| {
            let mut all = Vec::with_capacity(rows * columns);
            for rng in rngs.iter_mut() {
                normals(rows / streams * columns, rng, &mut some);
                all.extend_from_slice(&some);
            }
            all
        };
        for t in 0..config.plan_horizon {
            let action = self.actor.act(g, ACTOR, features[t], Some(&noise(self.actor.motors)));
            state = self.model.dynamics.imagine(g, MODEL, state, action, Some(&noise(stochastic)));
            features.push(state.features(g));
        }
        let members = self.members_along(g, &features, config.discount);
        let mut read = Vec::new();
        g.read(members, &mut read);
        read
    }
}

impl<E: Observed> Dreamer<E> {
    /// All of its scores.
    pub(super) fn own_scores(&mut self, observations: &[E], memories: &[Carried]) -> Vec<Further> {
        let Self { mind, config, decider, standard, sizes, .. } = self;
        let kept: Vec<E::Kept> = observations.iter().map(|&x| x.keep()).collect();
        let (mut carried, mut inputs) = (memories.to_vec(), Inputs::default());
        standard.apply::<E>(&kept, &mut inputs.observations);
        inputs.fill(&mut carried);
        let mut rngs: Vec<Rng> = memories.iter().map(|memory| memory.rng.fold_in(SAMPLING)).collect();
        let (mut read, mut seen) = ([const { Vec::new() }; 4], Vec::new());
        let (mut values, mut members) = (Vec::new(), Vec::new());
        let n = mind.learn_values.len();
        decider.run(&mind.frozen(), |g| {
            let (posterior, state) = mind.look(g, &inputs);
            let prior = mind.model.dynamics.prior(g, MODEL, state.d);
            for (var, out) in [posterior.0, posterior.1, prior.0, prior.1].into_iter().zip(&mut read) {
                g.read(var, out);
            }
            let features = state.features(g);
            let shown = mind.model.decode(g, MODEL, features);
            g.read(shown, &mut seen);
            if n > 1 {
                let each: Vec<_> =
                    (0..n).map(|i| mind.value.value(g, Block(VALUE.0 + i), features)).collect();
                let all = g.columns(&each);
                g.read(all, &mut values);
            }
            let (mut z, mut d) = (Vec::new(), Vec::new());
            g.read(state.z, &mut z);
            g.read(state.d, &mut d);
            let (z, d) =
                (repeated(&z, sizes.stochastic, FUTURES), repeated(&d, sizes.deterministic, FUTURES));
            let start = Latent { z: g.input(&z, sizes.stochastic), d: g.input(&d, sizes.deterministic) };
            members = mind.sampled(g, start, config, &mut rngs);
        });
        let [m1, s1, m0, s0] = read.each_ref().map(|all| all.chunks_exact(sizes.stochastic));
        let changed = m1.zip(s1).zip(m0.zip(s0)).map(|((m1, s1), (m0, s0))| divergence([m1, s1], [m0, s0]));
        let pairs =
            seen.chunks_exact(sizes.observation).zip(inputs.observations.chunks_exact(sizes.observation));
        let mut scores = vec![
            ("σ-IVE of 10 futures", averaged(&members, config.plan_horizon + 1, FUTURES)),
            ("KL surprise", changed.collect()),
            ("reconstruction error", pairs.map(squares).collect()),
        ];
        if n > 1 {
            scores.push((Further::EVE, values.chunks_exact(n).map(spread).collect()));
        }
        scores.into_iter().map(|(name, scores)| Further { name, scores }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: equal distributions have none; N(1, 1) from N(0, 1) has ½; N(0, 1) from N(0, 2²) has ln 2 + ⅛ − ½.
    #[test]
    fn divergences_by_hand() {
        assert_eq!(divergence([&[0.5, -1.0], &[2.0, 0.1]], [&[0.5, -1.0], &[2.0, 0.1]]), 0.0);
        assert!((divergence([&[1.0], &[1.0]], [&[0.0], &[1.0]]) - 0.5).abs() < 1e-12);
        let both = divergence([&[1.0, 0.0], &[1.0, 1.0]], [&[0.0, 0.0], &[1.0, 2.0]]);
        assert!((both - (0.5 + 2.0_f64.ln() + 0.125 - 0.5)).abs() < 1e-12);
    }

    /// By hand: members that differ from future to future but not on average have σ = 0.
    #[test]
    fn futures_are_averaged_before_members_are_compared() {
        let noise: Vec<f32> =
            (0..10).flat_map(|i| if i % 2 == 0 { [1.0, 5.0] } else { [5.0, 1.0] }).collect();
        let apart: Vec<f32> = [2.0, 4.0].repeat(10);
        assert_eq!(averaged(&[noise, apart].concat(), 2, 10), [0.0, 1.0]);
        assert_eq!(repeated(&[1.0, 2.0, 3.0, 4.0], 2, 10)[18..22], [1.0, 2.0, 3.0, 4.0]);
    }
}
