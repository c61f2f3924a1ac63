//! What is kept of a finished run, and curves averaged over seeds.

use ive::{mean, mean_and_error};

use super::fleet::Done;
use crate::report::plot::Curve;
use crate::run::History;

/// A finished run; its cell says which one of the experiment.
#[derive(Clone, Debug)]
pub struct Record<Cell> {
    pub cell: Cell,
    /// Environment steps.
    pub steps: u64,
    /// Mean return of the last 100 training episodes; none if no episode ended.
    pub training: Option<f64>,
    /// Returns of greedy episodes after training.
    pub greedy: Vec<f64>,
    /// What was logged on the way.
    pub log: History,
    /// Environment steps per second of CPU time, evaluation included; depends on the machine.
    pub speed: Option<f64>,
}

/// Which number of a run is its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The last 100 training episodes, with the exploration of training.
    Training,
    /// The same, averaged over the second half of the run: returns go up and down from one hundred episodes to the next by
    /// more than agents differ.
    SecondHalf,
    /// Greedy episodes after training.
    Greedy,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Training, Self::SecondHalf, Self::Greedy];

    /// Key in `summary.json`.
    pub fn key(self) -> &'static str {
        ["training", "second_half", "greedy"][self as usize]
    }

    /// Name in tables and claims.
    pub fn name(self) -> &'static str {
        ["training", "second half", "greedy"][self as usize]
    }
}

impl<Cell> Record<Cell> {
    /// A run of the fleet.
    pub fn of(cell: Cell, done: Done) -> Self {
        let Done { finished, log, speed } = done;
        let (training, greedy) = (finished.return_100, finished.greedy);
        Self { cell, steps: finished.steps, training, greedy, log, speed }
    }

    /// The score of a run.
    pub fn score(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Training => self.training,
            Measure::SecondHalf => self.since("return_100", self.steps / 2 + 1),
            Measure::Greedy => (!self.greedy.is_empty()).then(|| mean(&self.greedy)),
        }
    }

    /// The last value of a logged number at or before a step.
    fn at(&self, name: &str, step: u64) -> Option<f64> {
        self.log.iter().take_while(|(s, _)| *s <= step).filter_map(|(_, v)| v.get(name)).last().copied()
    }

    /// The first step at which a logged number is at least this large.
    pub fn reaches(&self, name: &str, level: f64) -> Option<u64> {
        self.log.iter().find(|(_, v)| v.get(name).is_some_and(|x| *x >= level)).map(|(step, _)| *step)
    }

    /// Mean of a logged number from a step on.
    pub fn since(&self, name: &str, step: u64) -> Option<f64> {
        let late: Vec<f64> =
            self.log.iter().filter(|(s, _)| *s >= step).filter_map(|(_, v)| v.get(name)).copied().collect();
        (!late.is_empty()).then(|| mean(&late))
    }

    /// Mean of a logged number over the last tenth of the run.
    pub fn at_end(&self, name: &str) -> Option<f64> {
        self.since(name, self.steps - self.steps / 10)
    }

    /// Predicted value of greedy decisions divided by the discounted return that followed, both over the last tenth of
    /// the run; above one is overestimation. None where hardly anything was realised.
    pub fn overestimation(&self) -> Option<f64> {
        let (predicted, realised) = (self.at_end("predicted")?, self.at_end("realised")?);
        (realised > 1e-3).then(|| predicted / realised)
    }
}

/// A point of a curve: step, mean and standard error over seeds.
pub type Point = (u64, f64, f64);

/// A logged number at `points` equally spaced steps: mean and standard error over the runs, where all have it.
pub fn curve<'a, Cell: 'a>(
    runs: impl Iterator<Item = &'a Record<Cell>> + Clone,
    name: &str,
    points: u64,
) -> Vec<Point> {
    let Some(steps) = runs.clone().map(|r| r.steps).min() else { return Vec::new() };
    let grid = (1..=points).map(|i| steps * i / points).filter(|s| *s > 0);
    grid.filter_map(|step| {
        let values = runs.clone().map(|r| r.at(name, step)).collect::<Option<Vec<f64>>>()?;
        let (mean, error) = mean_and_error(&values);
        Some((step, mean, error))
    })
    .collect()
}

/// The same as a drawing, over thousands of steps.
pub fn drawn(label: &str, colour: &'static str, points: &[Point]) -> Curve {
    Curve::of_means(
        label,
        colour,
        points.iter().map(|&(step, mean, error)| (step as f64 / 1000.0, mean, error)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, values: &[(u64, f64)]) -> Record<u64> {
        let entry = |v: f64| {
            [("predicted", v), ("realised", 2.0), ("return_100", v)].map(|(k, x)| (k.to_owned(), x)).into()
        };
        Record {
            cell: seed,
            steps: 100,
            training: None,
            greedy: vec![1.0, 4.0],
            log: values.iter().map(|(s, v)| (*s, entry(*v))).collect(),
            speed: None,
        }
    }

    /// By hand: a curve holds the last value, and starts where the last of the runs has one.
    #[test]
    fn curves_hold_the_last_value_and_start_when_all_runs_have_one() {
        let runs = [run(0, &[(20, 1.0), (60, 3.0)]), run(1, &[(30, 2.0), (100, 7.0)])];
        let c = curve(runs.iter(), "predicted", 4);
        assert_eq!(c.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>(), [(50, 1.5), (75, 2.5), (100, 5.0)]);
        assert_eq!(c[2].2, 2.0);
        assert!(curve(runs.iter(), "sigma", 4).is_empty());
    }

    #[test]
    fn the_end_is_the_last_tenth() {
        let r = run(0, &[(89, 100.0), (90, 3.0), (100, 5.0)]);
        assert_eq!((r.at_end("predicted"), r.overestimation()), (Some(4.0), Some(2.0)));
        assert_eq!((r.score(Measure::Greedy), r.score(Measure::Training)), (Some(2.5), None));
    }

    #[test]
    fn a_level_is_reached_at_the_first_line_that_has_it() {
        let r = run(0, &[(20, 1.0), (40, 5.0), (60, 2.0), (80, 6.0)]);
        assert_eq!((r.reaches("return_100", 5.0), r.reaches("return_100", 5.5)), (Some(40), Some(80)));
        assert_eq!((r.reaches("return_100", 7.0), r.reaches("absent", 0.0)), (None, None));
    }

    /// By hand: the line at the middle itself still belongs to the first half.
    #[test]
    fn the_second_half_begins_behind_the_middle() {
        let half = |values| run(0, values).score(Measure::SecondHalf);
        assert_eq!(half(&[(40, 9.0), (50, 100.0), (51, 3.0), (100, 5.0)]), Some(4.0));
        assert_eq!(half(&[(40, 9.0)]), None);
    }
}
