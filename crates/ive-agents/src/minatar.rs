//! What the agents for MinAtar share: boards as bits, checks, and the walk over common state.

use ive_envs::registry::{ActionKind, Kinds, ObservationKind};
use ive_envs::{Spec, StepKind};

use crate::agent::AgentError;
use crate::archive::{Archive, ArchiveError};
use crate::experience::{Experience, Rules, Shape};
use crate::nn::cpu::board::{self, Board, SIZE};

/// What these agents learn.
pub(crate) const BOARDS: Kinds = Kinds { observation: ObservationKind::Board, action: ActionKind::Numbered };

/// Channels and actions of environments, which must be boards.
pub(crate) fn shape(spec: &Spec) -> Result<(usize, usize), AgentError> {
    match spec.shape[..] {
        [SIZE, SIZE, channels] if channels > 0 && spec.actions.len() <= 64 => {
            Ok((channels, spec.actions.len()))
        }
        _ => {
            let problem = format!("must be a board of {SIZE} × {SIZE} cells, {} is not", spec.name);
            Err(AgentError::Setting { key: "the environment", problem })
        }
    }
}

/// Packs observations one after the other, refusing what is neither zero nor one.
pub(crate) fn pack_checked(
    board: &Board,
    observations: &[u8],
    boards: &mut Vec<u64>,
    step: u64,
) -> Result<(), AgentError> {
    #[cfg(test)]
    let observations = &*crate::poison::observations(step, observations);
    if observations.iter().fold(0, |all, &b| all | b) > 1 {
        return Err(AgentError::Observation { step });
    }
    board.pack_all(observations, boards);
    Ok(())
}

/// How a step ended. An episode that was only cut off is refused: what would have been seen next is not kept.
pub(crate) fn kind(kind: StepKind, step: u64) -> Result<StepKind, AgentError> {
    if kind == StepKind::Truncated { Err(AgentError::CutOff { step }) } else { Ok(kind) }
}

/// What is kept of a step: a board as bits, and a numbered action.
pub(crate) type Boards = Experience<u64, u8>;

/// The shape of such experience.
pub(crate) fn board_shape(channels: usize) -> Shape {
    Shape { observation: board::words(channels), action: 1, policy: 0 }
}

/// Saves or restores experience; refuses what no game with such boards and so many actions can have shown.
pub(crate) fn archive_boards(
    name: &str,
    experience: &mut Boards,
    board: &Board,
    actions: usize,
    archive: &mut Archive,
) -> Result<(), ArchiveError> {
    let observation = |bits: &[u64]| {
        let wrong = || "it has a cell behind the last one of a board".to_owned();
        board.holds(bits).then_some(()).ok_or_else(wrong)
    };
    let action = |action: &[u8]| {
        let wrong = || format!("it has an action beyond the {actions} that there are");
        (usize::from(action[0]) < actions).then_some(()).ok_or_else(wrong)
    };
    let rules = Rules { observation: &observation, action: &action, truncates: false };
    experience.archive(name, &rules, archive)
}
