//! What the paper claims, what we measured, and whether the two agree.

use serde::Serialize;

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
    /// What else one must know.
    pub note: String,
}

/// How often seeds are resampled for an interval.
const REPLICATES: usize = 4000;

/// With fewer seeds a bootstrap interval is too narrow to be believed.
pub const MIN_SEEDS: usize = 10;

/// A 95 % bootstrap interval over seeds, with a generator of its own so that every interval can be repeated alone.
/// Fewer than [`MIN_SEEDS`] give an unbounded interval, and so never a decision.
pub fn interval<T: Clone>(units: &[T], statistic: impl Fn(&[T]) -> f64) -> (f64, f64) {
    let rng = &mut ive::Rng::from_seed(95);
    let unbounded = (f64::NEG_INFINITY, f64::INFINITY);
    if units.len() < MIN_SEEDS {
        return unbounded;
    }
    ive::bootstrap_interval(units, statistic, 0.95, REPLICATES, rng).unwrap_or(unbounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_interval() {
        assert_eq!(Verdict::above(0.5, (0.6, 0.9)), Verdict::Supported);
        assert_eq!(Verdict::above(0.5, (0.1, 0.4)), Verdict::NotSupported);
        assert_eq!(Verdict::above(0.5, (0.4, 0.6)), Verdict::NotDecided);
        assert_eq!(Verdict::above(0.5, interval(&[1.0], |x| x[0])), Verdict::NotDecided);
        assert_eq!(Verdict::within(0.1, (-0.05, 0.02)), Verdict::Supported);
        assert_eq!(Verdict::within(0.1, (-0.05, 0.2)), Verdict::NotDecided);
        assert_eq!(Verdict::within(0.1, (0.15, 0.2)), Verdict::NotSupported);
    }
}
