//! What a network says when nobody learns: of states, of all actions one step ahead, and along paths of its model.

use std::ops::Range;

use super::network::Network;
use super::targets::Said;
use super::torso::Seen;
use crate::categorical::Support;
use crate::nn::{Executor, Parameters};

/// States of which the target network is asked at a time: what it says of all their actions then stays in the nearer caches.
const AT_ONCE: usize = 40;

/// A network with parameters, those of its priors, and the atoms of value and reward.
#[derive(Clone, Copy, Debug)]
pub struct Predictor<'a> {
    /// The network.
    pub net: &'a Network,
    /// Parameters, and the frozen ones of the priors.
    pub parameters: [&'a [f32]; 2],
    /// Atoms of value and reward.
    pub supports: &'a [Support; 2],
    /// γ.
    pub discount: f64,
}

/// Paths of the model from some states, row by row.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// r̂ of each step, `[depth][row]`.
    pub rewards: Vec<Vec<f32>>,
    /// v̂ of the first state and behind each step, `[depth + 1][row]`.
    pub values: Vec<Vec<f32>>,
    /// The logits of these values, `[depth + 1][row, atoms]`.
    pub logits: Vec<Vec<f32>>,
    /// ln π̂ of the first state, `[row, actions]`; empty without a step.
    pub log_policy: Vec<f32>,
}

/// What all actions of some states lead to, as every value head sees it.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// ln π̂ of the states, `[state, action]`.
    pub log_policy: Vec<f32>,
    /// v̂ of the states.
    pub values: Vec<f32>,
    /// r̂ of each action, `[state, action]`.
    pub rewards: Vec<f32>,
    /// The logits of the value behind each action, `[head][state, action, atom]`.
    pub heads: Vec<Vec<f32>>,
}

impl Paths {
    /// `v̂ᵏ = Σ_{i<k} γⁱ r̂ⁱ⁺¹ + γᵏ v̂(zᵏ)` of each row, k = 0 to the depth. Paper: Eq. (35).
    pub fn members(&self, discount: f64) -> Vec<Vec<f64>> {
        self.members_of(0..self.values.first().map_or(0, Vec::len), discount)
    }

    /// The same of some rows.
    pub fn members_of(&self, rows: Range<usize>, discount: f64) -> Vec<Vec<f64>> {
        let of = |row| (0..self.values.len()).map(|k| self.member(row, k, discount)).collect();
        rows.map(of).collect()
    }

    fn member(&self, row: usize, k: usize, discount: f64) -> f64 {
        self.gained(row, k, discount) + discount.powi(k as i32) * f64::from(self.values[k][row])
    }

    /// `Σ_{i<k} γⁱ r̂ⁱ⁺¹` of a row.
    pub fn gained(&self, row: usize, k: usize, discount: f64) -> f64 {
        self.rewards[..k].iter().rev().fold(0.0, |sum, r| f64::from(r[row]) + discount * sum)
    }
}

