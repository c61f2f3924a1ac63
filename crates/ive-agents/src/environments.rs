//! The environments of training in a checkpoint.

use ive_envs::BatchedEnvironment;

use crate::archive::{Archive, ArchiveError};

/// Saves or restores environments, under the names that files have had from the start.
pub(crate) fn archive<A: Copy, E: Copy + Default>(
    environments: &mut dyn BatchedEnvironment<Action = A, Element = E>,
    archive: &mut Archive,
) -> Result<(), ArchiveError> {
    let mut states = environments.save();
    for (i, state) in states.iter_mut().enumerate() {
        archive.bytes(&format!("world.{i}"), state)?;
    }
    if archive.is_loading() {
        environments.restore(&states).map_err(|cause| ArchiveError::Content {
            name: "world".to_owned(),
            problem: cause.to_string(),
        })?;
    }
    Ok(())
}
