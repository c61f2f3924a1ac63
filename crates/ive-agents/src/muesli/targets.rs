//! What Muesli learns towards: Retrace returns and improved policies, from what the target network says of a batch. Spec: Hessel et al.,
//! 2021.

use ive_envs::StepKind;

use super::batch::Batch;
use crate::experience::discount;
use crate::returns::{Replayed, retrace};

/// `π_prior = (1 − b − u) π_target + b π_b + u / actions`, action by action: keeps every action alive.
pub fn prior_policy(target: &[f32], behaviour: &[f32], actions: usize, [b, u]: [f64; 2]) -> Vec<f32> {
    let (own, b, u) = ((1.0 - b - u) as f32, b as f32, (u / actions as f64) as f32);
    target.iter().zip(behaviour).map(|(t, acted)| own * t + b * acted + u).collect()
}

/// CMPO: `π_CMPO(a) ∝ π_prior(a) exp(clip((q(a) − v) / deviation, −c, c))`, over all actions.
pub fn improve(prior: &[f32], q: &[f32], v: &[f32], deviation: f64, clip: f64) -> Vec<f32> {
    let (actions, scale, c) = (prior.len() / v.len(), (1.0 / deviation) as f32, clip as f32);
    let mut policy = prior.to_vec();
    for ((row, q), v) in policy.chunks_exact_mut(actions).zip(q.chunks_exact(actions)).zip(v) {
        row.iter_mut().zip(q).for_each(|(p, q)| *p *= ((q - v) * scale).clamp(-c, c).exp());
        let total: f32 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= total);
    }
    policy
}

/// The mean square of `G − v`, a moving average corrected for its start at zero, as in Adam. Its root is the unit of advantages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normaliser {
    square: f64,
    /// The product of all decays so far.
    product: f64,
}

impl Default for Normaliser {
    fn default() -> Self {
        Self { square: 0.0, product: 1.0 }
    }
}

impl Normaliser {
    /// `s ← β s + (1 − β) mean((G − v)²)`.
    pub fn update(&mut self, mean_square: f64, decay: f64) {
        self.square = decay * self.square + (1.0 - decay) * mean_square;
        self.product *= decay;
    }

    /// `√(s / (1 − βᵗ) + 1e-12)`.
    pub fn deviation(&self) -> f64 {
        (self.square / (1.0 - self.product).max(1e-6) + 1e-12).sqrt()
    }

    /// Its two numbers, to be saved or restored.
    pub fn parts(&mut self) -> [&mut f64; 2] {
        [&mut self.square, &mut self.product]
    }
}

/// What the target network says of the states of a batch: v̂, `q̂(s, a) = r̂ + γ v̂` one step ahead, r̂ and π̂ of all actions.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// v̂, `(T + 1) B`.
    pub values: Vec<f32>,
    /// q̂, `[(T + 1) B, actions]`.
    pub action_values: Vec<f32>,
    /// r̂, likewise.
    pub rewards: Vec<f32>,
    /// π̂, likewise.
    pub policy: Vec<f32>,
}

/// What is learned towards: constants of the loss.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The prior policy, `[(T + 1) B, actions]`.
    pub prior: Vec<f32>,
    /// Retrace returns of all states; of the last ones, `Σ_a π_prior(a) q̂(a)`.
    pub returns: Vec<f32>,
    /// The improved policy, `[(T + 1) B, actions]`.
    pub improved: Vec<f32>,
    /// `(G − v̂) / deviation`, `T B`.
    pub advantages: Vec<f32>,
    /// The unit of advantages.
    pub deviation: f64,
}

/// How targets are made.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// γ.
    pub discount: f64,
    /// λ of Retrace.
    pub retrace: f64,
    /// Shares of the policy that acted and of the uniform policy in the prior policy.
    pub shares: [f64; 2],
    /// c of CMPO.
    pub clip: f64,
    /// β of the normaliser.
    pub decay: f64,
}

