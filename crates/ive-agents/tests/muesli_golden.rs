//! Muesli against reference numbers of an independent program, `golden/muesli.py` (JAX, double precision), tensor by tensor.
//! Parameters and data are sines, so no generator is involved.
//!
//! We compute in single precision, whose unit is 6e-8. Sums of some hundred terms through five steps lose a few digits: numbers must agree
//! within 2e-5 of the largest of their tensor.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive_agents::categorical::Support;
use ive_agents::learner::{Learner, Optimiser};
use ive_agents::muesli::batch::Batch;
use ive_agents::muesli::loss::{self, Lesson, Losses, Weights};
use ive_agents::muesli::network::{Network, ONLINE};
use ive_agents::muesli::predict::Predictor;
use ive_agents::muesli::targets::{self, Normaliser, Rules, Said};
use ive_agents::muesli::torso::{Seen, Torso, View};
use ive_agents::muesli::{Acting, Config, Modelling, Optimism, Seeing};
use ive_agents::nn::cpu::descent::Adam;
use ive_agents::nn::{Executor, Layout, Over, Parameters, Slot};
use ive_agents::{Archive, Kind, Signal, Stored};
use ive_envs::StepKind;
use serde_json::Value as Json;

const SEQUENCES: usize = 3;
const STEPS: usize = 6;
const OBSERVATION: usize = 10;
const ACTIONS: usize = 15;

