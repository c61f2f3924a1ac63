//! The planner against plain programs in double precision, written from the formulas of `vpn::network` and
//! `vpn::planner`: no packed weights, no shared exponentials, no levels.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive::Rng;
use ive_agents::nn::{Dense, Slot};
use ive_agents::vpn::network::{Head, Network};
use ive_agents::vpn::planner::{Choice, Planner};
use ive_agents::vpn::{Design, Form, RewardLoss};

const DISCOUNT: f64 = 0.97;

/// A network by its formulas.
struct Plain<'a> {
    net: &'a Network,
    x: &'a [f32],
}

#[derive(Clone)]
struct State {
    h: Vec<f64>,
    c: Vec<f64>,
}

fn sigma(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn elu(x: f64) -> f64 {
    if x > 0.0 { x } else { x.exp_m1() }
}

impl Plain<'_> {
    fn get(&self, slot: &Slot, i: usize) -> f64 {
        f64::from(slot.of(self.x)[i])
    }

    /// `x W + b`, with W `[inputs, outputs]`.
    fn dense(&self, x: &[f64], layer: &Dense) -> Vec<f64> {
        let outputs = layer.outputs();
        let mut y: Vec<f64> = layer.bias_of(self.x).iter().copied().map(f64::from).collect();
        for (i, x) in x.iter().enumerate() {
            (0..outputs).for_each(|j| y[j] += x * self.get(&layer.weight, i * outputs + j));
        }
        y
    }

    /// `h⁰ = tanh(S relu(T relu(conv x)))`, `c⁰ = 0`, or without S both the torso; an observation is `[row, column, channel]`.
    fn encode(&self, observation: &[u8]) -> State {
        let torso = &self.net.torso;
        let channels = torso.board.channels();
        let mut features = Vec::new();
        for (row, column, filter) in (0..8 * 8 * 16).map(|i| (i / 128, i / 16 % 8, i % 16)) {
            let mut sum = self.get(&torso.conv_bias, filter);
            for (dy, dx, channel) in
                (0..9 * channels).map(|i| (i / 3 / channels, i / channels % 3, i % channels))
            {
                let seen = observation[((row + dy) * 10 + column + dx) * channels + channel];
                let weight = self.get(&torso.conv, ((dy * 3 + dx) * channels + channel) * 16 + filter);
                sum += f64::from(seen) * weight;
            }
            features.push(sum.max(0.0));
        }
        let mut torso = self.dense(&features, &torso.dense);
        torso.iter_mut().for_each(|y| *y = y.max(0.0));
        let Some(start) = &self.net.start else { return State { h: torso.clone(), c: torso } };
        let h = self.dense(&torso, start);
        State { c: vec![0.0; h.len()], h: h.into_iter().map(f64::tanh).collect() }
    }

    /// `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')` or `σ(o) relu(c')`, gates in the order i, g, f, o.
    fn transition(&self, s: &State, action: usize) -> State {
        let gates = self.dense(&s.h, &self.net.lstm);
        let n = s.h.len();
        let gate =
            |k: usize, j: usize| gates[k * n + j] + self.get(&self.net.lstm_action, (action * 4 + k) * n + j);
        let c: Vec<f64> = (0..n)
            .map(|j| sigma(gate(2, j) + 1.0) * s.c[j] + sigma(gate(0, j)) * gate(1, j).tanh())
            .collect();
        let relu = self.net.design.form == Form::Relu;
        let squash = |c: f64| if relu { c.max(0.0) } else { c.tanh() };
        State { h: (0..n).map(|j| sigma(gate(3, j)) * squash(c[j])).collect(), c }
    }

    /// The outputs of a head, linear or by way of ELUs.
    fn head(&self, head: &Head, h: &[f64], action: usize) -> Vec<f64> {
        let mut units = h.to_vec();
        if let Some(layer) = &head.hidden {
            units = self.dense(h, layer);
            let n = units.len();
            for (j, unit) in units.iter_mut().enumerate() {
                let row = head.action.as_ref().map_or(0.0, |slot| self.get(slot, action * n + j));
                *unit = elu(*unit + row);
            }
        }
        let n = units.len();
        let output = |i: usize| {
            let terms = units.iter().enumerate().map(|(j, x)| x * self.get(&head.output.weight, i * n + j));
            terms.sum::<f64>() + self.get(&head.output.bias, i)
        };
        (0..head.output.outputs()).map(output).collect()
    }

    fn reward(&self, s: &State, action: usize) -> f64 {
        let own = self.head(&self.net.reward, &s.h, action);
        let mut z = own[if own.len() > 1 { action } else { 0 }];
        if let Some([prior, _]) = &self.net.priors {
            z += f64::from(self.net.design.prior_scale) * self.head(prior, &s.h, action)[0];
        }
        if self.net.design.reward_loss == RewardLoss::CrossEntropy { sigma(z) } else { z }
    }

    /// The mean of the value heads.
    fn value(&self, s: &State) -> f64 {
        let mut heads = self.head(&self.net.value, &s.h, 0);
        if let Some([_, prior]) = &self.net.priors {
            let scale = f64::from(self.net.design.prior_scale);
            heads.iter_mut().zip(self.head(prior, &s.h, 0)).for_each(|(v, p)| *v += scale * p);
        }
        heads.iter().sum::<f64>() / heads.len() as f64
    }

    /// Children that are followed: action, reward, state, value; those with the largest `r̂ + γ v̂`.
    fn children(&self, s: &State, kept: usize) -> Vec<(usize, f64, State, f64)> {
        let child = |a| {
            let next = self.transition(s, a);
            let value = self.value(&next);
            (a, self.reward(s, a), next, value)
        };
        let mut all: Vec<_> = (0..self.net.actions).map(child).collect();
        all.sort_by(|a, b| (b.1 + DISCOUNT * b.3).total_cmp(&(a.1 + DISCOUNT * a.3)));
        all.truncate(kept);
        all
    }

    /// The best action and its Q by `V_i = (w_i v̂ + W_{i+1} max Q) / W_i`; `w` are the weights from this depth on.
    fn weighted(&self, s: &State, w: &[f64], branching: &[usize]) -> (usize, f64) {
        let total: f64 = w.iter().sum();
        let q = |(a, r, next, v): (usize, f64, State, f64)| {
            let rest = if w.len() > 1 { self.weighted(&next, &w[1..], &branching[1..]).1 } else { 0.0 };
            (a, r + DISCOUNT * (w[0] * v + (total - w[0]) * rest) / total)
        };
        self.children(s, branching[0]).into_iter().map(q).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
    }

    /// `Qᵈ = r̂ + γ Vᵈ(s')`, `V¹ = v̂`, `Vᵈ = v̂/d + (d−1)/d max Qᵈ⁻¹` (Oh et al., 2017, Eq. 2 and 3).
    fn published(&self, s: &State, d: usize) -> f64 {
        let q = |(_, r, next, v): (usize, f64, State, f64)| {
            let (n, rest) = (d as f64, if d > 1 { self.published(&next, d - 1) } else { 0.0 });
            r + DISCOUNT * (v / n + (n - 1.0) / n * rest)
        };
        self.children(s, self.net.actions).into_iter().map(q).fold(f64::NEG_INFINITY, f64::max)
    }

    /// `q^k = Σ_{i<k} γⁱ r̂ⁱ⁺¹ + γᵏ v̂(sᵏ)` along some actions.
    fn members(&self, start: &State, actions: &[usize]) -> Vec<f64> {
        let (mut s, mut rewards, mut discount, mut all) = (start.clone(), 0.0, 1.0, Vec::new());
        for &a in actions {
            rewards += discount * self.reward(&s, a);
            discount *= DISCOUNT;
            s = self.transition(&s, a);
            all.push(rewards + discount * self.value(&s));
        }
        all
    }
}

