//! `ive play`: a world in the terminal, by hand, at random or by an agent of a run, and pictures of it.

mod game;
mod player;
pub mod record;
mod screen;
mod thought;
pub mod view;

use crate::commands::env::WorldArgs;
use crate::exit::{Failure, Outcome};
use clap::Args;
use game::Game;
use player::Player;
use record::{Recorder, Recording};
use screen::{Command, Screen, command_until};
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thought::Thoughts;
use view::View;

/// The arguments of `ive play`.
#[derive(Args, Debug)]
#[command(after_help = "\
Keys: arrows or WASD move, space shoots, p pauses, r starts over, q quits.

With --policy random, zero or a run, and --frames or --gif, nothing is shown and nothing waits: the
pictures are simply made. An agent plays in the world as it was trained in it, unless options here
say otherwise. The walker has six motors and no keys: dice move them, or nobody does.

Examples:
  ive play minatar:breakout
  ive play minatar:seaquest --fps 5 --sticky 0
  ive play minatar:space_invaders --policy random --steps 200 --gif invaders.gif
  ive play minatar:freeway --policy random --steps 20 --frames pictures/
  ive play procgen:coinrun -o mode=easy --fps 15
  ive play procgen:jumper --policy random --steps 100 --gif jumper.gif
  ive play walker:walk --policy random --steps 200 --gif walker.gif
  ive play walker:stand --policy zero --steps 60 --frames fall/ --scale 8
  ive play minatar:breakout --policy runs/breakout-mu-ive-0
  ive play minatar:breakout --policy runs/breakout-mu-ive-0 --sticky 0.5 --steps 500 --gif sticky.gif")]
pub struct PlayArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// Who plays: keyboard, random, zero (walker: motors off), or the directory of a run, whose agent then does.
    #[arg(long, default_value = "keyboard", value_name = "keyboard|random|zero|RUN", value_parser = Player::parse)]
    policy: Player,
    /// Stop after this many steps [default: at will, or 200 when only pictures are made].
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Steps per second [default: 8; walker: as fast as it is, 40 over `repeat`].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=100))]
    fps: Option<u16>,
    /// Write a PNG per step into this directory.
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Write an animation.
    #[arg(long, value_name = "FILE")]
    gif: Option<PathBuf>,
    /// Pixels per cell in pictures, or per pixel of Procgen [default: 24, or 6]; walker: its pictures have 64 times as many a
    /// side [default: 4].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=200))]
    scale: Option<u16>,
}

/// How a game goes.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    steps: u64,
    /// Episodes that are over.
    ended: u64,
    total: f64,
    best: f64,
}

/// Runs `ive play`.
///
/// # Errors
/// If the world does not exist, there is no terminal to play in, or a picture cannot be written.
pub fn run(args: &PlayArgs) -> Outcome {
    let PlayArgs { frames, gif, scale, .. } = args;
    let mut game = Game::ready(&args.policy, &args.world, *scale)?;
    let fps = args.fps.unwrap_or(game.fps());
    let recording = Recording { frames: frames.clone(), gif: gif.clone(), scale: *scale, fps };
    let mut recorder = game.recorder(&args.world.name, recording)?;
    let silent = args.policy != Player::Keyboard && recorder.is_active();
    if !silent && !stdout().is_terminal() {
        return Err(Failure::usage(
            "playing needs a terminal; with --policy random or a run, --frames or --gif make pictures without one",
        ));
    }
    let score = if silent {
        unattended(args, &mut game, &mut recorder)?
    } else {
        attended(args, fps, &mut game, &mut recorder)?
    };
    let written = recorder.finish()?;
    println!("steps: {}, episodes ended: {}, best return: {}{written}", score.steps, score.ended, score.best);
    Ok(())
}

/// Play for the sake of the pictures.
fn unattended(args: &PlayArgs, game: &mut Game, recorder: &mut Recorder) -> Outcome<Score> {
    let mut score = Score::default();
    begin(game, &mut score, recorder)?;
    while score.steps < args.steps.unwrap_or(200) {
        if turn(game, 0, &mut score, recorder)? {
            begin(game, &mut score, recorder)?;
        }
    }
    Ok(score)
}

/// Play before somebody's eyes.
fn attended(args: &PlayArgs, fps: u16, game: &mut Game, recorder: &mut Recorder) -> Outcome<Score> {
    let failed = |error: std::io::Error| Failure::io(format!("cannot use the terminal: {error}"));
    let names = game.actions();
    let by_hand = args.policy == Player::Keyboard;
    let mut score = Score::default();
    let mut paused = false;
    begin(game, &mut score, recorder)?;
    let name = &args.world.name;
    let mut screen = Screen::open(name, View::of(name)?, by_hand).map_err(failed)?;
    let mut thoughts = Thoughts::default();
    let mut thought = None;
    while args.steps.is_none_or(|limit| score.steps < limit) {
        screen.show(&game.shown()?, &score, paused).map_err(failed)?;
        // Once for each state: a pause repeats none.
        if thought != Some((score.steps, score.ended)) {
            game.thought().into_iter().for_each(|new| thoughts.push(new));
            thought = Some((score.steps, score.ended));
        }
        screen.think(&thoughts.lines()).map_err(failed)?;
        let tick = Instant::now() + Duration::from_secs(1) / u32::from(fps);
        let mut wanted = "noop";
        match command_until(tick).map_err(failed)? {
            Some(Command::Quit) => break,
            Some(Command::Pause) => paused = !paused,
            Some(Command::StartOver) => {
                thoughts.clear();
                thought = None;
                begin(game, &mut score, recorder)?;
                continue;
            }
            Some(Command::Act(name)) => (wanted, paused) = (name, false),
            None => {}
        }
        if paused {
            continue;
        }
        if turn(game, action_of(&names, wanted), &mut score, recorder)? {
            if by_hand {
                screen.flash(&game.shown()?, &score).map_err(failed)?;
            }
            thoughts.clear();
            begin(game, &mut score, recorder)?;
        }
    }
    Ok(score)
}

/// The number of the action that a key asks for. The key that shoots is `d` in Procgen.
fn action_of(names: &[&str], wanted: &str) -> usize {
    let find = |wanted: &str| names.iter().position(|&name| name == wanted);
    let shoot = || find("d").filter(|_| wanted == "fire");
    find(wanted).or_else(shoot).or_else(|| find("noop")).unwrap_or(0)
}

/// A step, and whether the episode is over.
fn turn(game: &mut Game, by_hand: usize, score: &mut Score, recorder: &mut Recorder) -> Outcome<bool> {
    let step = game.turn(by_hand)?;
    score.steps += 1;
    score.total += step.reward;
    score.best = score.best.max(score.total);
    score.ended += u64::from(step.kind.is_last());
    game.show(recorder)?;
    Ok(step.kind.is_last())
}

/// A new episode.
fn begin(game: &mut Game, score: &mut Score, recorder: &mut Recorder) -> Outcome {
    score.total = 0.0;
    game.begin()?;
    game.show(recorder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_actions_that_the_world_has() {
        let (board, procgen) = (["noop", "left", "fire"], ive_envs::procgen::ACTIONS);
        assert_eq!(["left", "fire", "up", "noop"].map(|key| action_of(&board, key)), [1, 2, 0, 0]);
        assert_eq!(["left", "fire", "up", "noop"].map(|key| action_of(&procgen, key)), [1, 9, 5, 4]);
    }
}
