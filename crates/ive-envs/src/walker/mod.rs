//! The planar walker of the DeepMind Control Suite.

pub mod picture;
