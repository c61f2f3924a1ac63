//! Settings, worlds and checkpoints that an agent cannot work with are refused; those that are accepted work.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use std::sync::Arc;

use ive::Rng;
use ive_agents::{Agent, AgentError, Archive, ArchiveError, Kind, Stored, dqn, vpn};
use ive_envs::minatar::{Game, Options, make};
use ive_envs::{ByteEnvironment, TimeLimit};

fn world(seed: u64) -> ByteEnvironment {
    make(Game::Breakout, &Options::default(), seed).unwrap()
}

fn vpn_config() -> vpn::Config {
    vpn::Config {
        steps: 10_000,
        worlds: 3,
        discount: 0.99,
        window: 10,
        prediction: 3,
        weights: vec![1.0; 2],
        branching: vec![2, 1],
        learning_rate: 1e-3,
        learning_rate_decay: 0.8,
        learning_rate_linear: false,
        adam_epsilon: 1e-8,
        clip: 40.0,
        reduction: vpn::Reduction::Sum,
        target_every: 80,
        exploration_final: 0.5,
        exploration_fraction: 0.01,
        replay: 1,
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
        batch: 8,
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

/// `random_steps = 15` with `window = 10` once collected for ever. By hand: so many windows are kept that they hold the
/// steps asked for, and rounds of one window per world go on until there are that many.
#[test]
fn random_steps_end_for_every_length_of_a_window() {
    let mut rng = Rng::from_seed(8);
    let random = (0..40).map(|_| (rng.below(60), 1 + rng.below(12)));
    for (random_steps, window) in [(15, 10), (50_000, 7), (1, 1000), (0, 7), (7, 7)].into_iter().chain(random)
    {
        let config = vpn::Config { random_steps, window, replay: 0, ..vpn_config() };
        let mut agent = vpn::Vpn::new(&config, Arc::new(world), 1).unwrap();
        let windows = random_steps.div_ceil(window);
        for round in 1..=windows.div_ceil(config.worlds) {
            assert_eq!(agent.steps(), 0, "{random_steps} steps, window {window}, before round {round}");
            agent.advance(&mut Vec::new()).unwrap();
        }
        let mut archive = Archive::saving();
        agent.archive(&mut archive).unwrap();
        let actions = &archive.into_tensors()["random.actions"];
        assert_eq!(actions.bytes.len(), windows * window, "{random_steps} steps, window {window}");
        agent.advance(&mut Vec::new()).unwrap();
        assert_eq!(agent.steps() as usize, config.worlds * window, "then training begins");
    }
}

/// The agent that is saved while it collects goes on to the same state; so does one with every setting that came later.
#[test]
fn collecting_and_training_can_be_interrupted_after_every_round() {
    interrupted(&vpn::Config { random_steps: 95, ..vpn_config() });
    interrupted(&vpn::Config {
        network: vpn::Form::Relu,
        loss: vpn::Compared::Members,
        reward_weight: 3.0,
        reward_loss: vpn::RewardLoss::CrossEntropy,
        bootstrap: vpn::Bootstrap::V1,
        train_zero: true,
        prior_scale: 2.0,
        value_heads: 3,
        ..vpn_config()
    });
}

fn interrupted(config: &vpn::Config) {
    let make = || vpn::Vpn::new(config, Arc::new(world), 2).unwrap();
    let tensors = |agent: &mut vpn::Vpn| {
        let mut archive = Archive::saving();
        agent.archive(&mut archive).unwrap();
        archive.into_tensors()
    };
    let (mut whole, mut restarted) = (make(), make());
    for _ in 0..8 {
        whole.advance(&mut Vec::new()).unwrap();
        let saved = tensors(&mut restarted);
        restarted = make();
        restarted.archive(&mut Archive::loading(saved)).unwrap();
        restarted.advance(&mut Vec::new()).unwrap();
    }
    assert!(whole.steps() > 0);
    assert_eq!(tensors(&mut whole), tensors(&mut restarted));
}

/// Checkpoints from before the fit of rewards was measured have no sums of it.
#[test]
fn older_checkpoints_are_restored_without_the_fit_of_rewards() {
    let make = || vpn::Vpn::new(&vpn_config(), Arc::new(world), 2).unwrap();
    let (mut agent, mut archive) = (make(), Archive::saving());
    (0..3).for_each(|_| agent.advance(&mut Vec::new()).unwrap());
    agent.archive(&mut archive).unwrap();
    let mut tensors = archive.into_tensors();
    assert!(tensors.remove("reward_fit").is_some());
    make().archive(&mut Archive::loading(tensors)).unwrap();
}

fn refused(result: Result<(), AgentError>, key: &str, words: &[&str]) {
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with(key), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "`{word}` is not in `{message}`"));
}

