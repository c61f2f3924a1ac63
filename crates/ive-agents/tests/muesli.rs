//! Muesli as an agent: boards and pictures, kills, decisions, signals; and whether its network can learn values of Procgen at all.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use std::sync::Arc;

use ive::{Members, Rng, Weighting};
use ive_agents::categorical::compress;
use ive_agents::muesli::network::Network;
use ive_agents::muesli::predict::Paths;
use ive_agents::muesli::torso::{Seen, View};
use ive_agents::muesli::{Acting, Config, Modelling, Muesli, Optimism, Seeing};
use ive_agents::nn::cpu::descent::Adam;
use ive_agents::nn::{Executor, Over, Parameters};
use ive_agents::returns::n_step;
use ive_agents::{Agent, AgentError, Archive, Bonus, Evaluate, Player, Signal, Source, Space, Tensors, Wish};
use ive_envs::minatar::{Game, Options, make};
use ive_envs::registry::Registered;
use ive_envs::{
    BoxedEnvironment, ByteEnvironment, Environment, Environments, Spec, StateError, StepError, StepKind,
    TimeStep,
};

/// A square in one of four corners of a picture; the action of that number pays one. Every episode is cut off after eight steps.
struct Corners {
    spec: Spec,
    rng: Rng,
    corner: usize,
    steps: u8,
}

const SIDE: usize = 64;

impl Corners {
    fn new(seed: u64) -> Self {
        let spec = Spec {
            name: "test:corners".to_owned(),
            shape: vec![SIDE, SIDE, 3],
            channels: vec!["red", "green", "blue"],
            actions: vec!["a", "b", "c", "d", "e"],
        };
        Self { spec, rng: Rng::from_seed(seed), corner: 0, steps: 0 }
    }
}

impl Environment for Corners {
    type Action = usize;
    type Element = u8;

    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn reset_into(&mut self, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        (self.corner, self.steps) = (self.rng.below(4), 0);
        self.observe_into(observation)?;
        Ok(TimeStep::new(StepKind::First, 0.0))
    }
    fn step_into(&mut self, action: usize, observation: &mut [u8]) -> Result<TimeStep<()>, StepError> {
        let reward = f64::from(u8::from(action == self.corner));
        self.corner = (self.corner + 1) % 4;
        self.steps += 1;
        self.observe_into(observation)?;
        let kind = if self.steps == 8 { StepKind::Truncated } else { StepKind::Mid };
        Ok(TimeStep::new(kind, reward))
    }
    fn observe_into(&self, observation: &mut [u8]) -> Result<(), StepError> {
        observation.fill(0);
        let (down, right) = (8 + 32 * (self.corner / 2), 8 + 32 * (self.corner % 2));
        for row in down..down + 16 {
            observation[(row * SIDE + right) * 3..][..48].fill(255);
        }
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        let words = self.rng.to_words().into_iter().chain([self.corner as u64, self.steps.into()]);
        words.flat_map(u64::to_le_bytes).collect()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = state.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let [a, b, c, d, e, corner, steps] = words[..] else {
            return Err(StateError::Corrupt { what: "it has another length" });
        };
        self.rng = Rng::from_words([a, b, c, d, e]);
        (self.corner, self.steps) = (corner as usize, steps as u8);
        Ok(())
    }
}

fn pictures() -> Source<usize, u8> {
    Arc::new(|seed| Box::new(Corners::new(seed)) as BoxedEnvironment<usize, u8>)
}

fn boards() -> Source<usize, u8> {
    Arc::new(|seed| -> ByteEnvironment { make(Game::Breakout, &Options::default(), seed).unwrap() })
}

