//! Checkpoints of a run: two generations, each a payload and a manifest.
//!
//! The order of a save makes it safe to be interrupted anywhere: logs are synced, the payload is written, synced and
//! renamed into place, then the manifest. A checkpoint exists when its manifest does. Only then older ones go, all but
//! one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ive_agents::Tensors;

use super::config::Config;
use super::disk::{Disk, DiskError, Done, told};
use super::manifest::{FORMAT, Flaw, Manifest, Piece};
use super::{payload, sessions};
use crate::exit::{Failure, Outcome};

/// The folder in a run directory.
pub const FOLDER: &str = "checkpoints";

/// Why nothing was saved.
#[derive(Debug)]
pub enum SaveError {
    /// There is no room at the moment: trying again later may help.
    Full(DiskError),
    /// Trying again would not help.
    Failed(Failure),
}

impl From<DiskError> for SaveError {
    fn from(error: DiskError) -> Self {
        if error.is_full() { Self::Full(error) } else { Self::Failed(error.into()) }
    }
}

/// The checkpoints of a run.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    disk: Disk,
    /// The newest good one, as far as it was read or written here.
    newest: Option<Saved>,
    /// Whether the folder is there for good.
    settled: bool,
}

/// A good checkpoint, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Environment steps done.
    pub step: u64,
    /// The hash of the archive.
    pub blake3: String,
}

/// A checkpoint that was found to be whole.
#[derive(Debug)]
pub struct Checkpoint {
    /// What it consists of.
    pub manifest: Manifest,
    /// The state of the agent.
    pub tensors: Tensors,
}

fn manifest_name(step: u64) -> String {
    format!("{step:012}.json")
}

fn payload_name(step: u64) -> String {
    format!("{step:012}.safetensors")
}

/// The step of a file of ours.
fn step_of(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".json").or_else(|| name.strip_suffix(".safetensors"))?;
    number.parse().ok().filter(|&step| [manifest_name(step), payload_name(step)].iter().any(|n| n == name))
}

fn is_manifest(name: &str) -> bool {
    step_of(name).is_some_and(|step| name == manifest_name(step))
}

/// The steps for which there is a manifest among these files, newest first.
fn steps_in(names: &[String]) -> Vec<u64> {
    let mut steps: Vec<u64> = names.iter().filter(|n| is_manifest(n)).filter_map(|n| step_of(n)).collect();
    steps.sort_unstable_by(|a, b| b.cmp(a));
    steps
}

impl Checkpoints {
    /// The checkpoints of the run in `dir`.
    pub fn of(dir: &Path, disk: &Disk) -> Self {
        Self { folder: dir.join(FOLDER), disk: disk.clone(), newest: None, settled: false }
    }

    /// The newest good checkpoint, as far as it was read or written here.
    pub fn newest(&self) -> Option<&Saved> {
        self.newest.as_ref()
    }

    /// What is on the disk whatever happens now, for messages.
    pub fn kept(&self) -> String {
        let step = self.newest.as_ref().map(|saved| saved.step);
        step.map_or("there is no checkpoint yet".to_owned(), |step| {
            format!("the checkpoint of step {step} is kept")
        })
    }

    /// The names in the folder. Only where there is no folder there are none: what cannot be read is an error, because
    /// who believes that there are no checkpoints begins anew.
    fn names(&self) -> Done<Vec<String>> {
        self.disk.names_within(&self.folder)
    }

    /// The steps for which there is a manifest, newest first. None only if none was ever written: a run that has lost
    /// its checkpoints must not begin anew without a word.
    pub fn steps(&self) -> Outcome<Vec<u64>> {
        let steps = steps_in(&self.names()?);
        if !steps.is_empty() {
            return Ok(steps);
        }
        let dir = self.folder.parent().unwrap_or(Path::new("."));
        sessions::last_saved(dir, &self.disk)?.map_or(Ok(steps), |step| {
            Err(Failure::data(format!(
                "there is no checkpoint in {}, but {} says that step {step} was saved; put the checkpoints back, or begin \
                 anew in another directory",
                self.folder.display(),
                dir.join(sessions::FILE).display()
            )))
        })
    }

    /// The manifest of a step, if it is whole and belongs to this run.
    pub fn manifest(&self, step: u64, config: &Config) -> Result<Manifest, Flaw> {
        let path = self.folder.join(manifest_name(step));
        let manifest = Manifest::read(&self.disk, &path)?;
        if !config.is_or_was(&manifest.run) {
            return Err(Flaw::Refused(Failure::config(format!(
                "{} belongs to another run than config.toml says ({}); put the right one back, or begin anew in another \
                 directory",
                path.display(),
                manifest.run.compared_with(config)
            ))));
        }
        let payload = payload_name(step);
        if manifest.step != step || !manifest.files.keys().eq([&payload]) {
            return Err(Flaw::Damaged(format!("{}: it belongs to another step", path.display())));
        }
        Ok(manifest)
    }

