//! The terminal as a board, two columns per cell, or as a photograph, two pixels per character: keys in, colours out.

use super::view::View;
use super::{Score, points};
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
    keys: String,
    colours: Colours,
    out: Stdout,
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and nobody could read about it.
        let _ = execute!(self.out, ResetColor, cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    /// Nobody wants any: letters.
    None,
    /// The 256 of xterm, which every terminal with colours knows by now.
    Palette,
    /// All of them.
    All,
}

impl Colours {
    /// Those of this terminal. Terminals that have all colours say so in `COLORTERM`, or by their name.
    fn of_terminal() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        if !crate::output::wants_colours() {
            return Self::None;
        }
        Self::named(&variable("COLORTERM"), &variable("TERM"))
    }

    fn named(colorterm: &str, term: &str) -> Self {
        let all = matches!(colorterm, "truecolor" | "24bit")
            || term.ends_with("-direct")
            || ["kitty", "alacritty", "ghostty"].iter().any(|name| term.contains(name));
        if all { Self::All } else { Self::Palette }
    }

    fn show(self, [r, g, b]: Colour) -> Color {
        if self == Self::All { Color::Rgb { r, g, b } } else { Color::AnsiValue(palette([r, g, b])) }
    }
}

/// The number of the colour among xterm's 256 that is nearest: in the cube of 6 × 6 × 6, or one of 24 greys.
fn palette(colour: Colour) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |other: Colour| -> u32 {
        colour.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    let cube = (0..216_u8).map(|i| {
        let [r, g, b] = [i / 36, i / 6 % 6, i % 6].map(|level| LEVELS[usize::from(level)]);
        (16 + i, [r, g, b])
    });
    let greys = (0..24_u8).map(|i| (232 + i, [8 + 10 * i; 3]));
    cube.chain(greys).min_by_key(|(_, other)| distance(*other)).map_or(16, |(number, _)| number)
}

/// What the keys do in a game with these actions; without actions, what whoever watches can do.
pub(super) fn keys(actions: &[&str]) -> String {
    let has = |names: &[&str]| names.iter().any(|name| actions.contains(name));
    let (sideways, upwards) = (has(&["left", "right"]), has(&["up", "down"]));
    let mut words = Vec::new();
    match (sideways, upwards) {
        (true, true) => words.push("arrows or WASD"),
        (true, false) => words.push("← → or A D"),
        (false, true) => words.push("↑ ↓ or W S"),
        (false, false) => {}
    }
    if has(&["fire"]) {
        words.push("space shoots");
    } else if has(&["d"]) {
        words.push("space shoots in some games");
    }
    words.extend(["p pause", "r restart", "q quit"]);
    words.join(", ")
}

impl Screen {
    /// Opens it, with a line that says what the keys do.
    pub(super) fn open(name: &str, view: View, keys: String) -> io::Result<Self> {
        let colours = Colours::of_terminal();
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
    pub(super) fn show(&mut self, observation: &[u8], score: &Score, state: &str) -> io::Result<()> {
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
        let (total, best) = (points(*total), best.map_or("–".to_owned(), points));
        let line = format!("score {total:<6} best {best:<6} episode {:<4} step {steps}  {state}", ended + 1);
        for (row, line) in [(1, line.as_str()), (2, self.keys.as_str())] {
            let rest = terminal::Clear(terminal::ClearType::UntilNewLine);
            queue!(self.out, cursor::MoveTo(2, below + row), Print(line), rest)?;
        }
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
        if self.colours == Colours::None {
            return queue!(self.out, Print(shade(above, below)));
        }
        let [above, below] = [above, below].map(|colour| self.colours.show(colour));
        queue!(self.out, SetForegroundColor(above), SetBackgroundColor(below), Print('▀'))
    }

    fn cell(&mut self, game: Game, observation: &[u8], row: usize, column: usize) -> io::Result<()> {
        let shown = visible(game, observation, row * 10 + column).map(|channel| paints(game)[channel]);
        if self.colours == Colours::None {
            let letter = shown.map_or('·', |paint| paint.letter);
            return queue!(self.out, Print(format!("{letter} ")));
        }
        let (ground, text, ink) = match shown {
            None => (ground(game, row), "  ", [0; 3]),
            Some(paint) if paint.width > 0.5 => (paint.colour, "  ", [0; 3]),
            Some(paint) => (ground(game, row), "▐▌", paint.colour),
        };
        let [ground, ink] = [ground, ink].map(|colour| self.colours.show(colour));
        queue!(self.out, SetBackgroundColor(ground), SetForegroundColor(ink), Print(text))
    }

    /// What the colours mean, to the right of the board.
    fn legend(&mut self, game: Game) -> io::Result<()> {
        for (i, (name, paint)) in game.channels().iter().zip(paints(game)).enumerate() {
            queue!(self.out, cursor::MoveTo(25, 2 + i as u16))?;
            if self.colours == Colours::None {
                queue!(self.out, Print(format!("{} ", paint.letter)))?;
            } else {
                let mark = if paint.width > 0.5 { "██" } else { "▐▌" };
                let ink = self.colours.show(paint.colour);
                queue!(self.out, SetForegroundColor(ink), Print(mark), ResetColor)?;
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
        self.show(observation, score, "")?;
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

/// Waits until a key is pressed that means something.
pub(super) fn any_command() -> io::Result<Command> {
    loop {
        if let Some(command) = command_until(Instant::now() + Duration::from_secs(1))? {
            return Ok(command);
        }
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
    fn shades_go_from_dark_to_bright() {
        assert_eq!((shade([0; 3], [0; 3]), shade([255; 3], [255; 3])), (' ', '#'));
        // 765 of 1530 is just below the middle of eight, 768 just above.
        assert_eq!((shade([255; 3], [0; 3]), shade([255; 3], [1; 3])), ('-', '='));
    }

    /// xterm's table: 16 is black, 231 white, 196 pure red; 244 is the grey of 128, 46 pure green.
    #[test]
    fn other_terminals_get_the_nearest_of_their_colours() {
        let colours = [[0; 3], [255; 3], [255, 0, 0], [128; 3], [3, 250, 5]];
        assert_eq!(colours.map(palette), [16, 231, 196, 244, 46]);
        assert_eq!(Colours::named("truecolor", "xterm-256color"), Colours::All);
        assert_eq!(Colours::named("", "xterm-kitty"), Colours::All);
        assert_eq!(Colours::named("", "xterm"), Colours::Palette);
    }

    #[test]
    fn only_keys_that_act_are_named() {
        let rest = "p pause, r restart, q quit";
        assert_eq!(keys(&["noop", "left", "right"]), format!("← → or A D, {rest}"));
        assert_eq!(keys(&["noop", "up", "down"]), format!("↑ ↓ or W S, {rest}"));
        let all = ["noop", "left", "up", "right", "down", "fire"];
        assert_eq!(keys(&all), format!("arrows or WASD, space shoots, {rest}"));
        assert_eq!(keys(&[]), rest);
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
