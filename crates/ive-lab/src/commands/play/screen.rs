//! The terminal as a board: two columns per cell, keys in, colours out.

use super::Score;
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
    game: Game,
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
    pub(super) fn open(game: Game) -> io::Result<Self> {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        terminal::enable_raw_mode()?;
        let mut screen = Self { game, colours, out: stdout() };
        execute!(
            screen.out,
            terminal::EnterAlternateScreen,
            terminal::Clear(terminal::ClearType::All),
            cursor::Hide
        )?;
        Ok(screen)
    }

    /// Draws the board, the score and the keys.
    pub(super) fn show(&mut self, observation: &[u8], score: &Score, paused: bool) -> io::Result<()> {
        queue!(self.out, cursor::MoveTo(0, 0), Print(format!("  minatar:{}", self.game.name())))?;
        for row in 0..10 {
            queue!(self.out, cursor::MoveTo(2, 2 + row as u16))?;
            for column in 0..10 {
                self.cell(observation, row, column)?;
            }
            queue!(self.out, ResetColor)?;
        }
        let Score { steps, ended, total, best } = score;
        let state = if paused { "paused" } else { "      " };
        let line = format!("score {total:<4} best {best:<4} episode {:<4} step {steps}  {state}", ended + 1);
        queue!(self.out, cursor::MoveTo(2, 13), Print(line))?;
        queue!(
            self.out,
            cursor::MoveTo(2, 14),
            Print("arrows or WASD, space shoots, p pause, r restart, q quit")
        )?;
        self.legend()?;
        self.out.flush()
    }

    fn cell(&mut self, observation: &[u8], row: usize, column: usize) -> io::Result<()> {
        let shown =
            visible(self.game, observation, row * 10 + column).map(|channel| paints(self.game)[channel]);
        if !self.colours {
            let letter = shown.map_or('·', |paint| paint.letter);
            return queue!(self.out, Print(format!("{letter} ")));
        }
        let (ground, text, ink) = match shown {
            None => (ground(self.game, row), "  ", [0; 3]),
            Some(paint) if paint.width > 0.5 => (paint.colour, "  ", [0; 3]),
            Some(paint) => (ground(self.game, row), "▐▌", paint.colour),
        };
        queue!(self.out, SetBackgroundColor(colour(ground)), SetForegroundColor(colour(ink)), Print(text))
    }

    /// What the colours mean, to the right of the board.
    fn legend(&mut self) -> io::Result<()> {
        for (i, (name, paint)) in self.game.channels().iter().zip(paints(self.game)).enumerate() {
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

    /// The end of an episode: a moment to see what happened.
    pub(super) fn flash(&mut self, observation: &[u8], score: &Score) -> io::Result<()> {
        self.show(observation, score, false)?;
        execute!(self.out, cursor::MoveTo(2, 12), Print("— over —"))?;
        std::thread::sleep(Duration::from_millis(700));
        while event::poll(Duration::ZERO)? {
            event::read()?;
        }
        execute!(self.out, cursor::MoveTo(2, 12), Print("        "))
    }
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
    fn every_action_has_a_key() {
        let keys = [KeyCode::Left, KeyCode::Up, KeyCode::Right, KeyCode::Down, KeyCode::Char(' ')];
        let names = ["left", "up", "right", "down", "fire"];
        assert_eq!(keys.map(command), names.map(|name| Some(Command::Act(name))));
        assert_eq!(command(KeyCode::Esc), Some(Command::Quit));
        assert_eq!(command(KeyCode::Char('z')), None);
    }
}
