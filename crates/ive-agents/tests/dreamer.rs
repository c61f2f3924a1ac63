//! Dreamer as an agent: the same bits after a save, members that obey the law of constant rewards, and planners against plain search and
//! finite differences. `dreamer_golden.rs` has the numbers of its equations.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive_agents as ive_agents_under_test;

#[path = "pond/mod.rs"]
mod pond;

use ive::Rng;
use ive_agents::dreamer::loss::{self, Networks, Noise, Sequences};
use ive_agents::dreamer::network::{Actor, Latent, Model, Value};
use ive_agents::dreamer::plan::Judges;
use ive_agents::dreamer::planner::Planner;
use ive_agents::dreamer::{Ascent, Behaviour, Config, Dreamer, Mind, PlanNoise, Scratch, Sizes, Utility};
use ive_agents::nn::{Block, Executor, Parameters, Var};
use ive_agents::{Agent, Archive, Kind, Metrics, Player, Tensors, Wish};

const SIZES: Sizes =
    Sizes { observation: 3, action: 6, stochastic: 4, deterministic: 8, width: 8, channels: 1 };

fn config() -> Config {
    Config {
        steps: 400,
        prefill: 60,
        replay_capacity: 300,
        train_every: 20,
        updates: 3,
        batch: 3,
        length: 6,
        starts: 7,
        horizon: 4,
        stochastic: SIZES.stochastic,
        deterministic: SIZES.deterministic,
        width: SIZES.width,
        channels: 1,
        discount: 0.9,
        lambda: 0.95,
        divergence_weight: 0.1,
        free_nats: 0.1,
        observation_weight: 1.0,
        reward_weight: 10.0,
        model_rate: 1e-3,
        value_rate: 1e-3,
        actor_rate: 1e-3,
        adam_epsilon: 1e-7,
        clip: 100.0,
        exploration: 0.3,
        behaviour: Behaviour::Actor,
        utility: Utility::Ive,
        beta: 0.5,
        plan_horizon: 4,
        plan_noise: PlanNoise::Common,
        plan_iterations: 3,
        plan_step: 0.1,
        plan_ascent: Ascent::Gradient,
        candidates: 5,
        ensemble: 3,
        log_every: 100,
        evaluate_every: 200,
        evaluation_episodes: 2,
    }
}

fn agent(config: &Config, seed: u64) -> Dreamer<f64> {
    Dreamer::new(config, pond::ponds(), seed).unwrap()
}

fn run(agent: &mut dyn Agent, steps: u64, log: &mut Vec<Metrics>) {
    while agent.steps() < steps {
        agent.advance(log).unwrap();
    }
}

fn saved(agent: &mut dyn Agent) -> Tensors {
    let mut archive = Archive::saving();
    agent.archive(&mut archive).unwrap();
    archive.into_tensors()
}

/// For every way to collect, and every ensemble: saved at odd moments, in the middle of an episode and of a round of updates.
#[test]
fn saved_in_the_middle_it_ends_in_the_same_state() {
    for (behaviour, utility) in [
        (Behaviour::Actor, Utility::Ive),
        (Behaviour::Sample, Utility::Ive),
        (Behaviour::Gradient, Utility::LambdaReturn),
        (Behaviour::Gradient, Utility::Eve),
        (Behaviour::Gradient, Utility::Emve),
    ] {
        let config = Config { behaviour, utility, ..config() };
        let (mut whole, mut log) = (agent(&config, 3), Vec::new());
        run(&mut whole, config.steps, &mut log);
        let names: Vec<&str> = log.iter().flat_map(|line| line.values.iter().map(|v| v.0)).collect();
        for name in ["evaluation", "imagined", "realised", "mu", "sigma", "kl", "actor_std", "action_share"] {
            assert!(names.contains(&name), "{name}");
        }
        assert_eq!(names.contains(&"sigma_flips"), behaviour != Behaviour::Actor);
        let (mut part, mut again) = (agent(&config, 3), Vec::new());
        for rounds in [1, 3, 4, 7, 11] {
            for _ in 0..rounds {
                part.advance(&mut again).unwrap();
            }
            let tensors = saved(&mut part);
            part = agent(&config, 4);
            part.archive(&mut Archive::loading(tensors)).unwrap();
        }
        run(&mut part, config.steps, &mut again);
        assert_eq!(saved(&mut part), saved(&mut whole), "{behaviour:?} {utility:?}");
        assert_eq!(again, log);
        let mut other = agent(&config, 5);
        run(&mut other, config.steps, &mut again);
        assert_ne!(saved(&mut other), saved(&mut whole), "another seed");
    }
}

