//! How much memory the settings of an agent ask for, worked out before any of it is taken.

use crate::AgentError;
use crate::nn::cpu::board;

/// The most that an agent may take, in bytes. The presets need less than a fiftieth of it.
const MOST: f64 = 8e9;
/// Channels of the largest board there is: Seaquest.
const CHANNELS: usize = 10;
/// A checkpoint holds the replay twice more while it is written: as tensors, and as the bytes of the file.
pub(crate) const COPIES: f64 = 3.0;

/// Bytes of a window of so many steps: boards as bits, an action, a reward and an end for each step.
pub(crate) fn window(length: usize) -> f64 {
    let board = 8.0 * board::words(CHANNELS) as f64;
    (length as f64 + 1.0) * board + 6.0 * length as f64
}

/// A setting that decides how much memory is taken, and for what.
pub(crate) struct Part {
    pub(crate) key: &'static str,
    /// As in "plans from 64 states at once".
    pub(crate) what: String,
    pub(crate) bytes: f64,
}

/// Refuses parts that take too much memory together, and names the largest.
pub(crate) fn check(parts: &[Part]) -> Result<(), AgentError> {
    let total: f64 = parts.iter().map(|part| part.bytes).sum();
    let largest = parts.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    match largest {
        Some(Part { key, what, bytes }) if total > MOST => {
            let [bytes, total, most] = [bytes, &total, &MOST].map(|x| x / 1e9);
            let problem = format!(
                "would take {bytes:.1} GB of memory for {what}, all settings together {total:.1} GB; \
                 the limit is {most:.0} GB"
            );
            Err(AgentError::Setting { key, problem })
        }
        _ => Ok(()),
    }
}