fn config() -> Config {
    Config {
        steps: 1000,
        worlds: 4,
        window: 6,
        updates: 2,
        fresh: 2,
        replayed: 3,
        replay_capacity: 120,
        learning_start: 30,
        unroll: 5,
        discount: 0.99,
        retrace: 0.95,
        advantage_clip: 1.0,
        advantage_decay: 0.99,
        behaviour_share: 0.03,
        uniform_share: 0.003,
        gradient_weight: 1.0,
        improvement_weight: 1.0,
        model_weight: 1.0,
        value_weight: 0.25,
        reward_weight: 1.0,
        learning_rate: 1e-3,
        learning_rate_final: 0.0,
        weight_decay: 1e-4,
        adam_epsilon: 1e-8,
        target_rate: 0.1,
        torso: Seeing::Small,
        channels: vec![4, 8],
        halve: true,
        features: 24,
        model: Modelling::Residual,
        latent: 16,
        head: 8,
        atoms: 21,
        value_support: 4.0,
        reward_support: 2.5,
        prior: 5.0,
        centre: true,
        warm_up: 5,
        warm_up_rate: 3e-3,
        value_heads: 3,
        evaluate: Acting::Sample,
        optimism: Optimism::None,
        optimism_signal: Signal::Sigma,
        optimism_beta: 1.0,
        optimism_depth: 5,
        log_every: 50,
    }
}

fn saved(agent: &mut Muesli) -> Tensors {
    let mut archive = Archive::saving();
    agent.archive(&mut archive).unwrap();
    archive.into_tensors()
}

/// Goes on for some rounds.
fn advance(agent: &mut Muesli, rounds: usize) -> Vec<String> {
    let mut log = Vec::new();
    (0..rounds).for_each(|_| agent.advance(&mut log).unwrap());
    assert!(log.iter().flat_map(|line| &line.values).all(|(_, x)| x.is_finite()));
    log.iter().map(|line| format!("{line:?}")).collect()
}

/// Saved after every round (before the first update, within the warm-up, after it, when the replay is full) and restored into another
/// agent, the rest is the same, bit by bit.
#[test]
fn saved_anywhere_it_ends_in_the_same_state() {
    let logit = Config { optimism: Optimism::Logit, optimism_depth: 8, ..config() };
    let share = Config {
        optimism: Optimism::Probability,
        optimism_signal: Signal::JsdIncreasing,
        optimism_beta: 0.1,
        ..config()
    };
    for (source, config) in
        [(boards(), config()), (pictures(), config()), (boards(), logit), (pictures(), share)]
    {
        let make = || Muesli::new(&config, source.clone(), 7).unwrap();
        let mut whole = make();
        let lines = advance(&mut whole, 12);
        assert!(whole.updates() > config.warm_up && whole.steps() > config.replay_capacity as u64);
        assert_eq!(lines[0].contains("policy_shift"), config.optimism != Optimism::None);
        let end = saved(&mut whole);
        for rounds in [0, 1, 2, 3, 4, 7] {
            let mut before = make();
            let first = advance(&mut before, rounds);
            let mut after = make();
            after.archive(&mut Archive::loading(saved(&mut before))).unwrap();
            let rest = advance(&mut after, 12 - rounds);
            assert_eq!([first, rest].concat(), lines, "after {rounds} rounds");
            assert!(saved(&mut after) == end, "after {rounds} rounds");
        }
    }
}

#[test]
fn only_value_and_reward_heads_move_in_the_warm_up() {
    let mut agent = Muesli::new(&config(), boards(), 1).unwrap();
    advance(&mut agent, 2);
    let before = saved(&mut agent);
    advance(&mut agent, 1);
    assert_eq!((agent.updates(), agent.steps()), (2, 48));
    let after = saved(&mut agent);
    for (name, tensor) in before.iter().filter(|(name, _)| name.starts_with("parameters.")) {
        let moves = name.contains("value.") || name.contains("reward.");
        assert_eq!(tensor != &after[name], moves, "{name}");
    }
}

