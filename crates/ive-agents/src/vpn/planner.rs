//! Planning: a tree of imagined steps whose best path is weighed depth by depth.
//!
//! Along a path the k-step values are `q^k = Σ_{i<k} γⁱ r̂ⁱ⁺¹ + γᵏ v̂(sᵏ)`, and the value of a root action is `Σ_k w_k q^k`
//! along the best path that begins with it. Worked out from the leaves, with W_i = Σ_{k ≥ i} w_k:
//!
//! `Q_i(s, a) = r̂(s, a) + γ V_{i+1}(s')`, `V_i(s) = (w_i v̂(s) + W_{i+1} max_a Q_i(s, a)) / W_i`.
//!
//! Uniform weights give `V = v̂/d + (d−1)/d max Q`, the recursion of Oh et al. (2017), which averages the implicit value
//! ensemble: μ-IVE. All weight on one depth gives v̂¹ or v̂⁵. Of the children of a node only those with the largest
//! one-step value `r̂ + γ v̂(s')` are followed, as many as `branching` says.
//!
//! The action enters the transition and the reward through one row of weights each, so the matrix products are made once
//! per node and not once per child; and since `e^{x+y} = eˣ eʸ`, so are the exponentials of the gates: a child costs
//! multiplications, two divisions and one exponential per unit.

use multiversion::multiversion;

use super::network::Network;
use crate::nn::cpu::Packed;
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::functions::{elu, exp, least, tanh};
use crate::nn::cpu::head::HEAD;
use crate::nn::cpu::lstm::{GATES, UNITS};
use crate::nn::cpu::torso::{Inference, TORSO};

/// Nodes that are expanded together: their children then stay in the nearest cache.
const CHUNK: usize = 12;
/// Columns of the matrix product of a node: gates and the hidden layer of the reward.
const NODE: usize = GATES + HEAD;
/// Exponents of gates, and of the rows of an action, are limited to this, where a sigmoid has long been zero or one. Their
/// products stay right as long as the rows of the action keep within ±20 in the exponent (a weight of 20, or of 10 for
/// tanh): beyond that a large row and a large gate of opposite signs no longer cancel. Initial rows are of order one.
const LIMIT: f32 = 40.0;
/// `e²⁵`: the cube of one plus it is still a number.
const LARGE: f32 = 7.2e10;

/// What to do, and what the plan says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    /// The best action.
    pub action: usize,
    /// Its value.
    pub value: f32,
}

/// A planner with a copy of the weights in the form it likes.
#[derive(Clone, Debug)]
pub struct Planner {
    net: Network,
    discount: f32,
    /// Of each depth, with the sum from that depth on.
    weights: Vec<(f32, f32)>,
    branching: Vec<usize>,
    w: Weights,
    levels: Vec<Level>,
    scratch: Scratch,
}

#[derive(Clone, Debug)]
struct Weights {
    torso: Inference,
    start: Packed,
    start_bias: Vec<f32>,
    node: Packed,
    node_bias: Vec<f32>,
    /// Exponentials of the rows of each action, `[actions, NODE]`.
    action: Vec<f32>,
    /// The row of each action in the reward head itself, `[actions, HEAD]`.
    reward_action: Vec<f32>,
    reward_output: Vec<f32>,
    reward_bias: f32,
    value: Packed,
    value_hidden_bias: Vec<f32>,
    value_output: Vec<f32>,
    value_bias: f32,
}

/// The nodes of one depth and what is known of the children that are followed.
#[derive(Clone, Debug, Default)]
struct Level {
    hidden: Vec<f32>,
    cell: Vec<f32>,
    /// `[nodes, kept]`.
    action: Vec<u8>,
    reward: Vec<f32>,
    value: Vec<f32>,
    /// The best kept child of each node and its Q.
    best: Vec<(u32, f32)>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    features: Vec<f32>,
    torso: Vec<f32>,
    node: Vec<f32>,
    hidden: Vec<f32>,
    cell: Vec<f32>,
    head: Vec<f32>,
    reward: Vec<f32>,
    value: Vec<f32>,
}

impl Planner {
    /// A planner without weights yet: [`load`](Self::load) them before use. Depths behind the last weight are dropped.
    pub fn new(net: &Network, discount: f64, weights: &[f64], branching: &[usize]) -> Self {
        let depth = weights.iter().rposition(|&w| w > 0.0).map_or(0, |last| last + 1);
        let total: f64 = weights.iter().sum();
        let from = |i: usize| weights[i..depth].iter().sum::<f64>() / total;
        let weights = (0..depth).map(|i| ((weights[i] / total) as f32, from(i) as f32)).collect();
        Self {
            net: net.clone(),
            discount: discount as f32,
            weights,
            branching: branching[..depth].iter().map(|&b| b.min(net.actions)).collect(),
            w: Weights::new(net),
            levels: vec![Level::default(); depth],
            scratch: Scratch::default(),
        }
    }

