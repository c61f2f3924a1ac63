//! Unpacking a wheel whose hash is right: only the files we need, each hashed and synced, into a folder that nobody uses yet.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::error::Problem;
use super::package::{Member, PackageInfo};
use super::sums::{self, SUMS};
use super::{Progress, Watch};

/// The name of the file with licence and credits.
const CREDITS: &str = "CREDITS.txt";

/// Where a file of the wheel goes, if it is one of those that we keep.
fn target(members: &[Member], name: &str) -> Option<String> {
    members.iter().find_map(|member| match member {
        Member::File(from, to) => (name == *from).then(|| (*to).to_owned()),
        Member::Pictures(from, to) => {
            let below = name.strip_prefix(from)?;
            below.to_ascii_lowercase().ends_with(".png").then(|| format!("{to}{below}"))
        }
    })
}

/// Whether a name leads to a place inside the folder: plain names only, no `..`, no root, no drive.
fn stays_inside(name: &str) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !name.is_empty() && !name.contains(['\\', '\0']) && Path::new(name).components().all(plain)
}

/// Checks a wheel and unpacks it into a new folder, with the list of hashes and the credits.
pub(super) fn unpack(
    info: &PackageInfo,
    wheel: &Path,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Result<(), Problem> {
    let mut tell = |progress| match watch(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Problem::Interrupted),
    };
    tell(Progress::Checking)?;
    let broken = |reason: String| Problem::Wheel { file: wheel.to_owned(), reason };
    // A device or a pipe may never end.
    let about = fs::metadata(wheel).map_err(Problem::io("open", wheel))?;
    if !about.is_file() {
        return Err(broken("it is not a regular file".to_owned()));
    }
    if about.len() > info.wheel.bytes {
        let (got, right) = (about.len(), info.wheel.bytes);
        return Err(broken(format!("it has {got} bytes, where {} has {right}", info.wheel.file)));
    }
    // One handle for hashing and reading: nobody can put another file in between.
    let mut file = File::open(wheel).map_err(Problem::io("open", wheel))?;
    let got = sums::of(&mut (&mut file).take(info.wheel.bytes + 1)).map_err(Problem::io("read", wheel))?;
    expect(&wheel.display().to_string(), info.wheel.sha256, got)?;
    file.rewind().map_err(Problem::io("read", wheel))?;

    let unreadable = |e: ZipError| broken(e.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
    let of = archive.len();
    let mut disk = Unpacked::new(folder)?;
    let mut hashes = Vec::new();
    for number in 0..of {
        let mut member = archive.by_index(number).map_err(unreadable)?;
        let name = member.name().map_err(unreadable)?.into_owned();
        if !stays_inside(&name) {
            return Err(broken(format!("its member `{name}` would be written outside of the folder")));
        }
        let Some(to) = target(info.members, &name).filter(|_| member.is_file()) else { continue };
        let sha256 = disk.write(&to, |out| sums::copy(&mut member, out))?;
        hashes.push((to, sha256));
        tell(Progress::Unpacking { files: number + 1, of })?;
    }
    let library = hashes.iter().find(|(name, _)| name == info.library);
    let (name, got) = library.ok_or_else(|| broken(format!("it does not hold {}", info.library)))?;
    expect(name, info.library_sha256, got.clone())?;
    let list = sums::list(hashes);
    expect(
        &format!("the list of files in {}", wheel.display()),
        info.sums_sha256,
        sums::of_bytes(list.as_bytes()),
    )?;

    disk.write(SUMS, |out| out.write_all(list.as_bytes()))?;
    let origin = format!(
        "{} {}, from {} (SHA-256 {})\n\n",
        info.name, info.version, info.wheel.file, info.wheel.sha256
    );
    disk.write(CREDITS, |out| write!(out, "{origin}{}", info.credits))?;
    disk.sync()
}

/// Refuses a file that does not have its hash.
fn expect(file: &str, expected: &str, got: String) -> Result<(), Problem> {
    if got == expected {
        return Ok(());
    }
    Err(Problem::Hash { file: file.to_owned(), expected: expected.to_owned(), got })
}

/// A folder that is being filled.
struct Unpacked {
    root: PathBuf,
    folders: BTreeSet<PathBuf>,
}

impl Unpacked {
    fn new(root: &Path) -> Result<Self, Problem> {
        fs::create_dir(root).map_err(Problem::io("create", root))?;
        Ok(Self { root: root.to_owned(), folders: BTreeSet::from([root.to_owned()]) })
    }

    /// Writes a file that is not there yet, and waits until it is on the disk.
    fn write<T>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut File) -> std::io::Result<T>,
    ) -> Result<T, Problem> {
        let path = self.root.join(name);
        let above = path.parent().unwrap_or(&self.root);
        if !self.folders.contains(above) {
            fs::create_dir_all(above).map_err(Problem::io("create", above))?;
            let new = above.ancestors().take_while(|folder| *folder != self.root).map(Path::to_owned);
            self.folders.extend(new);
        }
        let mut file = File::create_new(&path).map_err(Problem::io("create", &path))?;
        let result = fill(&mut file).map_err(Problem::io("write", &path))?;
        file.sync_all().map_err(Problem::io("sync", &path))?;
        Ok(result)
    }

    /// Waits until the names in all folders are on the disk.
    fn sync(&self) -> Result<(), Problem> {
        let sync = |folder: &PathBuf| {
            File::open(folder).and_then(|f| f.sync_all()).map_err(Problem::io("sync", folder))
        };
        self.folders.iter().try_for_each(sync)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Package;
    use super::*;

    #[test]
    fn only_plain_names_stay_inside() {
        for name in ["a", "a/b.png", "a/ .png", "a/..b"] {
            assert!(stays_inside(name), "{name}");
        }
        for name in ["", "..", "../a", "a/../../b", "/a", "a\\..\\b", "a\0b"] {
            assert!(!stays_inside(name), "{name}");
        }
    }

    #[test]
    fn pictures_the_library_and_licences_are_kept() {
        let to = |name| target(Package::Procgen.info().members, name);
        assert_eq!(to("procgen/data/prebuilt/libenv.so").as_deref(), Some("libenv.so"));
        assert_eq!(to("procgen/data/assets/a/ .png").as_deref(), Some("assets/a/ .png"));
        assert_eq!(to("procgen/data/assets/misc_assets/cheese.textClipping"), None);
        assert_eq!(to("procgen/env.py"), None);
    }
}
