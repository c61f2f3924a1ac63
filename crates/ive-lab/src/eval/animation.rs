//! An episode as an animation: the board, and below it what the agent expects and how much its estimates disagree.

use ive_envs::Sight;
use ive_envs::minatar::picture::{Picture, draw};

use super::episode::{Episode, Step};
use super::gauge::{Canvas, Gauge, Inks, PALETTE, height};
use crate::exit::{Failure, Outcome};

/// Pixels per cell.
pub const SCALE: usize = 24;
/// Hundredths of a second for a step, and for the end of the episode.
const DELAY: u16 = 12;
const LAST_DELAY: u16 = 200;
/// Pixels a side of pictures that are no boards.
const WIDTH: usize = 256;
/// Most of these in an animation: of longer episodes steps are left out, each second one and so on. Boards are small and all stay.
const PICTURES: usize = 300;
/// How quickly, from 1 to 30, the colours of a picture are chosen.
const QUICK: i32 = 10;

/// The animation of an episode that was watched, as GIF.
pub fn gif(episode: &Episode, scale: usize) -> Outcome<Vec<u8>> {
    if let Some(Sight::Pixels { .. }) = episode.sights.first() {
        return pixels(episode);
    }
    let (game, boards) = episode.boards()?;
    let failed = |e: gif::EncodingError| Failure::internal(format!("cannot make the animation: {e}"));
    let known = draw(game, &[], 1).palette;
    let gauges = gauges(episode, known.len() as u8);
    let side = 10 * scale;
    let tall = side + gauges.len() * height(side);
    let palette = [known.concat(), PALETTE.concat()].concat();
    let mut encoder = gif::Encoder::new(Vec::new(), side as u16, tall as u16, &palette).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    for (t, board) in boards.iter().enumerate() {
        // The last board is that after the last step: nothing is expected of it.
        let now = t.min(episode.steps.len().saturating_sub(1));
        let canvas = picture(draw(game, board, scale), &gauges, now);
        let mut frame = gif::Frame::from_indexed_pixels(side as u16, tall as u16, canvas.pixels, None);
        frame.palette = None;
        frame.delay = if t + 1 == boards.len() { LAST_DELAY } else { DELAY };
        encoder.write_frame(&frame).map_err(failed)?;
    }
    encoder.into_inner().map_err(|e| Failure::internal(format!("cannot make the animation: {e}")))
}

/// The same of an environment that shows pictures: each enlarged, with colours of its own.
fn pixels(episode: &Episode) -> Outcome<Vec<u8>> {
    let failed = |e: gif::EncodingError| Failure::internal(format!("cannot make the animation: {e}"));
    let gauges = gauges(episode, 0);
    let wide = WIDTH;
    let tall = wide + gauges.len() * height(wide);
    let mut encoder = gif::Encoder::new(Vec::new(), wide as u16, tall as u16, &[]).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    let (last, every) = (episode.sights.len() - 1, episode.sights.len().div_ceil(PICTURES));
    for (t, sight) in episode.sights.iter().enumerate().filter(|(t, _)| t % every == 0 || *t == last) {
        let Sight::Pixels { side, rgb } = sight else { continue };
        let now = t.min(episode.steps.len().saturating_sub(1));
        let strips = strips(&gauges, wide, now);
        let shown = (0..wide * wide).map(|i| (i / wide * side / wide) * side + i % wide * side / wide);
        let picture = shown.flat_map(|at| rgb[3 * at..][..3].iter().copied());
        let below = strips.pixels.iter().flat_map(|&ink| PALETTE[usize::from(ink)]);
        let all: Vec<u8> = picture.chain(below).collect();
        let mut frame = gif::Frame::from_rgb_speed(wide as u16, tall as u16, &all, QUICK);
        frame.delay = if t == last { LAST_DELAY } else { DELAY };
        encoder.write_frame(&frame).map_err(failed)?;
    }
    encoder.into_inner().map_err(|e| Failure::internal(format!("cannot make the animation: {e}")))
}

