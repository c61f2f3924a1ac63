//! What experiments with many runs of agents share, whatever the environments.
//!
//! - [`fleet`]: makes the runs, several at a time; [`record`]: what is kept of each, and curves over seeds;
//! - [`answers`]: what trained agents were asked afterwards, kept so that nothing is asked twice;
//! - [`compare`]: averages over environments, and differences of runs with the same seed.

pub mod answers;
pub mod compare;
pub mod fleet;
pub mod record;

/// How so many steps compare with those of the paper: "4 times fewer than the paper's".
pub fn size(steps: u64, paper: u64) -> String {
    let times = paper as f64 / steps as f64;
    match () {
        () if times >= 1.5 => format!("{times:.0} times fewer than the paper's"),
        () if times > 1.0 => "fewer than the paper's".to_owned(),
        () if times < 1.0 => "more than the paper's".to_owned(),
        () => "as many as the paper's".to_owned(),
    }
}