fn mean(members: &[f64], weights: &[f64]) -> f64 {
    members.iter().zip(weights).map(|(m, w)| m * w).sum::<f64>() / weights.iter().sum::<f64>()
}

/// Parameters with biases that are not zero and outputs of order one.
fn parameters(net: &Network, rng: &mut Rng) -> Vec<f32> {
    let mut x = net.initial(1.0, 4.0, rng);
    for slot in net.layout.slots() {
        let noise = if slot.name.contains("bias") || slot.name.contains("output") { 0.2 } else { 0.0 };
        slot.of_mut(&mut x).iter_mut().for_each(|w| *w += (noise * rng.normal()) as f32);
    }
    x
}

/// The network as published, the other form, and what can be added to both.
fn designs() -> [Design; 6] {
    let paper = Design::default();
    let relu = Design { form: Form::Relu, ..paper };
    let reward_loss = RewardLoss::CrossEntropy;
    [
        paper,
        relu,
        Design { reward_loss, ..relu },
        Design { value_heads: 5, ..relu },
        Design { prior_scale: 2.0, value_heads: 3, ..relu },
        Design { prior_scale: 0.5, value_heads: 2, reward_loss, ..paper },
    ]
}

/// Observations of some worlds, one after the other.
fn observations(net: &Network, count: usize, rng: &mut Rng) -> Vec<u8> {
    (0..count * 100 * net.torso.board.channels()).map(|_| u8::from(rng.uniform() < 0.1)).collect()
}

