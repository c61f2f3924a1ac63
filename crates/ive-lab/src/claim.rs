//! What the paper claims, what we measured, and whether the two agree.

use serde::Serialize;

use crate::exit::Outcome;
use crate::experiments::ours;
use crate::report::unit::Unit;

/// Does the claim hold here?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval of the effect lies on the claimed side.
    Supported,
    /// The interval lies on the other side.
    NotSupported,
    /// The interval contains both, or there are too few seeds.
    NotDecided,
}

impl Verdict {
    /// The verdict for "the effect is larger than `bound`" from its 95 % interval.
    pub fn above(bound: f64, (low, high): (f64, f64)) -> Self {
        match () {
            () if low > bound => Self::Supported,
            () if high < bound => Self::NotSupported,
            () => Self::NotDecided,
        }
    }

    /// The verdict for "the effect is smaller than `bound`" from its 95 % interval.
    pub fn below(bound: f64, (low, high): (f64, f64)) -> Self {
        Self::above(-bound, (-high, -low))
    }

    /// The verdict for "the effect is within ±`margin`" (equivalence) from its 95 % interval.
    pub fn within(margin: f64, (low, high): (f64, f64)) -> Self {
        match () {
            () if low > -margin && high < margin => Self::Supported,
            () if low > margin || high < -margin => Self::NotSupported,
            () => Self::NotDecided,
        }
    }

    /// How it is written.
    pub fn words(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::NotSupported => "not supported",
            Self::NotDecided => "not decided",
        }
    }
}

/// A claim of the paper with our verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// Which hypothesis of the paper, H1 to H6, or the figure it belongs to.
    pub hypothesis: &'static str,
    /// The claim, in our words.
    pub claim: String,
    /// What the effect is measured in.
    pub unit: Unit,
    /// What was measured.
    pub measure: String,
    /// The effect and its 95 % interval over seeds.
    pub effect: f64,
    /// Lower and upper end.
    pub interval: (f64, f64),
    /// The verdict.
    pub verdict: Verdict,
    /// Why nothing can be decided, where there are too few seeds for an interval.
    pub undecided: Option<String>,
    /// What else one must know.
    pub note: String,
}

/// How often seeds are resampled for an interval.
const REPLICATES: usize = 4000;

/// With fewer seeds a bootstrap interval is too narrow to be believed.
pub const MIN_SEEDS: usize = 10;

/// An interval without information.
pub const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// A 95 % interval of an effect over seeds, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Its ends.
    Ends(f64, f64),
    /// Too few seeds to say anything: how many there are.
    TooFewSeeds(usize),
}

impl Interval {
    /// Lower and upper end; unbounded with too few seeds, so that it never decides anything.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Self::Ends(low, high) => (low, high),
            Self::TooFewSeeds(_) => UNBOUNDED,
        }
    }

    /// Why nothing can be decided, if that is so.
    pub fn undecided(self) -> Option<String> {
        match self {
            Self::Ends(..) => None,
            Self::TooFewSeeds(seeds) => {
                Some(format!("too few seeds: {seeds}, at least {MIN_SEEDS} are needed"))
            }
        }
    }
}

/// A 95 % bootstrap interval over seeds, with a generator of its own so that every interval can be repeated alone.
pub fn interval<T: Clone>(units: &[T], statistic: impl Fn(&[T]) -> f64) -> Outcome<Interval> {
    if units.len() < MIN_SEEDS {
        return Ok(Interval::TooFewSeeds(units.len()));
    }
    let rng = &mut ive::Rng::from_seed(95);
    let (low, high) = ours(ive::bootstrap_interval(units, statistic, 0.95, REPLICATES, rng))?;
    Ok(Interval::Ends(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_interval() {
        assert_eq!(Verdict::above(0.5, (0.6, 0.9)), Verdict::Supported);
        assert_eq!(Verdict::above(0.5, (0.1, 0.4)), Verdict::NotSupported);
        assert_eq!(Verdict::above(0.5, (0.4, 0.6)), Verdict::NotDecided);
        assert_eq!(Verdict::within(0.1, (-0.05, 0.02)), Verdict::Supported);
        assert_eq!(Verdict::within(0.1, (-0.05, 0.2)), Verdict::NotDecided);
        assert_eq!(Verdict::within(0.1, (0.15, 0.2)), Verdict::NotSupported);
    }

    #[test]
    fn too_few_seeds_decide_nothing_and_say_why() {
        let few = interval(&[1.0; 9], |x| x[0]).unwrap();
        assert_eq!(few, Interval::TooFewSeeds(9));
        assert_eq!(Verdict::above(0.5, few.ends()), Verdict::NotDecided);
        assert_eq!(few.undecided().unwrap(), "too few seeds: 9, at least 10 are needed");
        assert_eq!(interval(&[1.0; 10], |x| x[0]).unwrap(), Interval::Ends(1.0, 1.0));
    }

    #[test]
    fn an_interval_that_cannot_be_computed_is_an_error() {
        for bad in [f64::NAN, f64::INFINITY] {
            let failure = interval(&[1.0; 10], |_| bad).unwrap_err();
            assert_eq!(failure.code, 70, "{}", failure.message);
        }
    }
}
