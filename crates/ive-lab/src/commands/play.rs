//! `ive play`: an environment in the terminal, by hand, at random or by an agent of a run, and pictures of it.

mod game;
mod player;
pub mod record;
mod screen;
mod thought;
pub mod view;
mod watch;

use crate::commands::env::EnvironmentArgs;
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, file, layout};
use crate::progress;
use clap::Args;
use game::Game;
use ive_envs::registry;
use player::Player;
use record::{Recorder, Recording};
use screen::{Command, Screen, command_until};
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use watch::{Eyes, Watched};

/// The arguments of `ive play`.
#[derive(Args, Debug)]
#[command(after_help = "\
Keys: arrows or WASD move, space shoots (where the game has it), p pauses, r starts over, q \
quits. The game begins with the first key.

With --policy random, zero or a run, and --frames or --gif, nothing is shown and nothing waits: \
the pictures are simply made. An agent plays in the environment as it was trained in it, unless \
options here say otherwise. The walker has no keyboard control; use --policy random or zero.

Examples:
  ive play minatar:breakout
  ive play minatar:seaquest --fps 5 --sticky 0
  ive play minatar:space_invaders --policy random --gif invaders.gif
  ive play minatar:freeway --policy random --steps 20 --frames pictures/
  ive play procgen:coinrun -o mode=easy --fps 15
  ive play procgen:jumper --policy random --steps 100 --gif jumper.gif
  ive play walker:walk --policy random --steps 200 --gif walker.gif
  ive play walker:stand --policy zero --steps 60 --frames fall/ --scale 8
  ive play minatar:breakout --policy runs/breakout-mu-ive-0
  ive play minatar:breakout --policy runs/breakout-mu-ive-0 --gif agent.gif")]
pub struct PlayArgs {
    #[command(flatten)]
    world: EnvironmentArgs,
    /// The policy: keyboard, random, zero (walker: motors off), or the directory of a run, whose agent then plays
    #[arg(long, default_value = "keyboard", value_name = "keyboard|random|zero|RUN", value_parser = Player::parse)]
    policy: Player,
    /// Stop after this many steps [default: none, or 200 when only pictures are made]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<u64>(1, u64::MAX))]
    steps: Option<u64>,
    /// Steps per second [default: 8; walker: real time, 40 over `repeat`]
    #[arg(long, allow_negative_numbers = true, value_parser = count::<u16>(1, 100))]
    fps: Option<u16>,
    /// Write a PNG per step into this directory
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Write an animation
    #[arg(long, value_name = "FILE.gif")]
    gif: Option<PathBuf>,
    /// Pixels per cell in pictures, or per pixel of Procgen [default: 24, or 6]; walker: its pictures have 64 times as many a
    /// side [default: 4]
    #[arg(long, allow_negative_numbers = true, value_parser = count::<u16>(1, 200))]
    scale: Option<u16>,
}

/// How a game goes.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    steps: u64,
    /// Episodes that are over.
    ended: u64,
    /// The return of this episode so far.
    total: f64,
    /// The largest return of an episode that is over.
    best: Option<f64>,
}

/// Runs `ive play`.
///
/// # Errors
/// If the environment does not exist, there is no terminal to play in, or a picture cannot be written.
pub fn run(args: &PlayArgs) -> Outcome {
    let PlayArgs { frames, gif, scale, .. } = args;
    gif.iter().try_for_each(|path| file::check("--gif", path, &["gif"]))?;
    if let Player::Run(run) = &args.policy {
        return watched(args, run);
    }
    let mut game = Game::ready(&args.policy, &args.world, *scale)?;
    let fps = args.fps.unwrap_or(game.fps());
    let recording = Recording { frames: frames.clone(), gif: gif.clone(), scale: *scale, fps };
    let mut recorder = game.recorder(&args.world.name, recording)?;
    let silent = args.policy != Player::Keyboard && recorder.is_active();
    needs_terminal(silent)?;
    let score = if silent {
        unattended(args, &mut game, &mut recorder)?
    } else {
        attended(args, fps, &mut game, &mut recorder)?
    };
    finish(args, score, recorder)
}

/// An agent of a run plays.
fn watched(args: &PlayArgs, run: &Path) -> Outcome {
    let PlayArgs { frames, gif, scale, .. } = args;
    let (name, walks) = (&args.world.name, args.world.name.starts_with("walker:"));
    let side = if walks { game::walker_side(name, *scale)? } else { view::PIXELS };
    let mut agent = Watched::ready(run, &args.world, side)?;
    let (view, fps) = (agent.view, args.fps.unwrap_or(8));
    let scale = if walks { Some(1) } else { *scale };
    let mut recorder =
        Recorder::new(view, Recording { frames: frames.clone(), gif: gif.clone(), scale, fps })?;
    let silent = recorder.is_active();
    needs_terminal(silent)?;
    let score = if silent {
        agent.play(args, Eyes::Closed(None), &mut recorder)?
    } else {
        let screen = Screen::open(name, view, screen::keys(&[]));
        let mut screen = screen.map_err(|e| Failure::io(format!("cannot use the terminal: {e}")))?;
        agent.play(args, Eyes::Open(&mut screen, fps), &mut recorder)?
    };
    finish(args, score, recorder)
}

