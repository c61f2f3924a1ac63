//! `ive sweep gather`, and the check of all results before `ive reproduce --from`.

use std::path::Path;

use crate::exit::Outcome;
use crate::output::{self, file};
use crate::progress::warn;
use crate::sweep::gather::{Gathered, collect};
use crate::sweep::manifest::Sweep;

/// Verifies all results and puts them into one table.
pub fn gather(dir: &Path, out: Option<&Path>, partial: bool, allow_mixed: bool, json: bool) -> Outcome {
    let sweep = Sweep::open(dir)?;
    let ends = |ending: &str| {
        out.is_some_and(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending)))
    };
    if let Some(path) = out.filter(|path| !file::is_stdout(path)) {
        file::check("--out", path, &[if json || ends("json") { "json" } else { "csv" }])?;
    }
    let gathered = verified(&sweep, partial, allow_mixed)?;
    let bytes = if json || ends("json") { gathered.json(&sweep) } else { gathered.csv(&sweep).into_bytes() };
    match out {
        Some(path) => file::write(path, &bytes)?,
        None => return output::bytes(&bytes),
    }
    warn(&format!("{} of {} results, all verified", gathered.rows.len(), sweep.manifest.tasks));
    Ok(())
}

/// All results of a sweep, or an error that says what is missing; with `partial` those that are there.
pub fn verified(sweep: &Sweep, partial: bool, allow_mixed: bool) -> Outcome<Gathered> {
    let gathered = collect(sweep, allow_mixed)?;
    gathered.missing(20).iter().for_each(|line| warn(line));
    if !partial {
        gathered.complete()?;
    }
    if gathered.processors.len() > 1 {
        let which = gathered.processors.join(", ");
        warn(&format!("made on different kinds of processors, which may differ in the last bits: {which}"));
    }
    Ok(gathered)
}