    /// Takes over the parameters of a network.
    pub fn load(&mut self, x: &[f32]) {
        self.w.load(&self.net, x);
    }

    /// How many steps the plan looks ahead.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Plans for boards one after the other, and says what to do in each.
    pub fn plan(&mut self, boards: &[u64], choices: &mut Vec<Choice>) {
        choices.clear();
        let roots = boards.len() / self.net.torso.board.words();
        if roots == 0 {
            return;
        }
        self.encode(boards, roots);
        self.grow(roots, &[]);
        self.back_up();
        let level = &self.levels[0];
        let kept = self.branching[0];
        choices.extend(level.best.iter().enumerate().map(|(root, &(best, value))| Choice {
            action: usize::from(level.action[root * kept + best as usize]),
            value,
        }));
    }

    /// Plans on from a given action in each board: [`members`](Self::members) then are those of that action, along the
    /// best path that begins with it.
    ///
    /// # Panics
    /// If `branching` keeps more than one action at the root, or there is not one action for each board.
    pub fn follow(&mut self, boards: &[u64], actions: &[usize]) {
        let roots = boards.len() / self.net.torso.board.words();
        assert!(self.branching[0] == 1 && actions.len() == roots, "one action is followed from each root");
        if roots > 0 {
            self.encode(boards, roots);
            self.grow(roots, actions);
            self.back_up();
        }
    }

    /// The k-step values of the chosen action of a root of the last plan, along its best path, k = 1 to the depth.
    pub fn members(&self, root: usize, out: &mut Vec<f32>) {
        out.clear();
        let (mut node, mut rewards, mut discount) = (root, 0.0, 1.0);
        for (level, &kept) in self.levels.iter().zip(&self.branching) {
            let child = node * kept + level.best[node].0 as usize;
            rewards += discount * level.reward[child];
            discount *= self.discount;
            out.push(rewards + discount * level.value[child]);
            node = child;
        }
    }

    /// The actions along that path.
    pub fn path(&self, root: usize, out: &mut Vec<usize>) {
        out.clear();
        let mut node = root;
        for (level, &kept) in self.levels.iter().zip(&self.branching) {
            node = node * kept + level.best[node].0 as usize;
            out.push(usize::from(level.action[node]));
        }
    }

    /// The roots: h⁰ of each board, c⁰ = 0.
    fn encode(&mut self, boards: &[u64], roots: usize) {
        let (s, w) = (&mut self.scratch, &self.w);
        s.features.resize(roots * FEATURES, 0.0);
        s.torso.resize(roots * TORSO, 0.0);
        w.torso.forward(boards, &mut s.features, &mut s.torso);
        let level = &mut self.levels[0];
        level.hidden.resize(roots * UNITS, 0.0);
        w.start.product(&s.torso, &w.start_bias, &mut level.hidden);
        tanh_all(&mut level.hidden);
        level.cell.clear();
        level.cell.resize(roots * UNITS, 0.0);
    }

    /// Expands level after level; at the roots only the given actions, if there are any.
    fn grow(&mut self, roots: usize, given: &[usize]) {
        let (mut nodes, actions) = (roots, self.net.actions);
        for depth in 0..self.levels.len() {
            let kept = self.branching[depth];
            let (here, below) = self.levels.split_at_mut(depth + 1);
            let (level, mut below) = (&mut here[depth], below.first_mut());
            for list in [&mut level.reward, &mut level.value] {
                list.resize(nodes * kept, 0.0);
            }
            level.action.resize(nodes * kept, 0);
            if let Some(below) = &mut below {
                below.hidden.resize(nodes * kept * UNITS, 0.0);
                below.cell.resize(nodes * kept * UNITS, 0.0);
            }
            for first in (0..nodes).step_by(CHUNK) {
                let count = CHUNK.min(nodes - first);
                let units = first * UNITS..(first + count) * UNITS;
                let (hidden, cell) = (&level.hidden[units.clone()], &level.cell[units]);
                self.scratch.expand(&self.w, hidden, cell, actions);
                for n in 0..count {
                    let children = n * actions..(n + 1) * actions;
                    let (reward, value) =
                        (&self.scratch.reward[children.clone()], &self.scratch.value[children]);
                    let only = given.get(first + n).filter(|_| depth == 0);
                    let mut taken = only.map_or(0u64, |a| !(1 << a));
                    for k in (first + n) * kept..(first + n + 1) * kept {
                        let a = best_left(reward, value, self.discount, taken);
                        taken |= 1 << a;
                        (level.action[k], level.reward[k], level.value[k]) = (a as u8, reward[a], value[a]);
                        if let Some(below) = &mut below {
                            let from = (n * actions + a) * UNITS;
                            let to = k * UNITS..(k + 1) * UNITS;
                            below.hidden[to.clone()].copy_from_slice(&self.scratch.hidden[from..][..UNITS]);
                            below.cell[to].copy_from_slice(&self.scratch.cell[from..][..UNITS]);
                        }
                    }
                }
            }
            nodes *= kept;
        }
    }

