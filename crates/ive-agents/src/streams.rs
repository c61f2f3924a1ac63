//! Labels of the random streams of a run: each part of an agent takes its own from the seed, so that a draw more in one of
//! them shifts nothing elsewhere.

/// Initial parameters.
pub(crate) const INITIAL: u64 = 0;
/// The seeds of the environments of training.
pub(crate) const ENVIRONMENTS: u64 = 1;
/// Random actions.
pub(crate) const ACTING: u64 = 2;
/// What is drawn from replay.
pub(crate) const REPLAY: u64 = 3;
/// Noise of updates: of latent states and of imagined actions.
pub(crate) const LEARNING: u64 = 4;
/// Evaluations during training.
pub(crate) const EVALUATION: u64 = 5;
/// Frozen random networks.
pub(crate) const PRIORS: u64 = 6;
/// Actions by which the outputs of random networks are centred.
pub(crate) const CENTRING: u64 = 7;
/// Paths that are imagined before an action is chosen.
pub(crate) const IMAGINING: u64 = 8;
/// What is asked of an agent in training without influence on it.
pub(crate) const PROBING: u64 = 9;
