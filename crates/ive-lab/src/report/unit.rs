//! What an effect is measured in, and which number would mean "no effect".

use serde::Serialize;

/// The unit of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// In words.
    pub name: &'static str,
    /// In few letters, for narrow columns.
    #[serde(skip)]
    pub symbol: &'static str,
    /// The number that stands for no effect.
    pub no_effect: f64,
}

impl Unit {
    /// One σ divided by another.
    pub const RATIO: Self = Self { name: "ratio", symbol: "ratio", no_effect: 1.0 };
    /// What is left of something.
    pub const SHARE: Self = Self { name: "share", symbol: "share", no_effect: 1.0 };
    /// Area under the ROC curve.
    pub const AUROC: Self = Self { name: "AUROC", symbol: "AUROC", no_effect: 0.5 };
    /// A probability minus another.
    pub const PROBABILITIES: Self =
        Self { name: "difference of probabilities", symbol: "Δ probability", no_effect: 0.0 };
    /// A rank correlation minus another.
    pub const CORRELATIONS: Self =
        Self { name: "difference of rank correlations", symbol: "Δ rank correlation", no_effect: 0.0 };
    /// A normalised score minus another.
    pub const SCORES: Self =
        Self { name: "difference of normalised scores", symbol: "Δ normalised score", no_effect: 0.0 };

    /// A return minus another, or minus a level.
    pub const RETURNS: Self = Self { name: "difference of returns", symbol: "Δ return", no_effect: 0.0 };
    /// A share minus another.
    pub const SHARES: Self = Self { name: "difference of shares", symbol: "Δ share", no_effect: 0.0 };

    /// `ratio; 1 = no effect`.
    pub fn words(self) -> String {
        format!("{}; {} = no effect", self.name, self.no_effect)
    }
}
