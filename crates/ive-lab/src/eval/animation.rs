//! An episode as an animation: the board, and below it what the agent expects and how much its estimates disagree.

use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{Picture, draw};

use super::episode::{Episode, Step};
use super::gauge::{Canvas, Gauge, Inks, PALETTE, height};
use crate::exit::{Failure, Outcome};

/// Pixels per cell.
pub const SCALE: usize = 24;
/// Hundredths of a second for a step, and for the end of the episode.
const DELAY: u16 = 12;
const LAST_DELAY: u16 = 200;

/// The animation of an episode that was watched, as GIF.
pub fn gif(episode: &Episode, game: Game, scale: usize) -> Outcome<Vec<u8>> {
    let failed = |e: gif::EncodingError| Failure::internal(format!("cannot make the animation: {e}"));
    let known = draw(game, &[], 1).palette;
    let gauges = gauges(episode, known.len() as u8);
    let side = 10 * scale;
    let tall = side + gauges.len() * height(side);
    let palette = [known.concat(), PALETTE.concat()].concat();
    let mut encoder = gif::Encoder::new(Vec::new(), side as u16, tall as u16, &palette).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    for t in 0..episode.sights.len() {
        let canvas = picture(episode, game, scale, &gauges, t);
        let mut frame = gif::Frame::from_indexed_pixels(side as u16, tall as u16, canvas.pixels, None);
        frame.palette = None;
        frame.delay = if t + 1 == episode.sights.len() { LAST_DELAY } else { DELAY };
        encoder.write_frame(&frame).map_err(failed)?;
    }
    encoder.into_inner().map_err(|e| Failure::internal(format!("cannot make the animation: {e}")))
}

/// The board at a step, or after the last one, above the gauges.
fn picture(episode: &Episode, game: Game, scale: usize, gauges: &[Gauge], t: usize) -> Canvas {
    let Picture { side, mut pixels, palette } = draw(game, &episode.sights[t], scale);
    pixels.resize(side * (side + gauges.len() * height(side)), 0);
    let mut canvas = Canvas { width: side, pixels };
    let first = palette.len() as u8;
    let inks = Inks { ground: first, future: first + 1, now: first + 2 };
    // The last sight is that after the last step: nothing is expected of it.
    let now = t.min(episode.steps.len().saturating_sub(1));
    for (i, gauge) in gauges.iter().enumerate() {
        gauge.draw(&mut canvas, side + i * height(side), now, inks);
    }
    canvas
}

/// μ and σ, or the value of an agent without a model.
fn gauges(episode: &Episode, palette: u8) -> Vec<Gauge> {
    let of =
        |number: fn(&Step) -> Option<f64>| episode.steps.iter().map(number).collect::<Option<Vec<f64>>>();
    let gauge = |name, values, decimals, place: u8| Gauge {
        name,
        values,
        decimals,
        ink: palette + 3 + place,
        tells_step: place == 0,
    };
    match (of(Step::mu), of(Step::sigma)) {
        (Some(mu), Some(sigma)) => vec![gauge("μ", mu, 2, 0), gauge("σ", sigma, 3, 1)],
        _ => vec![gauge("value", of(|step| Some(step.value)).unwrap_or_default(), 2, 0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(sigma: f64) -> Episode {
        let step = |t: usize| Step {
            action: 0,
            random: false,
            reward: 0.0,
            value: 1.0,
            members: vec![1.0 - sigma, 1.0 + sigma * (1.0 + t as f64)],
            realised: 0.0,
        };
        Episode {
            number: 0,
            members: ive::Members::new(1..=2).ok(),
            steps: (0..4).map(step).collect(),
            sights: vec![vec![0; 400]; 5],
            cut_off: false,
        }
    }

    /// The board is that of the game, whatever is expected; the strip below it changes with σ.
    #[test]
    fn the_strip_below_the_board_changes_with_sigma() {
        let (calm, unsure) = (episode(0.1), episode(0.3));
        let at = |e: &Episode, t| picture(e, Game::Breakout, SCALE, &gauges(e, 14), t);
        let (a, b) = (at(&calm, 2), at(&unsure, 2));
        let (side, board) = (240, 240 * 240);
        assert_eq!(a.pixels.len(), side * (side + 2 * height(side)));
        assert_eq!(a.pixels[..board], draw(Game::Breakout, &[0; 400], SCALE).pixels[..]);
        assert_eq!(a.pixels[..board], b.pixels[..board]);
        assert_ne!(a.pixels[board + side * height(side)..], b.pixels[board + side * height(side)..]);
        assert_ne!(at(&calm, 1).pixels[board..], at(&calm, 3).pixels[board..], "the present step is marked");
        let gif = gif(&calm, Game::Breakout, SCALE).unwrap();
        let (width, height) = (240_u16, (240 + 2 * height(240)) as u16);
        assert_eq!(gif[6..10], [width.to_le_bytes(), height.to_le_bytes()].concat());
    }
}
