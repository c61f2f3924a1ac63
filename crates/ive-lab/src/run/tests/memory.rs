//! A disk in memory that forgets at a power cut what was not synced, as pessimistically as POSIX allows.
//!
//! The model is that of SQLite's crash tests (`test6.c`). Content is safe once its file is synced, a name once its directory
//! is synced; syncing a file says nothing about its name. At a cut each write that is not safe is lost, kept, cut short
//! or turned into garbage, each change of a name is lost or kept (a renaming as a whole), and all that in any order.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use ive::Rng;

use crate::run::system::{Content, Kind, Mode, Seen, System};

/// What has a name: a directory, or the file of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Directory,
    File(usize),
}

type Names = BTreeMap<PathBuf, Entry>;

/// A change of names: one goes, one comes, or both.
#[derive(Clone, Debug)]
struct Naming {
    gone: Option<PathBuf>,
    new: Option<(PathBuf, Entry)>,
}

impl Naming {
    fn apply(self, names: &mut Names) {
        self.gone.map(|path| names.remove(&path));
        names.extend(self.new);
    }

    fn is_in(&self, directory: &Path) -> bool {
        let new = self.new.as_ref().map(|(path, _)| path);
        self.gone.as_ref().or(new).and_then(|path| path.parent()) == Some(directory)
    }
}

/// A change of content.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Cut(length) => bytes.resize(*length, 0),
            Self::Write(at, new) => {
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
        }
    }

    /// What a power cut makes of it.
    fn survive(self, rng: &mut Rng) -> Option<Self> {
        match (rng.below(4), self) {
            (0, _) => None,
            (1, Self::Write(at, mut bytes)) => {
                bytes.truncate(rng.below(bytes.len() + 1));
                Some(Self::Write(at, bytes))
            }
            (2, Self::Write(at, bytes)) => {
                Some(Self::Write(at, bytes.iter().map(|_| rng.below(256) as u8).collect()))
            }
            (_, whole) => Some(whole),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Stored {
    now: Vec<u8>,
    safe: Vec<u8>,
    unsafe_changes: Vec<Change>,
}

#[derive(Clone, Debug, Default)]
struct State {
    now: Names,
    safe: Names,
    unsafe_names: Vec<Naming>,
    files: Vec<Stored>,
}

impl State {
    fn name(&mut self, naming: Naming) {
        naming.clone().apply(&mut self.now);
        self.unsafe_names.push(naming);
    }

    fn change(&mut self, file: usize, change: Change) {
        let stored = &mut self.files[file];
        change.apply(&mut stored.now);
        stored.unsafe_changes.push(change);
    }

    fn seen(&self, entry: Entry) -> Seen {
        match entry {
            Entry::Directory => Seen { kind: Kind::Directory, length: 0, identity: (0, 0) },
            Entry::File(file) => Seen {
                kind: Kind::File,
                length: self.files[file].now.len() as u64,
                identity: (1, file as u64),
            },
        }
    }
}

/// A disk in memory.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Mutex<State>>);

impl Memory {
    /// An empty disk with one directory.
    pub fn new(root: &Path) -> Self {
        let names = Names::from([(root.to_owned(), Entry::Directory)]);
        Self(Arc::new(Mutex::new(State { now: names.clone(), safe: names, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Another disk in the same state.
    pub fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())))
    }

    /// The names that a power cut cannot take away, as full paths.
    pub fn safe_names(&self) -> Vec<PathBuf> {
        self.state().safe.keys().cloned().collect()
    }

    /// The power goes, and comes back.
    pub fn cut_power(&self, rng: &mut Rng) {
        let mut state = self.state();
        for stored in &mut state.files {
            let changes = shuffled(std::mem::take(&mut stored.unsafe_changes), rng);
            changes
                .into_iter()
                .filter_map(|change| change.survive(rng))
                .for_each(|c| c.apply(&mut stored.safe));
            stored.now.clone_from(&stored.safe);
        }
        for naming in shuffled(std::mem::take(&mut state.unsafe_names), rng) {
            if rng.below(2) == 0 {
                naming.apply(&mut state.safe);
            }
        }
        // What was in a directory that is gone cannot be found any more. Directories come before what is in them.
        let mut names = Names::new();
        for (path, entry) in std::mem::take(&mut state.safe) {
            if names.is_empty()
                || path.parent().is_some_and(|above| names.get(above) == Some(&Entry::Directory))
            {
                names.insert(path, entry);
            }
        }
        state.safe.clone_from(&names);
        state.now = names;
    }
}

fn shuffled<T>(mut items: Vec<T>, rng: &mut Rng) -> Vec<T> {
    rng.shuffle(&mut items);
    items
}

fn absent() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

impl System for Memory {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>> {
        let mut state = self.state();
        let file = match (state.now.get(path), mode) {
            (Some(Entry::Directory), _) => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
            (Some(_), Mode::New) => return Err(io::Error::from_raw_os_error(libc::EEXIST)),
            (Some(&Entry::File(file)), _) => file,
            (None, Mode::Read) => return Err(absent()),
            (None, _) if state.now.get(path.parent().unwrap()) != Some(&Entry::Directory) => {
                return Err(absent());
            }
            (None, _) => {
                let file = state.files.len();
                state.files.push(Stored::default());
                state.name(Naming { gone: None, new: Some((path.to_owned(), Entry::File(file))) });
                file
            }
        };
        Ok(Box::new(Handle { memory: self.clone(), file, read: 0 }))
    }

    fn look(&self, path: &Path) -> io::Result<Seen> {
        let state = self.state();
        state.now.get(path).map(|&entry| state.seen(entry)).ok_or_else(absent)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        state.now.get(directory).ok_or_else(absent)?;
        let inside = state.now.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.now.contains_key(path) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        state.now.get(path.parent().unwrap()).ok_or_else(absent)?;
        state.name(Naming { gone: None, new: Some((path.to_owned(), Entry::Directory)) });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.now.get(path).ok_or_else(absent)?;
        state.name(Naming { gone: Some(path.to_owned()), new: None });
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let entry = *state.now.get(from).ok_or_else(absent)?;
        state.name(Naming { gone: Some(from.to_owned()), new: Some((to.to_owned(), entry)) });
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        let names = std::mem::take(&mut state.unsafe_names);
        let (safe, others) = names.into_iter().partition(|naming| naming.is_in(path));
        state.unsafe_names = others;
        Vec::into_iter(safe).for_each(|naming| naming.apply(&mut state.safe));
        Ok(())
    }
}

#[derive(Debug)]
struct Handle {
    memory: Memory,
    file: usize,
    read: usize,
}

impl Content for Handle {
    fn read(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        let bytes = &self.memory.state().files[self.file].now;
        let end = bytes.len().min(self.read.saturating_add(usize::try_from(limit).unwrap()));
        let from = std::mem::replace(&mut self.read, end);
        Ok(bytes[from..end].to_vec())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.memory.state();
        let at = state.files[self.file].now.len();
        state.change(self.file, Change::Write(at, bytes.to_vec()));
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.memory.state().change(self.file, Change::Cut(usize::try_from(length).unwrap()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let stored = &mut self.memory.state().files[self.file];
        stored.unsafe_changes.clear();
        stored.safe.clone_from(&stored.now);
        Ok(())
    }

    fn look(&self) -> io::Result<Seen> {
        Ok(self.memory.state().seen(Entry::File(self.file)))
    }

    /// There is one process only.
    fn lock(&self, _: bool) -> Result<(), TryLockError> {
        Ok(())
    }
}
