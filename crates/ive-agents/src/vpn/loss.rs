//! The loss of a value prediction network: `L = w L_r + L_v`, sums over all predictions of a [`Batch`].
//!
//! Rewards: `L_r = Σ Huber(r̂ − r)`, or the cross-entropy of `r̂ = σ(z)`. Values, with `R_t = r_t + γ R_{t+1}`:
//!
//! - parts: `L_v = Σ Huber(v̂(sᵏ_t) − R_{t+k})`. Spec: Oh et al., 2017, Sec. 3.3.
//! - members: `L_v = Σ Huber(qᵏ_t − R_t)` with `qᵏ_t = Σ_{i≤k} γ^{i−1} r̂ⁱ_t + γᵏ v̂(sᵏ_t)`. What the plan averages is what is
//!   trained; rewards have a part in the error of every member beyond them. Ours.
//!
//! With `train_zero` both also have `Huber(v̂(s⁰_t) − R_t)`. Of several value heads each has its own error, and the loss is
//! their mean.

use super::batch::Batch;
use super::config::Compared;
use super::network::{Network, Predictions};
use crate::nn::{Block, Executor, Graph, Loss, Over, Parameters, Var};

/// What a network is trained for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What is compared with returns.
    pub compared: Compared,
    /// w, the weight of the loss of rewards.
    pub reward_weight: f32,
    /// Whether values of the starts are trained too.
    pub train_zero: bool,
    /// γ.
    pub discount: f32,
}

/// That of the original.
impl Default for Goal {
    fn default() -> Self {
        Self { compared: Compared::Parts, reward_weight: 1.0, train_zero: false, discount: 0.99 }
    }
}

/// The losses of one update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Of rewards, without its weight.
    pub reward: f64,
    /// Of values.
    pub value: f64,
}

/// `qᵏ = Σ_{i≤k} γ^{i−1} r̂ⁱ + γᵏ v̂(sᵏ)` of each prediction, depth by depth, `[predictions, value heads]`. Paper: Eq. (7).
pub fn members(g: &mut dyn Graph, rewards: Var, values: Var, reach: &[usize], discount: f32) -> Var {
    let (mut all, mut before, mut at, mut factor) = (Vec::new(), None, 0, 1.0);
    let [_, heads] = g.shape(values);
    for &count in reach {
        let (reward, value) = (g.rows(rewards, at..at + count), g.rows(values, at..at + count));
        // Starts that end earlier are the last rows.
        let sum = match before {
            None => reward,
            Some(sum) => {
                let sum = g.rows(sum, 0..count);
                g.linear(&[(1.0, sum), (factor, reward)], 0.0)
            }
        };
        factor *= discount;
        let wide = if heads == 1 { sum } else { g.columns(&vec![sum; heads]) };
        all.push(g.linear(&[(1.0, wide), (factor, value)], 0.0));
        (before, at) = (Some(sum), at + count);
    }
    g.stack(&all)
}

/// The losses of rewards and of values, and r̂.
pub fn losses(net: &Network, g: &mut dyn Graph, p: Block, batch: &Batch, goal: &Goal) -> ([Loss; 2], Var) {
    let said = net.unroll(g, p, batch, goal.train_zero);
    ([reward_loss(g, &said, batch), value_loss(g, &said, batch, goal)], said.rewards)
}

fn reward_loss(g: &mut dyn Graph, said: &Predictions, batch: &Batch) -> Loss {
    let Some(z) = said.logits else {
        let rewards = g.input(&batch.rewards, 1);
        return g.huber(said.rewards, rewards, Over::Sum);
    };
    // σ(z) is a softmax over z and zero.
    let zeros = g.input(&vec![0.0; batch.rewards.len()], 1);
    let both = g.columns(&[z, zeros]);
    let aims: Vec<f32> = batch.rewards.iter().map(|r| r.clamp(0.0, 1.0)).flat_map(|r| [r, 1.0 - r]).collect();
    let aims = g.input(&aims, 2);
    g.cross_entropy(both, aims, Over::Sum)
}

