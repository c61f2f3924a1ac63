//! What came out, in one line.

use super::Findings;
use crate::claim::{Claim, MIN_SEEDS, Verdict};
use crate::experiments::procgen::claims::SEEDS_NEEDED;
use crate::experiments::runs::compare::MIN_RUNS;

/// The 95 % interval of an effect, if there were enough seeds for one.
pub fn bounds(claim: &Claim) -> Option<(f64, f64)> {
    Some(claim.interval).filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// How many of what an interval needs: seeds, pairs of runs with the same game and seed, runs of each method, or seeds that have learned.
fn needed(all: &[Findings]) -> String {
    match all {
        [one] if one.name == "minatar" => format!("{MIN_SEEDS} pairs of runs"),
        [one] if one.name == "walker" => format!("{MIN_RUNS} runs of each method"),
        [one] if one.name == "procgen" => format!("{SEEDS_NEEDED} seeds of a game that have learned"),
        _ => format!("{MIN_SEEDS} seeds"),
    }
}

/// `11 of 15 claims supported, 1 not supported, 3 not decided`, and why nothing is decided where that is so.
pub fn headline(all: &[Findings]) -> String {
    let claims: Vec<&Claim> = all.iter().flat_map(|f| &f.claims).collect();
    if claims.is_empty() {
        return "No claim of the paper is judged here.".to_owned();
    }
    let without = claims.iter().filter(|c| bounds(c).is_none()).count();
    if without == claims.len() {
        return format!(
            "Nothing is decided ({without} claim{}): fewer than {} give no interval.",
            if without == 1 { "" } else { "s" },
            needed(all)
        );
    }
    let of = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    let mut line = format!("{} of {} claims supported", of(Verdict::Supported), claims.len());
    for verdict in [Verdict::NotSupported, Verdict::NotDecided] {
        if of(verdict) > 0 {
            line += &format!(", {} {}", of(verdict), verdict.words());
        }
    }
    if without > 0 {
        line += &format!(" ({without} for want of {})", needed(all));
    }
    line + "."
}

/// What to do where nothing was decided.
pub fn advice(all: &[Findings], preset: &str) -> Option<String> {
    let mut claims = all.iter().flat_map(|f| &f.claims).peekable();
    claims.peek()?;
    claims.all(|c| bounds(c).is_none()).then(|| {
        let this = if preset == "smoke" { "The preset smoke only shows that everything runs. " } else { "" };
        format!("{this}Use a larger --preset, or more --seeds, for verdicts.")
    })
}
