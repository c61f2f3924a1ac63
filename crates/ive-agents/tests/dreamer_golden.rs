//! Dreamer against reference numbers of an independent program, `golden/dreamer.py` (JAX, double precision), tensor by tensor.
//! Parameters, data and noise are sines, so no generator is involved.
//!
//! We compute in single precision, whose unit is 6e-8. Sums of some hundred terms through five steps lose a few digits: numbers must agree
//! within 2e-5 of the largest of their tensor.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive_agents::dreamer::loss::{self, Networks, Noise, Sequences, Weights};
use ive_agents::dreamer::network::{Actor, Latent, Model, Value};
use ive_agents::dreamer::plan::Judges;
use ive_agents::dreamer::{Sizes, Utility};
use ive_agents::nn::cpu::descent::{Adam, norm};
use ive_agents::nn::cpu::tape::Memory;
use ive_agents::nn::{Block, Executor, Graph, Layout, Parameters, Var};
use serde_json::Value as Json;

const SIZES: Sizes =
    Sizes { observation: 24, action: 6, stochastic: 4, deterministic: 8, width: 12, channels: 1 };
const BATCH: usize = 3;
const LENGTH: usize = 5;
const HORIZON: usize = 4;
const DISCOUNT: f64 = 0.99;
const LAMBDA: f64 = 0.95;

fn golden() -> Json {
    serde_json::from_str(include_str!("golden/dreamer.json")).unwrap()
}

fn numbers(value: &Json) -> Vec<f64> {
    match value {
        Json::Array(all) => all.iter().flat_map(numbers).collect(),
        one => vec![one.as_f64().unwrap()],
    }
}

/// sin(frequency · i + phase).
fn wave(n: usize, frequency: f64, phase: f64) -> Vec<f32> {
    (0..n).map(|i| (frequency * i as f64 + phase).sin() as f32).collect()
}

/// The noise that the reference hands out as the `count`-th.
fn noise(n: usize, count: usize) -> Vec<f32> {
    wave(n, 2.3 + 0.1 * count as f64, 0.5 * count as f64)
}

fn parameters(layout: &Layout) -> Vec<f32> {
    (0..layout.len()).map(|j| (0.35 * (1.7 * j as f64 + 0.3).sin()) as f32).collect()
}

#[track_caller]
fn agree(what: &str, ours: &[f32], theirs: &Json) {
    let theirs = numbers(theirs);
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let scale = theirs.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    for (i, (o, t)) in ours.iter().zip(&theirs).enumerate() {
        assert!((f64::from(*o) - t).abs() <= 2e-5 * scale, "{what}[{i}]: {o} and {t}, of {scale}");
    }
}

#[track_caller]
fn tensors_agree(layout: &Layout, ours: &[f32], theirs: &Json) {
    assert_eq!(theirs.as_object().unwrap().len(), layout.slots().len());
    for slot in layout.slots() {
        agree(slot.name, slot.of(ours), &theirs[slot.name]);
    }
}

fn read(g: &dyn Graph, x: Var) -> Vec<f32> {
    let mut out = Vec::new();
    g.read(x, &mut out);
    out
}

fn data() -> Sequences {
    let steps = LENGTH * BATCH;
    Sequences {
        batch: BATCH,
        observations: wave(steps * 24, 0.9, 0.1),
        actions: wave(steps * 6, 1.3, 0.2),
        rewards: wave(steps, 0.7, 0.4),
    }
}

fn weights(free_nats: f64) -> Weights {
    Weights { divergence: 0.1, free_nats, observation: 1.0, reward: 10.0 }
}

/// All three networks with the parameters of the reference.
struct Agent {
    model: Model,
    value: Value,
    actor: Actor,
    parameters: [Vec<f32>; 3],
}

fn agent() -> Agent {
    let (model, value, actor) = (Model::new(&SIZES), Value::new(&SIZES), Actor::new(&SIZES));
    let parameters = [&model.layout, &value.layout, &actor.layout].map(parameters);
    Agent { model, value, actor, parameters }
}