/// Priors of scale five bias the first values; centred outputs take the part away that all states share, about a quarter of the root mean
/// square here. One network decides nothing: over four states of 400 networks the ratio is 0.76 with a standard error of about 0.04.
#[test]
fn centring_takes_the_bias_of_the_priors_away() {
    let seen: Vec<u8> = (0..4)
        .flat_map(|corner| {
            let (mut world, mut one) = (Corners::new(0), vec![0; SIDE * SIDE * 3]);
            world.corner = corner;
            world.observe_into(&mut one).unwrap();
            one
        })
        .collect();
    let bias = |centre: bool, prior: f64| {
        let config = Config { centre, prior, updates: 0, ..config() };
        let of_seed = |seed: u64| {
            let mut agent = Muesli::new(&config, pictures(), seed).unwrap();
            advance(&mut agent, 1);
            let members = agent.members(&seen, 0, 1, &mut Rng::from_seed(0)).unwrap();
            ive::mean(&members.concat()).powi(2)
        };
        ive::mean(&(0..400).map(of_seed).collect::<Vec<f64>>()).sqrt()
    };
    let [without, with, none] = [bias(false, 5.0), bias(true, 5.0), bias(true, 0.0)];
    assert!(none < 0.05, "without priors nothing is expected: {none}");
    assert!(with < 0.9 * without, "{with} and {without}");
}

/// What is decided does not depend on whether somebody asks for members, and the members of a decision begin with its action.
#[test]
fn decisions_draw_the_same_actions_whatever_is_wished_for() {
    let mut agent = Muesli::new(&config(), boards(), 5).unwrap();
    advance(&mut agent, 6);
    let mut world = make(Game::Breakout, &Options::default(), 3).unwrap();
    let seen = [world.reset().observation, world.step(1).unwrap().observation].concat();
    let begin = |agent: &Muesli| [1, 2].map(|i| agent.begin(&Rng::from_seed(9).fold_in(i)));
    let mut play = |wish: Wish<'_>| {
        let mut memories = begin(&agent);
        let decide = |_| {
            let decided = agent.decide(&seen, &mut memories, wish).unwrap();
            decided.into_iter().map(|d| (d.action, d.members)).collect::<Vec<_>>()
        };
        (0..30).flat_map(decide).collect::<Vec<_>>()
    };
    let all = Members::new([0, 2, 5]).unwrap();
    let (bare, usual, these) = (play(Wish::Action), play(Wish::Usual), play(Wish::These(&all)));
    for ((bare, usual), these) in bare.iter().zip(&usual).zip(&these) {
        assert_eq!((bare.0, usual.0), (usual.0, these.0));
        let (usual, these) = (usual.1.as_ref().unwrap(), these.1.as_ref().unwrap());
        assert_eq!((usual.ks().len(), these.ks().len()), (5, 3));
        assert_eq!((usual.values()[1], usual.values()[4]), (these.values()[1], these.values()[2]));
    }
    assert!(bare.iter().any(|d| d.0 != bare[0].0), "drawn, not the mode");
    let far = Members::new([6]).unwrap();
    let error = agent.decide(&seen, &mut begin(&agent), Wish::These(&far)).unwrap_err();
    assert!(matches!(error, AgentError::Members { trained: 5, .. }), "{error}");
}

/// Spec: rewards belong to the step. With a constant reward c and the value c / (1 − γ), all members agree.
#[test]
fn members_agree_where_model_and_value_do() {
    let (c, discount) = (0.25f32, 0.9);
    let paths = Paths { rewards: vec![vec![c]; 5], values: vec![vec![c / 0.1]; 6], ..Paths::default() };
    for members in paths.members(discount) {
        assert!(members.len() == 6 && ive::standard_deviation(&members, 0).unwrap() < 1e-6, "{members:?}");
    }
    // γ = ½, rewards 1, 2, values 10, 20, 40: 10; 1 + 10; 1 + 1 + 10.
    let paths = Paths {
        rewards: vec![vec![1.0], vec![2.0]],
        values: vec![vec![10.0], vec![20.0], vec![40.0]],
        ..Paths::default()
    };
    assert_eq!(paths.members(0.5), [[10.0, 11.0, 12.0]]);
}

