//! `ive` in a terminal, which `script` (util-linux) pretends to be.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use session::{Scratch, text};

/// A command in a terminal of 80 columns; `None` where there is no `script`.
fn in_terminal(dir: &Scratch, line: &str, variables: &[(&str, &str)]) -> Option<Child> {
    let ive = env!("CARGO_BIN_EXE_ive");
    let mut command = Command::new("script");
    command.args(["-qefc", &format!("stty rows 40 cols 80; exec {ive} {line}"), "/dev/null"]);
    command.env_remove("NO_COLOR").env_remove("COLORTERM").env("TERM", "xterm");
    command.envs(variables.iter().copied()).current_dir(&dir.0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()
}

/// Reads until the words were seen, in bounded time, and returns all that was seen.
fn read_until(child: &mut Child, words: &str) -> String {
    let (start, mut seen) = (Instant::now(), Vec::new());
    let from = child.stdout.as_mut().unwrap();
    while !text(&seen).contains(words) {
        assert!(start.elapsed() < Duration::from_secs(20), "`{words}` is not in {}", text(&seen));
        let mut piece = [0; 4096];
        let n = from.read(&mut piece).unwrap();
        assert!(n > 0, "it ended without `{words}`: {}", text(&seen));
        seen.extend(&piece[..n]);
    }
    text(&seen)
}

#[test]
fn a_game_waits_for_a_key_and_names_the_keys_that_act() {
    let dir = Scratch::new("play-waits");
    let Some(mut child) = in_terminal(&dir, "play minatar:breakout --steps 3", &[]) else { return };
    let shown = read_until(&mut child, "press a key to begin");
    let keys = read_until(&mut child, "q quit");
    assert!(keys.contains("← → or A D, p pause") && !keys.contains("shoots"), "{keys}");
    assert!(shown.contains("step 0"), "{shown}");
    // Colours of the palette, since the terminal does not say that it has more.
    assert!(shown.contains("\x1b[48;5;") && !shown.contains("\x1b[48;2;"), "{shown}");
    std::thread::sleep(Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    child.stdin.as_mut().unwrap().write_all(b"a").unwrap();
    read_until(&mut child, "steps: 3");
    assert!(child.wait().unwrap().success());
}

#[test]
fn no_color_means_letters() {
    let dir = Scratch::new("play-letters");
    let line = "play minatar:breakout --policy random --steps 1";
    let Some(mut child) = in_terminal(&dir, line, &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]) else {
        return;
    };
    let shown = read_until(&mut child, "steps: 1");
    assert!(!shown.contains("\x1b[48;") && !shown.contains("\x1b[38;"), "{shown}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn states_are_coloured_in_a_terminal_only_unless_nobody_wants_it() {
    let dir = Scratch::new("colours");
    let train =
        "train dqn --env minatar:breakout --preset smoke --steps 200 --greedy-episodes 1 --run runs/it";
    assert!(dir.ive(train).status.success());
    for (variables, wanted) in [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)]
    {
        let Some(mut child) = in_terminal(&dir, "runs list", variables) else { return };
        let shown = read_until(&mut child, "done");
        assert_eq!(shown.contains("\x1b[32mdone"), wanted, "{variables:?}: {shown}");
        child.wait().unwrap();
    }
}

#[test]
fn films_show_their_progress() {
    let dir = Scratch::new("film");
    let line = "play minatar:breakout --policy random --steps 3000 --scale 20 --gif x.gif";
    let Some(mut child) = in_terminal(&dir, line, &[]) else { return };
    let shown = read_until(&mut child, "steps: 3000");
    assert!(shown.contains("pictures ") && shown.contains("/3000 steps"), "{shown}");
    assert!(child.wait().unwrap().success());
}