    /// From the leaves to the roots.
    fn back_up(&mut self) {
        for depth in (0..self.levels.len()).rev() {
            let kept = self.branching[depth];
            let (here, below) = self.levels.split_at_mut(depth + 1);
            let (level, below) = (&mut here[depth], below.first());
            let (weight, total) = self.weights[depth];
            level.best.clear();
            for (n, rewards) in level.reward.chunks_exact(kept).enumerate() {
                let mut best = (0, f32::NEG_INFINITY);
                for (k, &reward) in rewards.iter().enumerate() {
                    let own = level.value[n * kept + k];
                    let value = below.map_or(own, |below| {
                        (weight * own + (total - weight) * below.best[n * kept + k].1) / total
                    });
                    let q = reward + self.discount * value;
                    if q > best.1 {
                        best = (k as u32, q);
                    }
                }
                level.best.push(best);
            }
        }
    }
}

/// The action with the largest one-step value among those not taken yet; the first of equals.
#[inline]
fn best_left(reward: &[f32], value: &[f32], discount: f32, taken: u64) -> usize {
    let mut best = (usize::MAX, f32::NEG_INFINITY);
    for (a, (r, v)) in reward.iter().zip(value).enumerate() {
        let q = r + discount * v;
        if taken & (1 << a) == 0 && (q > best.1 || best.0 == usize::MAX) {
            best = (a, q);
        }
    }
    best.0
}

impl Weights {
    fn new(net: &Network) -> Self {
        Self {
            torso: Inference::new(&net.torso),
            start: Packed::new(TORSO, UNITS),
            start_bias: Vec::new(),
            node: Packed::new(UNITS, NODE),
            node_bias: vec![0.0; NODE],
            action: vec![0.0; net.actions * NODE],
            reward_action: Vec::new(),
            reward_output: Vec::new(),
            reward_bias: 0.0,
            value: Packed::new(UNITS, HEAD),
            value_hidden_bias: Vec::new(),
            value_output: Vec::new(),
            value_bias: 0.0,
        }
    }

    /// Gates are stored as what goes into the exponential: −x for a sigmoid, −2x for tanh.
    fn load(&mut self, net: &Network, x: &[f32]) {
        let keep = |to: &mut Vec<f32>, from: &[f32]| {
            to.clear();
            to.extend_from_slice(from);
        };
        self.torso.load(x);
        self.start.store(net.start.of(x), UNITS, 0, 1.0);
        keep(&mut self.start_bias, net.start_bias.of(x));
        let sign = |j: usize| if (UNITS..2 * UNITS).contains(&j) { -2.0 } else { -1.0 };
        for gate in 0..4 {
            self.node.store_columns(
                net.lstm.of(x),
                GATES,
                gate * UNITS..(gate + 1) * UNITS,
                sign(gate * UNITS),
            );
        }
        self.node.store(net.reward.hidden.of(x), HEAD, GATES, 1.0);
        for (j, (to, b)) in self.node_bias.iter_mut().zip(net.lstm_bias.of(x)).enumerate() {
            let forget = if (2 * UNITS..3 * UNITS).contains(&j) { 1.0 } else { 0.0 };
            *to = sign(j) * (b + forget);
        }
        self.node_bias[GATES..].copy_from_slice(net.reward.bias.of(x));
        for (a, row) in self.action.chunks_exact_mut(NODE).enumerate() {
            let gates = &net.lstm_action.of(x)[a * GATES..][..GATES];
            let reward = &net.reward_action.of(x)[a * HEAD..][..HEAD];
            for (j, (to, w)) in row.iter_mut().zip(gates.iter().chain(reward)).enumerate() {
                let w = if j < GATES { sign(j) * w } else { *w };
                *to = exp(w.clamp(-LIMIT, LIMIT));
            }
        }
        keep(&mut self.reward_action, net.reward_action.of(x));
        keep(&mut self.reward_output, net.reward.output.of(x));
        self.reward_bias = net.reward.output_bias.of(x)[0];
        self.value.store(net.value.hidden.of(x), HEAD, 0, 1.0);
        keep(&mut self.value_hidden_bias, net.value.bias.of(x));
        keep(&mut self.value_output, net.value.output.of(x));
        self.value_bias = net.value.output_bias.of(x)[0];
    }
}