fn planned(net: &Network, x: &[f32], w: &[f64], b: &[usize], seen: &[u8]) -> (Planner, Vec<Choice>) {
    let mut planner = Planner::new(net, DISCOUNT, w, b);
    planner.load(x);
    let (mut boards, mut choices) = (Vec::new(), Vec::new());
    net.torso.board.pack_all(seen, &mut boards);
    planner.plan(&boards, &mut choices);
    (planner, choices)
}

/// Numbers of order one from sums over a thousand terms in single precision.
fn close(ours: f32, theirs: f64, what: &str) {
    let error = (f64::from(ours) - theirs).abs();
    assert!(error < 1e-5 * theirs.abs().max(1.0), "{what}: {ours}, not {theirs}");
}

#[test]
fn plans_equal_the_recursion_with_and_without_pruning() {
    let mut rng = Rng::from_seed(31);
    let cases: [(usize, &[f64], &[usize]); 11] = [
        (6, &[1.0], &[6]),
        (6, &[1.0, 1.0], &[6, 6]),
        (4, &[1.0, 1.0, 1.0], &[4, 4, 4]),
        (3, &[1.0, 1.0, 1.0, 1.0], &[3, 3, 3, 3]),
        (3, &[0.0, 0.0, 0.0, 1.0], &[3, 3, 3, 3]),
        (3, &[0.1, 0.0, 0.7, 0.4], &[3, 3, 3, 3]),
        (3, &[5.0, 0.0, 0.0, 0.0], &[3, 3, 3, 3]),
        (6, &[1.0, 1.0, 1.0, 1.0, 1.0], &[4, 2, 1, 1, 1]),
        (6, &[0.0, 0.0, 0.0, 0.0, 1.0], &[4, 4, 2, 1, 1]),
        (5, &[0.3, 2.0, 0.0, 0.9], &[2, 3, 2, 2]),
        (6, &[0.2, 0.8, 0.5], &[1, 6, 2]),
    ];
    let all = designs().into_iter().flat_map(|design| cases.map(|case| (design, case)));
    for (design, (actions, weights, branching)) in all {
        let net = Network::designed(4, actions, design);
        let x = parameters(&net, &mut rng);
        let plain = Plain { net: &net, x: &x };
        let seen = observations(&net, 2, &mut rng);
        let (_, choices) = planned(&net, &x, weights, branching, &seen);
        for (choice, seen) in choices.iter().zip(seen.chunks_exact(400)) {
            // Depths behind the last weight do not count.
            let depth = weights.iter().rposition(|w| *w > 0.0).unwrap() + 1;
            let (action, value) = plain.weighted(&plain.encode(seen), &weights[..depth], branching);
            assert_eq!(choice.action, action, "{design:?} {weights:?} {branching:?}");
            close(choice.value, value, &format!("{design:?} {weights:?} {branching:?}"));
        }
    }
}