/// Fills a tensor.
fn set(tensors: &mut Tensors, name: &str, value: f32) {
    let stored = tensors.get_mut(name).unwrap_or_else(|| panic!("no tensor {name}"));
    assert_eq!(stored.kind, Kind::F32);
    stored.bytes.as_chunks_mut().0.iter_mut().for_each(|number| *number = value.to_le_bytes());
}

/// A constant reward c with the value c / (1 − γ) leaves nothing to disagree about, whatever the states are: all members are c / (1 − γ). Here
/// rewards belong to states: with those of arrivals instead the members would fall or rise with k.
#[test]
fn with_a_constant_reward_sigma_is_zero() {
    let config = config();
    let (mut trained, mut log) = (agent(&config, 1), Vec::new());
    run(&mut trained, 120, &mut log);
    let mut tensors = saved(&mut trained);
    let (reward, gamma) = (0.7, config.discount as f32);
    for (name, value) in [
        ("model.parameters.reward.2", 0.0),
        ("model.parameters.reward.2.bias", reward),
        ("value.0.parameters.value.2", 0.0),
        ("value.0.parameters.value.2.bias", reward / (1.0 - gamma)),
    ] {
        set(&mut tensors, name, value);
    }
    let decide = |tensors: Tensors| {
        let mut agent = agent(&config, 1);
        agent.archive(&mut Archive::loading(tensors)).unwrap();
        let mut memories = vec![agent.begin(&Rng::from_seed(9)), agent.begin(&Rng::from_seed(8))];
        agent.decide(&[0.1, -0.5, 2.0, 0.0, 1.0, -1.0], &mut memories, Wish::Usual).unwrap()
    };
    for decision in decide(tensors.clone()) {
        let members = decision.members.unwrap();
        assert_eq!(members.ks().lengths(), [0, 1, 2, 3, 4]);
        assert!((members.mu() - 7.0).abs() < 1e-5 && members.sigma() < 2e-6, "{members:?}");
        assert!((decision.value - 7.0).abs() < 1e-5);
    }
    // Half the value, and the members disagree: 3.5 γᵏ + 7 (1 − γᵏ) by hand.
    set(&mut tensors, "value.0.parameters.value.2.bias", 3.5);
    let members = decide(tensors)[0].members.clone().unwrap();
    for (k, member) in members.values().iter().enumerate() {
        let wanted = 7.0 - 3.5 * 0.9f64.powi(k as i32);
        assert!((member - wanted).abs() < 1e-5, "{member} and {wanted}");
    }
}

fn mind(config: &Config, seed: u64) -> Mind {
    Mind::new(config, Model::new(&SIZES), &SIZES, &Rng::from_seed(seed))
}

fn state() -> (Vec<f32>, Vec<f32>) {
    let mut rng = Rng::from_seed(21);
    let mut draw = |n| (0..n).map(|_| 0.7 * rng.normal() as f32).collect::<Vec<f32>>();
    (draw(SIZES.stochastic), draw(SIZES.deterministic))
}

/// The utility, μ and σ of one sequence, in a graph of its own.
fn judge_alone(mind: &Mind, config: &Config, actions: &[Vec<f32>], noise: &[f32]) -> [f32; 3] {
    let ((z, d), (models, values)) = (state(), (mind.models(), mind.values()));
    let judges = Judges {
        models: &models,
        values: &values,
        utility: config.utility,
        beta: config.beta,
        discount: config.discount,
        lambda: config.lambda,
    };
    Executor::default().run(&mind.frozen(), |g| {
        let start = Latent { z: g.input(&z, z.len()), d: g.input(&d, d.len()) };
        let actions: Vec<Var> = actions.iter().map(|a| g.input(a, 6)).collect();
        let said = judges.judge(g, start, &actions, (!noise.is_empty()).then_some(noise));
        [said.utility, said.mean, said.std].map(|x| {
            let mut out = Vec::new();
            g.read(x, &mut out);
            out[0]
        })
    })
}

const UTILITIES: [Utility; 4] = [Utility::LambdaReturn, Utility::Ive, Utility::Eve, Utility::Emve];
const NOISES: [PlanNoise; 3] = [PlanNoise::Mean, PlanNoise::Common, PlanNoise::Independent];

