//! The two planners of Table 1: the best of several sequences of actions (♣), and a sequence that climbs its utility along the
//! gradient (♢).
//!
//! Both begin with what the actor would do, exploration noise included, so that a plan is carried out as it was judged. Latent states are
//! the means of the prior, or drawn with noise that all sequences share. With noise of their own, as printed in the paper, sequences differ by
//! their luck more than by their actions ([`PlanNoise::Independent`]).

use ive::Rng;

use super::config::{Ascent, Behaviour, Config, PlanNoise};
use super::mind::{ACTOR, MODEL, Mind, judges};
use super::network::{Latent, drawn};
use super::plan::{Judged, Start, repeated};
use super::update::normals;
use crate::nn::{Executor, Graph, Over, Var};

/// A plan that was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// Its first action.
    pub action: Vec<f32>,
    /// μ.
    pub mean: f64,
    /// σ.
    pub std: f64,
    /// Whether σ decided: another sequence had a larger μ (♣), or the climb gave up some μ (♢).
    pub flipped: bool,
    /// How far its first action is from what the actor proposed first.
    pub moved: f64,
}

/// Plans, with memory that is used again and again.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    executor: Executor,
    /// Sequences side by side, `[horizon][rows · motors]`.
    pub actions: Vec<Vec<f32>>,
    /// Their utilities, μ and σ.
    pub judged: [Vec<f32>; 3],
    /// Latent noise, `[horizon · rows · stochastic]`; empty for means.
    pub states: Vec<f32>,
    noise: Vec<f32>,
    exploration: Vec<f32>,
    /// Where sequences begin, once for each: z, d, and what the model says of them whatever is done (recurrent product, reward).
    start: [Vec<f32>; 4],
    /// Of the utility with respect to the actions, `[horizon][rows · motors]`.
    gradient: Vec<Vec<f32>>,
}

impl Planner {
    /// What to do in the latent state (z, d).
    pub fn plan(&mut self, mind: &Mind, config: &Config, z: &[f32], d: &[f32], rng: &mut Rng) -> Planned {
        match config.behaviour {
            Behaviour::Gradient => self.climb(mind, config, z, d, rng),
            Behaviour::Sample | Behaviour::Actor => self.sample(mind, config, z, d, rng),
        }
    }

    /// The best of several sequences.
    fn sample(&mut self, mind: &Mind, config: &Config, z: &[f32], d: &[f32], rng: &mut Rng) -> Planned {
        self.propose(mind, config, z, d, config.candidates, true, rng);
        let [utilities, means, stds] = &self.judged;
        let (best, by_mean) = (argmax(utilities), argmax(means));
        let motors = mind.actor.motors;
        let first = |i: usize| &self.actions[0][i * motors..][..motors];
        Planned {
            action: first(best).to_vec(),
            mean: means[best].into(),
            std: stds[best].into(),
            flipped: best != by_mean,
            moved: distance(first(best), first(0)),
        }
    }

    /// A sequence that climbs.
    fn climb(&mut self, mind: &Mind, config: &Config, z: &[f32], d: &[f32], rng: &mut Rng) -> Planned {
        self.propose(mind, config, z, d, 1, false, rng);
        let (proposed, mut began) = (self.actions[0].clone(), None);
        for i in 0..=config.plan_iterations {
            if config.plan_noise == PlanNoise::Independent {
                normals(self.states.len(), rng, &mut self.states);
            }
            let judged = self.judge(mind, config, i < config.plan_iterations);
            began.get_or_insert(judged[1]);
        }
        let [_, mean, std] = [0, 1, 2].map(|i| f64::from(self.judged[i][0]));
        let moved = distance(&self.actions[0], &proposed);
        let flipped = began.is_some_and(|before| mean < before);
        Planned { action: self.actions[0].clone(), mean, std, flipped, moved }
    }

