//! The terminal as a board, two columns per cell, or as a photograph, two pixels per character: keys in, colours out.

use super::Score;
use super::view::View;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Color, Print, ResetColor, SetBackgroundColor, SetForegroundColor};
use crossterm::{cursor, execute, queue, terminal};
use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{Colour, ground, paints, visible};
use std::io::{self, Stdout, Write, stdout};
use std::time::{Duration, Instant};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The action of this name.
    Act(&'static str),
    Pause,
    StartOver,
    Quit,
}

/// The terminal while a game is on. Dropping it gives the terminal back as it was.
pub(super) struct Screen {
    name: String,
    view: View,
    keys: &'static str,
    colours: bool,
    out: Stdout,
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and nobody could read about it.
        let _ = execute!(self.out, ResetColor, cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

fn colour([r, g, b]: Colour) -> Color {
    Color::Rgb { r, g, b }
}

impl Screen {
    /// Opens it for somebody who plays by hand, or who only watches.
    pub(super) fn open(name: &str, view: View, by_hand: bool) -> io::Result<Self> {
        let keys = if by_hand {
            "arrows or WASD, space shoots, p pause, r restart, q quit"
        } else {
            "p pause, r restart, q quit"
        };
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        terminal::enable_raw_mode()?;
        let mut screen = Self { name: name.to_owned(), view, keys, colours, out: stdout() };
        execute!(
            screen.out,
            terminal::EnterAlternateScreen,
            terminal::Clear(terminal::ClearType::All),
            cursor::Hide
        )?;
        Ok(screen)
    }

    /// Draws what is seen, the score and the keys.
    pub(super) fn show(&mut self, observation: &[u8], score: &Score, paused: bool) -> io::Result<()> {
        queue!(self.out, cursor::MoveTo(0, 0), Print(format!("  {}", self.name)))?;
        for row in 0..self.rows() {
            queue!(self.out, cursor::MoveTo(2, 2 + row))?;
            let row = usize::from(row);
            match self.view {
                View::Board(game) => (0..10).try_for_each(|x| self.cell(game, observation, row, x))?,
                View::Photo(side) => (0..side).try_for_each(|x| self.pixels(side, observation, row, x))?,
            }
            queue!(self.out, ResetColor)?;
        }
        let below = 2 + self.rows();
        let Score { steps, ended, total, best } = score;
        let state = if paused { "paused" } else { "      " };
        // The walker is paid in fractions; points of games are whole.
        let [total, best] = [total, best].map(|points| (100.0 * points).round() / 100.0);
        let line = format!("score {total:<6} best {best:<6} episode {:<4} step {steps}  {state}", ended + 1);
        queue!(self.out, cursor::MoveTo(2, below + 1), Print(line))?;
        queue!(self.out, cursor::MoveTo(2, below + 2), Print(self.keys))?;
        if let View::Board(game) = self.view {
            self.legend(game)?;
        }
        self.out.flush()
    }

    /// Lines of text that a picture takes.
    fn rows(&self) -> u16 {
        match self.view {
            View::Board(_) => 10,
            View::Photo(side) => side.div_ceil(2) as u16,
        }
    }

    /// A character with a pixel above another: the upper one in ink, the lower one as the ground.
    fn pixels(&mut self, side: usize, observation: &[u8], row: usize, column: usize) -> io::Result<()> {
        let pixel = |y: usize| observation[3 * (y.min(side - 1) * side + column)..].first_chunk::<3>();
        let (Some(&above), Some(&below)) = (pixel(2 * row), pixel(2 * row + 1)) else { return Ok(()) };
        if !self.colours {
            return queue!(self.out, Print(shade(above, below)));
        }
        queue!(self.out, SetForegroundColor(colour(above)), SetBackgroundColor(colour(below)), Print('▀'))
    }

    fn cell(&mut self, game: Game, observation: &[u8], row: usize, column: usize) -> io::Result<()> {
        let shown = visible(game, observation, row * 10 + column).map(|channel| paints(game)[channel]);
        if !self.colours {
            let letter = shown.map_or('·', |paint| paint.letter);
            return queue!(self.out, Print(format!("{letter} ")));
        }
        let (ground, text, ink) = match shown {
            None => (ground(game, row), "  ", [0; 3]),
            Some(paint) if paint.width > 0.5 => (paint.colour, "  ", [0; 3]),
            Some(paint) => (ground(game, row), "▐▌", paint.colour),
        };
        queue!(self.out, SetBackgroundColor(colour(ground)), SetForegroundColor(colour(ink)), Print(text))
    }

    /// What the colours mean, to the right of the board.
    fn legend(&mut self, game: Game) -> io::Result<()> {
        for (i, (name, paint)) in game.channels().iter().zip(paints(game)).enumerate() {
            queue!(self.out, cursor::MoveTo(25, 2 + i as u16))?;
            if self.colours {
                let mark = if paint.width > 0.5 { "██" } else { "▐▌" };
                queue!(self.out, SetForegroundColor(colour(paint.colour)), Print(mark), ResetColor)?;
            } else {
                queue!(self.out, Print(format!("{} ", paint.letter)))?;
            }
            queue!(self.out, Print(format!(" {name}")))?;
        }
        Ok(())
    }

    /// What the agent expects, below everything else.
    pub(super) fn think(&mut self, lines: &[String]) -> io::Result<()> {
        let first = 2 + self.rows() + 4;
        for (row, line) in lines.iter().enumerate() {
            queue!(self.out, cursor::MoveTo(2, first + row as u16), Print(line))?;
        }
        self.out.flush()
    }

    /// The end of an episode: a moment to see what happened.
    pub(super) fn flash(&mut self, observation: &[u8], score: &Score) -> io::Result<()> {
        self.show(observation, score, false)?;
        let below = 2 + self.rows();
        execute!(self.out, cursor::MoveTo(2, below), Print("— over —"))?;
        std::thread::sleep(Duration::from_millis(700));
        while event::poll(Duration::ZERO)? {
            event::read()?;
        }
        execute!(self.out, cursor::MoveTo(2, below), Print("        "))
    }
}

/// Two pixels as one letter, from dark to bright.
fn shade(above: Colour, below: Colour) -> char {
    const LETTERS: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];
    let sum: usize = above.iter().chain(&below).map(|&part| usize::from(part)).sum();
    LETTERS[sum * LETTERS.len() / (6 * 255 + 1)]
}

/// Waits for the tick and returns the last key pressed until then; quitting does not wait.
pub(super) fn command_until(tick: Instant) -> io::Result<Option<Command>> {
    let mut last = None;
    while event::poll(tick.saturating_duration_since(Instant::now()))? {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let interrupted = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        let pressed = if interrupted { Some(Command::Quit) } else { command(key.code) };
        if pressed == Some(Command::Quit) {
            return Ok(pressed);
        }
        last = pressed.or(last);
    }
    Ok(last)
}

/// What a key means, if anything.
fn command(key: KeyCode) -> Option<Command> {
    Some(match key {
        KeyCode::Left | KeyCode::Char('a' | 'A') => Command::Act("left"),
        KeyCode::Right | KeyCode::Char('d' | 'D') => Command::Act("right"),
        KeyCode::Up | KeyCode::Char('w' | 'W') => Command::Act("up"),
        KeyCode::Down | KeyCode::Char('s' | 'S') => Command::Act("down"),
        KeyCode::Char(' ') => Command::Act("fire"),
        KeyCode::Char('p') => Command::Pause,
        KeyCode::Char('r') => Command::StartOver,
        KeyCode::Char('q') | KeyCode::Esc => Command::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_dark_to_bright() {
        assert_eq!((shade([0; 3], [0; 3]), shade([255; 3], [255; 3])), (' ', '#'));
        // 765 of 1530 is just below the middle of eight, 768 just above.
        assert_eq!((shade([255; 3], [0; 3]), shade([255; 3], [1; 3])), ('-', '='));
    }

    #[test]
    fn every_action_has_a_key() {
        let keys = [KeyCode::Left, KeyCode::Up, KeyCode::Right, KeyCode::Down, KeyCode::Char(' ')];
        let names = ["left", "up", "right", "down", "fire"];
        assert_eq!(keys.map(command), names.map(|name| Some(Command::Act(name))));
        assert_eq!(command(KeyCode::Esc), Some(Command::Quit));
        assert_eq!(command(KeyCode::Char('z')), None);
    }
}
