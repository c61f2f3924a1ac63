//! What an agent expects while it plays: μ and σ as numbers, and as small curves of what they were.

use std::collections::VecDeque;

/// How many steps the curves go back.
const STEPS: usize = 32;

/// What an agent expects in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thought {
    /// μ-IVE, or the value of an agent without a model.
    pub mu: f64,
    /// σ-IVE, if it has a model.
    pub sigma: Option<f64>,
}

/// The thoughts of the last steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Thoughts(VecDeque<Thought>);

impl Thoughts {
    /// Adds the thought of a step.
    pub(super) fn push(&mut self, thought: Thought) {
        if self.0.len() == STEPS {
            self.0.pop_front();
        }
        self.0.push_back(thought);
    }

    /// Forgets everything, for a new episode.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A line for each number: its name, what it is now, and how it came there. Lines are equally long, so that each covers
    /// the one before it. Nothing before the first thought.
    pub(super) fn lines(&self) -> Vec<String> {
        let Some(now) = self.0.back() else { return Vec::new() };
        let line = |name: &str, number: String, values: Vec<f64>| {
            format!("{name:<5} {number:>8}  {:<STEPS$}", sparkline(&values))
        };
        let mus = self.0.iter().map(|t| t.mu).collect();
        let name = if now.sigma.is_some() { "μ" } else { "value" };
        let mut lines = vec![line(name, format!("{:.2}", now.mu), mus)];
        if let Some(sigma) = now.sigma {
            lines.push(line("σ", format!("{sigma:.3}"), self.0.iter().filter_map(|t| t.sigma).collect()));
        }
        lines
    }
}

/// A curve of one letter per number, from zero or the lowest to the highest.
fn sparkline(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let low = values.iter().copied().fold(0.0, f64::min);
    let high = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar = |v: &f64| BARS[((v - low) / (high - low) * 7.0).round().clamp(0.0, 7.0) as usize];
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_go_from_zero_to_the_highest() {
        assert_eq!(sparkline(&[0.0, 3.5, 7.0]), "▁▅█");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[-7.0, 0.0]), "▁█");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn numbers_and_curves_stand_below_the_board() {
        let mut thoughts = Thoughts::default();
        assert!(thoughts.lines().is_empty());
        (0..40).for_each(|t| thoughts.push(Thought { mu: f64::from(t), sigma: Some(0.125) }));
        let lines = thoughts.lines();
        assert!(lines[0].starts_with("μ        39.00  ▂") && lines[0].ends_with('█'), "{lines:?}");
        assert!(lines[1].starts_with("σ        0.125  █"), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() == 16 + STEPS), "{lines:?}");
        thoughts.clear();
        thoughts.push(Thought { mu: -1.5, sigma: None });
        let lines = thoughts.lines();
        assert!(lines.len() == 1 && lines[0].starts_with("value    -1.50  ▁"), "{lines:?}");
    }
}
