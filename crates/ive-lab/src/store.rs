//! Where results go: a directory that says what it holds, files that are whole or absent, seeds that survive a stop.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::lock::{LOCK, Lock, lock};
use crate::progress::warn;
use crate::run::disk::Disk;

/// The file by which a directory is known to be ours.
const MARK: &str = "ive.json";

/// An output directory. The one that was opened holds a lock until it is dropped; its parts share that.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    _lock: Option<Lock>,
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
                let parts = || old["settings"].as_object().into_iter().flat_map(|parts| parts.keys());
                // The file may come from somebody else: nothing outside of this directory is removed.
                let is_outside = |name: &&String| {
                    !matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)])
                };
                if let Some(name) = parts().find(is_outside) {
                    return Err(Failure::data(format!(
                        "{} names `{name}`, which is no experiment; delete the directory or choose another --out",
                        mark.display()
                    )));
                }
                for name in parts() {
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
        // A stop in mid-write leaves a last line without its end: cut it off, and its seed is repeated.
        let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let mut done = Vec::new();
        for (i, line) in text[..whole].split_inclusive(|&b| b == b'\n').enumerate() {
            done.push(read_line(line).map_err(|what| {
                Failure::data(format!(
                    "{} line {}: {what}; delete that line to repeat its seed",
                    path.display(),
                    i + 1
                ))
            })?);
        }
        if whole < text.len() {
            warn(&format!("the last line of {} is not complete: its seed is repeated", path.display()));
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

/// What a line ends with: the hash of all bytes before.
fn line_end(body: &[u8]) -> String {
    format!(",\"{}\"]\n", blake3::hash(body))
}

/// `[seed, outcome, "blake3"]`, as it is written.
fn write_line<T: Serialize>(seed: u64, outcome: &T) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(&(seed, outcome)).map_err(|e| e.to_string())?;
    line.pop();
    let end = line_end(&line);
    line.extend_from_slice(end.as_bytes());
    Ok(line)
}

/// Seed and outcome of a line, or what is wrong with it.
fn read_line<T: DeserializeOwned>(line: &[u8]) -> Result<(u64, T), String> {
    let cut = line.len().checked_sub(line_end(&[]).len());
    let (body, end) = line.split_at(cut.unwrap_or(0));
    if end != line_end(body).as_bytes() {
        return Err("it is damaged, or of a version that wrote no checksums".to_owned());
    }
    let pair = [body, b"]"].concat();
    serde_json::from_slice(&pair).map_err(|e| format!("it is whole, but not as expected ({e})"))
}

/// The log of finished seeds, one JSON line each.
#[derive(Debug)]
pub struct SeedLog {
    path: PathBuf,
    file: Mutex<File>,
}

impl SeedLog {
    /// Adds a finished seed, in one write. What would not read back as it is, such as a number that is not finite, is
    /// refused: it would make all finished seeds unreadable.
    pub fn add<T: Serialize + DeserializeOwned>(&self, seed: u64, outcome: &T) -> Outcome {
        let lost = |what: &str| {
            let path = self.path.display();
            Failure::internal(format!("the outcome of seed {seed} cannot be kept in {path}: {what}"))
        };
        let line = write_line(seed, outcome).map_err(|e| lost(&e))?;
        let (_, back): (u64, T) = read_line(&line).map_err(|e| lost(&e))?;
        if write_line(seed, &back).as_ref() != Ok(&line) {
            return Err(lost("it reads back as something else"));
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |e: std::io::Error| io(&self.path, "write", &e);
        let before = file.metadata().map_err(failed)?.len();
        file.write_all(&line).map_err(|e| {
            // Half a line, of a full disk, would make the next one unreadable.
            let _ = file.set_len(before);
            failed(e)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    type Outcomes = Vec<(u64, Vec<f64>)>;

    fn store(dir: &Path) -> Store {
        Store::open(dir, &json!({}), false).unwrap()
    }

    fn read(dir: &Path) -> Outcome<Outcomes> {
        store(dir).seeds().map(|(done, _)| done)
    }

    fn written(dir: &Path) -> Outcomes {
        let all: Outcomes = vec![(3, vec![0.1, -2.5e-300]), (0, vec![]), (17, vec![1.0 / 3.0, 4.0])];
        let (_, log) = store(dir).seeds::<Vec<f64>>().unwrap();
        all.iter().for_each(|(seed, outcome)| log.add(*seed, outcome).unwrap());
        all
    }

    /// A directory may come from somebody else.
    #[test]
    fn overwriting_removes_nothing_outside_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (out, other) = (dir.path().join("out"), dir.path().join("other"));
        fs::create_dir_all(&other).unwrap();
        fs::create_dir_all(&out).unwrap();
        for name in ["../other", "", "..", ".", other.to_str().unwrap()] {
            fs::create_dir_all(out.join("#maps")).unwrap();
            let mark = json!({ "made_by": "ive reproduce", "settings": { "#maps": {}, name: {} } });
            fs::write(out.join(MARK), pretty(&mark)).unwrap();
            let refused = Store::open(&out, &json!({ "toy": 1 }), true).unwrap_err();
            assert!(refused.code == 65 && refused.message.contains("which is no experiment"), "{name}");
            assert!(other.exists() && out.join(MARK).exists() && out.join("#maps").exists());
        }
    }

    #[test]
    fn what_is_written_reads_back_and_what_would_not_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let all = written(dir.path());
        let before = fs::read(dir.path().join("seeds.jsonl")).unwrap();
        let (done, log) = store(dir.path()).seeds::<Vec<f64>>().unwrap();
        assert_eq!(done, all);
        for number in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let failure = log.add(5, &vec![1.0, number]).unwrap_err();
            assert!(
                failure.code == 70 && failure.message.contains("seed 5 cannot be kept"),
                "{}",
                failure.message
            );
        }
        assert_eq!(fs::read(dir.path().join("seeds.jsonl")).unwrap(), before, "nothing was added");
    }

    /// A file that ends early looks like one whose writer was killed: what is missing is computed again, to the same
    /// numbers. Everything else is an error.
    #[test]
    fn every_damage_of_finished_seeds_is_noticed_or_computed_again() {
        let dir = tempfile::tempdir().unwrap();
        let all = written(dir.path());
        let path = dir.path().join("seeds.jsonl");
        let good = fs::read(&path).unwrap();
        let (mut refused, mut shorter) = (0, 0);
        let mut check = |bytes: &[u8], may_be_shorter: bool, what: String| {
            fs::write(&path, bytes).unwrap();
            match read(dir.path()) {
                Err(failure) => {
                    assert!(failure.code == 65 && failure.message.contains("delete that line"), "{what}");
                    refused += 1;
                }
                Ok(found) => {
                    assert!(
                        may_be_shorter && found[..] == all[..found.len()] && found.len() < all.len(),
                        "{what}"
                    );
                    shorter += 1;
                }
            }
        };
        let last_line = good[..good.len() - 1].iter().rposition(|&b| b == b'\n').unwrap();
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[i] ^= 1 << bit;
                // Without its last byte the last line has no end.
                check(&bytes, i == good.len() - 1, format!("bit {bit} of byte {i}"));
            }
            check(&good[..i], true, format!("cut to {i} bytes"));
        }
        for more in ["\n", " \n", "[1,[]]\n", "null\n"] {
            check(&[&good[..], more.as_bytes()].concat(), false, format!("with {more:?} at the end"));
        }
        // Seeds of before lines had a checksum.
        check(b"[0,[1.0]]\n", false, "an old line".to_owned());
        assert!(refused > 8 * last_line && shorter >= good.len(), "{refused} refused, {shorter} shorter");
        fs::write(&path, [&good[..], b"[4,"].concat()).unwrap();
        assert_eq!(read(dir.path()).unwrap(), all, "a line in mid-write is cut off");
    }
}
