//! What acts in training, against slow loops and closed forms.

use std::sync::Arc;

use ive_envs::ByteEnvironment;
use ive_envs::minatar::{Game, Options, make};

use super::*;
use crate::bonus::{Signal, Space};
use crate::categorical::{Support, compress, expand};
use crate::muesli::Config;
use crate::muesli::torso::Seen;
use crate::streams::ACTING;

const SEED: u64 = 11;

fn agent(optimism: &str) -> Muesli {
    agent_with(1, optimism)
}

fn agent_with(heads: usize, optimism: &str) -> Muesli {
    let config: Config = serde_json::from_str(&format!(
        r#"{{
        "steps": 512, "worlds": 3, "window": 7, "updates": 1, "fresh": 1, "replayed": 1, "replay_capacity": 64, "learning_start": 16,
        "unroll": 4, "discount": 0.9, "retrace": 0.95, "advantage_clip": 1.0, "advantage_decay": 0.99, "behaviour_share": 0.03,
        "uniform_share": 0.003, "gradient_weight": 1.0, "improvement_weight": 1.0, "model_weight": 1.0, "value_weight": 0.25,
        "reward_weight": 1.0, "learning_rate": 1e-3, "learning_rate_final": 0.0, "weight_decay": 0.0, "adam_epsilon": 1e-8,
        "target_rate": 0.1, "torso": "small", "channels": [4, 4], "halve": true, "features": 16, "model": "residual", "latent": 8,
        "head": 8, "atoms": 11, "value_support": 4.0, "reward_support": 2.5, "prior": 5.0, "centre": true, "warm_up": 2,
        "warm_up_rate": 3e-3, "value_heads": {heads}, "evaluate": "sample"{optimism}, "log_every": 64 }}"#
    ))
    .unwrap();
    config.check().unwrap();
    let boards = |seed| -> ByteEnvironment { make(Game::Breakout, &Options::default(), seed).unwrap() };
    Muesli::new(&config, Arc::new(boards), SEED).unwrap()
}

/// Boards of the first window of a policy, `[time][environment]`, one after the other.
fn boards(muesli: &Muesli) -> Vec<Vec<u8>> {
    let bytes = muesli.view.bytes();
    let at = |t: usize, i: usize| muesli.fresh.get(i).observations[t * bytes..][..bytes].to_vec();
    (0..=muesli.config.window).map(|t| (0..muesli.config.worlds).flat_map(|i| at(t, i)).collect()).collect()
}

#[test]
fn actions_are_drawn_by_their_probabilities() {
    let policy = [0.0, 0.25, 0.5, 0.25, 0.0];
    let draws: Vec<usize> = [0.0, 0.2, 0.25, 0.7, 0.75, 0.999_999].map(|u| drawn(&policy, u)).to_vec();
    assert_eq!(draws, [1, 1, 2, 2, 3, 3]);
    // Single precision may add up to less than one.
    assert_eq!(drawn(&[0.3, 0.3, 0.3, 0.0], 0.95), 2);
    assert!((apart(&[0.5, 0.5, 0.0], &[0.25, 0.25, 0.5]) - 0.5).abs() < 1e-12);
}

fn softmax(x: &[f32]) -> Vec<f64> {
    let sum: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
    x.iter().map(|x| f64::from(*x).exp() / sum).collect()
}

fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// How far distributions of `gained + factor · v` lie apart, each weight `ratio` times the one before: atoms moved one by one, Eq. (24) written out.
fn divergence(members: &[(Vec<f64>, f64, f64)], ratio: f64, support: &Support) -> f64 {
    let total: f64 = (0..members.len()).map(|i| ratio.powi(i as i32)).sum();
    let (mut mixture, mut within) = ([0.0; 11], 0.0);
    for (i, (p, gained, factor)) in members.iter().enumerate() {
        let mut there = [0.0; 11];
        for (j, mass) in p.iter().enumerate() {
            let y = compress(gained + factor * expand(support.atom(j)));
            let place = (y.clamp(-4.0, 4.0) + 4.0) / 0.8;
            let low = (place as usize).min(9);
            there[low] += mass * (1.0 - (place - low as f64));
            there[low + 1] += mass * (place - low as f64);
        }
        let weight = ratio.powi(i as i32) / total;
        mixture.iter_mut().zip(there).for_each(|(m, p)| *m += weight * p);
        within += weight * entropy(&there);
    }
    entropy(&mixture) - within
}

