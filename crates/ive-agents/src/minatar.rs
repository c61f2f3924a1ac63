//! What the agents for MinAtar share: boards as bits, checks, and the walk over common state.

use ive_envs::minatar::ByteWorld;
use ive_envs::{Environment, StepError, VectorEnvironment};

use crate::agent::AgentError;
use crate::archive::{Archive, ArchiveError};
use crate::nn::cpu::Layout;
use crate::nn::cpu::board::{Board, SIZE};
use crate::nn::cpu::descent::norm;

/// Labels of the random streams of a run.
pub(crate) const INITIAL: u64 = 0;
pub(crate) const WORLDS: u64 = 1;
pub(crate) const ACTING: u64 = 2;
pub(crate) const REPLAY: u64 = 3;

/// Channels and actions of the worlds, which must be boards.
pub(crate) fn shape(worlds: &[ByteWorld]) -> Result<(usize, usize), AgentError> {
    let spec = worlds.first().ok_or(StepError::Length { what: "worlds", expected: 1, got: 0 })?.spec();
    match spec.shape[..] {
        [SIZE, SIZE, channels] if channels > 0 && spec.actions.len() <= 64 => {
            Ok((channels, spec.actions.len()))
        }
        _ => {
            let problem = format!("must be a board of {SIZE} × {SIZE} cells, {} is not", spec.name);
            Err(AgentError::Setting { key: "the world", problem })
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
    if observations.iter().fold(0, |all, &b| all | b) > 1 {
        return Err(AgentError::Observation { step });
    }
    board.pack_all(observations, boards);
    Ok(())
}

/// The length of a gradient, or the name of what is not finite.
pub(crate) fn check_gradient(
    layout: &Layout,
    losses: &[(&str, f64)],
    gradient: &[f32],
    step: u64,
) -> Result<f64, AgentError> {
    let not_finite = |what: String| Err(AgentError::NotFinite { what, step });
    if let Some((name, _)) = losses.iter().find(|(_, loss)| !loss.is_finite()) {
        return not_finite((*name).to_owned());
    }
    let length = norm(gradient);
    if length.is_finite() {
        return Ok(length);
    }
    match layout.not_finite(gradient) {
        Some(name) => not_finite(format!("gradient of {name}")),
        None => not_finite("norm of the gradient".to_owned()),
    }
}

/// Saves or restores parameters, tensor by tensor.
pub(crate) fn archive_slots(
    prefix: &str,
    layout: &Layout,
    all: &mut [f32],
    archive: &mut Archive,
) -> Result<(), ArchiveError> {
    layout
        .slots()
        .iter()
        .try_for_each(|slot| archive.f32(&format!("{prefix}.{}", slot.name), slot.of_mut(all)))
}

/// Saves or restores worlds.
pub(crate) fn archive_worlds(
    worlds: &mut VectorEnvironment<ByteWorld>,
    archive: &mut Archive,
) -> Result<(), ArchiveError> {
    let mut states = worlds.save();
    for (i, state) in states.iter_mut().enumerate() {
        archive.bytes(&format!("world.{i}"), state)?;
    }
    if matches!(archive, Archive::Loading(_)) {
        worlds.restore(&states).map_err(|cause| ArchiveError::Content {
            name: "world".to_owned(),
            problem: cause.to_string(),
        })?;
    }
    Ok(())
}