#[test]
fn signals_of_batches_have_one_row_for_each_state() {
    let mut agent = Muesli::new(&config(), pictures(), 5).unwrap();
    advance(&mut agent, 6);
    let mut seen = vec![0; 3 * SIDE * SIDE * 3];
    for (i, one) in seen.chunks_exact_mut(SIDE * SIDE * 3).enumerate() {
        let mut world = Corners::new(0);
        world.corner = i;
        world.observe_into(one).unwrap();
    }
    let mut rng = Rng::from_seed(1);
    let averaged = agent.members(&seen, 5, 40, &mut rng).unwrap();
    assert!(averaged.len() == 3 && averaged.iter().all(|m| m.len() == 6));
    let mut again = |paths| agent.members(&seen, 5, paths, &mut rng).unwrap()[0][5];
    let spread = |values: Vec<f64>| ive::standard_deviation(&values, 0).unwrap();
    let (one, many) =
        (spread((0..20).map(|_| again(1)).collect()), spread((0..20).map(|_| again(40)).collect()));
    assert!(many < one, "means over paths vary less than single paths: {many} and {one}");
    let sigmas = agent.action_sigmas(&seen, 5, &mut rng).unwrap();
    assert!(sigmas.len() == 3 && sigmas.iter().all(|s| s.len() == 5 && s.iter().all(|s| *s > 0.0)));
    let heads = agent.head_values(&seen);
    assert!(heads.len() == 3 && heads.iter().all(|h| h.len() == 3 && h[0] != h[1]));
    assert!((heads[1][0] - agent.members(&seen, 1, 1, &mut rng).unwrap()[1][0]).abs() < 1e-6);
    let apart = agent.head_divergences(&seen, Weighting::Uniform).unwrap();
    let along = agent.member_divergences(&seen, 5, Weighting::Increasing, &mut rng).unwrap();
    let most = f64::ln(5.0);
    for all in [apart, along] {
        assert!(all.len() == 3 && all.iter().all(|d| (0.0..most).contains(d)), "{all:?}");
    }
}

/// The network of the preset `paper` on a tiny batch: residual blocks on pictures of full size, LSTM model, 601 atoms.
#[test]
fn the_published_network_makes_an_update() {
    let config = Config {
        worlds: 2,
        window: 6,
        updates: 1,
        fresh: 1,
        replayed: 1,
        replay_capacity: 24,
        learning_start: 0,
        torso: Seeing::Impala,
        channels: vec![16, 32, 32],
        halve: false,
        features: 256,
        model: Modelling::Lstm,
        latent: 256,
        head: 256,
        atoms: 601,
        value_support: 300.0,
        reward_support: 300.0,
        warm_up: 0,
        log_every: 1,
        ..config()
    };
    let mut agent = Muesli::new(&config, pictures(), 2).unwrap();
    let before = saved(&mut agent);
    let lines = advance(&mut agent, 1);
    assert_eq!((agent.updates(), lines.len()), (1, 1));
    let after = saved(&mut agent);
    let moved = |name: &&String| before[*name] != after[*name];
    let parameters: Vec<&String> = before.keys().filter(|name| name.starts_with("parameters.")).collect();
    assert!(parameters.len() > 40 && parameters.iter().all(moved), "every tensor learns");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |config: Config| config.check().unwrap_err().to_string();
    let many = Config { replay_capacity: 2_000_000, worlds: 64, ..config() };
    assert!(refused(many).contains("replay_capacity would take"), "more than memory");
    assert!(refused(Config { channels: vec![1], ..config() }).starts_with("channels"));
    assert!(refused(Config { unroll: 7, ..config() }).starts_with("unroll"));
    assert!(refused(Config { fresh: 0, replayed: 0, ..config() }).starts_with("fresh"));
    assert!(refused(Config { value_heads: 6, ..config() }).starts_with("value_heads"));
    let share = |optimism_beta| Config { optimism: Optimism::Probability, optimism_beta, ..config() };
    assert!(refused(share(1.5)).contains("optimism_beta is a share in probability space"));
    let logit = |optimism_beta| Config { optimism: Optimism::Logit, optimism_beta, ..config() };
    for beta in [-1.0, f64::NAN, f64::INFINITY, 1e6] {
        assert!(refused(share(beta)).starts_with("optimism_beta"));
        assert!(refused(logit(beta)).starts_with("optimism_beta"));
    }
    for depth in [0, 1, 1000] {
        let config = Config { optimism: Optimism::Logit, optimism_depth: depth, ..config() };
        assert!(refused(config).starts_with("optimism_depth"), "{depth}");
    }
    assert!(
        Config { optimism: Optimism::Logit, optimism_depth: 10, ..config() }.check().is_ok(),
        "beyond unroll"
    );
}

