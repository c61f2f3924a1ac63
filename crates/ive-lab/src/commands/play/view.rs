//! What the observations of an environment look like: a board of cells, or a photograph.

use crate::exit::{Failure, Outcome};
use ive_envs::Sight;
use ive_envs::minatar::Game;

/// Pixels a side of an observation that is a photograph.
pub const PIXELS: usize = 64;

/// How the observations of an environment are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Cells with an object each.
    Board(Game),
    /// Red, green and blue of so many pixels per side.
    Photo(usize),
}

impl View {
    /// The view of an environment.
    pub fn of(name: &str) -> Outcome<Self> {
        let known = match name.split_once(':') {
            Some(("procgen" | "walker", _)) => Some(Self::Photo(PIXELS)),
            Some(("minatar", game)) => Game::from_name(game).map(Self::Board),
            _ => None,
        };
        known.ok_or_else(|| Failure::usage(format!("there are no pictures of {name}")))
    }

    /// Cells, or pixels of the observation, per side.
    pub fn cells(self) -> usize {
        match self {
            Self::Board(_) => 10,
            Self::Photo(side) => side,
        }
    }

    /// Pixels of a picture for each of them, unless somebody wants another size.
    pub fn scale(self) -> u16 {
        match self {
            Self::Board(_) => 24,
            Self::Photo(_) => 6,
        }
    }
}

/// What there is to show of a sight.
pub fn bytes(sight: &Sight) -> &[u8] {
    match sight {
        Sight::Board { cells, .. } => cells,
        Sight::Pixels { rgb, .. } => rgb,
    }
}

/// A square picture with `scale` pixels for each one of a smaller picture.
pub fn enlarge<T: Copy>(pixels: &[T], side: usize, scale: usize) -> Vec<T> {
    let wide = side * scale;
    (0..wide * wide).map(|i| pixels[i / wide / scale * side + i % wide / scale]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_picture_repeats_its_pixels() {
        assert_eq!(enlarge(&[1, 2, 3, 4], 2, 2), [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4]);
        assert_eq!(enlarge(&[1, 2, 3, 4], 2, 1), [1, 2, 3, 4]);
    }

    #[test]
    fn worlds_without_pictures_are_refused() {
        assert_eq!(View::of("procgen:maze").unwrap(), View::Photo(64));
        assert_eq!(View::of("minatar:freeway").unwrap(), View::Board(Game::Freeway));
        assert_eq!(View::of("walker:walk").unwrap(), View::Photo(64));
        assert_eq!(View::of("chess").unwrap_err().message, "there are no pictures of chess");
    }
}
