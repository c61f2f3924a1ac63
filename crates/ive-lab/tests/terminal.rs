//! `ive` in a terminal, which `script` (util-linux) pretends to be.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use session::{Scratch, text};

/// A command in a terminal of 80 columns, and what it shows there.
struct Terminal {
    child: Child,
    pieces: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Terminal {
    /// `None` where there is no `script`.
    fn open(dir: &Scratch, line: &str, variables: &[(&str, &str)]) -> Option<Self> {
        let ive = env!("CARGO_BIN_EXE_ive");
        let mut command = Command::new("script");
        command.args(["-qefc", &format!("stty rows 40 cols 80; exec {ive} {line}"), "/dev/null"]);
        command.env_remove("NO_COLOR").env_remove("COLORTERM").env("TERM", "xterm");
        command.envs(variables.iter().copied()).current_dir(&dir.0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (mut from, (sender, pieces)) = (child.stdout.take().unwrap(), channel());
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut piece) {
                if sender.send(piece[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, pieces, seen: Vec::new() })
    }

    /// Waits for words and returns all that was seen.
    fn shows(&mut self, words: &str) -> String {
        while !text(&self.seen).contains(words) {
            match self.pieces.recv_timeout(Duration::from_mins(2)) {
                Ok(piece) => self.seen.extend(piece),
                Err(error) => panic!("{error}: `{words}` is not in {}", text(&self.seen)),
            }
        }
        text(&self.seen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_game_waits_for_a_key_and_names_the_keys_that_act() {
    let dir = Scratch::new("play-waits");
    let Some(mut terminal) = Terminal::open(&dir, "play minatar:breakout --steps 3", &[]) else { return };
    terminal.shows("press a key to begin");
    let shown = terminal.shows("q quit");
    assert!(shown.contains("← → or A D, p pause") && !shown.contains("shoots"), "{shown}");
    assert!(shown.contains("step 0"), "{shown}");
    // Colours of the palette, since the terminal does not say that it has more.
    assert!(shown.contains("\x1b[48;5;") && !shown.contains("\x1b[48;2;"), "{shown}");
    std::thread::sleep(Duration::from_secs(1));
    assert!(terminal.child.try_wait().unwrap().is_none(), "it did not wait");
    terminal.child.stdin.as_mut().unwrap().write_all(b"a").unwrap();
    terminal.shows("steps: 3");
}

#[test]
fn no_color_means_letters() {
    let dir = Scratch::new("play-letters");
    let line = "play minatar:breakout --policy random --steps 1";
    let variables = [("NO_COLOR", "1"), ("COLORTERM", "truecolor")];
    let Some(mut terminal) = Terminal::open(&dir, line, &variables) else { return };
    let shown = terminal.shows("steps: 1");
    assert!(!shown.contains("\x1b[48;") && !shown.contains("\x1b[38;"), "{shown}");
}

#[test]
fn states_are_coloured_in_a_terminal_only_unless_nobody_wants_it() {
    let dir = Scratch::new("colours");
    let train =
        "train dqn --env minatar:breakout --preset smoke --steps 200 --greedy-episodes 1 --run runs/it";
    assert!(dir.ive(train).status.success());
    for (variables, wanted) in [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)]
    {
        let Some(mut terminal) = Terminal::open(&dir, "runs list", variables) else { return };
        let shown = terminal.shows("done");
        assert_eq!(shown.contains("\x1b[32mdone"), wanted, "{variables:?}: {shown}");
    }
}

#[test]
fn films_show_their_progress() {
    let dir = Scratch::new("film");
    let line = "play minatar:breakout --policy random --steps 3000 --scale 20 --gif x.gif";
    let Some(mut terminal) = Terminal::open(&dir, line, &[]) else { return };
    let shown = terminal.shows("steps: 3000");
    assert!(shown.contains("pictures ") && shown.contains("/3000 steps"), "{shown}");
}
