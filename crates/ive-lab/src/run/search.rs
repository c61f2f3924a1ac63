//! Finding runs: below a directory, or in the places where commands put them.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::status::is_run;
use crate::exit::{Failure, Outcome};

/// Where runs are looked for when nobody says where: `ive train` writes to the first, `ive reproduce` to the second.
pub const ROOTS: [&str; 2] = ["runs", "ive-out"];

/// How far below a directory runs are looked for. `ive reproduce minatar` puts them six levels below `ive-out`.
const DEPTH: usize = 8;

/// The runs in a directory and below it, sorted by name; the directory itself may be one. There is nothing inside a run,
/// and symbolic links lead to runs but not to further directories.
pub fn below(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    search(dir, DEPTH, &mut found).map_err(|e| Failure::io(format!("cannot read {}: {e}", dir.display())))?;
    found.sort();
    Ok(found)
}

fn search(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if is_run(dir) {
        found.push(dir.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            match search(&path, depth - 1, found) {
                // One that may not be read, or that has just gone, has nothing to show.
                Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {}
                other => other?,
            }
        } else if kind.is_symlink() && is_run(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// The directory of a run, given as such or by its name in one of the usual places.
pub fn find(run: &Path) -> Outcome<PathBuf> {
    let named = ROOTS.iter().map(|root| Path::new(root).join(run)).find(|dir| is_run(dir));
    if let Some(dir) = named.filter(|_| !run.exists()) {
        return Ok(dir);
    }
    if is_run(run) {
        return Ok(run.to_owned());
    }
    let why = if run.exists() { "it has no config.toml" } else { "it does not exist" };
    Err(Failure::usage(format!(
        "{} is not a run: {why}; `ive runs list DIR` shows what there is",
        run.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_at_any_sensible_depth_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            fs::create_dir_all(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("config.toml"), "").unwrap();
        };
        make("b");
        make("table/minatar/runs/breakout/dqn/seed-0");
        make("b/inside-another-run");
        make("1/2/3/4/5/6/7/8/too-deep");
        fs::create_dir(dir.path().join("not-a-run")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("b", dir.path().join("a")).unwrap();
            std::os::unix::fs::symlink("..", dir.path().join("table/up")).unwrap();
        }
        let found = below(dir.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|run| run.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        let expected = ["a", "b", "table/minatar/runs/breakout/dqn/seed-0"];
        assert_eq!(names, expected[usize::from(cfg!(not(unix)))..]);
        assert_eq!(below(&dir.path().join("b")).unwrap(), [dir.path().join("b")]);
        assert_eq!(below(&dir.path().join("nowhere")).unwrap_err().code, 74);
    }
}