#[test]
fn one_step_of_the_model_equals_the_reference() {
    let (golden, agent) = (golden(), agent());
    let mut memory = Memory::default();
    let blocks = [Parameters::frozen(&agent.parameters[0])];
    let g: &mut dyn Graph = &mut memory.tape(&blocks);
    let state = Latent { z: g.input(&wave(12, 1.1, 0.6), 4), d: g.input(&wave(24, 0.8, 0.9), 8) };
    let (data, p) = (data(), Block(0));
    let action = g.input(&data.actions[..BATCH * 6], 6);
    let d = agent.model.dynamics.advance(g, p, state, action);
    let observed = g.input(&data.observations[..BATCH * 24], 24);
    let e = agent.model.encode(g, p, observed);
    let (prior, posterior) = (agent.model.dynamics.prior(g, p, d), agent.model.posterior(g, p, d, e));
    let theirs = &golden["step"];
    agree("deterministic", &read(g, d), &theirs["deterministic"]);
    agree("embedding", &read(g, e), &theirs["embedding"]);
    for (name, (mean, std)) in [("prior", prior), ("posterior", posterior)] {
        agree(name, &read(g, mean), &theirs[name][0]);
        agree(name, &read(g, std), &theirs[name][1]);
    }
}

#[test]
fn the_loss_of_the_model_and_every_tensor_of_its_gradient_equal_the_reference() {
    let (golden, agent) = (golden(), agent());
    for (case, free) in [("model", 0.01), ("model_clipped", 1e3)] {
        let theirs = &golden[case];
        let mut gradient = vec![0.0; agent.model.layout.len()];
        Executor::default().run(&[Parameters::trained(&agent.parameters[0])], |g| {
            let noise = noise(LENGTH * BATCH * 4, 1);
            let said = loss::of_model(&agent.model, g, Block(0), &data(), &noise, &weights(free));
            agree("loss", &[g.loss(said.total) as f32], &theirs["loss"]);
            if case == "model" {
                agree("kl", &[g.loss(said.divergence) as f32], &theirs["kl"]);
                agree("observation", &[g.loss(said.observation) as f32], &theirs["observation"]);
                agree("reward", &[g.loss(said.reward) as f32], &theirs["reward"]);
                agree("z", &read(g, said.states.z), &theirs["z"]);
                agree("d", &read(g, said.states.d), &theirs["d"]);
            }
            g.backward(said.total, &mut [&mut gradient]);
        });
        tensors_agree(&agent.model.layout, &gradient, &theirs["gradient"]);
    }
}

/// Imagination, returns, the losses of actor and value with their gradients.
#[test]
fn what_actor_and_value_learn_from_imagination_equals_the_reference() {
    let (golden, agent) = (golden(), agent());
    let [model, value, actor] = &agent.parameters;
    let starts = LENGTH * BATCH;
    let [z, d] =
        ["z", "d"].map(|k| numbers(&golden["model"][k]).iter().map(|&x| x as f32).collect::<Vec<_>>());
    // The reference draws the noise of actions first, then that of states.
    let noise = Noise { actions: noise(HORIZON * starts * 6, 1), states: noise(HORIZON * starts * 4, 2) };
    let mut gradient = vec![0.0; agent.actor.layout.len()];
    let blocks = [Parameters::frozen(model), Parameters::frozen(value), Parameters::trained(actor)];
    let (features, returns) = Executor::default().run(&blocks, |g| {
        let state = Latent { z: g.input(&z, 4), d: g.input(&d, 8) };
        let nets = Networks {
            model: (&agent.model, Block(0)),
            values: &[(&agent.value, Block(1))],
            actor: (&agent.actor, Block(2)),
        };
        let said = loss::of_actor(nets, g, state, HORIZON, &noise, [DISCOUNT, LAMBDA]);
        agree("features", &read(g, said.imagined.features), &golden["imagination"]["features"]);
        agree("returns", &read(g, said.returns[0]), &golden["imagination"]["returns"]);
        agree("loss", &[g.loss(said.loss) as f32], &golden["actor"]["loss"]);
        let out = (read(g, said.imagined.features), read(g, said.returns[0]));
        g.backward(said.loss, &mut [&mut gradient]);
        out
    });
    tensors_agree(&agent.actor.layout, &gradient, &golden["actor"]["gradient"]);
    let mut gradient = vec![0.0; agent.value.layout.len()];
    Executor::default().run(&[Parameters::trained(value)], |g| {
        let loss = loss::of_value((&agent.value, Block(0)), g, &features, &returns, HORIZON, DISCOUNT);
        agree("loss", &[g.loss(loss) as f32], &golden["value"]["loss"]);
        g.backward(loss, &mut [&mut gradient]);
    });
    tensors_agree(&agent.value.layout, &gradient, &golden["value"]["gradient"]);
}

