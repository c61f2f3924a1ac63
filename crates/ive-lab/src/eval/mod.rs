//! Looking at an agent of a run: it plays, and what it expected is held against what came; or it is shown states that are
//! out of distribution, and asked whether it notices.
//!
//! - [`members`]: over which members of the implicit ensemble;
//! - [`episode`]: an episode step by step; [`show`]: as text, CSV and JSON; [`portrait`]: as a picture; [`animation`]:
//!   as a GIF, with [`gauge`]s of μ and σ in [`letters`] of its own;
//! - [`ood`]: does σ tell corrupted states from ordinary ones? [`clusters`]: with an interval by episodes; [`detectors`]: as
//!   text, CSV and picture.

pub mod animation;
pub mod clusters;
pub mod detectors;
pub mod episode;
pub mod gauge;
pub mod guarding;
pub mod letters;
pub mod members;
pub mod ood;
pub mod portrait;
pub mod show;