#[test]
fn settings_that_ask_for_too_much_memory_are_refused_with_its_size() {
    let base = vpn_config;
    base().check().unwrap();
    dqn_config().check().unwrap();
    // By hand: 4096 · 5 + 16 states, 1 + 6 + … + 6⁴ = 1555 nodes of 136 · 8 bytes and 5120 bytes more each: 34.8 GB.
    let (weights, branching) = (vec![1.0; 5], vec![6; 5]);
    let trees = vpn::Config { worlds: 4096, replay: 3, weights, branching, ..base() };
    refused(trees.check(), "branching", &["would take 34.8 GB", "1555 nodes from 20496 states", "8 GB"]);
    // By hand: 10⁹ steps in windows of 10: 10⁸ · (11 · (128 + 6) + 8) bytes.
    refused(
        vpn::Config { replay_capacity: 1_000_000_000, ..base() }.check(),
        "replay_capacity",
        &["148.2 GB"],
    );
    refused(vpn::Config { random_steps: 1_000_000_000, ..base() }.check(), "random_steps", &["10000000"]);
    let random = vpn::Config { random_steps: 10_000_000, window: 1, ..base() };
    random.check().unwrap();
    let long = vpn::Config { window: 1000, replay_capacity: 1000, replay: 1000, prediction: 100, ..base() };
    refused(long.check(), "window", &["updates of 1002000 steps"]);
    let wide = vpn::Config { worlds: 4096, window: 1000, replay: 0, ..base() };
    wide.check().unwrap();
    // By hand: 10⁸ · (2 · (128 + 6) + 8) bytes.
    refused(
        dqn::Config { replay_capacity: 100_000_000, ..dqn_config() }.check(),
        "replay_capacity",
        &["27.6 GB"],
    );
    // What is saved whole is there three times while it is saved: 3 · 60 MB, and 3 · 64 MB even if one of a game could have more.
    dqn::Config { replay_capacity: 28_000_000, ..dqn_config() }.check().unwrap();
    dqn::Config { batch: 100_000, ..dqn_config() }.check().unwrap();
    refused(dqn::Config { batch: 1_000_000, ..dqn_config() }.check(), "batch", &["100000"]);
}

/// Checkpoints whose hashes are right, but whose replay no world can have shown.
#[test]
fn replay_that_no_world_can_have_shown_is_refused() {
    type Change = (&'static str, fn(&mut Stored), &'static str);
    // A board of Breakout has 400 bits in 7 words: 448 − 400 = 48 bits of the last word are not used.
    let changes: [Change; 4] = [
        ("replay.boards", |t| t.bytes[7 * 8 - 1] |= 0x80, "behind the last one of a board"),
        ("replay.actions", |t| t.bytes[3] = 6, "an action beyond the 6"),
        ("replay.ends", |t| t.bytes[0] = 2, "other than 0 and 1"),
        ("replay.rewards", |t| t.bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes()), "not finite"),
    ];
    let dqn = || Box::new(dqn::Dqn::new(&dqn_config(), Arc::new(world), 3).unwrap()) as Box<dyn Agent>;
    let vpn = || Box::new(vpn::Vpn::new(&vpn_config(), Arc::new(world), 3).unwrap()) as Box<dyn Agent>;
    for make in [&dqn as &dyn Fn() -> Box<dyn Agent>, &vpn] {
        let mut agent = make();
        (0..5).for_each(|_| agent.advance(&mut Vec::new()).unwrap());
        let mut archive = Archive::saving();
        agent.archive(&mut archive).unwrap();
        let good = archive.into_tensors();
        make().archive(&mut Archive::loading(good.clone())).unwrap();
        for (name, change, words) in changes {
            let mut tensors = good.clone();
            change(tensors.get_mut(name).unwrap());
            match make().archive(&mut Archive::loading(tensors)).unwrap_err() {
                ArchiveError::Content { name: found, problem } => {
                    assert!(found == name && problem.contains(words), "{found}: {problem}");
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(good["replay.boards"].kind, Kind::U64);
    }
}

/// A limit of steps is not the end of value. Agents that cannot tell the two apart say so.
#[test]
fn episodes_that_are_only_cut_off_are_refused() {
    let limited = |seed: u64| Box::new(TimeLimit::new(world(seed), 5)) as ByteEnvironment;
    let dqn = Box::new(dqn::Dqn::new(&dqn_config(), Arc::new(limited), 3).unwrap()) as Box<dyn Agent>;
    let vpn = Box::new(vpn::Vpn::new(&vpn_config(), Arc::new(limited), 3).unwrap()) as Box<dyn Agent>;
    for mut agent in [dqn, vpn] {
        let error = agent.advance(&mut Vec::new()).unwrap_err();
        assert!(matches!(error, AgentError::CutOff { .. }), "{error}");
        assert!(error.to_string().contains("without ending it"), "{error}");
    }
}