/// One state and one action at a time, members and statistics written out by their formulas, the same draws: what a batch of all says.
#[test]
fn signals_of_each_action_equal_a_slow_loop() {
    let (mut muesli, depth, gamma) = (agent(""), 6, 0.9f64);
    muesli.play().unwrap();
    let (all, bytes, actions) = (boards(&muesli)[3].clone(), muesli.view.bytes(), muesli.net.actions);
    let support = muesli.supports[0];
    let streams = |state: usize| Rng::from_seed(40 + state as u64);
    for signal in [Signal::Sigma, Signal::JsdUniform, Signal::JsdIncreasing] {
        let mut draws: Vec<Rng> = (0..3).map(streams).collect();
        let weighed = muesli.weighed(&all, signal, depth, |state| draws[state].uniform()).unwrap();
        assert_eq!(weighed.len(), 3);
        for (state, board) in all.chunks_exact(bytes).enumerate() {
            // The numbers of a state, by step behind the first and by action.
            let mut stream = streams(state);
            let numbers: Vec<f64> = (0..(depth - 1) * actions).map(|_| stream.uniform()).collect();
            for action in 0..actions {
                let mut seen = Seen::default();
                muesli.net.torso.prepare(board, &mut seen);
                let (target, executor) = muesli.target();
                let said = target.imagine(&seen, [1, 1], depth, executor, |step, _, policy| match step {
                    0 => action as u8,
                    _ => drawn(policy, numbers[(step - 1) * actions + action]) as u8,
                });
                let gained = |k: usize| -> f64 {
                    (0..k).map(|i| gamma.powi(i as i32) * f64::from(said.rewards[i][0])).sum()
                };
                let slow = if signal == Signal::Sigma {
                    let member = |k: usize| gained(k) + gamma.powi(k as i32) * f64::from(said.values[k][0]);
                    let members: Vec<f64> = (1..=depth).map(member).collect();
                    let mean = members.iter().sum::<f64>() / depth as f64;
                    (members.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / depth as f64).sqrt()
                } else {
                    // Increasing: each weight is 3^(1/5) times the one before.
                    let ratio = if signal == Signal::JsdUniform { 1.0 } else { 3f64.powf(0.2) };
                    let member = |k: usize| (softmax(&said.logits[k]), gained(k), gamma.powi(k as i32));
                    divergence(&(1..=depth).map(member).collect::<Vec<_>>(), ratio, &support)
                };
                let fast = weighed[state].signal[action];
                assert!(
                    slow > 0.0 && (fast - slow).abs() < 2e-6 * (1.0 + slow),
                    "{signal:?}: {fast} and {slow}"
                );
            }
        }
    }
}

/// The same for explicit heads: each action by itself through the model, and `r̂ + γ v̂ᵢ` of the first three of four heads written out.
#[test]
fn signals_of_explicit_heads_equal_a_slow_loop() {
    let (mut muesli, n, gamma) = (agent_with(4, ""), 3, 0.9f64);
    muesli.play().unwrap();
    let (all, bytes) = (boards(&muesli)[3].clone(), muesli.view.bytes());
    let support = muesli.supports[0];
    let atoms: Vec<f64> = (0..11).map(|j| support.atom(j)).collect();
    for signal in [Signal::EveSigma, Signal::EveJsdIncreasing] {
        let nothing = |_| -> f64 { panic!("explicit heads draw nothing") };
        let weighed = muesli.weighed(&all, signal, n, nothing).unwrap();
        for (state, board) in all.chunks_exact(bytes).enumerate() {
            let mut seen = Seen::default();
            muesli.net.torso.prepare(board, &mut seen);
            let (target, executor) = muesli.target();
            let [policy, value] = target.act(&seen, 1, executor);
            assert!((weighed[state].value - value[0]).abs() < 1e-6);
            for (action, p) in policy.iter().enumerate() {
                assert!((weighed[state].log_policy[action].exp() - p).abs() < 1e-6);
                // One step along the model, and each head read by a network of its own.
                let (target, executor) = muesli.target();
                let path = target.imagine(&seen, [1, 1], 1, executor, |_, _, _| action as u8);
                let reward = f64::from(path.rewards[0][0]);
                let blocks = target.parameters.map(crate::nn::Parameters::frozen);
                let heads: Vec<Vec<f64>> = (0..n)
                    .map(|head| {
                        let mut logits = Vec::new();
                        executor.run(&blocks, |g| {
                            let root = target.net.root(g, &seen, [0, 1]);
                            let next = target.net.step(g, root, &[action as u8]);
                            let out = target.net.value(g, next.z, head);
                            g.read(out, &mut logits);
                        });
                        softmax(&logits)
                    })
                    .collect();
                let slow = if signal == Signal::EveSigma {
                    let mean_of = |p: &Vec<f64>| p.iter().zip(&atoms).map(|(p, z)| p * z).sum::<f64>();
                    let members: Vec<f64> =
                        heads.iter().map(|p| reward + gamma * expand(mean_of(p))).collect();
                    let mean = members.iter().sum::<f64>() / n as f64;
                    (members.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / n as f64).sqrt()
                } else {
                    // Three weights, the last three times the first.
                    let members: Vec<_> = heads.iter().map(|p| (p.clone(), reward, gamma)).collect();
                    divergence(&members, 3f64.sqrt(), &support)
                };
                let fast = weighed[state].signal[action];
                assert!(
                    slow > 0.0 && (fast - slow).abs() < 2e-6 * (1.0 + slow),
                    "{signal:?}: {fast} and {slow}"
                );
            }
        }
    }
    assert!(muesli.weighed(&all, Signal::EveSigma, 5, |_| 0.0).is_err(), "there are four heads");
}

