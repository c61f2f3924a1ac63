//! Levels: those of training, those that nobody has seen, and the scale of returns.

use ive_envs::procgen::{Game, Mode};

/// The first level that no agent is trained on. Training levels are 0, 1, … and always fewer than this.
pub const UNSEEN: u32 = 1_000_000;

/// The games of Fig. 4.
pub const GAMES: [Game; 5] = [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];

/// At most so many of the training levels 0 to `levels` − 1, at equal distances.
pub fn seen(levels: u32, most: u32) -> Vec<u32> {
    let count = levels.min(most);
    (0..count).map(|i| (u64::from(i) * u64::from(levels) / u64::from(count)) as u32).collect()
}

/// So many levels that no agent was trained on.
pub fn unseen(count: u32) -> Vec<u32> {
    (UNSEEN..UNSEEN + count).collect()
}

/// The smallest and largest return of a game, by which returns are normalised: `(R − R_min) / (R_max − R_min)`. Constants of Procgen's authors
/// (Cobbe et al. 2020, as in their training code; their paper's table has 3 for the smallest return of jumper in easy mode).
pub fn scale(game: Game, mode: Mode) -> Option<(f64, f64)> {
    let (hard, easy) = match game {
        Game::Chaser => ((0.5, 14.2), (0.5, 13.0)),
        Game::Climber => ((1.0, 12.6), (2.0, 12.6)),
        Game::CoinRun => ((5.0, 10.0), (5.0, 10.0)),
        Game::FruitBot => ((-0.5, 27.2), (-1.5, 32.4)),
        Game::Jumper => ((1.0, 10.0), (1.0, 10.0)),
        _ => return None,
    };
    match mode {
        Mode::Hard => Some(hard),
        Mode::Easy => Some(easy),
        _ => None,
    }
}

/// A return on that scale.
pub fn normalised(game: Game, mode: Mode, score: f64) -> f64 {
    scale(game, mode).map_or(f64::NAN, |(low, high)| (score - low) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Training levels begin at 0 and are fewer than [`UNSEEN`], whatever is visited of them.
    #[test]
    fn levels_of_training_and_unseen_levels_never_overlap() {
        for levels in [1, 2, 10, 64, 100, 1000, 99_999, UNSEEN] {
            for most in [1, 7, 64, 1000] {
                let (known, new) = (seen(levels, most), unseen(most));
                assert_eq!(known.len(), levels.min(most) as usize);
                assert!(known.iter().all(|level| *level < levels), "{levels} {most}");
                assert!(new.iter().all(|level| *level >= UNSEEN) && new.len() == most as usize);
                assert!(known.is_sorted_by(|a, b| a < b), "each once");
            }
        }
        assert_eq!(seen(10, 64), (0..10).collect::<Vec<_>>());
        assert_eq!(seen(1000, 4), [0, 250, 500, 750]);
    }

    #[test]
    fn returns_are_normalised_between_the_published_ends() {
        assert!((normalised(Game::FruitBot, Mode::Easy, 32.4) - 1.0).abs() < 1e-12);
        assert!((normalised(Game::CoinRun, Mode::Hard, 7.5) - 0.5).abs() < 1e-12);
        assert!(
            GAMES.iter().all(|game| scale(*game, Mode::Easy).is_some() && scale(*game, Mode::Hard).is_some())
        );
        assert!(scale(Game::Maze, Mode::Easy).is_none());
    }
}
