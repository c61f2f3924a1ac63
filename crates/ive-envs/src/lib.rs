//! WORLDS in which to study implicit value ensembles.
pub mod grid;
mod nearest;
pub use nearest::nearest;