fn golden() -> Json {
    serde_json::from_str(include_str!("golden/muesli.json")).unwrap()
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

fn parameters(n: usize, scale: f64, frequency: f64, phase: f64) -> Vec<f32> {
    (0..n).map(|j| (scale * (frequency * j as f64 + phase).sin()) as f32).collect()
}

#[track_caller]
fn agree(what: &str, ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let scale = theirs.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    for (i, (o, t)) in ours.iter().zip(theirs).enumerate() {
        assert!((f64::from(*o) - t).abs() <= 2e-5 * scale, "{what}[{i}]: {o} and {t}, of {scale}");
    }
}

#[track_caller]
fn tensors_agree(layout: &Layout, ours: &[f32], theirs: &Json) {
    assert_eq!(theirs.as_object().unwrap().len(), layout.slots().len());
    for slot in layout.slots() {
        agree(slot.name, slot.of(ours), &numbers(&theirs[slot.name]));
    }
}

/// `[sequence, time, width]` to `[time, sequence, width]`: the reference has windows one below the other, we have them side by side.
fn by_time<T: Copy>(x: &[T], width: usize) -> Vec<T> {
    let times = x.len() / SEQUENCES / width;
    let row = |t: usize, b: usize| &x[(b * times + t) * width..][..width];
    (0..times).flat_map(|t| (0..SEQUENCES).flat_map(move |b| row(t, b))).copied().collect()
}

/// The settings of the small case.
fn config() -> Config {
    Config {
        steps: 1000,
        worlds: 3,
        window: STEPS,
        updates: 1,
        fresh: 3,
        replayed: 0,
        replay_capacity: 18,
        learning_start: 0,
        unroll: 5,
        discount: 0.995,
        retrace: 0.95,
        advantage_clip: 0.05,
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
        weight_decay: 0.0,
        adam_epsilon: 1e-8,
        target_rate: 0.1,
        torso: Seeing::Small,
        channels: vec![16, 32],
        halve: true,
        features: 16,
        model: Modelling::Residual,
        latent: 8,
        head: 12,
        atoms: 7,
        value_support: 2.0,
        reward_support: 1.5,
        prior: 0.5,
        centre: true,
        warm_up: 0,
        warm_up_rate: 3e-3,
        value_heads: 1,
        evaluate: Acting::Sample,
        optimism: Optimism::None,
        optimism_signal: Signal::Sigma,
        optimism_beta: 1.0,
        optimism_depth: 5,
        log_every: 100,
    }
}

const RULES: Rules = Rules { discount: 0.995, retrace: 0.95, shares: [0.03, 0.003], clip: 0.05, decay: 0.99 };
const WEIGHTS: Weights = Weights { gradient: 1.0, improvement: 1.0, model: 1.0, value: 0.25, reward: 1.0 };

/// The small case of the reference: network, parameters, data.
struct Case {
    net: Network,
    online: Vec<f32>,
    target: Vec<f32>,
    priors: Vec<f32>,
    batch: Batch,
}

fn case() -> Case {
    let golden = golden();
    let net = Network::with_torso(Layout::default(), Torso::Vectors(OBSERVATION), ACTIONS, &config());
    let n = net.layout.len();
    let kind = |d: f64| if d == 0.0 { StepKind::Terminated } else { StepKind::Mid };
    let small = &golden["small"];
    let actions: Vec<u8> = numbers(&small["actions"]).iter().map(|&a| a as u8).collect();
    let kinds: Vec<StepKind> = numbers(&small["discounts"]).iter().map(|&d| kind(d)).collect();
    let behaviour: Vec<f32> = numbers(&small["behaviour"]).iter().map(|&p| p as f32).collect();
    let batch = Batch {
        sequences: SEQUENCES,
        steps: STEPS,
        seen: Seen::vectors(by_time(&wave(SEQUENCES * (STEPS + 1) * OBSERVATION, 0.9, 0.1), OBSERVATION)),
        actions: by_time(&actions, 1),
        rewards: by_time(&wave(SEQUENCES * STEPS, 0.7, 0.4), 1),
        kinds: by_time(&kinds, 1),
        behaviour: by_time(&behaviour, ACTIONS),
    };
    Case {
        online: parameters(n, 0.35, 1.7, 0.3),
        target: parameters(n, 0.33, 1.9, 0.1),
        priors: parameters(net.prior_layout().len(), 0.4, 2.1, 0.7),
        net,
        batch,
    }
}

impl Case {
    fn said(&self) -> Said {
        let supports = config().supports();
        self.predictor(&supports).of_states(&self.batch.seen, self.batch.states(), &mut Executor::default())
    }

    fn predictor<'a>(&'a self, supports: &'a [Support; 2]) -> Predictor<'a> {
        Predictor { net: &self.net, parameters: [&self.target, &self.priors], supports, discount: 0.995 }
    }

    fn learn(&self, warm_up: bool) -> (targets::Targets, Losses, Vec<f32>) {
        let mut normaliser = Normaliser::default();
        let targets = if warm_up {
            targets::without_bootstrap(&self.batch, &self.said(), &RULES)
        } else {
            targets::targets(&self.batch, &self.said(), &RULES, &mut normaliser)
        };
        let mut gradient = vec![0.0; self.net.layout.len()];
        let lesson = Lesson {
            batch: &self.batch,
            targets: &targets,
            supports: &config().supports(),
            depth: 5,
            weights: WEIGHTS,
            warm_up,
        };
        let nets = [&*self.online, &*self.priors];
        let losses = loss::gradient(&self.net, nets, &lesson, &mut Executor::default(), &mut gradient);
        (targets, losses, gradient)
    }
}

#[test]
fn values_returns_and_improved_policies_equal_the_reference() {
    let (golden, case) = (golden(), case());
    let theirs = &golden["small"]["targets"];
    let said = case.said();
    let get = |name: &str, width: usize| by_time(&numbers(&theirs[name]), width);
    agree("value", &said.values, &get("value", 1));
    agree("action_values", &said.action_values, &get("action_values", ACTIONS));
    let (targets, ..) = case.learn(false);
    agree("prior_policy", &targets.prior, &get("prior_policy", ACTIONS));
    agree("returns", &targets.returns[..case.batch.starts()], &get("returns", 1));
    agree("bootstrap", &targets.returns[case.batch.starts()..], &get("bootstrap", 1));
    agree("deviation", &[targets.deviation as f32], &numbers(&golden["small"]["update"]["deviation"]));
}

#[test]
fn every_loss_and_every_tensor_of_the_gradient_equal_the_reference() {
    let (golden, case) = (golden(), case());
    for (name, warm_up) in [("update", false), ("warm_up", true)] {
        let theirs = &golden["small"][name];
        let (_, losses, gradient) = case.learn(warm_up);
        let mut pairs = vec![("lv", losses.value), ("lr", losses.reward)];
        if !warm_up {
            pairs.extend([("pg", losses.gradient), ("cmpo", losses.improvement)]);
            pairs.extend([("lm", losses.model), ("ent", losses.entropy)]);
        }
        for (key, ours) in pairs {
            agree(key, &[ours as f32], &numbers(&theirs["losses"][key]));
        }
        tensors_agree(&case.net.layout, &gradient, &theirs["gradient"]);
    }
}

/// A learner with these parameters and this target.
fn learner(case: &Case) -> Learner {
    let layout = &case.net.layout;
    let adam = Adam::new(layout.len(), 1e-8).with_decay(0.0, 1.0);
    let mut learner = Learner::new(layout.clone(), case.online.clone(), Optimiser::Adam(adam), f64::INFINITY);
    let mut saved = Archive::saving();
    learner.archive("", &mut saved).unwrap();
    let mut tensors = saved.into_tensors();
    for slot in layout.slots() {
        let bytes = slot.of(&case.target).iter().flat_map(|x| x.to_le_bytes()).collect();
        tensors.insert(format!("target.{}", slot.name), Stored { kind: Kind::F32, bytes });
    }
    learner.archive("", &mut Archive::loading(tensors)).unwrap();
    learner
}

/// The first step of Adam moves each parameter by the rate against the sign of its gradient, so a gradient that is zero up to rounding
/// decides nothing: parameters are compared where the gradient is above a millionth. They are of size 0.35, rounded to 3e-8.
#[test]
fn a_whole_update_and_a_warm_up_equal_the_reference() {
    let (golden, case) = (golden(), case());
    for (name, warm_up) in [("update", false), ("warm_up", true)] {
        let theirs = &golden["small"][name];
        let (_, losses, gradient) = case.learn(warm_up);
        let mut learner = learner(&case);
        learner.gradient().1.copy_from_slice(&gradient);
        learner.step(&[("loss", losses.total)], 1.0, 1e-3, 0).unwrap();
        if warm_up {
            learner.take_back(&case.online, |slot| !Network::is_predictor(slot));
        }
        learner.move_target(0.1);
        for slot in case.net.layout.slots() {
            let (after, target) =
                (numbers(&theirs["parameters"][slot.name]), numbers(&theirs["target"][slot.name]));
            let mut compared = 0;
            for (i, (after, target)) in slot.range.clone().zip(after.into_iter().zip(target)) {
                if gradient[i] == 0.0 || gradient[i].abs() > 1e-6 {
                    let ours = [learner.parameters()[i], learner.target()[i]].map(f64::from);
                    assert!((ours[0] - after).abs() < 1e-7, "{}: {} and {after}", slot.name, ours[0]);
                    assert!((ours[1] - target).abs() < 1e-7, "{}: {} and {target}", slot.name, ours[1]);
                    compared += 1;
                }
            }
            assert!(compared * 10 >= slot.range.len() * 9, "{}: {compared}", slot.name);
        }
    }
}

/// Members k = 0 to 5 along the actions taken.
#[test]
fn k_step_values_along_the_model_equal_the_reference() {
    let (golden, case) = (golden(), case());
    let supports = config().supports();
    let taken = |step: usize, row: usize, _: &[f32]| case.batch.actions[step * SEQUENCES + row];
    let (predictor, mut executor) = (case.predictor(&supports), Executor::default());
    let paths = predictor.imagine(&case.batch.seen, [SEQUENCES, 1], 5, &mut executor, taken);
    let members = paths.members(0.995);
    // Theirs: [k, state], ours: [state, k].
    let theirs = numbers(&golden["small"]["members"]);
    let ours: Vec<f32> =
        (0..6).flat_map(|k| members.iter().map(move |of_state| of_state[k] as f32)).collect();
    agree("members", &ours, &theirs);
}

/// The reference cuts windows of 4 × 4 as 2 × 2 blocks of 2 × 2 pixels: its place `[block, pixel, channel]` of our `[row, column, channel]`.
fn from_blocks(slot: &Slot, theirs: &[f32]) -> Vec<f32> {
    let [4, 4, channels, filters] = slot.shape[..] else { return theirs.to_vec() };
    let mut ours = Vec::with_capacity(theirs.len());
    for (row, column) in (0..4).flat_map(|r| (0..4).map(move |c| (r, c))) {
        let block = (row / 2 * 2 + column / 2) * 4 + row % 2 * 2 + column % 2;
        ours.extend_from_slice(&theirs[block * channels * filters..][..channels * filters]);
    }
    ours
}

/// The torso of the preset `small` on two pictures, and its gradient: norms, a product with a wave, first numbers.
#[test]
fn the_torso_for_pictures_and_its_gradient_equal_the_reference() {
    let golden = golden();
    let config = Config { features: 256, latent: 128, head: 64, atoms: 41, ..config() };
    let net = Network::new(View::Pixels([64, 64, 3]), ACTIONS, &config);
    let theirs = parameters(net.layout.len(), 0.05, 1.7, 0.3);
    let mut x = theirs.clone();
    for slot in net.layout.slots() {
        slot.of_mut(&mut x).copy_from_slice(&from_blocks(slot, slot.of(&theirs)));
    }
    let bytes: Vec<u8> = (0..2 * 64 * 64 * 3).map(|i| (i * 37 % 251) as u8).collect();
    let mut seen = Seen::default();
    net.torso.prepare(&bytes, &mut seen);
    let (mut gradient, mut z) = (vec![0.0; x.len()], Vec::new());
    let loss = Executor::default().run(&[Parameters::trained(&x)], |g| {
        let state = net.root(g, &seen, [0, 2]);
        g.read(state.z, &mut z);
        let weights = g.input(&wave(2 * 128, 0.61, 0.3), 128);
        let product = g.mul(state.z, weights);
        let loss = g.sum(product, Over::Sum);
        g.backward(loss, &mut [&mut gradient]);
        g.loss(loss)
    });
    assert_eq!(ONLINE.0, 0);
    let golden = &golden["pixels"];
    let first: Vec<f32> = z.chunks_exact(128).flat_map(|row| row[..16].to_vec()).collect();
    // A sum of 256 numbers of order one: two digits are lost.
    assert!((loss - golden["loss"].as_f64().unwrap()).abs() < 2e-4, "{loss}");
    agree("latent", &first, &numbers(&golden["latent"]));
    let sums = golden["gradient"].as_object().unwrap();
    for (name, sums) in sums {
        let slot = net.layout.slots().iter().find(|slot| slot.name == name).unwrap();
        // Back in the order of the reference.
        let order: Vec<f32> = (0..slot.range.len()).map(|i| i as f32).collect();
        let mut d = vec![0.0; slot.range.len()];
        let placed = from_blocks(slot, &order);
        placed.iter().zip(slot.of(&gradient)).for_each(|(&at, g)| d[at as usize] = *g);
        let wide = |x: f32| f64::from(x);
        let norm = d.iter().map(|&x| wide(x).powi(2)).sum::<f64>().sqrt();
        let product: f64 = d.iter().zip(wave(d.len(), 0.37, 0.2)).map(|(&x, w)| wide(x) * wide(w)).sum();
        let theirs = numbers(&sums["norm"])[0];
        assert!((norm / theirs - 1.0).abs() < 1e-4, "{name}: {norm} and {theirs}");
        assert!((product - numbers(&sums["wave"])[0]).abs() < 1e-4 * theirs, "{name}: {product}");
        for (ours, first) in d.iter().zip(numbers(&sums["first"])) {
            assert!((wide(*ours) - first).abs() < 1e-4 * theirs, "{name}: {ours} and {first}");
        }
    }
}