/// Returns, advantages and improved policies.
///
/// Where the world ended, nothing comes after. Where an episode was cut off, V of the state before stands for that of the state behind,
/// which Procgen does not paint; no correction crosses either.
pub fn targets(batch: &Batch, said: &Said, rules: &Rules, normaliser: &mut Normaliser) -> Targets {
    let (n, starts) = (batch.sequences, batch.starts());
    let actions = said.policy.len() / batch.states();
    let prior = prior_policy(&said.policy, &batch.behaviour, actions, rules.shares);
    let rows = prior.chunks_exact(actions).zip(said.action_values.chunks_exact(actions));
    let expected: Vec<f32> = rows.map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * q).sum()).collect();
    let mut returns = expected.clone();
    let [mut rewards, mut discounts, mut next, mut taken, mut ratios, mut out] = [const { Vec::new() }; 6];
    for b in 0..n {
        for column in [&mut rewards, &mut discounts, &mut next, &mut taken, &mut ratios, &mut out] {
            column.clear();
        }
        for t in 0..batch.steps {
            let row = t * n + b;
            let at = row * actions + usize::from(batch.actions[row]);
            let cut = batch.kinds[row] == StepKind::Truncated;
            let joined = t == 0 || !batch.kinds[row - n].is_last();
            rewards.push(batch.rewards[row]);
            discounts.push(rules.discount as f32 * discount(batch.kinds[row]));
            next.push(expected[if cut { row } else { row + n }]);
            taken.push(said.action_values[at]);
            ratios.push(if joined { prior[at] / batch.behaviour[at] } else { 0.0 });
            out.push(0.0);
        }
        let seen = Replayed {
            rewards: &rewards,
            discounts: &discounts,
            next_values: &next,
            taken: &taken,
            ratios: &ratios,
        };
        retrace(seen, rules.retrace as f32, &mut out);
        out.iter().enumerate().for_each(|(t, g)| returns[t * n + b] = *g);
    }
    let errors = || returns[..starts].iter().zip(&said.values).map(|(g, v)| g - v);
    let square = errors().map(|e| f64::from(e).powi(2)).sum::<f64>() / starts as f64;
    normaliser.update(square, rules.decay);
    let deviation = normaliser.deviation();
    let scale = (1.0 / deviation) as f32;
    Targets {
        advantages: errors().map(|e| e * scale).collect(),
        improved: improve(&prior, &said.action_values, &said.values, deviation, rules.clip),
        returns,
        prior,
        deviation,
    }
}