/// Clipping by the global norm, then Adam. The reference adds its ε = 1e-7 to √v where we add ε to √v̂. At the first step v = 0.001 g², so
/// its steps are shorter by 1e-7 / (√0.001 |g|) = 3.2e-6 / |g|: a thousandth or less where |g| is above 5e-3, and only those are compared.
#[test]
fn a_whole_update_equals_the_reference() {
    let (golden, agent) = (golden(), agent());
    let layouts = [
        ("model", &agent.model.layout, 6e-4),
        ("value", &agent.value.layout, 2e-4),
        ("actor", &agent.actor.layout, 1e-4),
    ];
    for ((name, layout, rate), before) in layouts.into_iter().zip(&agent.parameters) {
        let theirs = &golden["update"][name];
        let mut gradient = vec![0.0; layout.len()];
        for slot in layout.slots() {
            let all = numbers(&golden[name]["gradient"][slot.name]);
            slot.of_mut(&mut gradient).iter_mut().zip(all).for_each(|(g, x)| *g = x as f32);
        }
        let length = norm(&gradient);
        agree("norm", &[length as f32], &theirs["norm"]);
        let scale = (0.5 / length).min(1.0);
        let mut after = before.clone();
        Adam::new(layout.len(), 1e-7).step(&mut after, &gradient, scale, rate);
        for slot in layout.slots() {
            let wanted = numbers(&theirs["parameters"][slot.name]);
            for (i, wanted) in slot.range.clone().zip(wanted) {
                if f64::from(gradient[i].abs()) * scale > 5e-3 {
                    let (moved, wanted) = (f64::from(after[i] - before[i]), wanted - f64::from(before[i]));
                    // Parameters of size 0.35 are rounded to 3e-8.
                    assert!(
                        (moved - wanted).abs() < 2e-3 * rate + 6e-8,
                        "{}: {moved} and {wanted}",
                        slot.name
                    );
                }
            }
        }
    }
}

/// μ, σ and the gradient of μ + βσ with respect to the actions, for three β.
#[test]
fn what_plans_climb_equals_the_reference() {
    let (golden, agent) = (golden(), agent());
    let [model, value, _] = &agent.parameters;
    let noise = wave(5 * 4, 1.9, 0.3);
    let actions: Vec<f32> = wave(5 * 6, 1.5, 0.8).iter().map(|x| 0.5 * x).collect();
    for beta in [0.0, 0.1, 10.0] {
        let theirs = &golden[format!("plan_{beta}")];
        let (models, values) = ([(&agent.model.dynamics, Block(0))], [(&agent.value, Block(1))]);
        let judges = Judges {
            models: &models,
            values: &values,
            utility: Utility::Ive,
            beta,
            discount: DISCOUNT,
            lambda: LAMBDA,
        };
        Executor::default().run(&[Parameters::frozen(model), Parameters::frozen(value)], |g| {
            let start =
                Latent { z: g.input(&wave(12, 1.1, 0.6)[..4], 4), d: g.input(&wave(24, 0.8, 0.9)[..8], 8) };
            let actions: Vec<Var> = actions.chunks(6).map(|a| g.variable(a, 6)).collect();
            let judged = judges.judge(g, start, &actions, Some(&noise));
            for (name, var) in [("utility", judged.utility), ("mu", judged.mean), ("sigma", judged.std)] {
                agree(name, &read(g, var), &theirs[name]);
            }
            let total = g.sum(judged.utility, ive_agents::nn::Over::Sum);
            g.backward(total, &mut []);
            let mut gradient = Vec::new();
            for action in actions {
                let mut one = Vec::new();
                g.gradient(action, &mut one);
                gradient.extend(one);
            }
            agree("gradient", &gradient, &theirs["gradient"]);
        });
    }
}
