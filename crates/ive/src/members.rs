//! Which k-step values belong to an ensemble.
//!
//! The paper is not of one mind: IVE(n) has the n + 1 members k = 0..n by its definition, but n members k = 1..n in
//! the Procgen protocol. The choice matters (on the gridworld, leaving out k = 0 removes most of the signal), so the
//! set is a value that travels with every ensemble and is printed with every figure.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Error, Result, error::in_range};

/// The largest k that is accepted: far beyond any use, and small enough that a typing error cannot fill the memory.
pub const MAX_HORIZON: usize = u16::MAX as usize;

/// A non-empty set of unroll lengths k, in increasing order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Vec<usize>);

impl Members {
    /// Any set of k, for example `0..=5`, `1..=5` or `[1, 7, 13]`. Order and repetition do not matter.
    ///
    /// # Errors
    /// If the set is empty or a k is beyond [`MAX_HORIZON`].
    pub fn new(lengths: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut set = BTreeSet::new();
        for k in lengths {
            in_range("horizon k", k as f64, 0.0, MAX_HORIZON as f64)?;
            set.insert(k);
        }
        if set.is_empty() {
            Err(Error::Empty { what: "members" })
        } else {
            Ok(Self(set.into_iter().collect()))
        }
    }

    /// The definition of IVE(n): k = 0..n, which are n + 1 members. Every `u16` is a valid n; for a computed `usize` there
    /// is [`Members::new`]`(0..=n)`, which checks it. Paper: Sec. 3.1, Eq. (6).
    ///
    /// ```
    /// assert_eq!(ive::Members::up_to(5), ive::Members::new(0..=5)?);
    /// # Ok::<(), ive::Error>(())
    /// ```
    #[must_use]
    pub fn up_to(n: u16) -> Self {
        Self((0..=usize::from(n)).collect())
    }

    /// The unroll lengths k, increasing.
    pub fn lengths(&self) -> &[usize] {
        &self.0
    }

    /// Whether the k-step value takes part.
    pub fn contains(&self, k: usize) -> bool {
        self.0.binary_search(&k).is_ok()
    }

    /// How many members there are.
    #[expect(clippy::len_without_is_empty, reason = "never empty by construction")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The longest unroll that is needed.
    pub fn horizon(&self) -> usize {
        self.0[self.0.len() - 1]
    }
}

impl fmt::Display for Members {
    /// `k=0..5` for a run of numbers, `k∈{1,7,13}` otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0[0], self.horizon());
        if last - first + 1 == self.len() {
            return if first == last { write!(f, "k={first}") } else { write!(f, "k={first}..{last}") };
        }
        let list: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "k∈{{{}}}", list.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sorted_printed_and_bounded() {
        assert_eq!(Members::up_to(5).to_string(), "k=0..5");
        assert_eq!(Members::new([13, 1, 7, 1]).unwrap().to_string(), "k∈{1,7,13}");
        assert_eq!(Members::new([2]).unwrap().to_string(), "k=2");
        assert!(matches!(Members::new([]), Err(Error::Empty { .. })));
        let error = Members::new(0..=usize::MAX).unwrap_err();
        assert_eq!(error.to_string(), "horizon k: 65536 is outside the range 0 to 65535");
        assert_eq!(Members::up_to(u16::MAX).horizon(), MAX_HORIZON);
    }

    #[test]
    fn a_long_list_is_read_to_its_end() {
        let ones_and_a_seven = std::iter::repeat_n(1, 10_002).chain([7]);
        assert_eq!(Members::new(ones_and_a_seven).unwrap().to_string(), "k∈{1,7}");
    }
}
