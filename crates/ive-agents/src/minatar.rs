//! What the agents for MinAtar share: boards as bits, checks, and the walk over common state.

use ive_envs::minatar::ByteWorld;
use ive_envs::{Environment, StepError, StepKind, VectorEnvironment};

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
    #[cfg(test)]
    let observations = &*crate::poison::observations(step, observations);
    if observations.iter().fold(0, |all, &b| all | b) > 1 {
        return Err(AgentError::Observation { step });
    }
    board.pack_all(observations, boards);
    Ok(())
}

/// Whether an episode ended with a step. One that was only cut off is refused: windows keep ends, and no discounts.
pub(crate) fn is_end(kind: StepKind, step: u64) -> Result<bool, AgentError> {
    if kind == StepKind::Truncated { Err(AgentError::CutOff { step }) } else { Ok(kind.is_last()) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dqn, vpn};

    #[test]
    fn what_is_not_finite_is_named_for_every_loss_and_every_tensor() {
        for layout in [vpn::network::Network::new(4, 6).layout, dqn::network::Network::new(10, 6).layout] {
            let good = vec![0.5; layout.len()];
            let losses = [("loss_reward", 1.0), ("loss_value", 2.0)];
            let length = check_gradient(&layout, &losses, &good, 7).unwrap();
            assert!((length / (0.5 * (layout.len() as f64).sqrt()) - 1.0).abs() < 1e-5);
            let named = |losses: &[(&str, f64)], gradient: &[f32]| {
                check_gradient(&layout, losses, gradient, 7).unwrap_err().to_string()
            };
            for (slot, bad) in
                layout.slots().iter().zip([f32::NAN, f32::INFINITY, f32::NEG_INFINITY].iter().cycle())
            {
                let mut gradient = good.clone();
                gradient[slot.range.end - 1] = *bad;
                let start = format!("gradient of {} is not finite at step 7", slot.name);
                assert!(named(&losses, &gradient).starts_with(&start));
            }
            for i in 0..losses.len() {
                let mut losses = losses;
                losses[i].1 = f64::NAN;
                assert!(named(&losses, &good).starts_with(losses[i].0));
            }
        }
    }
}
