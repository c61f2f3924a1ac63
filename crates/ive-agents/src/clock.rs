//! Where the time of an agent goes.

use std::time::Instant;

/// What an agent spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Choosing actions.
    Decisions,
    /// Values behind what was seen, for the targets of updates.
    Bootstraps,
    /// Gradients and the steps of the optimiser.
    Updates,
    /// The environments themselves.
    Worlds,
    /// All else: packing boards, replay, statistics.
    Other,
}

impl Part {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Decisions, Self::Bootstraps, Self::Updates, Self::Worlds, Self::Other];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decisions => "decisions",
            Self::Bootstraps => "bootstraps",
            Self::Updates => "updates",
            Self::Worlds => "worlds",
            Self::Other => "other",
        }
    }
}

/// A stopwatch with laps: each belongs to a part. It changes nothing that an agent computes, and is not saved.
#[derive(Clone, Debug)]
pub struct Clock {
    last: Instant,
    seconds: [f64; Part::ALL.len()],
}

impl Clock {
    /// Started now.
    pub fn start() -> Self {
        Self { last: Instant::now(), seconds: [0.0; Part::ALL.len()] }
    }

    /// Forgets the time since the last lap.
    pub fn skip(&mut self) {
        self.last = Instant::now();
    }

    /// The time since the last lap went into this part.
    pub fn lap(&mut self, part: Part) {
        let now = Instant::now();
        self.seconds[part as usize] += (now - self.last).as_secs_f64();
        self.last = now;
    }

    /// The share of each part in all of the time, in the order of [`Part::ALL`]; zeros before the first lap.
    pub fn shares(&self) -> [f64; Part::ALL.len()] {
        let total: f64 = self.seconds.iter().sum();
        self.seconds.map(|s| if total > 0.0 { s / total } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn laps_go_to_their_part_and_shares_add_up_to_one() {
        let mut clock = Clock::start();
        assert_eq!(clock.shares(), [0.0; 5]);
        sleep(Duration::from_millis(5));
        clock.skip();
        sleep(Duration::from_millis(20));
        clock.lap(Part::Updates);
        clock.lap(Part::Worlds);
        let shares = clock.shares();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(shares[Part::Updates as usize] > 0.9, "{shares:?}");
        assert!(Part::ALL.iter().enumerate().all(|(i, &part)| part as usize == i));
    }
}