/// The gauges of a step alone, in the colours of [`PALETTE`].
fn strips(gauges: &[Gauge], wide: usize, now: usize) -> Canvas {
    let mut canvas = Canvas { width: wide, pixels: vec![0; wide * gauges.len() * height(wide)] };
    let inks = Inks { ground: 0, future: 1, now: 2 };
    for (i, gauge) in gauges.iter().enumerate() {
        gauge.draw(&mut canvas, i * height(wide), now, inks);
    }
    canvas
}

/// A board above the gauges of a step.
fn picture(board: Picture, gauges: &[Gauge], now: usize) -> Canvas {
    let Picture { side, mut pixels, palette } = board;
    pixels.resize(side * (side + gauges.len() * height(side)), 0);
    let mut canvas = Canvas { width: side, pixels };
    let first = palette.len() as u8;
    let inks = Inks { ground: first, future: first + 1, now: first + 2 };
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
    use ive::Members;
    use ive_agents::Estimates;
    use ive_envs::minatar::Game;

    fn episode(sigma: f64) -> Episode {
        let step = |t: usize| Step {
            action: "noop".into(),
            random: false,
            alarm: false,
            fallback: false,
            reward: 0.0,
            value: 1.0,
            members: Some(Estimates::new(
                Members::new(1..=2).unwrap(),
                vec![1.0 - sigma, 1.0 + sigma * (1.0 + t as f64)],
            )),
            realised: 0.0,
        };
        Episode {
            number: 0,
            members: Members::new(1..=2).ok(),
            guarded: false,
            steps: (0..4).map(step).collect(),
            sights: vec![Sight::Board { game: Game::Breakout, cells: vec![0; 400] }; 5],
            cut_off: false,
        }
    }

    /// Pictures of two by two pixels become 256 wide, with the strips below.
    #[test]
    fn pictures_have_strips_too() {
        let mut episode = episode(0.1);
        episode.sights = vec![Sight::Pixels { side: 2, rgb: [200, 10, 10].repeat(4) }; 5];
        let gif = gif(&episode, SCALE).unwrap();
        let tall = (WIDTH + 2 * height(WIDTH)) as u16;
        assert_eq!(gif[6..10], [(WIDTH as u16).to_le_bytes(), tall.to_le_bytes()].concat());
    }

    /// Of 702 pictures each third one is shown, and the end of the episode, for longer.
    #[test]
    fn long_episodes_leave_steps_out_but_not_the_last() {
        let mut episode = episode(0.1);
        episode.steps = vec![episode.steps[0].clone(); 701];
        episode.sights = vec![Sight::Pixels { side: 1, rgb: vec![200, 10, 10] }; 702];
        let gif = gif(&episode, SCALE).unwrap();
        // Each picture is announced by a control block that holds its delay.
        let delays: Vec<u8> = gif.windows(5).filter(|w| w[..3] == [0x21, 0xf9, 4]).map(|w| w[4]).collect();
        assert_eq!((delays.len(), delays[0], delays[234]), (235, DELAY as u8, LAST_DELAY as u8));
    }

    /// The board is that of the game, whatever is expected; the strip below it changes with σ.
    #[test]
    fn the_strip_below_the_board_changes_with_sigma() {
        let (calm, unsure) = (episode(0.1), episode(0.3));
        let empty = || draw(Game::Breakout, &[0; 400], SCALE);
        let at = |e: &Episode, t| picture(empty(), &gauges(e, 14), t);
        let (a, b) = (at(&calm, 2), at(&unsure, 2));
        let (side, board) = (240, 240 * 240);
        assert_eq!(a.pixels.len(), side * (side + 2 * height(side)));
        assert_eq!(a.pixels[..board], empty().pixels[..]);
        assert_eq!(a.pixels[..board], b.pixels[..board]);
        assert_ne!(a.pixels[board + side * height(side)..], b.pixels[board + side * height(side)..]);
        assert_ne!(at(&calm, 1).pixels[board..], at(&calm, 3).pixels[board..], "the present step is marked");
        let gif = gif(&calm, SCALE).unwrap();
        let (width, height) = (240_u16, (240 + 2 * height(240)) as u16);
        assert_eq!(gif[6..10], [width.to_le_bytes(), height.to_le_bytes()].concat());
    }
}
