//! How much memory the settings of an agent ask for, worked out before any of it is taken.

use crate::AgentError;
use crate::experience::{Shape, WHOLE};
use crate::nn::cpu::board;

/// The most that an agent may take, in bytes. The presets for boards need less than a fiftieth of it, those for pictures less than half.
const MOST: f64 = 8e9;
/// Channels of the largest board there is: Seaquest.
const CHANNELS: usize = 10;

/// What experience of so many bytes takes. While a checkpoint is written, one that is saved whole is there twice more: as tensors,
/// and as the bytes of the file. Of a larger one only what is new is saved, piece by piece.
pub(crate) fn kept(bytes: f64) -> f64 {
    bytes.max(3.0 * bytes.min(WHOLE))
}

/// Bytes of a window of so many steps on boards.
pub(crate) fn window(steps: usize) -> f64 {
    let shape = Shape { observation: board::words(CHANNELS), action: 1, policy: 0 };
    shape.window_bytes::<u64, u8>(steps)
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
