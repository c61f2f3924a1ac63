//! What the paper's Tables 1 and 3 say, and who is in them.

use crate::report::plot::colour;

/// How data are collected, in the order of the table. What is learned from them is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// The actor with noise.
    Dreamer,
    /// Plans that climb Dreamer's own λ-return.
    DreamerPlan,
    /// Plans that climb the mean of the members.
    Mu,
    /// Plans that climb μ + βσ of the implicit ensemble: the paper's method.
    MuSigma,
    /// The best of several plans of the actor by the same.
    MuSigmaSample,
    /// Plans that climb μ + βσ of five value networks.
    Eve,
    /// Plans that climb μ + βσ of five models.
    Emve,
}

impl Method {
    /// All seven, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Dreamer,
        Self::DreamerPlan,
        Self::Mu,
        Self::MuSigma,
        Self::MuSigmaSample,
        Self::Eve,
        Self::Emve,
    ];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        [
            "dreamer",
            "dreamer-gradient",
            "mu-ive",
            "mu-sigma-ive",
            "mu-sigma-ive-sample",
            "mu-sigma-eve",
            "mu-sigma-emve",
        ][self as usize]
    }

    /// As it is printed: ♢ plans by gradients, ♣ by samples.
    pub fn label(self) -> &'static str {
        ["Dreamer", "Dreamer♢", "μ-IVE(5)♢", "μ+σ-IVE(5)♢", "μ+σ-IVE(5)♣", "μ+σ-EVE(5)♢", "μ+σ-EMVE(5)♢"]
            [self as usize]
    }

    /// Its colour in every figure.
    pub fn colour(self) -> &'static str {
        [
            colour::BASELINE,
            colour::PLAN,
            colour::GREEDY,
            colour::IVE,
            colour::SAMPLE,
            colour::EVE,
            colour::EMVE,
        ][self as usize]
    }

    /// Its settings of the agent: who collects, and by what plans are judged.
    pub fn behaviour(self) -> [&'static str; 2] {
        match self {
            Self::Dreamer => ["behaviour=actor", "utility=lambda-return"],
            Self::DreamerPlan => ["behaviour=gradient", "utility=lambda-return"],
            Self::Mu | Self::MuSigma => ["behaviour=gradient", "utility=ive"],
            Self::MuSigmaSample => ["behaviour=sample", "utility=ive"],
            Self::Eve => ["behaviour=gradient", "utility=eve"],
            Self::Emve => ["behaviour=gradient", "utility=emve"],
        }
    }

    /// Whether it plans, and so has something to say about its plans.
    pub fn plans(self) -> bool {
        self != Self::Dreamer
    }

    /// Whether plans are found by gradients, so that their step matters.
    pub fn climbs(self) -> bool {
        self.plans() && self != Self::MuSigmaSample
    }

    /// Whether σ takes part, so that β matters.
    pub fn seeks(self) -> bool {
        self >= Self::MuSigma
    }
}

/// Environment steps of a run in the paper.
pub const STEPS: u64 = 1_000_000;
/// Seeds in the paper.
pub const SEEDS: u64 = 3;
/// The largest return of an episode.
pub const BEST: f64 = 1000.0;

/// The thresholds of the paper.
const THRESHOLDS: [f64; 4] = [0.0, 0.2, 0.3, 0.5];

/// Mean return and standard error over three runs of 1M steps, `[method][threshold]` in the order of [`Method::ALL`]. Paper:
/// Tables 1 and 3.
const TABLE: [[(f64, f64); 4]; 7] = [
    [(1000.0, 0.0), (720.0, 10.0), (570.0, 60.0), (80.0, 50.0)],
    [(1000.0, 0.0), (540.0, 30.0), (240.0, 50.0), (40.0, 30.0)],
    [(1000.0, 0.0), (860.0, 40.0), (690.0, 70.0), (210.0, 60.0)],
    [(1000.0, 0.0), (1000.0, 0.0), (1000.0, 0.0), (330.0, 70.0)],
    [(1000.0, 0.0), (1000.0, 0.0), (1000.0, 0.0), (280.0, 40.0)],
    [(1000.0, 0.0), (1000.0, 0.0), (980.0, 10.0), (280.0, 50.0)],
    [(1000.0, 0.0), (910.0, 20.0), (730.0, 40.0), (210.0, 60.0)],
];

/// The paper's mean return and standard error, where it has this threshold.
pub fn table(method: Method, threshold: f64) -> Option<(f64, f64)> {
    let column = THRESHOLDS.iter().position(|&known| known == threshold)?;
    Some(TABLE[method as usize][column])
}