/// Acting on the signal in evaluation: actions do not depend on who asks for members, nor on who else is asked; pessimism takes what is more certain than what
/// optimism takes; and afterwards the agent is what it was.
#[test]
fn an_agent_that_explores_no_more_can_act_on_its_signal() {
    let mut agent = Muesli::new(&config(), boards(), 5).unwrap();
    advance(&mut agent, 6);
    let mut world = make(Game::Breakout, &Options::default(), 3).unwrap();
    let seen = [world.reset().observation, world.step(1).unwrap().observation].concat();
    let play = |agent: &mut Muesli, seen: &[u8], wish: Wish<'_>, first: u64| {
        let count = seen.len() / 400;
        let mut memories: Vec<_> =
            (0..count as u64).map(|i| agent.begin(&Rng::from_seed(9).fold_in(first + i))).collect();
        let decide = |_| {
            let decided = agent.decide(seen, &mut memories, wish).unwrap();
            decided.into_iter().map(|d| d.action).collect::<Vec<_>>()
        };
        (0..40).map(decide).collect::<Vec<_>>()
    };
    let (before, plain) = (saved(&mut agent), play(&mut agent, &seen, Wish::Action, 0));
    let bonus = Bonus { space: Space::Logit, signal: Signal::Sigma, depth: 7, beta: 200.0 };
    let mut chosen = Vec::new();
    for beta in [200.0, -200.0] {
        agent.act_on(Some(Bonus { beta, ..bonus })).unwrap();
        let (bare, usual) =
            (play(&mut agent, &seen, Wish::Action, 0), play(&mut agent, &seen, Wish::Usual, 0));
        assert_eq!(bare, usual);
        let alone = play(&mut agent, &seen[400..], Wish::Action, 1);
        assert!(bare.iter().zip(&alone).all(|(both, one)| both[1] == one[0]), "others change nothing");
        let sigmas = agent.action_sigmas(&seen, 7, &mut Rng::from_seed(2)).unwrap();
        chosen.push(ive::mean(&bare.iter().map(|both| sigmas[0][both[0]]).collect::<Vec<f64>>()));
    }
    assert!(chosen[1] < chosen[0], "σ of what pessimists do, and optimists: {chosen:?}");
    assert!(agent.act_on(Some(Bonus { beta: f64::NAN, ..bonus })).is_err());
    agent.act_on(None).unwrap();
    assert_eq!(play(&mut agent, &seen, Wish::Action, 0), plain);
    assert!(saved(&mut agent) == before);
}

/// Greedy episodes and episodes that somebody watches are the same ones.
#[test]
fn greedy_episodes_are_those_that_can_be_watched() {
    let mut agent = Muesli::new(&config(), boards(), 5).unwrap();
    advance(&mut agent, 6);
    let mut greedy = agent.greedy(11, 2);
    while greedy.returns().is_none() {
        greedy.round().unwrap();
    }
    let returns = greedy.returns().unwrap();
    drop(greedy);
    for (number, wanted) in returns.into_iter().enumerate() {
        let mut total = 0.0;
        let mut watch = |moment: &ive_agents::Moment| {
            total += moment.reward;
            std::ops::ControlFlow::Continue(())
        };
        let start = ive_agents::Start::numbered(11, number);
        agent.episode(&start, &ive_agents::Manner::default(), &mut watch).unwrap();
        assert_eq!(total, wanted);
    }
}