impl Scratch {
    /// All children of some nodes: `[nodes, actions]` of latent states, rewards and values.
    fn expand(&mut self, w: &Weights, hidden: &[f32], cell: &[f32], actions: usize) {
        let nodes = hidden.len() / UNITS;
        let children = nodes * actions;
        self.node.resize(nodes * NODE, 0.0);
        self.hidden.resize(children * UNITS, 0.0);
        self.cell.resize(children * UNITS, 0.0);
        self.head.resize(children * HEAD, 0.0);
        self.reward.resize(children, 0.0);
        self.value.resize(children, 0.0);
        w.node.product(hidden, &w.node_bias, &mut self.node);
        for n in 0..nodes {
            let node = &mut self.node[n * NODE..][..NODE];
            let units = n * actions * UNITS..(n + 1) * actions * UNITS;
            let (hidden, out) = (&mut self.hidden[units.clone()], &mut self.cell[units]);
            transitions(node, &cell[n * UNITS..][..UNITS], &w.action, hidden, out);
            let rewards = &mut self.reward[n * actions..][..actions];
            outcomes(
                &mut node[GATES..],
                &w.action,
                &w.reward_action,
                &w.reward_output,
                w.reward_bias,
                rewards,
            );
        }
        w.value.product(&self.hidden, &w.value_hidden_bias, &mut self.head);
        values(&self.head, &w.value_output, w.value_bias, &mut self.value);
    }
}

#[multiversion(targets = "simd")]
fn tanh_all(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = tanh(*x));
}

/// The latent states that follow a node, for every action. The gates of the node are replaced by their exponentials.
#[multiversion(targets = "simd")]
fn transitions(node: &mut [f32], past: &[f32], action: &[f32], hidden: &mut [f32], cell: &mut [f32]) {
    let gates = &mut node[..GATES];
    gates.iter_mut().for_each(|x| *x = exp(x.clamp(-LIMIT, LIMIT)));
    let [i, g, f, o]: [&[f32]; 4] = std::array::from_fn(|k| &gates[k * UNITS..][..UNITS]);
    let past = &past[..UNITS];
    let rows = hidden.chunks_exact_mut(UNITS).zip(cell.chunks_exact_mut(UNITS));
    for (action, (hidden, cell)) in action.chunks_exact(NODE).zip(rows) {
        let [ai, ag, af, ao]: [&[f32]; 4] = std::array::from_fn(|k| &action[k * UNITS..][..UNITS]);
        for j in 0..UNITS {
            // With e = exp(−x): σ(x) = 1/(1+e), and with e = exp(−2x): tanh(x) = (1−e)/(1+e).
            let ei = least(i[j] * ai[j], LARGE);
            let eg = least(g[j] * ag[j], LARGE);
            let ef = least(f[j] * af[j], LARGE);
            let eo = least(o[j] * ao[j], LARGE);
            let both = (1.0 + ei) * (1.0 + eg);
            let c = past[j].mul_add(both, (1.0 - eg) * (1.0 + ef)) / (both * (1.0 + ef));
            let ec = exp(-2.0 * c);
            cell[j] = c;
            hidden[j] = (1.0 - ec) / ((1.0 + eo) * (1.0 + ec));
        }
    }
}

/// r̂ of a node for every action.
#[multiversion(targets = "simd")]
fn outcomes(node: &mut [f32], action: &[f32], row: &[f32], output: &[f32], bias: f32, rewards: &mut [f32]) {
    let mut powers = [0.0f32; HEAD];
    for (p, x) in powers.iter_mut().zip(node.iter()) {
        *p = exp(x.clamp(-LIMIT, LIMIT));
    }
    let (node, output) = (&node[..HEAD], &output[..HEAD]);
    for ((reward, action), row) in
        rewards.iter_mut().zip(action.chunks_exact(NODE)).zip(row.chunks_exact(HEAD))
    {
        let (action, mut sums) = (&action[GATES..][..HEAD], [0.0f32; 8]);
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                let j = j + l;
                // elu(x) = max(x, 0) + min(eˣ, 1) − 1
                let x = node[j] + row[j];
                *sum +=
                    output[j] * ((if x > 0.0 { x } else { 0.0 }) + (least(powers[j] * action[j], 1.0) - 1.0));
            }
        }
        *reward = sums.iter().sum::<f32>() + bias;
    }
}

#[multiversion(targets = "simd")]
fn values(head: &[f32], output: &[f32], bias: f32, values: &mut [f32]) {
    let output = &output[..HEAD];
    for (value, row) in values.iter_mut().zip(head.chunks_exact(HEAD)) {
        let mut sums = [0.0f32; 8];
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                *sum += output[j + l] * elu(row[j + l]);
            }
        }
        *value = sums.iter().sum::<f32>() + bias;
    }
}
