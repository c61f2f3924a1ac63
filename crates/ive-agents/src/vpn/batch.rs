//! The predictions that one update trains, and their targets.

use super::config::Ends;
use crate::experience;

/// What an update learns from: boards as bits, and numbered actions.
pub type Window<'a> = experience::Window<'a, u64, u8>;

/// The value target behind each step of a window: `R_{t+1}`, from `R_t = r_t + γ R_{t+1}`, zero behind an end, the
/// bootstrap behind the last step.
pub fn returns(window: &Window<'_>, bootstrap: f32, discount: f32, out: &mut [f32]) {
    let mut after = bootstrap;
    for t in (0..out.len()).rev() {
        if experience::discount(window.kinds[t]) == 0.0 {
            after = 0.0;
        }
        out[t] = after;
        after = window.rewards[t] + discount * after;
    }
}

/// Starts of predictions, those with the most depths first, and for each depth what is put in and what should come out.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Boards of the starts, `[starts, words]`.
    pub boards: Vec<u64>,
    /// How many starts reach each depth: falling, the first is all of them.
    pub reach: Vec<usize>,
    /// Actions taken, depth by depth, `reach[l]` each.
    pub actions: Vec<u8>,
    /// Targets of the predicted rewards, likewise.
    pub rewards: Vec<f32>,
    /// Targets of the values of predicted states, likewise.
    pub values: Vec<f32>,
    /// Whether the value is trained, likewise: one or zero.
    pub value_weights: Vec<f32>,
    /// The return of each start: `R_t = r_t + γ R_{t+1}`.
    pub returns: Vec<f32>,
    /// The predictions from the first lesson that do not run past an end, each with its depth, from zero.
    pub first: Vec<(u32, u32)>,
    /// The steps of all lessons, one after the other, and how many predictions begin there.
    steps: Vec<Step>,
    /// The boards before them.
    all_boards: Vec<u64>,
    after: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    action: u8,
    end: bool,
    reward: f32,
    /// R behind it.
    after: f32,
    value_weight: f32,
    /// How deep predictions from here go.
    depth: usize,
    /// `R_t`.
    whole: f32,
    /// Whether it belongs to the first lesson.
    first: bool,
}

/// A window and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// The steps.
    pub window: Window<'a>,
    /// The value behind the last step, or `None` if only rewards are learnt.
    pub bootstrap: Option<f32>,
}

