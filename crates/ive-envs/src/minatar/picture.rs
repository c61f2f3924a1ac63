//! Pictures of the games.