/// Frames of fruitbot under the uniform policy, and the discounted return behind each: `[environment, time]`.
fn fruitbot(worlds: usize, steps: usize) -> Option<(Vec<u8>, Vec<f32>)> {
    let source = Registered::new("procgen:fruitbot", &[("mode", "easy"), ("levels", "10")]).unwrap();
    let mut batch = source.bytes().unwrap().many(worlds, &mut Rng::from_seed(1)).ok()?;
    let (mut rng, bytes) = (Rng::from_seed(2), SIDE * SIDE * 3);
    let (mut frames, mut rewards, mut discounts) =
        (vec![Vec::new(); worlds], vec![Vec::new(); worlds], vec![Vec::new(); worlds]);
    batch.reset().unwrap();
    for _ in 0..steps {
        let shown = batch.batch().observations;
        frames.iter_mut().zip(shown.chunks_exact(bytes)).for_each(|(all, one)| all.extend_from_slice(one));
        let actions: Vec<usize> = (0..worlds).map(|_| rng.below(15)).collect();
        let now = batch.step(&actions).unwrap();
        for i in 0..worlds {
            rewards[i].push(now.rewards[i] as f32);
            discounts[i].push(if now.kinds[i].is_last() { 0.0 } else { 0.995 });
        }
    }
    let mut returns = vec![0.0; worlds * steps];
    for (i, out) in returns.chunks_exact_mut(steps).enumerate() {
        n_step(&rewards[i], &discounts[i], 0.0, out);
    }
    Some((frames.concat(), returns))
}

/// The conditioning of the network, without reinforcement learning: from 8 320 frames of fruitbot and 256 of them per update, the value
/// head explains a fifth of the variance of returns after 300 updates. A network without centring and layer norm explains nothing by
/// then, one in JAX with both .36.
#[test]
#[ignore = "slow: half a minute, and the library of Procgen"]
fn the_network_can_learn_values_of_pictures() {
    let (worlds, steps) = (64, 130);
    let Some((frames, returns)) = fruitbot(worlds, steps) else { return };
    let settings = Config {
        channels: vec![16, 32],
        features: 256,
        latent: 128,
        head: 64,
        atoms: 41,
        prior: 0.0,
        value_heads: 1,
        ..config()
    };
    let net = Network::new(View::Pixels([SIDE, SIDE, 3]), 15, &settings);
    let support = settings.supports()[0];
    let mut rng = Rng::from_seed(3);
    let (mut x, priors) = (net.initial(&mut rng), vec![0.0; net.prior_layout().len()]);
    let (mut adam, mut executor) = (Adam::new(x.len(), 1e-8), Executor::default());
    let (mut gradient, bytes) = (vec![0.0; x.len()], SIDE * SIDE * 3);
    for _ in 0..300 {
        let drawn: Vec<usize> = (0..256).map(|_| rng.below(returns.len())).collect();
        let (mut seen, mut wanted) = (Seen::default(), vec![0.0; 256 * 41]);
        for (&i, row) in drawn.iter().zip(wanted.chunks_exact_mut(41)) {
            net.torso.prepare(&frames[i * bytes..][..bytes], &mut seen);
            support.two_hot(compress(returns[i].into()), row);
        }
        executor.run(&[Parameters::trained(&x), Parameters::frozen(&priors)], |g| {
            let state = net.root(g, &seen, [0, 256]);
            let (logits, wanted) = (net.value(g, state.z, 0), g.input(&wanted, 41));
            let loss = g.cross_entropy(logits, wanted, Over::Mean);
            g.backward(loss, &mut [&mut gradient]);
        });
        adam.step(&mut x, &gradient, 1.0, 5e-4);
    }
    let mut values = Vec::new();
    for some in frames.chunks(bytes * 260) {
        let (mut seen, mut logits, mut numbers) = (Seen::default(), Vec::new(), Vec::new());
        net.torso.prepare(some, &mut seen);
        executor.run(&[Parameters::frozen(&x), Parameters::frozen(&priors)], |g| {
            let state = net.root(g, &seen, [0, some.len() / bytes]);
            let of = net.value(g, state.z, 0);
            g.read(of, &mut logits);
        });
        support.numbers(&logits, &mut numbers);
        values.extend(numbers.into_iter().map(f64::from));
    }
    let real: Vec<f64> = returns.iter().map(|&r| f64::from(r)).collect();
    let errors: Vec<f64> = real.iter().zip(&values).map(|(r, v)| r - v).collect();
    let square = |all: &[f64]| ive::mean(&all.iter().map(|x| x * x).collect::<Vec<f64>>());
    let explained = 1.0 - square(&errors) / ive::standard_deviation(&real, 0).unwrap().powi(2);
    assert!(explained > 0.2, "explained variance {explained}");
}