    /// How much of the variance of the utility over sampled sequences is due to their actions, from 0 to 1: the rest is noise of latent states.
    /// Each of `config.candidates` sequences is judged with `draws` noises of its own; the share is that of the variance between sequences,
    /// freed of what the noise adds to it (analysis of variance, one factor). It is meant for [`PlanNoise::Independent`]: noise that all
    /// sequences share moves all of them, and counts as noise, too. `None` if all utilities are the same.
    pub fn share_of_actions(
        &mut self,
        mind: &Mind,
        config: &Config,
        z: &[f32],
        d: &[f32],
        draws: usize,
        rng: &mut Rng,
    ) -> Option<f64> {
        self.propose(mind, config, z, d, config.candidates, false, rng);
        let rows = config.candidates;
        let (sequences, horizon) = (self.actions.clone(), config.plan_horizon);
        let (mut sums, mut squares) = (vec![0.0; rows], 0.0);
        for _ in 0..draws {
            self.draw_states(config.plan_noise, horizon, rows, z.len(), rng);
            self.actions.clone_from(&sequences);
            self.judge(mind, config, false);
            for (sum, &u) in sums.iter_mut().zip(&self.judged[0]) {
                *sum += f64::from(u);
                squares += f64::from(u) * f64::from(u);
            }
        }
        let (n, m) = (rows as f64, draws as f64);
        let means: Vec<f64> = sums.iter().map(|sum| sum / m).collect();
        let all = ive::mean(&means);
        let between = means.iter().map(|x| (x - all) * (x - all)).sum::<f64>() / (n - 1.0).max(1.0);
        let of_means: f64 = means.iter().map(|x| m * x * x).sum();
        let within = ((squares - of_means) / (n * (m - 1.0).max(1.0))).max(0.0);
        let actions = (between - within / m).max(0.0);
        // Single precision: utilities that differ by less are the same.
        let total = actions + within;
        (total > 1e-12 * all * all).then(|| actions / total)
    }

    /// Sequences from the actor with exploration noise, and if wished what they are worth.
    #[expect(clippy::too_many_arguments, reason = "one door for both planners")]
    fn propose(
        &mut self,
        mind: &Mind,
        config: &Config,
        z: &[f32],
        d: &[f32],
        rows: usize,
        judging: bool,
        rng: &mut Rng,
    ) {
        let (horizon, motors) = (config.plan_horizon, mind.actor.motors);
        normals(horizon * rows * motors, rng, &mut self.noise);
        normals(horizon * rows * motors, rng, &mut self.exploration);
        self.draw_states(config.plan_noise, horizon, rows, z.len(), rng);
        self.actions.resize(horizon, Vec::new());
        let Self { executor, actions, judged, states, noise, exploration, start: kept, .. } = self;
        let (models, values) = (mind.models(), mind.values());
        let latent = (!states.is_empty()).then_some(&states[..]);
        executor.run(&mind.frozen(), |g| {
            // All sequences begin in one state: what it leads to is computed once.
            let state = Latent { z: g.input(z, z.len()), d: g.input(d, d.len()) };
            let features = state.features(g);
            let (mean, std) = mind.actor.distribution(g, ACTOR, features);
            let first = (repeated(g, mean, rows), repeated(g, std, rows));
            let start = Start::new(g, &models[0], state).repeated(g, rows);
            for (var, kept) in start.all().into_iter().zip(kept) {
                g.read(var, kept);
            }
            let mut state = start.state;
            let (mut path, mut doing) = (vec![state.features(g)], Vec::with_capacity(horizon));
            for (t, actions) in actions.iter_mut().enumerate() {
                let part = t * rows * motors..(t + 1) * rows * motors;
                let said = match t {
                    0 => drawn(g, first, &noise[part.clone()]),
                    _ => mind.actor.act(g, ACTOR, path[t], Some(&noise[part.clone()])),
                };
                g.read(said, actions);
                for (action, x) in actions.iter_mut().zip(&exploration[part]) {
                    *action = (*action + config.exploration as f32 * x).clamp(-1.0, 1.0);
                }
                doing.push(g.input(actions, motors));
                let part = latent.map(|all| &all[t * rows * z.len()..][..rows * z.len()]);
                state = match t {
                    0 => models[0].0.imagine_with(g, MODEL, state, start.recurrent, doing[t], part),
                    _ => models[0].0.imagine(g, MODEL, state, doing[t], part),
                };
                path.push(state.features(g));
            }
            if judging {
                let said = judges(config, &models, &values).judge_path(g, &start, &path, &doing, latent);
                read(g, said, judged);
            }
        });
    }

