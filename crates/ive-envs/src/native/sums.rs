//! SHA-256 of files, and lists of such hashes in the form of `sha256sum`.
//!
//! An installed folder holds the list `SHA256SUMS` of its files, and the hash of that list is part of this program. So
//! the list says which file is damaged, and a damaged list is noticed too. `sha256sum -c SHA256SUMS` reads it as well.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::package::PackageInfo;

/// The name of the list.
pub(super) const SUMS: &str = "SHA256SUMS";

/// The SHA-256 of bytes, in hexadecimal.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(Sha256::digest(bytes).as_slice())
}

/// The SHA-256 of what is left to read, in hexadecimal.
pub(super) fn of(from: &mut impl Read) -> io::Result<String> {
    copy(from, &mut io::sink())
}

/// Copies what is left to read, and returns its SHA-256.
pub(super) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(hash.finalize().as_slice())),
            Ok(n) => {
                hash.update(&buffer[..n]);
                to.write_all(&buffer[..n])?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The list of files and their hashes, sorted by name as by `LC_ALL=C sort`.
pub(super) fn list(mut files: Vec<(String, String)>) -> String {
    files.sort();
    files.iter().map(|(name, sha256)| format!("{sha256}  {name}\n")).collect()
}

/// Compares a folder with its list: every byte, or every byte of the library and the presence and size of the rest.
/// `None` if all is well, else what is wrong.
pub(super) fn damage(folder: &Path, info: &PackageInfo, thorough: bool) -> io::Result<Option<String>> {
    let list = match fs::read(folder.join(SUMS)) {
        Ok(list) => list,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(format!("{SUMS} is missing"))),
        Err(e) => return Err(e),
    };
    if of_bytes(&list) != info.sums_sha256 {
        return Ok(Some(format!("{SUMS} is not the list of {} {}", info.name, info.version)));
    }
    let mut bytes = 0;
    for line in String::from_utf8_lossy(&list).lines() {
        let Some((sha256, name)) = line.split_once("  ") else { continue };
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(file) if file.is_file() => bytes += file.len(),
            Ok(_) => return Ok(Some(format!("{name} is not a file"))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(format!("{name} is missing"))),
            Err(e) => return Err(e),
        }
        if thorough || name == info.library {
            let got = of(&mut File::open(&path)?)?;
            if got != sha256 {
                return Ok(Some(format!("{name} has the SHA-256 {got} instead of {sha256}")));
            }
        }
    }
    if bytes != info.bytes {
        return Ok(Some(format!("its files have {bytes} bytes together instead of {}", info.bytes)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-2, appendix B.1, and the empty text, whose hash `sha256sum /dev/null` prints.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of_bytes(b"abc"), abc);
        assert_eq!(of(&mut &b""[..]).unwrap(), empty);
        let mut copied = Vec::new();
        assert_eq!(copy(&mut &b"abc"[..], &mut copied).unwrap(), abc);
        assert_eq!(copied, b"abc");
        let files = vec![("b".to_owned(), empty.to_owned()), ("B/ a".to_owned(), abc.to_owned())];
        assert_eq!(list(files), format!("{abc}  B/ a\n{empty}  b\n"));
    }
}