fn value_loss(g: &mut dyn Graph, said: &Predictions, batch: &Batch, goal: &Goal) -> Loss {
    let [rows, heads] = g.shape(said.values);
    let starts = rows - batch.predictions();
    let mut compared = said.values;
    if goal.compared == Compared::Members {
        let values = g.rows(said.values, starts..rows);
        compared = members(g, said.rewards, values, &batch.reach, goal.discount);
        if starts > 0 {
            let zero = g.rows(said.values, 0..starts);
            compared = g.stack(&[zero, compared]);
        }
    }
    let (mut aims, mut weights) = (Vec::with_capacity(rows * heads), Vec::with_capacity(rows));
    let mut aim = |value: f32, weight: f32| {
        aims.extend(std::iter::repeat_n(value, heads));
        weights.push(weight / heads as f32);
    };
    (0..starts).for_each(|s| aim(batch.returns[s], batch.value_weights[s]));
    match goal.compared {
        Compared::Parts => {
            batch.values.iter().zip(&batch.value_weights).for_each(|(&value, &weight)| aim(value, weight));
        }
        Compared::Members => {
            for &count in &batch.reach {
                (0..count).for_each(|s| aim(batch.returns[s], batch.value_weights[s]));
            }
        }
    }
    let aims = g.input(&aims, heads);
    g.huber(compared, aims, Over::Weights(&weights))
}