    /// Noise of latent states.
    fn draw_states(&mut self, kind: PlanNoise, horizon: usize, rows: usize, columns: usize, rng: &mut Rng) {
        match kind {
            PlanNoise::Mean => self.states.clear(),
            PlanNoise::Independent => normals(horizon * rows * columns, rng, &mut self.states),
            PlanNoise::Common => {
                let mut shared = Vec::new();
                normals(horizon * columns, rng, &mut shared);
                self.states.clear();
                for step in shared.chunks_exact(columns) {
                    (0..rows).for_each(|_| self.states.extend_from_slice(step));
                }
            }
        }
    }

    /// Judges the sequences, and climbs a step if wished. Returns utility, μ and σ of the first before the step.
    fn judge(&mut self, mind: &Mind, config: &Config, climbing: bool) -> [f64; 3] {
        let Self { executor, actions, judged, states, gradient: slopes, start, .. } = self;
        let (models, values, motors) = (mind.models(), mind.values(), mind.actor.motors);
        let latent = (!states.is_empty()).then_some(&states[..]);
        executor.run(&mind.frozen(), |g| {
            let rows = actions.first().map_or(1, |a| a.len() / motors);
            let [z, d, recurrent, reward] = start.each_ref().map(|x| g.input(x, x.len() / rows));
            let start = Start { state: Latent { z, d }, recurrent, reward };
            let doing: Vec<Var> = actions.iter().map(|a| g.variable(a, motors)).collect();
            let said = judges(config, &models, &values).judge_from(g, &start, &doing, latent);
            read(g, said, judged);
            if climbing {
                let total = g.sum(said.utility, Over::Sum);
                g.backward(total, &mut []);
                slopes.resize(doing.len(), Vec::new());
                doing.iter().zip(&mut *slopes).for_each(|(&var, slopes)| g.gradient(var, slopes));
                if config.plan_ascent == Ascent::Unit {
                    normalise(slopes, motors);
                }
                for (a, slope) in actions.iter_mut().flatten().zip(slopes.iter().flatten()) {
                    *a = (*a + config.plan_step as f32 * slope).clamp(-1.0, 1.0);
                }
            }
        });
        [0, 1, 2].map(|i| f64::from(judged[i][0]))
    }
}

fn read(g: &dyn Graph, said: Judged, out: &mut [Vec<f32>; 3]) {
    for (var, out) in [said.utility, said.mean, said.std].into_iter().zip(out) {
        g.read(var, out);
    }
}

/// Makes the gradient of each row `[time][rows · motors]` one long, over all its times and motors; one that is zero stays zero.
fn normalise(slopes: &mut [Vec<f32>], motors: usize) {
    let rows = slopes.first().map_or(0, |all| all.len() / motors);
    for row in 0..rows {
        let part = row * motors..(row + 1) * motors;
        let squares = slopes.iter().flat_map(|all| &all[part.clone()]).map(|x| f64::from(*x).powi(2));
        let length = squares.sum::<f64>().sqrt();
        if length > 0.0 {
            let of = slopes.iter_mut().flat_map(|all| &mut all[part.clone()]);
            of.for_each(|x| *x = (f64::from(*x) / length) as f32);
        }
    }
}

/// The first of the largest numbers.
fn argmax(x: &[f32]) -> usize {
    x.iter().enumerate().fold(0, |best, (i, &y)| if y > x[best] { i } else { best })
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from((a - b) * (a - b))).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: (3, 4) over two times is 5 long; zeros stay zeros; a length whose square would not fit into single precision is no exception.
    #[test]
    fn gradients_of_each_sequence_become_one_long() {
        let mut slopes = vec![vec![3.0, 0.0, 3e-25], vec![4.0, 0.0, -4e-25]];
        normalise(&mut slopes, 1);
        assert_eq!(slopes, [[0.6, 0.0, 0.6], [0.8, 0.0, -0.8]]);
        normalise(&mut [], 1);
    }
}
