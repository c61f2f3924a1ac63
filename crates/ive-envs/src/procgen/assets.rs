//! The pictures of the games: are they all there?

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The files of the assets folder, as they are in the package.
const FILES: &str = include_str!("assets.txt");

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// The assets in the folder of the package, as the library wants them: absolute, with a slash at the end. They are looked
/// at here because the library ends the process when it cannot read one.
pub(super) fn complete(folder: &Path) -> Result<String, String> {
    let folder = folder.join("assets");
    let shown = folder.display();
    let absolute = folder.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    for name in FILES.lines() {
        let mut head = [0; PNG.len()];
        let read = File::open(absolute.join(name)).and_then(|mut file| file.read_exact(&mut head));
        if read.is_err() || head != PNG {
            return Err(format!("{shown}/{name} is missing or no picture; install Procgen anew"));
        }
    }
    // The library reads the name as UTF-8.
    let name = absolute.to_str().ok_or_else(|| format!("the path {shown} is not UTF-8"))?;
    Ok(format!("{name}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_1288_pictures() {
        assert_eq!(FILES.lines().count(), 1288); // `unzip -l procgen-0.10.7-*.whl | grep -c assets/.*png`
    }

    #[test]
    fn a_missing_picture_is_named() {
        let folder = std::env::temp_dir().join(format!("ive-assets-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("assets/kenney-abstract")).unwrap();
        let error = complete(&folder).unwrap_err();
        assert!(error.contains("kenney-abstract") && error.contains("is missing"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(complete(&folder).unwrap_err().contains("No such file"));
    }
}