/// The same without any bootstrap, for the warm-up: the values of the target network count as zero, and nothing is learned of policies.
pub fn without_bootstrap(batch: &Batch, said: &Said, rules: &Rules) -> Targets {
    let zero = Said {
        values: vec![0.0; said.values.len()],
        action_values: vec![0.0; said.action_values.len()],
        ..said.clone()
    };
    targets(batch, &zero, rules, &mut Normaliser::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { discount: 0.9, retrace: 1.0, shares: [0.0, 0.0], clip: 1.0, decay: 0.0 };

    /// One window of three steps and two actions, always action 0; q and π of the target network given.
    fn batch(kinds: [StepKind; 3]) -> Batch {
        Batch {
            sequences: 1,
            steps: 3,
            actions: vec![0; 3],
            rewards: vec![1.0, 2.0, 4.0],
            kinds: kinds.to_vec(),
            behaviour: vec![0.5; 8],
            ..Batch::default()
        }
    }

    fn said() -> Said {
        Said {
            values: vec![0.0; 4],
            // V = 10, 20, 30, 40; q of the action taken is one more.
            action_values: vec![11.0, 9.0, 21.0, 19.0, 31.0, 29.0, 41.0, 39.0],
            rewards: vec![0.0; 8],
            policy: vec![0.5; 8],
        }
    }

    fn returns(kinds: [StepKind; 3]) -> Vec<f32> {
        targets(&batch(kinds), &said(), &RULES, &mut Normaliser::default()).returns
    }

    /// On-policy, λ = 1: G₂ = 4 + .9 · 40 = 40; G₁ = 2 + .9 (30 + 40 − 31) = 37.1; G₀ = 1 + .9 (20 + 37.1 − 21) = 33.49.
    #[test]
    fn retrace_of_a_window_by_hand() {
        let mid = StepKind::Mid;
        for (ours, hand) in returns([mid; 3]).iter().zip([33.49, 37.1, 40.0, 40.0]) {
            assert!((ours - hand).abs() < 1e-4, "{ours} and {hand}");
        }
    }

    /// Behind the end of the world there is nothing; behind a cut there is V of the state before it.
    #[test]
    fn ends_and_cuts_are_different_things() {
        let mid = StepKind::Mid;
        let ended = returns([mid, StepKind::Terminated, mid]);
        // G₁ = 2; G₀ = 1 + .9 (20 + 2 − 21).
        for (ours, hand) in ended.iter().zip([1.9, 2.0, 40.0]) {
            assert!((ours - hand).abs() < 1e-4, "{ours} and {hand}");
        }
        let cut = returns([mid, StepKind::Truncated, mid]);
        // G₁ = 2 + .9 · 20 = 20; G₀ = 1 + .9 (20 + 20 − 21).
        for (ours, hand) in cut.iter().zip([18.1, 20.0, 40.0]) {
            assert!((ours - hand).abs() < 1e-4, "{ours} and {hand}");
        }
    }

    /// A chain of three states whose tables are exact: q = q^π. Then Retrace is a fixed point, whatever the traces: every
    /// return equals q of the action taken.
    #[test]
    fn exact_tables_are_a_fixed_point_of_retrace() {
        // From state s, action 0 pays s and leads to s + 1, action 1 pays 0 and stays; π uniform, γ = .9; state 3 repeats itself for nothing.
        let gamma: f32 = 0.9;
        let mut v = [0.0f32; 4];
        for _ in 0..500 {
            for s in (0..3).rev() {
                v[s] = 0.5 * (s as f32 + gamma * v[s + 1]) + 0.5 * gamma * v[s];
            }
        }
        let q = |s: usize, a: usize| match (s, a) {
            (3, _) => 0.0,
            (s, 0) => s as f32 + gamma * v[s + 1],
            (s, _) => gamma * v[s],
        };
        let mut batch = batch([StepKind::Mid; 3]);
        batch.rewards = vec![0.0, 1.0, 2.0];
        batch.behaviour = [0.8, 0.2].repeat(4);
        let said = Said {
            action_values: (0..4).flat_map(|s| [q(s, 0), q(s, 1)]).collect(),
            values: v.to_vec(),
            ..said()
        };
        let made = targets(&batch, &said, &RULES, &mut Normaliser::default());
        for s in 0..3 {
            assert!((made.returns[s] - q(s, 0)).abs() < 1e-5, "{} and {}", made.returns[s], q(s, 0));
        }
    }

    /// Two actions, advantages ±1 of deviation 1 and prior (¼, ¾): π₁ = ¼e / (¼e + ¾/e). Clipped at c, no policy is further from its
    /// prior than tanh(c/2) in total variation (Hessel et al., 2021), and equal advantages change nothing.
    #[test]
    fn improved_policies_in_closed_form() {
        let e = 1f64.exp();
        let ours = improve(&[0.25, 0.75], &[1.0, -1.0], &[0.0], 1.0, 5.0);
        let hand = 0.25 * e / (0.25 * e + 0.75 / e);
        assert!((f64::from(ours[0]) - hand).abs() < 1e-6 && (ours[0] + ours[1] - 1.0).abs() < 1e-6);
        assert_eq!(improve(&[0.25, 0.75], &[3.0, 3.0], &[1.0], 2.0, 1.0), [0.25, 0.75]);
        let mut rng = ive::Rng::from_seed(4);
        for _ in 0..200 {
            let mut prior: Vec<f32> = (0..6).map(|_| rng.uniform() as f32).collect();
            let total: f32 = prior.iter().sum();
            prior.iter_mut().for_each(|p| *p /= total);
            let q: Vec<f32> = (0..6).map(|_| (5.0 * rng.normal()) as f32).collect();
            let better = improve(&prior, &q, &[0.3], 0.7, 1.0);
            let apart = better.iter().zip(&prior).map(|(a, b)| (a - b).abs()).sum::<f32>() / 2.0;
            assert!(apart <= 0.5f32.tanh() + 1e-6, "{apart}");
        }
    }

    /// βs + (1 − β)x over (1 − β) is x after one update; after two, the weighted mean.
    #[test]
    fn the_normaliser_is_corrected_for_its_start() {
        let mut normaliser = Normaliser::default();
        normaliser.update(4.0, 0.9);
        assert!((normaliser.deviation() - 2.0).abs() < 1e-9);
        normaliser.update(1.0, 0.9);
        let mean: f64 = (0.9 * 4.0 + 1.0) / 1.9;
        assert!((normaliser.deviation() - mean.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_prior_policy_is_a_mixture() {
        let mixed = prior_policy(&[1.0, 0.0], &[0.2, 0.8], 2, [0.03, 0.003]);
        assert!((mixed[0] - (0.967 + 0.006 + 0.0015)).abs() < 1e-6 && (mixed[1] - 0.0255).abs() < 1e-6);
    }
}