#[test]
fn uniform_weights_give_the_published_recursion() {
    let mut rng = Rng::from_seed(32);
    let net = Network::new(7, 3);
    let x = parameters(&net, &mut rng);
    let plain = Plain { net: &net, x: &x };
    for depth in 1..=5 {
        let seen = observations(&net, 1, &mut rng);
        let (_, choices) = planned(&net, &x, &vec![2.0; depth], &vec![3; depth], &seen);
        close(choices[0].value, plain.published(&plain.encode(&seen), depth), &format!("depth {depth}"));
    }
}

/// Without pruning a plan finds the best of all paths by the weighted mean of its k-step values, and its members are the
/// k-step values of that path.
#[test]
fn plans_find_the_best_of_all_paths_and_members_are_its_values() {
    let mut rng = Rng::from_seed(33);
    let net = Network::new(4, 3);
    let x = parameters(&net, &mut rng);
    let plain = Plain { net: &net, x: &x };
    for weights in [[1.0; 4], [0.0, 0.0, 0.0, 1.0], [0.1, 3.0, 0.0, 0.5]] {
        let seen = observations(&net, 1, &mut rng);
        let start = plain.encode(&seen);
        let all = (0..81).map(|i| [i / 27, i / 9 % 3, i / 3 % 3, i % 3]);
        let value = |path: &[usize; 4]| mean(&plain.members(&start, path), &weights);
        let best = all.max_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
        let (planner, choices) = planned(&net, &x, &weights, &[3; 4], &seen);
        let (mut path, mut members) = (Vec::new(), Vec::new());
        planner.path(0, &mut path);
        planner.members(0, &mut members);
        assert_eq!((&*path, choices[0].action), (&best[..], best[0]), "{weights:?}");
        close(choices[0].value, value(&best), "value of the best path");
        for (ours, theirs) in members.iter().zip(plain.members(&start, &best)) {
            close(*ours, theirs, "member");
        }
        let members: Vec<f64> = members.into_iter().map(f64::from).collect();
        close(choices[0].value, mean(&members, &weights), "weighted mean of the members");
    }
}

#[test]
fn a_batch_of_roots_equals_one_by_one_bit_for_bit() {
    let mut rng = Rng::from_seed(34);
    for design in designs() {
        one_by_one(&Network::designed(10, 6, design), &mut rng);
    }
}

fn one_by_one(net: &Network, rng: &mut Rng) {
    let x = parameters(net, rng);
    let seen = observations(net, 29, rng);
    let (weights, branching) = ([1.0, 0.5, 2.0, 1.0], [4, 2, 3, 1]);
    let (batch, choices) = planned(net, &x, &weights, &branching, &seen);
    for (root, seen) in seen.chunks_exact(1000).enumerate() {
        let (alone, choice) = planned(net, &x, &weights, &branching, seen);
        assert_eq!(choices[root], choice[0]);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        batch.members(root, &mut ours);
        alone.members(0, &mut theirs);
        assert_eq!(ours, theirs);
    }
}