#[test]
fn the_sampled_plan_is_the_best_by_plain_search() {
    for (utility, plan_noise) in UTILITIES.into_iter().flat_map(|u| NOISES.map(|n| (u, n))) {
        let config = Config { utility, plan_noise, behaviour: Behaviour::Sample, ..config() };
        let (mind, (z, d)) = (mind(&config, 2), state());
        let mut planner = Planner::default();
        let plan = planner.plan(&mind, &config, &z, &d, &mut Rng::from_seed(6));
        let (rows, latents) = (config.candidates, SIZES.stochastic);
        let mut best = (f32::NEG_INFINITY, 0, [0.0; 3]);
        for i in 0..rows {
            let actions: Vec<Vec<f32>> =
                planner.actions.iter().map(|all| all[i * 6..][..6].to_vec()).collect();
            assert!(actions.iter().flatten().all(|a| a.abs() <= 1.0));
            let noise: Vec<f32> = planner
                .states
                .chunks(rows * latents)
                .flat_map(|step| step[i * latents..][..latents].to_vec())
                .collect();
            let alone = judge_alone(&mind, &config, &actions, &noise);
            for (ours, alone) in planner.judged.iter().zip(alone) {
                assert!(
                    (ours[i] - alone).abs() < 1e-5,
                    "{utility:?} {plan_noise:?}: {} and {alone}",
                    ours[i]
                );
            }
            if alone[0] > best.0 {
                best = (alone[0], i, alone);
            }
        }
        assert_eq!(plan.action, planner.actions[0][best.1 * 6..][..6], "{utility:?} {plan_noise:?}");
        assert!((plan.mean - f64::from(best.2[1])).abs() < 1e-5);
    }
}

/// Along directions, a step has the direction of a step along the gradient, and no part of it is longer than the setting (that all of it is as long:
/// `gradients_of_each_sequence_become_one_long`).
#[test]
fn a_plan_that_follows_directions_moves_as_far_as_it_is_told() {
    let step = |plan_ascent: Ascent, plan_step: f64| -> Vec<f64> {
        let config = Config {
            plan_iterations: 1,
            plan_step,
            plan_ascent,
            // Next to nothing is explored, so that actions are far from −1 and 1.
            exploration: 1e-3,
            behaviour: Behaviour::Gradient,
            ..config()
        };
        let (mind, (z, d)) = (mind(&config, 2), state());
        let plan = |config: &Config| {
            let mut planner = Planner::default();
            planner.plan(&mind, config, &z, &d, &mut Rng::from_seed(6));
            planner.actions
        };
        let (from, to) = (plan(&Config { plan_iterations: 0, ..config.clone() }), plan(&config));
        let inside = from.iter().flatten().map(|a| a.abs() < 0.9);
        let moved = from.iter().flatten().zip(to.iter().flatten()).map(|(a, b)| f64::from(b - a));
        moved.zip(inside).map(|(x, inside)| if inside { x } else { 0.0 }).collect()
    };
    let (slow, unit) = (step(Ascent::Gradient, 0.5), step(Ascent::Unit, 0.02));
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let along: f64 = slow.iter().zip(&unit).map(|(a, b)| a * b).sum();
    // Single precision: differences of 0.02 between numbers of size one are good to about 1e-5 of them.
    assert!(along > 0.9999 * length(&slow) * length(&unit), "the same direction");
    // What lies near the bounds is left out, most of it with a young actor.
    assert!(length(&unit) <= 0.02 * 1.0001 && length(&unit) > 0.002, "{}", length(&unit));
}