/// An explicit optimist wants as many value heads as it compares, and then acts and learns like the others.
#[test]
fn optimists_of_explicit_heads_act_and_are_refused_without_heads() {
    let settings = r#", "optimism": "logit", "optimism_signal": "eve-jsd-increasing", "optimism_beta": 3.0, "optimism_depth": 4"#;
    let mut muesli = agent_with(4, settings);
    muesli.play().unwrap();
    let mut moved = Vec::new();
    muesli.optimist.as_mut().unwrap().report(&mut moved);
    assert!(moved.iter().all(|(_, x)| *x > 0.0) && moved.len() == 2, "{moved:?}");
    let refused = Config { value_heads: 3, ..muesli.config.clone() }.check().unwrap_err().to_string();
    assert!(refused.contains("optimism_depth") && refused.contains("has 3 (value_heads)"), "{refused}");
}

/// Everything about the first window again: π of a twin that has not played, its signals along the same draws, and the formula in double precision.
/// That is what is stored, and what was drawn from.
#[test]
fn what_is_stored_is_the_mixed_policy_and_what_was_drawn_from() {
    for (space, signal, beta) in [
        (Space::Logit, Signal::Sigma, 2.0),
        (Space::Probability, Signal::Sigma, 0.3),
        (Space::Logit, Signal::JsdDecreasing, 5.0),
    ] {
        let (how, which) = (space.word(), signal.word());
        let settings = format!(
            r#", "optimism": "{how}", "optimism_signal": "{which}", "optimism_beta": {beta}, "optimism_depth": 6"#
        );
        let (mut muesli, mut twin) = (agent(&settings), agent(&settings));
        muesli.play().unwrap();
        let root = Rng::from_seed(SEED);
        let (mut imagining, mut acting) = (root.fold_in(IMAGINING), root.fold_in(ACTING));
        let (actions, mut moved) = (muesli.net.actions, 0.0f64);
        for (t, seen) in boards(&muesli).iter().enumerate() {
            let weighed = twin.weighed(seen, signal, 6, |_| imagining.uniform()).unwrap();
            for (i, Weighed { log_policy, signal: d, .. }) in weighed.iter().enumerate() {
                let window = muesli.fresh.get(i);
                let stored = &window.policies[t * actions..][..actions];
                let policy: Vec<f64> = log_policy.iter().map(|x| f64::from(*x).exp()).collect();
                let mass = |a: usize| policy[a] * (beta * d[a]).exp();
                let total: f64 = (0..actions).map(mass).sum();
                let all: f64 = d.iter().sum();
                for a in 0..actions {
                    let wanted = match space {
                        Space::Logit => mass(a) / total,
                        Space::Probability => (1.0 - beta) * policy[a] + beta * d[a] / all,
                    };
                    assert!((f64::from(stored[a]) - wanted).abs() < 1e-6, "{how} {which}");
                    moved = moved.max((wanted - policy[a]).abs());
                }
                if t < muesli.config.window {
                    assert_eq!(
                        usize::from(window.actions[t]),
                        drawn(stored, acting.uniform()),
                        "{how} {which}"
                    );
                }
                // The replay, from which updates learn, has the same.
                assert_eq!(muesli.replay.get(i).policies, window.policies);
            }
        }
        assert!(moved > 0.01, "{how} {which} changes the policy: {moved}");
        assert!((twin.optimist.as_ref().unwrap().imagining) == root.fold_in(IMAGINING));
        assert!(muesli.optimist.unwrap().imagining == imagining, "one stream, drawn from by nothing else");
    }
}

/// Without β the policies are those of an agent that is no optimist, and the same actions are drawn: paths come from a stream of their own.
#[test]
fn optimism_of_weight_zero_changes_nothing() {
    let zero =
        r#", "optimism": "logit", "optimism_signal": "sigma", "optimism_beta": 0.0, "optimism_depth": 3"#;
    let (mut plain, mut zero) = (agent(""), agent(zero));
    plain.play().unwrap();
    zero.play().unwrap();
    for i in 0..3 {
        let (a, b) = (plain.fresh.get(i), zero.fresh.get(i));
        assert_eq!((a.actions, a.rewards, a.observations), (b.actions, b.rewards, b.observations));
        assert!(a.policies.iter().zip(b.policies).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