/// Gates and hidden units far beyond where they saturate, up to ±50 and more, with rows of the action up to 8 (16 in the
/// exponent of tanh): the shared exponentials are limited, but not where it can be seen.
#[test]
fn saturated_gates_and_units_stay_finite_and_follow_the_formula() {
    let mut rng = Rng::from_seed(35);
    for (size, design) in [10.0, 50.0, 200.0].into_iter().flat_map(|size| designs().map(|d| (size, d))) {
        let net = Network::designed(4, 4, design);
        let mut x = parameters(&net, &mut rng);
        let heads = [net.reward.hidden.as_ref(), net.value.hidden.as_ref()].into_iter().flatten();
        for layer in [&net.lstm, &net.torso.dense].into_iter().chain(heads) {
            layer
                .bias
                .as_ref()
                .unwrap()
                .of_mut(&mut x)
                .iter_mut()
                .for_each(|w| *w += (size * (2.0 * rng.uniform() - 1.0)) as f32);
        }
        for slot in [&net.lstm_action].into_iter().chain(&net.reward.action) {
            slot.of_mut(&mut x).iter_mut().for_each(|w| *w = (8.0 * (2.0 * rng.uniform() - 1.0)) as f32);
        }
        let plain = Plain { net: &net, x: &x };
        let seen = observations(&net, 1, &mut rng);
        let (planner, choices) = planned(&net, &x, &[1.0; 3], &[4; 3], &seen);
        let (mut path, mut members) = (Vec::new(), Vec::new());
        planner.path(0, &mut path);
        planner.members(0, &mut members);
        let start = plain.encode(&seen);
        let expected = plain.members(&start, &path);
        // Rounding grows with the terms: hidden units, or latent ones from the torso, up to `size` and more.
        for (ours, theirs) in members.iter().zip(&expected) {
            let error = (f64::from(*ours) - theirs).abs();
            assert!(error < 2e-6 * (10.0 + 8.0 * size), "at {size}: {ours}, not {theirs}");
        }
        assert_eq!(choices[0].action, plain.weighted(&start, &[1.0; 3], &[4; 3]).0);
    }
}

/// Rows of the action beyond ±20 in the exponent, with gates that cancel them: products of separate exponentials would be
/// wrong there, because each factor is limited.
#[test]
fn rows_of_the_action_of_any_size_follow_the_formula() {
    let mut rng = Rng::from_seed(36);
    for (size, design) in [15.0, 30.0, 60.0, 300.0].into_iter().flat_map(|size| designs().map(|d| (size, d)))
    {
        let net = Network::designed(4, 4, design);
        let mut x = parameters(&net, &mut rng);
        let heads = [Some(&net.reward), net.priors.as_ref().map(|[prior, _]| prior)].into_iter().flatten();
        let pairs = heads.filter_map(|head| Some((head.action.as_ref()?, head.hidden.as_ref()?)));
        for (rows, layer) in [(&net.lstm_action, &net.lstm)].into_iter().chain(pairs) {
            let bias = layer.bias.as_ref().unwrap();
            for w in bias.of_mut(&mut x) {
                *w -= (size * rng.uniform().round()) as f32;
            }
            let opposite: Vec<f32> = bias.of(&x).iter().map(|b| -b).collect();
            for row in rows.of_mut(&mut x).chunks_exact_mut(opposite.len()) {
                row.iter_mut().zip(&opposite).for_each(|(w, o)| *w = o + rng.normal() as f32);
            }
        }
        let plain = Plain { net: &net, x: &x };
        let seen = observations(&net, 1, &mut rng);
        let (planner, _) = planned(&net, &x, &[1.0; 3], &[4; 3], &seen);
        let (mut path, mut members) = (Vec::new(), Vec::new());
        planner.path(0, &mut path);
        planner.members(0, &mut members);
        for (ours, theirs) in members.iter().zip(plain.members(&plain.encode(&seen), &path)) {
            // Sums that cancel lose what a number of this size loses by rounding.
            let error = (f64::from(*ours) - theirs).abs();
            assert!(error < 2e-6 * (10.0 + 8.0 * size), "at {size}: {ours}, not {theirs}");
        }
    }
}
