//! Where results go: a directory that says what it holds, files that are whole or absent, seeds that survive a stop.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::lock::{LOCK, lock};
use crate::run::disk::Disk;

/// The file by which a directory is known to be ours.
const MARK: &str = "ive.json";

/// An output directory. The one that was opened holds a lock until it is dropped; its parts share that.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    _lock: Option<File>,
}

fn io(path: &Path, doing: &str, e: &std::io::Error) -> Failure {
    Failure::io(format!("cannot {doing} {}: {e}", path.display()))
}

/// Writes a file so that it is there completely or not at all, and makes the directories above it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Outcome {
    let disk = Disk::default();
    disk.create_directory(path.parent().unwrap_or(Path::new(".")))?;
    Ok(disk.replace(path, bytes)?)
}

impl Store {
    /// Opens a directory for these settings. It may be absent, empty, or ours with the same settings (then finished
    /// seeds are used again); with `overwrite`, ours with any settings.
    pub fn open(root: &Path, settings: &Value, overwrite: bool) -> Outcome<Self> {
        let strange = !root.join(MARK).exists()
            && fs::read_dir(root).is_ok_and(|mut d| d.any(|e| e.is_ok_and(|e| e.file_name() != LOCK)));
        if strange {
            return Err(Failure::usage(format!(
                "{} is not an ive output directory, and not empty; choose another --out",
                root.display()
            )));
        }
        fs::create_dir_all(root).map_err(|e| io(root, "create", &e))?;
        let lock = lock(root, "wait for it, or choose another --out")?;
        let mark = root.join(MARK);
        let here = format!("{}", root.display());
        if mark.exists() {
            let text = fs::read_to_string(&mark).map_err(|e| io(&mark, "read", &e))?;
            let old: Value = serde_json::from_str(&text).map_err(|e| {
                Failure::data(format!(
                    "{}: {e}; delete the directory or choose another --out",
                    mark.display()
                ))
            })?;
            if &old["settings"] != settings {
                if !overwrite {
                    let what = others(&old["settings"], settings).unwrap_or_else(|| {
                        format!("results of other settings ({})", difference(&old["settings"], settings))
                    });
                    return Err(Failure::usage(format!(
                        "{here} holds {what}; choose another --out, or --overwrite"
                    )));
                }
                for name in old["settings"].as_object().into_iter().flat_map(|parts| parts.keys()) {
                    match fs::remove_dir_all(root.join(name)) {
                        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                            return Err(io(root, "empty", &e));
                        }
                        _ => {}
                    }
                }
            }
        }
        write_atomically(&mark, &pretty(&json!({ "made_by": "ive reproduce", "settings": settings })))?;
        Ok(Self { root: root.to_owned(), _lock: Some(lock) })
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The part of one experiment.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        Self { root: self.root.join(name), _lock: None }
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Outcome {
        write_atomically(&self.root.join(name), bytes)
    }

    /// Writes a JSON file, whole or not at all.
    pub fn write_json(&self, name: &str, value: &Value) -> Outcome {
        self.write(name, &pretty(value))
    }

    /// The seeds that were finished before, and the log to which further ones are added.
    pub fn seeds<T: Serialize + DeserializeOwned>(&self) -> Outcome<(Vec<(u64, T)>, SeedLog)> {
        let path = self.root.join("seeds.jsonl");
        fs::create_dir_all(&self.root).map_err(|e| io(&self.root, "create", &e))?;
        let text = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(io(&path, "read", &e)),
        };
        // A stop in mid-write leaves a last line without its end: cut it off and go on.
        let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let mut done = Vec::new();
        for (i, line) in text[..whole].split(|&b| b == b'\n').filter(|l| !l.is_empty()).enumerate() {
            done.push(serde_json::from_slice(line).map_err(|e| {
                Failure::data(format!(
                    "{} line {}: {e}; delete that line to repeat its seed",
                    path.display(),
                    i + 1
                ))
            })?);
        }
        let open = || -> std::io::Result<File> {
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.set_len(whole as u64)?;
            Ok(file)
        };
        let file = open().map_err(|e| io(&path, "open", &e))?;
        Ok((done, SeedLog { path, file: Mutex::new(file) }))
    }
}

/// The log of finished seeds, one JSON line each.
#[derive(Debug)]
pub struct SeedLog {
    path: PathBuf,
    file: Mutex<File>,
}

impl SeedLog {
    /// Adds a finished seed, in one write.
    pub fn add<T: Serialize>(&self, seed: u64, outcome: &T) -> Outcome {
        let mut line = serde_json::to_vec(&(seed, outcome)).map_err(|e| Failure::internal(e.to_string()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(|e| io(&self.path, "write", &e))
    }
}

/// JSON as people read it.
pub fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// What is there if only the experiments differ, not their settings.
fn others(old: &Value, new: &Value) -> Option<String> {
    let (old, new) = (old.as_object()?, new.as_object()?);
    let same = old.iter().all(|(name, settings)| new.get(name).is_none_or(|asked| asked == settings));
    let words = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>().join(", ");
    (same && !old.keys().eq(new.keys()))
        .then(|| format!("the results and the report of {}, not of {}", words(old), words(new)))
}

/// The first settings that differ, `reaching.epochs 10000 → 20`.
pub fn difference(old: &Value, new: &Value) -> String {
    fn walk(at: &str, old: &Value, new: &Value, out: &mut Vec<String>) {
        match (old, new) {
            (Value::Object(a), Value::Object(b)) => {
                let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
                keys.sort();
                keys.dedup();
                for key in keys {
                    let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    walk(&at, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), out);
                }
            }
            (a, b) if a != b && (a.is_object() || b.is_object()) => {
                out.push(format!("{at} present in one of them only"));
            }
            (a, b) if a != b => out.push(format!("{at} {a} → {b}")),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk("", old, new, &mut out);
    let more = out.len().saturating_sub(3);
    out.truncate(3);
    out.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