impl Predictor<'_> {
    fn blocks(&self) -> [Parameters<'_>; 2] {
        self.parameters.map(Parameters::frozen)
    }

    /// π̂, `[states, actions]`, and v̂ of the first so many states.
    pub fn act(&self, seen: &Seen, states: usize, executor: &mut Executor) -> [Vec<f32>; 2] {
        let [mut policy, mut logits, mut values] = [const { Vec::new() }; 3];
        executor.run(&self.blocks(), |g| {
            let root = self.net.root(g, seen, [0, states]);
            let (of_policy, of_value) = (self.net.policy(g, root.z), self.net.value(g, root.z, 0));
            let log = g.log_softmax(of_policy);
            g.read(log, &mut policy);
            g.read(of_value, &mut logits);
        });
        policy.iter_mut().for_each(|p| *p = p.exp());
        self.supports[0].numbers(&logits, &mut values);
        [policy, values]
    }

    /// π̂ and v̂ of the first so many states, and what each action would bring.
    pub fn of_states(&self, seen: &Seen, states: usize, executor: &mut Executor) -> Said {
        let mut said = Said::default();
        let [mut policy, mut value, mut next, mut reward, mut numbers] = [const { Vec::new() }; 5];
        for first in (0..states).step_by(AT_ONCE) {
            executor.run(&self.blocks(), |g| {
                let root = self.net.root(g, seen, [first, (first + AT_ONCE).min(states)]);
                let ahead = self.net.step_all(g, root);
                let logits = self.net.policy(g, root.z);
                let log = g.log_softmax(logits);
                g.read(log, &mut policy);
                for (z, out) in [(root.z, &mut value), (ahead.z, &mut next)] {
                    let logits = self.net.value(g, z, 0);
                    g.read(logits, out);
                }
                let logits = self.net.reward(g, ahead.z);
                g.read(logits, &mut reward);
            });
            said.policy.extend(policy.iter().map(|p| p.exp()));
            self.supports[0].numbers(&value, &mut numbers);
            said.values.extend_from_slice(&numbers);
            self.supports[1].numbers(&reward, &mut numbers);
            said.rewards.extend_from_slice(&numbers);
            self.supports[0].numbers(&next, &mut numbers);
            let rewards = &said.rewards[said.action_values.len()..];
            let q = rewards.iter().zip(&numbers).map(|(r, v)| r + self.discount as f32 * v);
            said.action_values.extend(q.collect::<Vec<f32>>());
        }
        said
    }

    /// Paths of `depth` steps from each of some states, `copies` of each one below the other. `choose(step, row, π̂)` names the action.
    pub fn imagine(
        &self,
        seen: &Seen,
        [states, copies]: [usize; 2],
        depth: usize,
        executor: &mut Executor,
        mut choose: impl FnMut(usize, usize, &[f32]) -> u8,
    ) -> Paths {
        let (mut paths, mut policy) = (Paths::default(), Vec::new());
        let mut rewards = Vec::with_capacity(depth);
        executor.run(&self.blocks(), |g| {
            let mut state = self.net.root(g, seen, [0, states]);
            if copies > 1 {
                let each: Vec<u32> = (0..states * copies).map(|row| (row / copies) as u32).collect();
                state = state.gather(g, &each);
            }
            let read = |g: &mut dyn crate::nn::Graph, x| {
                let mut out = Vec::new();
                g.read(x, &mut out);
                out
            };
            let logits = self.net.value(g, state.z, 0);
            paths.logits.push(read(g, logits));
            for step in 0..depth {
                let logits = self.net.policy(g, state.z);
                let log = g.log_softmax(logits);
                g.read(log, &mut policy);
                if step == 0 {
                    paths.log_policy.clone_from(&policy);
                }
                policy.iter_mut().for_each(|p| *p = p.exp());
                let each = policy.chunks_exact(self.net.actions).enumerate();
                let actions: Vec<u8> = each.map(|(row, policy)| choose(step, row, policy)).collect();
                state = self.net.step(g, state, &actions);
                let (value, reward) = (self.net.value(g, state.z, 0), self.net.reward(g, state.z));
                paths.logits.push(read(g, value));
                rewards.push(read(g, reward));
            }
        });
        let numbers = |support: &Support, logits: &Vec<f32>| {
            let mut out = Vec::new();
            support.numbers(logits, &mut out);
            out
        };
        paths.values = paths.logits.iter().map(|logits| numbers(&self.supports[0], logits)).collect();
        paths.rewards = rewards.iter().map(|logits| numbers(&self.supports[1], logits)).collect();
        paths
    }

    /// One step ahead by every action from each of some states, seen by every value head.
    pub fn ahead(&self, seen: &Seen, states: usize, executor: &mut Executor) -> Ahead {
        let (mut ahead, mut value, mut reward) = (Ahead::default(), Vec::new(), Vec::new());
        executor.run(&self.blocks(), |g| {
            let root = self.net.root(g, seen, [0, states]);
            let next = self.net.step_all(g, root);
            let logits = self.net.policy(g, root.z);
            let log = g.log_softmax(logits);
            g.read(log, &mut ahead.log_policy);
            let logits = self.net.value(g, root.z, 0);
            g.read(logits, &mut value);
            let logits = self.net.reward(g, next.z);
            g.read(logits, &mut reward);
            for head in 0..self.net.num_heads() {
                let (logits, mut out) = (self.net.value(g, next.z, head), Vec::new());
                g.read(logits, &mut out);
                ahead.heads.push(out);
            }
        });
        self.supports[0].numbers(&value, &mut ahead.values);
        self.supports[1].numbers(&reward, &mut ahead.rewards);
        ahead
    }

    /// The logits of every value head for the first so many states, `[head][state, atoms]`.
    pub fn heads(&self, seen: &Seen, states: usize, executor: &mut Executor) -> Vec<Vec<f32>> {
        executor.run(&self.blocks(), |g| {
            let root = self.net.root(g, seen, [0, states]);
            let of = |head: usize| {
                let (logits, mut out) = (self.net.value(g, root.z, head), Vec::new());
                g.read(logits, &mut out);
                out
            };
            (0..self.net.num_heads()).map(of).collect()
        })
    }

    /// The mean logits of the priors of each value head and of the reward, over states and over random paths from them.
    pub fn prior_means(
        &self,
        seen: &Seen,
        states: usize,
        depth: usize,
        executor: &mut Executor,
        mut action: impl FnMut() -> u8,
    ) -> Vec<Vec<f32>> {
        let heads = self.net.num_heads();
        let (mut sums, mut counts) = (vec![Vec::<f64>::new(); heads + 1], vec![0.0; heads + 1]);
        let mut out = Vec::new();
        for first in (0..states).step_by(AT_ONCE) {
            let last = (first + AT_ONCE).min(states);
            executor.run(&self.blocks(), |g| {
                let mut state = self.net.root(g, seen, [first, last]);
                for k in 0..=depth {
                    // The reward of a state that no step led to is never asked for.
                    let of = if k == 0 { heads } else { heads + 1 };
                    for (head, logits) in self.net.prior_logits(g, state.z).into_iter().take(of).enumerate() {
                        g.read(logits, &mut out);
                        let atoms = self.supports[0].atoms();
                        sums[head].resize(atoms, 0.0);
                        for row in out.chunks_exact(atoms) {
                            sums[head].iter_mut().zip(row).for_each(|(s, x)| *s += f64::from(*x));
                        }
                        counts[head] += (last - first) as f64;
                    }
                    let actions: Vec<u8> = (first..last).map(|_| action()).collect();
                    state = self.net.step(g, state, &actions);
                }
            });
        }
        let mean = |(sums, count): (Vec<f64>, f64)| sums.iter().map(|s| (s / count) as f32).collect();
        sums.into_iter().zip(counts).map(mean).collect()
    }
}
