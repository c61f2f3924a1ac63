//! What people see of an environment: a board of cells, or a photograph.

use crate::exit::{Failure, Outcome};
use ive_envs::Sight;
use ive_envs::minatar::Game;

/// Pixels a side of a photograph, where an environment can draw itself at any size.
pub const PIXELS: usize = 64;

/// How an environment is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Cells with an object each.
    Board(Game),
    /// Red, green and blue of so many pixels per side.
    Photo(usize),
}

impl View {
    /// The view of an environment by what it shows of itself.
    pub fn of(sight: Option<&Sight>, name: &str) -> Outcome<Self> {
        match sight {
            Some(&Sight::Board { game, .. }) => Ok(Self::Board(game)),
            Some(&Sight::Pixels { side, .. }) => Ok(Self::Photo(side)),
            None => Err(Failure::usage(format!("there are no pictures of {name}"))),
        }
    }

    /// Cells, or pixels of the photograph, per side.
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
            Self::Photo(side) => (6 * PIXELS / side).max(1) as u16,
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
    fn a_view_follows_what_is_seen_and_nothing_is_refused_by_name() {
        let view = |sight: &Sight| View::of(Some(sight), "chess").unwrap();
        let freeway = Sight::Board { game: Game::Freeway, cells: vec![0; 700] };
        assert_eq!(view(&freeway), View::Board(Game::Freeway));
        // Small pictures are enlarged to about the size of those of Procgen, 6 × 64 pixels.
        for (side, scale) in [(64, 6), (10, 38), (1000, 1)] {
            let photo = view(&Sight::Pixels { side, rgb: vec![0; 3 * side * side] });
            assert_eq!((photo, photo.scale()), (View::Photo(side), scale));
        }
        assert_eq!(View::of(None, "chess").unwrap_err().message, "there are no pictures of chess");
    }
}
