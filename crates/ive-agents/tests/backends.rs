//! The tensor engine and the tape make the same agents.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use std::sync::Arc;

use ive_agents::nn::Backend;
use ive_agents::{Agent, Archive, dqn, vpn};
use ive_envs::ByteEnvironment;
use ive_envs::minatar::{Game, Options, make};

fn world(seed: u64) -> ByteEnvironment {
    make(Game::Breakout, &Options::default(), seed).unwrap()
}

fn vpn_config() -> vpn::Config {
    vpn::Config {
        steps: 10_000,
        worlds: 4,
        discount: 0.99,
        window: 10,
        prediction: 5,
        weights: vec![1.0; 3],
        branching: vec![3, 2, 1],
        learning_rate: 1e-2,
        learning_rate_decay: 0.8,
        learning_rate_linear: false,
        // Of the size of gradients: with a tiny one the first steps have the sign of each entry, however small it is, and
        // the rounding of entries that are nearly zero would decide.
        adam_epsilon: 1e-2,
        clip: 1.0,
        reduction: vpn::Reduction::Sum,
        target_every: 80,
        exploration_final: 0.5,
        exploration_fraction: 0.01,
        replay: 2,
        replay_capacity: 1000,
        replay_start: 0,
        random_steps: 40,
        ends: vpn::Ends::Absorb,
        input_scale: 1.0,
        action_scale: 4.0,
        network: vpn::Form::Paper,
        loss: vpn::Compared::Parts,
        reward_weight: 1.0,
        reward_loss: vpn::RewardLoss::Huber,
        bootstrap: vpn::Bootstrap::Plan,
        train_zero: false,
        prior_scale: 0.0,
        value_heads: 1,
        log_every: 40,
    }
}

fn dqn_config() -> dqn::Config {
    dqn::Config {
        steps: 300,
        discount: 0.99,
        batch: 32,
        replay_capacity: 1000,
        replay_start: 100,
        update_every: 4,
        target_every: 20,
        learning_rate: 2.5e-4,
        smoothing: 0.95,
        rms_epsilon: 0.01,
        exploration_final: 0.5,
        exploration_steps: 100,
        log_every: 100,
    }
}

/// The parameters after some rounds, and all metrics on the way.
fn train(mut agent: impl Agent, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    let mut log = Vec::new();
    for _ in 0..rounds {
        agent.advance(&mut log).unwrap();
    }
    let mut archive = Archive::saving();
    agent.archive(&mut archive).unwrap();
    let tensors = archive.into_tensors();
    let parameters = tensors.iter().filter(|(name, _)| name.starts_with("parameters."));
    let parameters = parameters.flat_map(|(_, stored)| stored.bytes.as_chunks::<4>().0);
    let metrics = log.iter().flat_map(|line| line.values.iter().map(|value| value.1));
    (parameters.map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect(), metrics.collect())
}

/// Same worlds, same draws; gradients differ by rounding (1e-6 of their length), and so do steps. Some dozen steps later
/// the parameters have moved by far more than they differ.
fn compare(fused: (Vec<f64>, Vec<f64>), engine: (Vec<f64>, Vec<f64>), start: Vec<f64>) {
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let (moved, apart) = (distance(&fused.0, &start), distance(&fused.0, &engine.0));
    assert!(moved > 1e-2, "nothing was learnt: {moved}");
    assert!(apart > 0.0, "the same bits: both were made by the tape");
    assert!(apart < 1e-5 * moved, "moved by {moved}, {apart} apart");
    assert_eq!(fused.1.len(), engine.1.len());
    for (fused, engine) in fused.1.iter().zip(&engine.1) {
        assert!((fused - engine).abs() < 1e-4 * fused.abs().max(1e-2), "metrics {fused} and {engine}");
    }
}

/// The tensor engine on the processor and, in a build that has some, on graphics processors.
fn engines() -> impl Iterator<Item = Backend> {
    let names = Backend::names().into_iter().filter(|&name| name != "cpu");
    names.map(|name| Backend::parse(name).unwrap())
}

#[test]
fn value_prediction_networks_learn_the_same_on_the_engine() {
    let agent = || vpn::Vpn::new(&vpn_config(), Arc::new(world), 3).unwrap();
    for engine in engines() {
        // The first round only collects steps of the random policy.
        compare(train(agent(), 6), train(agent().with_backend(&engine), 6), train(agent(), 0).0);
    }
}

#[test]
fn deep_q_networks_learn_the_same_on_the_engine() {
    let agent = || dqn::Dqn::new(&dqn_config(), Arc::new(world), 3).unwrap();
    for engine in engines() {
        compare(train(agent(), 3), train(agent().with_backend(&engine), 3), train(agent(), 0).0);
    }
}