    fn read(&self, step: u64, config: &Config) -> Result<Checkpoint, Flaw> {
        let manifest = self.manifest(step, config)?;
        let name = payload_name(step);
        let path = self.folder.join(&name);
        let bytes = manifest.files[&name].whole(&self.disk, &path)?;
        let damaged = |what: String| Flaw::Damaged(format!("{}: {what}", path.display()));
        let tensors = payload::from_bytes(&bytes).map_err(damaged)?;
        Ok(Checkpoint { manifest, tensors })
    }

    /// The newest good checkpoint that `accept` does not find fault with; `None` if none was ever written. Damaged ones
    /// are reported; if there are only damaged ones, that is an error.
    pub fn load(
        &mut self,
        config: &Config,
        accept: impl Fn(&Manifest) -> Result<(), Flaw>,
        mut report: impl FnMut(&str),
    ) -> Outcome<Option<Checkpoint>> {
        let steps = self.steps()?;
        for &step in &steps {
            let read = self.read(step, config);
            let read = read.and_then(|c| accept(&c.manifest).map(|()| c));
            match read {
                Ok(checkpoint) => {
                    let blake3 = checkpoint.manifest.files[&payload_name(step)].blake3.clone();
                    self.newest = Some(Saved { step, blake3 });
                    return Ok(Some(checkpoint));
                }
                Err(Flaw::Damaged(what)) => {
                    report(&format!(
                        "the checkpoint of step {step} in {} is damaged ({what})",
                        self.folder.display()
                    ));
                }
                Err(Flaw::Refused(failure)) => return Err(failure),
            }
        }
        if steps.is_empty() {
            return Ok(None);
        }
        Err(Failure::data(format!(
            "no checkpoint in {} is good (see above); put them back from a copy, or begin anew in another directory",
            self.folder.display()
        )))
    }

    /// Removes what killed writers left behind: temporary files, payloads without a manifest, and checkpoints that were
    /// to go. Damaged ones stay until there are two good ones again.
    pub fn tidy(&self) -> Outcome {
        self.disk.tidy(&self.folder)?;
        let Some(newest) = &self.newest else { return Ok(()) };
        // Whoever wrote it may have been killed before its name was safe.
        self.disk.sync_directory(&self.folder)?;
        let names = self.names()?;
        let mut kept = steps_in(&names);
        let older = kept.iter().position(|&step| step < newest.step);
        kept.truncate(older.map_or(kept.len(), |older| older + 1));
        Ok(self.remove_all_but(&kept, names)?)
    }

    /// Saves a state that is not saved yet, with the logs as they are now. One with a number that is not finite is
    /// refused.
    pub fn save(
        &mut self,
        config: &Config,
        step: u64,
        tensors: &Tensors,
        logs: BTreeMap<String, Piece>,
    ) -> Result<(), SaveError> {
        if let Some(name) = payload::not_finite(tensors) {
            let kept = self.kept();
            return Err(SaveError::Failed(Failure::internal(format!(
                "tensor `{name}` is not finite at step {step}; {kept}; a smaller learning_rate may help"
            ))));
        }
        let bytes = payload::to_bytes(tensors).map_err(|e| SaveError::Failed(Failure::internal(e)))?;
        let piece = Piece::of(&bytes);
        let manifest = Manifest {
            format: FORMAT,
            program: super::program(),
            step,
            run: config.clone(),
            files: BTreeMap::from([(payload_name(step), piece.clone())]),
            logs,
        };
        let manifest = manifest.to_bytes().map_err(SaveError::Failed)?;
        self.settle()?;
        let payload = self.folder.join(payload_name(step));
        self.disk.replace(&payload, &bytes)?;
        if let Err(error) = self.disk.replace(&self.folder.join(manifest_name(step)), &manifest) {
            // Without its manifest it only takes room. It stays if the manifest is there, or if one cannot know.
            if let Ok(None) = self.disk.look(&self.folder.join(manifest_name(step))) {
                let _ = self.disk.remove(&payload);
            }
            return Err(error.into());
        }
        let previous = self.newest.replace(Saved { step, blake3: piece.blake3 });
        let kept = [step, previous.map_or(step, |saved| saved.step)];
        Ok(self.remove_all_but(&kept, self.names()?)?)
    }

    /// Before the first save: the folder is there, and a power cut takes neither its name nor those of the logs.
    fn settle(&mut self) -> Result<(), SaveError> {
        if !self.settled {
            self.disk.create_folder(&self.folder)?;
            self.disk.sync_directory(self.folder.parent().unwrap_or(Path::new(".")))?;
            self.settled = true;
        }
        Ok(())
    }

    /// Manifests go before payloads, so that no manifest is ever without its payload. Nothing goes if the newest good
    /// checkpoint is not among the names: then they are not what they should be.
    fn remove_all_but(&self, kept: &[u64], mut names: Vec<String>) -> Done {
        let newest = self.newest.as_ref().map(|saved| manifest_name(saved.step));
        if !newest.is_some_and(|newest| names.contains(&newest)) {
            let lost = "the newest checkpoint has vanished from it; nothing was removed";
            return told("tidy", &self.folder, Err(io::Error::other(lost)));
        }
        names.retain(|name| step_of(name).is_some_and(|step| !kept.contains(&step)));
        names.sort_unstable_by_key(|name| !is_manifest(name));
        names.iter().try_for_each(|name| self.disk.remove(&self.folder.join(name)))
    }
}
