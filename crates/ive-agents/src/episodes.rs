//! Bookkeeping of training episodes: returns, and what was predicted of them.

use crate::archive::{Archive, ArchiveError};

/// Over how many episodes the recent return is a mean.
const RECENT: usize = 100;

/// An episode that is still going on.
#[derive(Clone, Debug, Default)]
struct Running {
    rewards: Vec<f32>,
    /// Steps at which the agent acted greedily, and the value it predicted there.
    greedy: Vec<u64>,
    predicted: Vec<f32>,
}

/// The episodes of several environments.
#[derive(Clone, Debug)]
pub struct Episodes {
    discount: f64,
    running: Vec<Running>,
    /// Returns of the last episodes, a ring.
    recent: Vec<f32>,
    next: usize,
    finished: u64,
    /// Since the last report: sum of predicted values, of realised returns, and their number.
    calibration: [f64; 3],
}

impl Episodes {
    /// For this many environments.
    pub fn new(worlds: usize, discount: f64) -> Self {
        Self {
            discount,
            running: vec![Running::default(); worlds],
            recent: Vec::new(),
            next: 0,
            finished: 0,
            calibration: [0.0; 3],
        }
    }

    /// Notes the value that was predicted for a greedy action, before it is taken.
    pub fn predict(&mut self, world: usize, value: f32) {
        let running = &mut self.running[world];
        running.greedy.push(running.rewards.len() as u64);
        running.predicted.push(value);
    }

    /// Notes a step.
    pub fn step(&mut self, world: usize, reward: f32, end: bool) {
        let running = &mut self.running[world];
        running.rewards.push(reward);
        if !end {
            return;
        }
        let total = running.rewards.iter().sum();
        if self.recent.len() < RECENT {
            self.recent.push(total);
        } else {
            self.recent[self.next] = total;
        }
        self.next = (self.next + 1) % RECENT;
        self.finished += 1;
        let (mut realised, mut t) = (0.0, running.rewards.len());
        for (&at, &predicted) in running.greedy.iter().zip(&running.predicted).rev() {
            while t > at as usize {
                t -= 1;
                realised = f64::from(running.rewards[t]) + self.discount * realised;
            }
            let sums = [f64::from(predicted), realised, 1.0];
            self.calibration.iter_mut().zip(sums).for_each(|(c, s)| *c += s);
        }
        running.rewards.clear();
        running.greedy.clear();
        running.predicted.clear();
    }

    /// Mean return of the last episodes.
    pub fn recent_return(&self) -> Option<f64> {
        let n = self.recent.len();
        (n > 0).then(|| self.recent.iter().map(|&r| f64::from(r)).sum::<f64>() / n as f64)
    }

    /// Adds what there is to report, and starts a new interval for predictions.
    pub fn report(&mut self, values: &mut Vec<(&'static str, f64)>) {
        values.push(("episodes", self.finished as f64));
        if let Some(mean) = self.recent_return() {
            values.push(("return_100", mean));
        }
        let [predicted, realised, n] = std::mem::take(&mut self.calibration);
        if n > 0.0 {
            values.push(("predicted", predicted / n));
            values.push(("realised", realised / n));
        }
    }

    /// Saves or restores.
    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        for (i, running) in self.running.iter_mut().enumerate() {
            archive.f32s(&format!("episode.{i}.rewards"), &mut running.rewards)?;
            archive.u64s(&format!("episode.{i}.greedy"), &mut running.greedy)?;
            archive.f32s(&format!("episode.{i}.predicted"), &mut running.predicted)?;
            let steps = running.rewards.len() as u64;
            if running.greedy.len() != running.predicted.len() || running.greedy.iter().any(|&at| at > steps)
            {
                let problem = "its parts do not fit together".to_owned();
                return Err(ArchiveError::Content { name: format!("episode.{i}"), problem });
            }
        }
        archive.f32s("episodes.recent", &mut self.recent)?;
        archive.index("episodes.next", &mut self.next)?;
        archive.u64("episodes.finished", &mut self.finished)?;
        if self.recent.len() > RECENT || self.next >= RECENT {
            let problem = "it is too long".to_owned();
            return Err(ArchiveError::Content { name: "episodes.recent".to_owned(), problem });
        }
        archive.f64("episodes.calibration", &mut self.calibration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_and_calibration_worked_out_by_hand() {
        let mut episodes = Episodes::new(2, 0.5);
        episodes.predict(1, 3.0);
        episodes.step(1, 1.0, false);
        episodes.step(0, 7.0, false);
        episodes.step(1, 2.0, false);
        episodes.predict(1, 5.0);
        episodes.step(1, 4.0, true);
        assert_eq!(episodes.recent_return(), Some(7.0));
        let mut values = Vec::new();
        episodes.report(&mut values);
        // Realised from step 0: 1 + 2/2 + 4/4 = 3; from step 2: 4.
        let expected = [("episodes", 1.0), ("return_100", 7.0), ("predicted", 4.0), ("realised", 3.5)];
        assert_eq!(values, expected);
        for i in 0..150 {
            episodes.step(0, if i == 0 { 0.0 } else { i as f32 }, true);
        }
        // The last hundred: 50 to 149.
        assert_eq!(episodes.recent_return(), Some(99.5));
    }
}