/// Writes the gradient of the loss into `gradient` and r̂ of each prediction into `rewards`, and returns the losses.
pub fn gradient(
    net: &Network,
    x: &[f32],
    batch: &Batch,
    goal: &Goal,
    executor: &mut Executor,
    gradient: &mut [f32],
    rewards: &mut Vec<f32>,
) -> Losses {
    executor.run(&[Parameters::trained(x), Parameters::frozen(x)], |g| {
        let ([reward, value], said) = losses(net, g, Block(0), batch, goal);
        let total = g.total(&[(goal.reward_weight, reward), (1.0, value)]);
        g.read(said, rewards);
        g.backward(total, &mut [gradient]);
        Losses { reward: g.loss(reward), value: g.loss(value) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minatar::{Boards, board_shape};
    use crate::nn::{Device, Engine, Precision, Slot};
    use crate::vpn::batch::Lesson;
    use crate::vpn::config::{Ends, Form, RewardLoss};
    use crate::vpn::model::LatentModel;
    use crate::vpn::network::Design;
    use crate::vpn::planner::Planner;
    use ive::{Members, ModelError, Rng, ValueEnsemble, unroll};
    use ive_envs::StepKind;

    const PARTS: Goal =
        Goal { compared: Compared::Parts, reward_weight: 1.0, train_zero: false, discount: 0.9 };
    const MEMBERS: Goal = Goal { compared: Compared::Members, ..PARTS };

    /// Every setting of network and loss at least once, and those that meet in the code together.
    fn settings() -> Vec<(Design, Goal)> {
        let paper = Design::default();
        let relu = Design { form: Form::Relu, ..paper };
        let entropy = RewardLoss::CrossEntropy;
        vec![
            (paper, PARTS),
            (relu, PARTS),
            (relu, MEMBERS),
            (paper, Goal { reward_weight: 10.0, ..MEMBERS }),
            (Design { reward_loss: entropy, ..relu }, Goal { reward_weight: 3.0, ..PARTS }),
            (Design { reward_loss: entropy, ..paper }, MEMBERS),
            (relu, Goal { train_zero: true, ..PARTS }),
            (Design { value_heads: 3, ..relu }, Goal { train_zero: true, ..MEMBERS }),
            (Design { value_heads: 2, prior_scale: 0.5, ..relu }, PARTS),
            (Design { value_heads: 5, prior_scale: 2.0, reward_loss: entropy, ..paper }, MEMBERS),
        ]
    }

    /// The tensors that are trained.
    fn trained(net: &Network) -> impl Iterator<Item = &Slot> {
        net.layout.slots().iter().filter(|slot| !slot.name.starts_with("prior."))
    }

    /// Random windows with ends of episodes, the last of which teaches only rewards.
    fn batch(net: &Network, windows: usize, ends: Ends, rng: &mut Rng) -> Batch {
        let (board, length) = (&net.torso.board, 6);
        let mut all = Boards::zeroed(board_shape(board.channels()), length, windows).unwrap();
        let mut bits = Vec::new();
        for i in 0..windows {
            for t in 0..=length {
                let cells: Vec<u8> =
                    (0..100 * board.channels()).map(|_| u8::from(rng.uniform() < 0.1)).collect();
                board.pack_all(&cells, &mut bits);
                all.set_observation(i, t, &bits);
                if t < length {
                    let (action, reward) = (rng.below(net.actions) as u8, 2.0 * rng.normal() as f32);
                    let kind = if rng.uniform() < 0.2 { StepKind::Terminated } else { StepKind::Mid };
                    all.set_step(i, t, &[action], reward, kind);
                }
            }
        }
        let bootstrap = |i| if i + 1 < windows || windows == 1 { Some(3.0 - i as f32) } else { None };
        let lessons: Vec<Lesson<'_>> =
            (0..windows).map(|i| Lesson { window: all.get(i), bootstrap: bootstrap(i) }).collect();
        let mut batch = Batch::default();
        batch.fill(lessons, 4, 0.9, ends);
        batch
    }

    /// Initial parameters plus noise: biases that are not zero, and outputs whose errors lie on both sides of the
    /// threshold of Huber's loss.
    fn parameters(net: &Network, rng: &mut Rng) -> Vec<f32> {
        let mut x = net.initial(1.0, 2.0, rng);
        for slot in net.layout.slots() {
            let noise = if slot.name.contains("bias") || slot.name.contains("output") { 0.2 } else { 0.0 };
            slot.of_mut(&mut x).iter_mut().for_each(|w| *w += (noise * rng.normal()) as f32);
        }
        x
    }

    /// The Euclidean length of a tensor's part.
    fn length(slot: &Slot, all: &[f64]) -> f64 {
        all[slot.range.clone()].iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn double() -> Device {
        Device::cpu().with_precision(Precision::Double)
    }

    /// Losses and gradient on the engine, in double precision.
    fn evaluate(net: &Network, x: &[f64], batch: &Batch, goal: &Goal) -> (Losses, Vec<f64>) {
        let mut g = Engine::wide(&double(), vec![(x.to_vec(), true), (x.to_vec(), false)]);
        let ([reward, value], _) = losses(net, &mut g, Block(0), batch, goal);
        let total = g.total(&[(goal.reward_weight, reward), (1.0, value)]);
        let gradient = g.backward_wide(total).remove(0);
        (Losses { reward: g.loss(reward), value: g.loss(value) }, gradient)
    }

    fn widen(x: &[f32]) -> Vec<f64> {
        x.iter().copied().map(f64::from).collect()
    }

    /// Every tensor's gradient differs from the engine's, in double precision, by less than 5e-6 of its length: a unit
    /// in the last place is 6e-8, and sums over some hundred terms of both signs lose an order of magnitude or two. A
    /// wrong sign in one tensor is a difference of twice its length, a hundred tolerances at the least.
    #[test]
    fn gradient_on_the_tape_equals_the_engine_for_every_tensor_and_setting() {
        let mut rng = Rng::from_seed(11);
        for (channels, actions, windows) in [(4, 6, 1), (7, 3, 2), (10, 6, 4)] {
            for (ends, plain) in [(Ends::Mask, false), (Ends::Absorb, false), (Ends::Absorb, true)] {
                for (design, goal) in settings() {
                    let net = Network::designed(channels, actions, design);
                    let x = if plain { net.initial(1.0, 1.0, &mut rng) } else { parameters(&net, &mut rng) };
                    check(&net, &x, &batch(&net, windows, ends, &mut rng), &goal);
                }
            }
        }
    }

    fn check(net: &Network, x: &[f32], batch: &Batch, goal: &Goal) {
        let (losses, expected) = evaluate(net, &widen(x), batch, goal);
        let (mut ours, mut said) = (vec![f32::NAN; x.len()], Vec::new());
        let got = gradient(net, x, batch, goal, &mut Executor::default(), &mut ours, &mut said);
        for (ours, theirs) in [(got.reward, losses.reward), (got.value, losses.value)] {
            assert!((ours / theirs - 1.0).abs() < 1e-6, "loss {ours} and {theirs}");
        }
        assert_eq!(said.len(), batch.predictions());
        let difference: Vec<f64> = widen(&ours).iter().zip(&expected).map(|(o, e)| o - e).collect();
        for slot in trained(net) {
            let (error, size) = (length(slot, &difference), length(slot, &expected));
            // A few numbers are sums over the predictions that may cancel, of terms up to the weight of a reward, and with
            // the member loss up to one more for each of the four members that a reward has a part in.
            let few = slot.range.len() <= 6;
            let shared = if goal.compared == Compared::Members { 4.0 } else { 0.0 };
            let weight = f64::from(goal.reward_weight.max(1.0)) + shared;
            let tolerance = if few { 2e-7 * weight * batch.predictions() as f64 } else { 5e-6 * size };
            let name = slot.name;
            assert!(few || size > 100.0 * tolerance, "gradient of {name}: {size} is too small to tell");
            assert!(
                error < tolerance,
                "gradient of {name}: off by {error} of {size} ({:?} {goal:?})",
                net.design
            );
        }
        let priors = net.layout.slots().iter().filter(|slot| slot.name.starts_with("prior."));
        assert!(priors.flat_map(|slot| slot.of(&ours)).all(|g| *g == 0.0), "priors are never trained");
    }

    /// The slope of the loss along a random direction in each tensor, by central differences with step h = 1e-6: they
    /// err by h² and by rounding, 1e-16 · loss / h = 1e-8 for losses of a hundred.
    #[test]
    fn engine_gradient_equals_finite_differences_in_every_tensor() {
        let mut rng = Rng::from_seed(12);
        for (design, goal) in settings() {
            let net = Network::designed(4, 6, design);
            let x = widen(&parameters(&net, &mut rng));
            let batch = batch(&net, 3, Ends::Absorb, &mut rng);
            let (_, gradient) = evaluate(&net, &x, &batch, &goal);
            let loss = |x: &[f64]| {
                let (losses, _) = evaluate(&net, x, &batch, &goal);
                f64::from(goal.reward_weight) * losses.reward + losses.value
            };
            for slot in trained(&net) {
                let (h, mut above, mut below) = (1e-6, x.clone(), x.clone());
                let (mut slope, scale) = (0.0, 1.0 / (slot.range.len() as f64).sqrt());
                for j in slot.range.clone() {
                    let direction = scale * rng.normal();
                    slope += direction * gradient[j];
                    above[j] += h * direction;
                    below[j] -= h * direction;
                }
                let difference = (loss(&above) - loss(&below)) / (2.0 * h);
                let error = (difference - slope).abs();
                assert!(
                    error < 1e-5,
                    "{}: slope {difference}, gradient {slope} ({design:?} {goal:?})",
                    slot.name
                );
            }
        }
    }

    /// What the member loss compares with returns is what the library makes of the same model along the same actions.
    #[test]
    fn members_of_the_loss_equal_the_implicit_ensemble_of_the_library() {
        let (mut rng, discount) = (Rng::from_seed(15), 0.9);
        for (design, _) in settings() {
            let net = Network::designed(4, 6, design);
            let (x, batch) = (parameters(&net, &mut rng), batch(&net, 2, Ends::Absorb, &mut rng));
            let mut ours = Vec::new();
            Executor::default().run(&[Parameters::frozen(&x); 2], |g| {
                let said = net.unroll(g, Block(0), &batch, false);
                let all = members(g, said.rewards, said.values, &batch.reach, discount as f32);
                g.read(all, &mut ours);
            });
            let model = LatentModel::new(&net, &x, discount).unwrap();
            let heads = net.design.value_heads;
            let start = model.encode(&net.torso.board.unpack_all(&batch.boards)).unwrap();
            let steps = batch.reach.len();
            let step = std::cell::Cell::new(0);
            // Beyond the last prediction of a start any action will do: it is not looked at.
            let policy = |_: &_, _: &mut Rng| -> Result<Vec<usize>, ModelError> {
                let l = step.replace(step.get() + 1);
                let first: usize = batch.reach[..l].iter().sum();
                let of =
                    |s: usize| if s < batch.reach[l] { usize::from(batch.actions[first + s]) } else { 0 };
                Ok((0..batch.starts()).map(of).collect())
            };
            let path = unroll(&model, &model, &policy, start, steps, &mut rng).unwrap();
            let all = ValueEnsemble::implicit(&path).select(&Members::new(1..=steps).unwrap()).unwrap();
            let mut row = 0;
            for (k, member) in all.members().enumerate() {
                for (start, &theirs) in member.iter().enumerate().take(batch.reach[k]) {
                    // The library has the mean of the value heads.
                    let of_heads = &ours[row * heads..][..heads];
                    let mean = of_heads.iter().copied().map(f64::from).sum::<f64>() / heads as f64;
                    assert!(
                        (mean - theirs).abs() < 2e-5,
                        "k = {}, start {start}: {mean} and {theirs}",
                        k + 1
                    );
                    row += 1;
                }
            }
            assert_eq!(row, batch.predictions());
        }
    }

    /// Rewards and values along the best paths of a plan, through the graph of the engine.
    #[test]
    fn members_of_a_plan_equal_the_graph_along_its_path() {
        let mut rng = Rng::from_seed(14);
        for (design, _) in settings() {
            follow_a_plan(&Network::designed(6, 6, design), &mut rng);
        }
    }

    fn follow_a_plan(net: &Network, rng: &mut Rng) {
        let (discount, roots) = (0.9, 4);
        let x = parameters(net, rng);
        let seen: Vec<u8> = (0..roots * 600).map(|_| u8::from(rng.uniform() < 0.1)).collect();
        let (mut bits, mut choices) = (Vec::new(), Vec::new());
        net.torso.board.pack_all(&seen, &mut bits);
        let mut planner = Planner::new(net, discount, &[1.0; 4], &[4, 3, 2, 1]);
        planner.load(&x);
        planner.plan(&bits, &mut choices);
        let (mut path, mut members) = (Vec::new(), Vec::new());
        for (root, bits) in bits.chunks_exact(net.torso.board.words()).enumerate() {
            planner.path(root, &mut path);
            planner.members(root, &mut members);
            assert_eq!((path.len(), path[0]), (4, choices[root].action));
            let mut g = Engine::wide(&double(), vec![(widen(&x), false), (widen(&x), false)]);
            let mut state = net.encode(&mut g, Block(0), bits);
            let (mut rewards, mut factor) = (0.0, 1.0);
            for (&action, member) in path.iter().zip(&members) {
                let reward = net.reward(&mut g, Block(0), state.hidden, &[action as u8]);
                rewards += factor * g.numbers(reward)[0];
                factor *= discount;
                state = net.transition(&mut g, Block(0), state, &[action as u8]);
                let value = net.value(&mut g, Block(0), state.hidden);
                let expected = rewards + factor * g.numbers(value)[0];
                assert!((f64::from(*member) - expected).abs() < 1e-5, "{member} and {expected}");
            }
        }
    }

    #[test]
    fn single_precision_engine_agrees_with_the_tape() {
        let mut rng = Rng::from_seed(13);
        let net = Network::new(4, 6);
        let (x, batch) = (parameters(&net, &mut rng), batch(&net, 2, Ends::Mask, &mut rng));
        let (mut theirs, mut ours, mut said) = (vec![0.0; x.len()], vec![0.0; x.len()], Vec::new());
        let mut engine = Executor::Engine(Device::cpu());
        gradient(&net, &x, &batch, &PARTS, &mut engine, &mut theirs, &mut said);
        gradient(&net, &x, &batch, &PARTS, &mut Executor::default(), &mut ours, &mut said);
        let difference: Vec<f64> = widen(&ours).iter().zip(&theirs).map(|(o, t)| o - f64::from(*t)).collect();
        for slot in net.layout.slots() {
            assert!(length(slot, &difference) < 2e-5 * length(slot, &widen(&theirs)), "{}", slot.name);
        }
    }
}
