//! Training in bits. The expected sums were recorded with the gradients that were derived and written by hand for each
//! network, before both were written once over the graph (docs/decisions/0014): the same bits came out, on every processor.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use std::sync::Arc;

use ive_agents::{Agent, Archive, dqn, vpn};
use ive_envs::ByteEnvironment;
use ive_envs::minatar::{Game, Options, make};

fn world(game: Game) -> impl Fn(u64) -> ByteEnvironment {
    move |seed| make(game, &Options::default(), seed).unwrap()
}

/// FNV-1a over all parameters, moments of the optimiser and sums of losses.
fn fingerprint(mut agent: impl Agent, rounds: usize) -> u64 {
    for _ in 0..rounds {
        agent.advance(&mut Vec::new()).unwrap();
    }
    let mut archive = Archive::saving();
    agent.archive(&mut archive).unwrap();
    let wanted = ["parameters.", "target.", "optimiser.", "meter"];
    let tensors = archive.into_tensors();
    let kept = tensors.iter().filter(|(name, _)| wanted.iter().any(|w| name.starts_with(w)));
    kept.flat_map(|(_, stored)| &stored.bytes)
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn vpn_config(ends: vpn::Ends, reduction: vpn::Reduction) -> vpn::Config {
    vpn::Config {
        steps: 10_000,
        worlds: 4,
        discount: 0.99,
        window: 10,
        prediction: 5,
        weights: vec![1.0; 3],
        branching: vec![3, 2, 1],
        learning_rate: 1e-3,
        learning_rate_decay: 0.8,
        learning_rate_linear: false,
        adam_epsilon: 1e-8,
        clip: 1.0,
        reduction,
        target_every: 80,
        exploration_final: 0.1,
        exploration_fraction: 0.01,
        replay: 2,
        replay_capacity: 1000,
        replay_start: 0,
        random_steps: 40,
        ends,
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
        log_every: 1_000_000,
    }
}

fn dqn_config(batch: usize) -> dqn::Config {
    dqn::Config {
        steps: 600,
        discount: 0.99,
        batch,
        replay_capacity: 1000,
        replay_start: 100,
        update_every: 2,
        target_every: 20,
        learning_rate: 2.5e-4,
        smoothing: 0.95,
        rms_epsilon: 0.01,
        exploration_final: 0.1,
        exploration_steps: 100,
        log_every: 1_000_000,
    }
}

#[test]
fn value_prediction_networks_train_in_the_bits_of_the_hand_written_gradient() {
    let cases = [
        (Game::Breakout, vpn::Ends::Mask, vpn::Reduction::Sum),
        (Game::Freeway, vpn::Ends::Absorb, vpn::Reduction::Mean),
    ];
    let got = cases.map(|(game, ends, reduction)| {
        fingerprint(vpn::Vpn::new(&vpn_config(ends, reduction), Arc::new(world(game)), 3).unwrap(), 8)
    });
    assert_eq!(got, [200_665_243_237_323_969, 1_445_116_777_038_359_026]);
}

#[test]
fn deep_q_networks_train_in_the_bits_of_the_hand_written_gradient() {
    let got = [(Game::Breakout, 32), (Game::Asterix, 13)].map(|(game, batch)| {
        fingerprint(dqn::Dqn::new(&dqn_config(batch), Arc::new(world(game)), 3).unwrap(), 4)
    });
    assert_eq!(got, [13_424_549_720_118_817_285, 17_698_409_378_087_907_461]);
}