/// One step of the climb is the gradient, by central differences of the utility. Numbers of size one in single precision, differences over
/// 2 · 0.01: good to about 1e-5; the slopes are some hundredths.
#[test]
fn a_plan_climbs_along_the_gradient_of_its_utility() {
    for utility in UTILITIES {
        let climb = |plan_iterations: usize| {
            let config = Config {
                utility,
                plan_iterations,
                plan_step: 0.05,
                behaviour: Behaviour::Gradient,
                ..config()
            };
            let (mind, (z, d), mut planner) = (mind(&config, 2), state(), Planner::default());
            let plan = planner.plan(&mind, &config, &z, &d, &mut Rng::from_seed(6));
            (plan, planner, mind, config)
        };
        let (before, planner, mind, config) = climb(0);
        assert_eq!(before.moved, 0.0);
        let (after, moved, ..) = climb(1);
        assert!(after.moved > 0.0);
        let (h, mut compared) = (0.01, 0);
        for t in 0..config.plan_horizon {
            for motor in 0..6 {
                let a = planner.actions[t][motor];
                let step = moved.actions[t][motor] - a;
                let utility_at = |x: f32| {
                    let mut actions = planner.actions.clone();
                    actions[t][motor] = x;
                    f64::from(judge_alone(&mind, &config, &actions, &planner.states)[0])
                };
                let slope = (utility_at(a + h) - utility_at(a - h)) / (2.0 * f64::from(h));
                if a.abs() < 0.98 {
                    assert!((f64::from(step) / 0.05 - slope).abs() < 2e-3, "{utility:?}: {step} and {slope}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 8, "{compared}");
        // A longer climb does not end lower.
        let ends = climb(10);
        let start = judge_alone(&mind, &config, &planner.actions, &planner.states)[0];
        let end = judge_alone(&mind, &config, &ends.1.actions, &ends.1.states)[0];
        assert!(end > start, "{utility:?}: {end} after {start}");
    }
}

/// As printed, each sequence has latent noise of its own, and what is chosen is lucky noise: the less actions differ, the smaller their
/// share in the variance of the utility, down to nothing. With shared noise or none it is always actions that decide.
#[test]
fn independent_noise_chooses_luck_and_shared_noise_actions() {
    let share = |plan_noise: PlanNoise, exploration: f64, calm: bool| {
        let config = Config { plan_noise, exploration, candidates: 40, ..config() };
        let mut agent = agent(&config, 2);
        let mut tensors = saved(&mut agent);
        if calm {
            // Means zero, standard deviations of softplus(−35 + 5): the actor has made up its mind.
            let bias = tensors.get_mut("actor.parameters.actor.2.bias").unwrap();
            bias.bytes[24..].as_chunks_mut().0.iter_mut().for_each(|x| *x = (-35.0f32).to_le_bytes());
            set(&mut tensors, "actor.parameters.actor.2", 0.0);
        }
        agent.archive(&mut Archive::loading(tensors)).unwrap();
        let (z, d) = state();
        Planner::default().share_of_actions(agent.mind(), &config, &z, &d, 40, &mut Rng::from_seed(3))
    };
    // 40 sequences and 40 draws: the standard error of a share is a few hundredths.
    assert!(share(PlanNoise::Independent, 0.0, true).unwrap() < 0.1);
    let some = share(PlanNoise::Independent, 0.3, true).unwrap();
    let more = share(PlanNoise::Independent, 0.3, false).unwrap();
    assert!(some < 0.5 && some < more, "{some} {more}");
    assert!(share(PlanNoise::Mean, 0.3, true).unwrap() > 0.999);
}

fn data(config: &Config) -> Sequences {
    let (mut rng, rows) = (Rng::from_seed(5), config.batch * config.length);
    let mut draw = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
    Sequences {
        batch: config.batch,
        observations: draw(rows * SIZES.observation),
        actions: draw(rows * SIZES.action),
        rewards: draw(rows),
    }
}

/// λ-returns are linear in the values: with two of them the loss of the actor, and its gradient, are the means of what each alone gives.
#[test]
fn with_several_values_the_actor_follows_the_mean_of_their_returns() {
    let (model, value, actor) = (Model::new(&SIZES), Value::new(&SIZES), Actor::new(&SIZES));
    let root = Rng::from_seed(4);
    let (m, a) = (model.initial(&mut root.fold_in(0)), actor.initial(&mut root.fold_in(1)));
    let values = [2, 3].map(|i| value.initial(&mut root.fold_in(i)));
    let (starts, horizon) = (5, 4);
    let mut rng = root.fold_in(9);
    let mut draw = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
    let (z, d) = (draw(starts * SIZES.stochastic), draw(starts * SIZES.deterministic));
    let noise =
        Noise { actions: draw(horizon * starts * 6), states: draw(horizon * starts * SIZES.stochastic) };
    let of = |which: &[usize]| {
        let mut blocks = vec![Parameters::frozen(&m), Parameters::trained(&a)];
        blocks.extend(which.iter().map(|&i| Parameters::frozen(&values[i])));
        let places: Vec<_> = (0..which.len()).map(|i| (&value, Block(2 + i))).collect();
        let nets = Networks { model: (&model, Block(0)), values: &places, actor: (&actor, Block(1)) };
        let mut gradient = vec![0.0; a.len()];
        let loss = Executor::default().run(&blocks, |g| {
            let state = Latent { z: g.input(&z, SIZES.stochastic), d: g.input(&d, SIZES.deterministic) };
            let said = loss::of_actor(nets, g, state, horizon, &noise, [0.9, 0.95]);
            assert_eq!(said.returns.len(), which.len());
            g.backward(said.loss, &mut [&mut gradient]);
            g.loss(said.loss)
        });
        (loss, gradient)
    };
    let (both, one, two) = (of(&[0, 1]), of(&[0]), of(&[1]));
    assert!((both.0 - 0.5 * (one.0 + two.0)).abs() < 1e-6);
    let largest = both.1.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    for ((both, one), two) in both.1.iter().zip(&one.1).zip(&two.1) {
        assert!((both - 0.5 * (one + two)).abs() < 1e-5 * largest.max(0.1), "{both} {one} {two}");
    }
}

/// Explicit ensembles beside the agent: further models change no bit of its own model, value and actor.
#[test]
fn further_models_leave_the_agent_alone() {
    let train = |utility: Utility| {
        let config = Config { utility, model_rate: 3e-3, ..config() };
        let (mut mind, data, mut rng) = (mind(&config, 7), data(&config), Rng::from_seed(1));
        let (mut executor, mut scratch) = (Executor::default(), Scratch::default());
        for _ in 0..60 {
            mind.update(&config, &data, &mut rng, &mut executor, &mut scratch, 0).unwrap();
        }
        mind
    };
    let (alone, ensemble) = (train(Utility::Ive), train(Utility::Emve));
    let parameters = |mind: &Mind| {
        let mut archive = Archive::saving();
        mind.clone().archive(&mut archive).unwrap();
        archive.into_tensors()
    };
    let (alone, all) = (parameters(&alone), parameters(&ensemble));
    assert!(alone.iter().all(|(name, tensor)| all[name] == *tensor));
    assert_eq!(all.keys().filter(|name| name.ends_with("parameters.gru.input")).count(), 3);
}

/// Pictures: losses fall on the same few pictures of a dot.
#[test]
fn on_pictures_the_model_learns_what_it_sees() {
    let sizes = Sizes { observation: 64 * 64 * 3, channels: 2, width: 16, ..SIZES };
    let config = Config { batch: 2, length: 3, starts: 4, model_rate: 3e-3, width: 16, ..config() };
    let rows = config.batch * config.length;
    let mut pictures = vec![-0.5; rows * sizes.observation];
    for (i, picture) in pictures.chunks_exact_mut(sizes.observation).enumerate() {
        for (row, column) in (0..16).flat_map(|r| (0..16).map(move |c| (r, c))) {
            let at = 3 * (64 * (row + 8 * i) + column + 20);
            picture[at..at + 3].fill(0.5);
        }
    }
    let data = Sequences { observations: pictures, ..data(&config) };
    let mut mind = Mind::new(&config, Model::new(&sizes), &sizes, &Rng::from_seed(3));
    let (mut executor, mut scratch, mut rng) = (Executor::default(), Scratch::default(), Rng::from_seed(2));
    let mut losses = Vec::new();
    for _ in 0..80 {
        let said = mind.update(&config, &data, &mut rng, &mut executor, &mut scratch, 0).unwrap();
        losses.push(said.observation);
    }
    // A picture of −½ with a square of 256 white pixels, against zeros: ½ · 12288 · ¼ = 1536.
    assert!((losses[0] - 1536.0).abs() < 300.0, "{}", losses[0]);
    assert!(losses[79] < 0.25 * losses[0], "{} after {}", losses[79], losses[0]);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Dreamer::<f64>::new(&config, pond::ponds(), 0).unwrap_err().to_string()
    };
    for (key, change) in [
        ("horizon", &(|c: &mut Config| c.horizon = 0) as &dyn Fn(&mut Config)),
        ("plan_horizon", &|c| c.plan_horizon = 0),
        ("beta", &|c| c.beta = f64::NAN),
        ("beta", &|c| c.beta = f64::INFINITY),
        ("starts", &|c| c.starts = 10_000),
        ("discount", &|c| c.discount = 1.5),
        ("batch would take", &|c| (c.batch, c.length, c.width) = (1000, 500, 4000)),
        ("candidates would take", &|c| (c.candidates, c.plan_horizon, c.deterministic) = (10_000, 100, 200)),
    ] {
        let said = refused(change);
        assert!(said.starts_with(key), "{key}: {said}");
    }
    // An episode has 21 entries here.
    for (config, problem) in [
        (Config { length: 22, ..config() }, "length must be at most the steps of an episode"),
        (
            Config { replay_capacity: 20, ..config() },
            "replay_capacity must be more than the 20 steps of an episode",
        ),
    ] {
        let (mut agent, mut log) = (agent(&config, 0), Vec::new());
        let error = loop {
            if let Err(error) = agent.advance(&mut log) {
                break error.to_string();
            }
        };
        assert!(error.starts_with(problem), "{error}");
    }
}
