//! `ive sweep status`.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::exit::Outcome;
use crate::output::{self, Tone, layout, paint};
use crate::report::table::Table;
use crate::sweep::cancel;
use crate::sweep::estimate::hours;
use crate::sweep::manifest::Sweep;
use crate::sweep::survey::{self, Look, State};

/// `12 done, 2 running, 6 waiting`.
pub fn counted(looks: &[Look]) -> String {
    let some = survey::counts(looks).into_iter().filter(|(_, n)| *n > 0);
    some.map(|(state, n)| format!("{n} {}", state.word())).collect::<Vec<_>>().join(", ")
}

/// Shows how the tasks stand.
pub fn status(dir: &Path, all: bool, watch: bool, json: bool) -> Outcome {
    loop {
        let sweep = Sweep::open(dir)?;
        let looks = survey::all(&sweep)?;
        if json {
            let counts: serde_json::Map<_, _> = survey::counts(&looks)
                .into_iter()
                .map(|(state, n)| (state.word().to_owned(), json!(n)))
                .collect();
            let left = survey::seconds_left(&looks);
            return output::json(&json!({ "counts": counts, "seconds_left": left, "tasks": looks }));
        }
        let over = looks.iter().all(|look| matches!(look.state, State::Done | State::Failed));
        // Clears the screen and begins at its top.
        let clear = if watch { "\x1b[2J\x1b[H" } else { "" };
        output::stream(&format!("{clear}{}", shown(&sweep, &looks, all)))?;
        if !watch || over {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// As many rows are shown unless all are asked for.
const ROWS: usize = 40;

fn shown(sweep: &Sweep, looks: &[Look], all: bool) -> String {
    let mut table = Table::new("", &["task", "name", "state", "steps", "attempts", "left", "note"]);
    let interesting = |look: &&Look| all || !matches!(look.state, State::Done | State::Waiting);
    let rows: Vec<&Look> = looks.iter().filter(interesting).collect();
    for look in rows.iter().take(if all { usize::MAX } else { ROWS }) {
        let left = look.seconds_left.filter(|_| look.state != State::Done);
        table.row([
            look.index.to_string(),
            look.name.clone(),
            paint(look.state.word(), tone(look.state)),
            format!("{}/{}", look.step, look.steps),
            look.attempts.to_string(),
            left.map_or(String::new(), |seconds| hours(seconds / 3600.0)),
            look.note.clone().unwrap_or_default(),
        ]);
    }
    let left = survey::seconds_left(looks).filter(|seconds| *seconds > 0.0);
    let left = left.map_or(String::new(), |seconds| format!("; about {} left", hours(seconds / 3600.0)));
    let asked = if cancel::is_asked(sweep) { "; cancelled" } else { "" };
    let mut text = format!("{}: {}{left}{asked}\n", sweep.dir.display(), counted(looks));
    if !table.rows.is_empty() {
        text += &layout::table(&table, output::width());
    }
    let more = rows.len().saturating_sub(table.rows.len());
    if more > 0 {
        text += &format!("and {more} more; --all shows them\n");
    }
    text
}

fn tone(state: State) -> Tone {
    match state {
        State::Done => Tone::Good,
        State::Running => Tone::Busy,
        State::Stopped | State::Waiting => Tone::Open,
        State::Failed => Tone::Bad,
    }
}