impl Batch {
    /// Collects all predictions of up to `prediction` steps that begin in the windows.
    pub fn fill<'a>(
        &mut self,
        lessons: impl IntoIterator<Item = Lesson<'a>>,
        prediction: usize,
        discount: f32,
        ends: Ends,
    ) {
        self.steps.clear();
        self.all_boards.clear();
        for (i, lesson) in lessons.into_iter().enumerate() {
            self.add(lesson, prediction, discount, ends, i == 0);
        }
        self.arrange();
    }

    fn add(&mut self, lesson: Lesson<'_>, prediction: usize, discount: f32, ends: Ends, first: bool) {
        let window = lesson.window;
        let length = window.steps();
        self.after.resize(length, 0.0);
        returns(&window, lesson.bootstrap.unwrap_or(0.0), discount, &mut self.after);
        let words = window.observations.len() / (length + 1);
        self.all_boards.extend_from_slice(&window.observations[..length * words]);
        for at in 0..length {
            let mut depth = prediction.min(length - at);
            if ends == Ends::Mask {
                let end = window.kinds[at..at + depth].iter().position(|kind| kind.is_last());
                depth = end.map_or(depth, |e| e + 1);
            }
            self.steps.push(Step {
                action: window.actions[at],
                end: window.kinds[at].is_last(),
                reward: window.rewards[at],
                after: self.after[at],
                value_weight: if lesson.bootstrap.is_some() { 1.0 } else { 0.0 },
                depth,
                whole: window.rewards[at] + discount * self.after[at],
                first,
            });
        }
    }

    /// Puts the deepest starts first, and writes depth after depth.
    fn arrange(&mut self) {
        let Self { boards, reach, actions, rewards, values, value_weights, steps, all_boards, .. } = self;
        for list in [&mut *rewards, &mut *values, &mut *value_weights, &mut self.returns] {
            list.clear();
        }
        self.first.clear();
        boards.clear();
        reach.clear();
        actions.clear();
        let deepest = steps.iter().map(|step| step.depth).max().unwrap_or(0);
        let words = all_boards.len() / steps.len().max(1);
        for l in 0..deepest {
            reach.push(0);
            for depth in (l + 1..=deepest).rev() {
                for at in 0..steps.len() {
                    if steps[at].depth != depth {
                        continue;
                    }
                    if l == 0 {
                        boards.extend_from_slice(&all_boards[at * words..][..words]);
                        self.returns.push(steps[at].whole);
                    }
                    let over = steps[at..at + l].iter().any(|step| step.end);
                    if steps[at].first && !over {
                        self.first.push((actions.len() as u32, l as u32));
                    }
                    let step = steps[at + l];
                    reach[l] += 1;
                    actions.push(step.action);
                    rewards.push(if over { 0.0 } else { step.reward });
                    values.push(if over { 0.0 } else { step.after });
                    value_weights.push(step.value_weight);
                }
            }
        }
    }

    /// How many starts there are.
    pub fn starts(&self) -> usize {
        self.reach.first().copied().unwrap_or(0)
    }

    /// How many predictions there are.
    pub fn predictions(&self) -> usize {
        self.actions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive_envs::StepKind;

    /// Three steps, the second of which ends an episode.
    const WINDOW: Window<'static> = Window {
        observations: &[10, 11, 12, 13],
        actions: &[0, 1, 2],
        rewards: &[1.0, 2.0, 4.0],
        kinds: &[StepKind::Mid, StepKind::Terminated, StepKind::Mid],
        policies: &[],
    };

    fn filled(ends: Ends) -> Batch {
        let mut batch = Batch::default();
        batch.fill([Lesson { window: WINDOW, bootstrap: Some(8.0) }], 2, 0.5, ends);
        batch
    }

    #[test]
    fn returns_stop_at_ends() {
        let mut out = [0.0; 3];
        returns(&WINDOW, 8.0, 0.5, &mut out);
        assert_eq!(out, [2.0, 0.0, 8.0]);
    }

    #[test]
    fn masked_predictions_stop_at_ends() {
        let batch = filled(Ends::Mask);
        // From step 0 two steps; from step 1 only the one that ends; from step 2 the last.
        assert_eq!((&*batch.boards, &*batch.reach), (&[10, 11, 12][..], &[3, 1][..]));
        assert_eq!(batch.actions, [0, 1, 2, 1]);
        assert_eq!(batch.rewards, [1.0, 2.0, 4.0, 2.0]);
        assert_eq!(batch.values, [2.0, 0.0, 8.0, 0.0]);
    }

    #[test]
    fn absorbed_predictions_are_zero_behind_ends() {
        let batch = filled(Ends::Absorb);
        assert_eq!((&*batch.boards, &*batch.reach), (&[10, 11, 12][..], &[3, 2][..]));
        assert_eq!(batch.actions, [0, 1, 2, 1, 2]);
        assert_eq!(batch.rewards, [1.0, 2.0, 4.0, 2.0, 0.0]);
        assert_eq!(batch.values, [2.0, 0.0, 8.0, 0.0, 0.0]);
        assert_eq!(batch.value_weights, [1.0; 5]);
        // From R_t = r_t + R_{t+1}/2; the last prediction runs past the end.
        assert_eq!(batch.returns, [2.0, 2.0, 8.0]);
        assert_eq!(batch.first, [(0, 0), (1, 0), (2, 0), (3, 1)]);
    }
}
