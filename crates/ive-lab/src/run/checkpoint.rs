//! Checkpoints of a run: two generations, each a payload and a manifest, and the segments that they share.
//!
//! The order of a save makes it safe to be interrupted anywhere: logs are synced, new segments and the payload are written,
//! synced and renamed into place, then the manifest. A checkpoint exists when its manifest does. Only then older ones go,
//! all but one, with the segments that none of the two needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use ive_agents::{Archive, ArchiveError, Tensors};

use super::Plan;
use super::disk::{Disk, DiskError, Done, told};
pub use super::manifest::Piece;
use super::manifest::{Flaw, Manifest, format};
use super::segments::{Reader, SEGMENT, Segments, Writer, is_segment};
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
    /// How many bytes a segment has at most.
    segment: u64,
}

/// A good checkpoint, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Environment steps done.
    pub step: u64,
    /// The hash of the payload.
    pub blake3: String,
    /// The segments beside it.
    pub segments: Segments,
}

impl Saved {
    fn of(manifest: &Manifest) -> Self {
        let payload = payload_name(manifest.step);
        let mut segments = manifest.files.clone();
        let blake3 = segments.remove(&payload).map_or(String::new(), |piece| piece.blake3);
        Self { step: manifest.step, blake3, segments }
    }
}

/// A checkpoint that was found to be whole.
#[derive(Debug)]
pub struct Checkpoint {
    /// What it consists of.
    pub manifest: Manifest,
    /// The state of the agent, all but its logs.
    pub tensors: Tensors,
    /// Its logs.
    pub logs: Reader,
}

/// The state of an agent on its way to a checkpoint: its logs are on the disk already.
#[derive(Debug)]
pub struct State {
    /// Environment steps done.
    pub step: u64,
    /// Everything but its logs.
    pub tensors: Tensors,
    /// Its logs.
    pub segments: Writer,
}

/// A checkpoint on its way to the disk.
#[derive(Debug)]
pub struct Saving(JoinHandle<Result<Saved, SaveError>>);

impl Saving {
    /// Whether there is nothing to wait for.
    pub fn is_over(&self) -> bool {
        self.0.is_finished()
    }
}

/// Puts a state on the disk: segments, payload, manifest.
fn commit(
    folder: &Path,
    disk: &Disk,
    config: &Plan,
    mut state: State,
    logs: BTreeMap<String, Piece>,
    kept: &str,
) -> Result<Saved, SaveError> {
    let [payload, manifest] = [payload_name, manifest_name].map(|name| folder.join(name(state.step)));
    let all = || {
        let (list, bytes) = listed(config, &state, logs, kept)?;
        let text = list.to_bytes().map_err(SaveError::Failed)?;
        state.segments.finish()?;
        disk.replace(&payload, &bytes)?;
        disk.replace(&manifest, &text)?;
        Ok(Saved::of(&list))
    };
    all().inspect_err(|_| {
        // Without its manifest it only takes room. It stays if the manifest is there, or if one cannot know.
        if let Ok(None) = disk.look(&manifest) {
            let _ = disk.remove(&payload);
            state.segments.discard();
        }
    })
}

