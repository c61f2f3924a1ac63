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

use super::children::{Children, Weights};
use super::network::{Network, UNITS};

/// Nodes that are expanded together: their children then stay in the nearest cache.
const CHUNK: usize = 12;

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
    children: Children,
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
            children: Children::default(),
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

    /// The roots: h⁰ and c⁰ of each board.
    fn encode(&mut self, boards: &[u64], roots: usize) {
        let level = &mut self.levels[0];
        self.children.encode(&self.w, boards, roots, &mut level.hidden, &mut level.cell);
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
                self.children.expand(&self.w, hidden, cell, actions);
                for n in 0..count {
                    let children = n * actions..(n + 1) * actions;
                    let (reward, value) =
                        (&self.children.reward[children.clone()], &self.children.value[children]);
                    let only = given.get(first + n).filter(|_| depth == 0);
                    let mut taken = only.map_or(0u64, |a| !(1 << a));
                    for k in (first + n) * kept..(first + n + 1) * kept {
                        let a = best_left(reward, value, self.discount, taken);
                        taken |= 1 << a;
                        (level.action[k], level.reward[k], level.value[k]) = (a as u8, reward[a], value[a]);
                        if let Some(below) = &mut below {
                            let from = (n * actions + a) * UNITS;
                            let to = k * UNITS..(k + 1) * UNITS;
                            below.hidden[to.clone()].copy_from_slice(&self.children.hidden[from..][..UNITS]);
                            below.cell[to].copy_from_slice(&self.children.cell[from..][..UNITS]);
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