fn needs_terminal(silent: bool) -> Outcome {
    if silent || stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(
        "playing needs a terminal; with --policy random or a run, --frames or --gif make pictures without one",
    ))
}

/// Closes the files and says what there is.
fn finish(args: &PlayArgs, score: Score, recorder: Recorder) -> Outcome {
    let written = recorder.finish()?;
    let line = format!("{}{written}", score.line());
    if args.gif.as_deref().is_some_and(file::is_stdout) {
        output::say(&line);
        return Ok(());
    }
    output::print(&layout::fold(&line, output::width(), 2))
}

impl Score {
    /// Counts a step.
    fn count(&mut self, reward: f64, over: bool) {
        self.steps += 1;
        self.total += reward;
        if over {
            self.ended += 1;
            self.best = Some(self.best.map_or(self.total, |best| best.max(self.total)));
        }
    }

    fn line(&self) -> String {
        let Self { steps, ended, total, best } = self;
        let returns = match best {
            Some(best) => format!("best return: {}", points(*best)),
            None => format!("return so far: {}", points(*total)),
        };
        format!("steps: {steps}, episodes ended: {ended}, {returns}")
    }
}

/// Points with two digits where they are not whole: games are paid in points, the walker in fractions.
fn points(points: f64) -> String {
    if points.fract() == 0.0 { format!("{points}") } else { format!("{points:.2}") }
}

/// Play for the sake of the pictures.
fn unattended(args: &PlayArgs, game: &mut Game, recorder: &mut Recorder) -> Outcome<Score> {
    let mut score = Score::default();
    let steps = args.steps.unwrap_or(200);
    let bar = progress::bar("pictures", steps as usize, "steps", false);
    begin(game, &mut score, recorder)?;
    while score.steps < steps {
        if turn(game, 0, &mut score, recorder)? {
            begin(game, &mut score, recorder)?;
        }
        bar.set_position(score.steps);
    }
    bar.finish_and_clear();
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
    let keys = screen::keys(&if by_hand { acting(name, &names) } else { Vec::new() });
    let mut screen = Screen::open(name, game.view(name)?, keys).map_err(failed)?;
    if by_hand {
        // A game that begins before one has found the keys is lost before it is understood.
        screen.show(&game.shown()?, &score, "press a key to begin").map_err(failed)?;
        if screen::any_command().map_err(failed)? == Command::Quit {
            return Ok(score);
        }
    }
    while args.steps.is_none_or(|limit| score.steps < limit) {
        screen.show(&game.shown()?, &score, if paused { "paused" } else { "" }).map_err(failed)?;
        let tick = Instant::now() + Duration::from_secs(1) / u32::from(fps);
        let mut wanted = "noop";
        match command_until(tick).map_err(failed)? {
            Some(Command::Quit) => break,
            Some(Command::Pause) => paused = !paused,
            Some(Command::StartOver) => {
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
            begin(game, &mut score, recorder)?;
        }
    }
    Ok(score)
}

/// The actions that do something in a game, as far as that is known.
fn acting(game: &str, actions: &[&'static str]) -> Vec<&'static str> {
    let minimal = registry::find(game).map(|entry| entry.minimal_actions).unwrap_or_default();
    if minimal.is_empty() { actions.to_vec() } else { minimal }
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
    score.count(step.reward, step.kind.is_last());
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

    /// Breakout's paddle moves sideways, and Freeway's chicken up and down (Young and Tian 2019).
    #[test]
    fn keys_of_a_game_are_those_that_act_in_it() {
        let all = ["noop", "left", "up", "right", "down", "fire"];
        let keys = |game: &str| screen::keys(&acting(game, &all));
        assert!(keys("minatar:breakout").starts_with("← → or A D, p pause"));
        assert!(keys("minatar:freeway").starts_with("↑ ↓ or W S, p pause"));
        assert!(keys("minatar:space_invaders").contains("space shoots"));
    }

    #[test]
    fn returns_have_sensible_digits_and_unfinished_episodes_are_no_best() {
        let mut score = Score { steps: 60, total: 8.891608159780747, ..Score::default() };
        assert_eq!(score.line(), "steps: 60, episodes ended: 0, return so far: 8.89");
        (score.ended, score.best, score.total) = (2, Some(17.0), 3.0);
        assert_eq!(score.line(), "steps: 60, episodes ended: 2, best return: 17");
    }
}