/// The manifest of a state, and the bytes of its payload.
fn listed(
    config: &Plan,
    state: &State,
    logs: BTreeMap<String, Piece>,
    kept: &str,
) -> Result<(Manifest, Vec<u8>), SaveError> {
    let State { step, tensors, segments } = state;
    if let Some(name) = payload::not_finite(tensors) {
        return Err(SaveError::Failed(Failure::internal(format!(
            "tensor `{name}` is not finite at step {step}; {kept}; a smaller learning_rate may help"
        ))));
    }
    let bytes = payload::to_bytes(tensors).map_err(|e| SaveError::Failed(Failure::internal(e)))?;
    let mut files = segments.files().clone();
    files.insert(payload_name(*step), Piece::of(&bytes));
    let (format, program) = (format(files.len()), super::program());
    let manifest = Manifest { format, program, step: *step, run: config.clone(), files, logs };
    Ok((manifest, bytes))
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
        let (folder, disk) = (dir.join(FOLDER), disk.clone());
        Self { folder, disk, newest: None, settled: false, segment: SEGMENT }
    }

    /// The same with segments of at most so many bytes.
    #[must_use]
    pub fn with_segments_of(self, segment: u64) -> Self {
        Self { segment, ..self }
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
    pub fn manifest(&self, step: u64, config: &Plan) -> Result<Manifest, Flaw> {
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
        let known = |name: &String| *name == payload || is_segment(name);
        let complete = manifest.files.contains_key(&payload) && manifest.files.keys().all(known);
        if manifest.step != step || !complete || manifest.format != format(manifest.files.len()) {
            return Err(Flaw::Damaged(format!(
                "{}: it belongs to another step, or its files do not fit",
                path.display()
            )));
        }
        Ok(manifest)
    }

    fn read(&self, step: u64, config: &Plan) -> Result<Checkpoint, Flaw> {
        let manifest = self.manifest(step, config)?;
        let name = payload_name(step);
        let path = self.folder.join(&name);
        let bytes = manifest.files[&name].whole(&self.disk, &path)?;
        let damaged = |what: String| Flaw::Damaged(format!("{}: {what}", path.display()));
        let tensors = payload::from_bytes(&bytes).map_err(damaged)?;
        let segments = Saved::of(&manifest).segments;
        segments.iter().try_for_each(|(name, piece)| piece.check(&self.disk, &self.folder.join(name)))?;
        let logs = Reader::new(&self.disk, &self.folder, segments);
        Ok(Checkpoint { manifest, tensors, logs })
    }

    /// The newest good checkpoint that `accept` does not find fault with; `None` if none was ever written. Damaged ones
    /// are reported; if there are only damaged ones, that is an error.
    pub fn load(
        &mut self,
        config: &Plan,
        accept: impl Fn(&Manifest) -> Result<(), Flaw>,
        mut report: impl FnMut(&str),
    ) -> Outcome<Option<Checkpoint>> {
        let steps = self.steps()?;
        for &step in &steps {
            let read = self.read(step, config);
            let read = read.and_then(|c| accept(&c.manifest).map(|()| c));
            match read {
                Ok(checkpoint) => {
                    self.newest = Some(Saved::of(&checkpoint.manifest));
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

    /// Removes what killed writers left behind: temporary files, payloads and segments without a manifest, and checkpoints
    /// that were to go. Damaged ones stay until there are two good ones again.
    pub fn tidy(&self) -> Outcome {
        self.disk.tidy(&self.folder)?;
        let Some(newest) = &self.newest else { return Ok(()) };
        // Whoever wrote it may have been killed before its name was safe.
        self.disk.sync_directory(&self.folder)?;
        let names = self.names()?;
        let mut kept = steps_in(&names);
        let older = kept.iter().position(|&step| step < newest.step);
        kept.truncate(older.map_or(kept.len(), |older| older + 1));
        let segments = self.segments_of(&kept)?;
        Ok(self.remove_all_but(&kept, segments.as_ref(), names)?)
    }

    /// The segments that some checkpoints need; `None` if one of them does not say.
    fn segments_of(&self, steps: &[u64]) -> Outcome<Option<BTreeSet<String>>> {
        let mut segments = BTreeSet::new();
        for &step in steps {
            match Manifest::read(&self.disk, &self.folder.join(manifest_name(step))) {
                Ok(manifest) => segments.extend(manifest.files.into_keys()),
                Err(Flaw::Damaged(_)) => return Ok(None),
                Err(Flaw::Refused(failure)) => return Err(failure),
            }
        }
        Ok(Some(segments))
    }

    /// Collects the state that `walk` lists, and writes what is new of its logs.
    pub fn collect(
        &mut self,
        step: u64,
        walk: &mut dyn FnMut(&mut Archive<'_>) -> Result<(), ArchiveError>,
    ) -> Result<State, SaveError> {
        self.settle()?;
        let before = self.newest.as_ref().map(|saved| saved.segments.clone()).unwrap_or_default();
        let mut segments = Writer::new(&self.disk, &self.folder, self.segment, before);
        let mut archive = Archive::saving_to(&mut segments);
        match walk(&mut archive) {
            Ok(()) => Ok(State { step, tensors: archive.into_tensors(), segments }),
            Err(error) => {
                segments.discard();
                let unsaved = || SaveError::Failed(Failure::internal(format!("{error}; {}", self.kept())));
                Err(segments.failure().map_or_else(unsaved, SaveError::from))
            }
        }
    }

    /// Saves a state that is not saved yet, with the logs as they are now. One with a number that is not finite is
    /// refused.
    pub fn save(
        &mut self,
        config: &Plan,
        state: State,
        logs: BTreeMap<String, Piece>,
    ) -> Result<(), SaveError> {
        let saved = commit(&self.folder, &self.disk, config, state, logs, &self.kept())?;
        self.keep(saved)
    }

    /// The same on a thread of its own: the agent goes on while the disk works.
    pub fn begin(&self, config: &Plan, state: State, logs: BTreeMap<String, Piece>) -> Saving {
        let (folder, disk) = (self.folder.clone(), self.disk.clone());
        let (config, kept) = (config.clone(), self.kept());
        Saving(std::thread::spawn(move || commit(&folder, &disk, &config, state, logs, &kept)))
    }

    /// Waits for it.
    pub fn end(&mut self, saving: Saving) -> Result<(), SaveError> {
        let crashed = |_| Err(SaveError::Failed(Failure::internal("saving has crashed")));
        let saved = saving.0.join().unwrap_or_else(crashed)?;
        self.keep(saved)
    }

    /// This is the newest one now. Older ones go, all but one.
    fn keep(&mut self, saved: Saved) -> Result<(), SaveError> {
        let previous = self.newest.replace(saved);
        let both: Vec<&Saved> = [&self.newest, &previous].into_iter().flatten().collect();
        let kept: Vec<u64> = both.iter().map(|saved| saved.step).collect();
        let segments = both.iter().flat_map(|saved| saved.segments.keys().cloned()).collect();
        Ok(self.remove_all_but(&kept, Some(&segments), self.names()?)?)
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

    /// Manifests go before payloads and segments, so that no manifest is ever without them. Segments go only if it is known
    /// which ones are needed. Nothing goes if the newest good checkpoint is not among the names: then they are not what
    /// they should be.
    fn remove_all_but(
        &self,
        steps: &[u64],
        segments: Option<&BTreeSet<String>>,
        mut names: Vec<String>,
    ) -> Done {
        let newest = self.newest.as_ref().map(|saved| manifest_name(saved.step));
        if !newest.is_some_and(|newest| names.contains(&newest)) {
            let lost = "the newest checkpoint has vanished from it; nothing was removed";
            return told("tidy", &self.folder, Err(io::Error::other(lost)));
        }
        names.retain(|name| match step_of(name) {
            Some(step) => !steps.contains(&step),
            None => is_segment(name) && segments.is_some_and(|needed| !needed.contains(name)),
        });
        names.sort_unstable_by_key(|name| !is_manifest(name));
        names.iter().try_for_each(|name| self.disk.remove(&self.folder.join(name)))
    }
}
