//! WORLDS in which to study implicit value ensembles.
mod nearest;
pub use nearest::nearest;
