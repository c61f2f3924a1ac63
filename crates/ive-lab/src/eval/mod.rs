//! Looking at an agent of a run: it plays, and what it expected is held against what came; or it is shown strange states,
//! and asked whether it notices.
//!
//! - [`episode`]: an episode step by step, with the members of the implicit ensemble; [`show`]: as text, CSV and JSON;
//!   [`portrait`]: as a picture;
//! - [`corruption`]: states that are not of this world; [`strange`]: does σ tell them from ordinary ones?

pub mod corruption;
pub mod episode;
pub mod portrait;
pub mod show;
pub mod strange;
