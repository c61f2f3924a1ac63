//! NumPy's archives (NPZ): a zip file with an NPY file for each array.

use std::io::{self, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::npy::{Array, ReadSeek, header};
use super::spool::{Bytes, Spool};
use crate::exit::{Failure, Outcome};

/// More arrays than anybody saves together.
const MOST_ARRAYS: usize = 10_000;

/// The arrays of an archive, with their names. Those that are stored as they are, as `numpy.savez` does, are read from the
/// file part by part; compressed ones are unpacked first.
pub fn open(name: &str, bytes: &Bytes) -> Outcome<Vec<(String, Array)>> {
    let unreadable = |e: io::Error| Failure::io(format!("cannot read {name}: {e}"));
    let broken = |e: zip::result::ZipError| match e {
        zip::result::ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => unreadable(e),
        other => Failure::data(format!("cannot read {name}: {other}")),
    };
    let mut archive = ZipArchive::new(bytes.reader().map_err(unreadable)?).map_err(broken)?;
    if archive.len() > MOST_ARRAYS {
        return Err(Failure::data(format!("cannot read {name}: it holds {} files", archive.len())));
    }
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(broken)?;
        let Some(inner) = entry.name().map_err(broken)?.strip_suffix(".npy").map(str::to_owned) else {
            continue;
        };
        let called = format!("`{inner}` in {name}");
        let length = entry.size();
        let stored = entry.data_start().filter(|_| entry.compression() == CompressionMethod::Stored);
        let array = if let Some(at) = stored {
            drop(entry);
            Array::open(called, bytes.reader().map_err(unreadable)?, at, length)?
        } else {
            let unpacked = Spool::of(entry.take(length));
            let damaged = |e: io::Error| Failure::data(format!("cannot unpack {called}: {e}"));
            let unpacked = unpacked.map_err(damaged)?.into_bytes();
            let length = unpacked.length().map_err(unreadable)?;
            Array::open(called, unpacked.reader().map_err(unreadable)?, 0, length)?
        };
        arrays.push((inner, array));
    }
    Ok(arrays)
}

/// Whether a file begins like an archive.
pub fn is_archive(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}

/// Writes an archive from front to back: arrays follow each other.
pub struct Writer<'a> {
    zip: ZipWriter<zip::write::StreamWriter<&'a mut (dyn Write + Send)>>,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// An archive that is written to `out`.
    pub fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self { zip: ZipWriter::new_stream(out) }
    }

    /// Begins an array of eight-byte numbers; the numbers themselves are written afterwards.
    pub fn array(&mut self, name: &str, descr: &str, shape: &[usize]) -> io::Result<()> {
        let bytes = 8 * shape.iter().product::<usize>() as u64;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes > u64::from(u32::MAX / 2));
        self.zip.start_file(format!("{name}.npy"), options)?;
        self.zip.write_all(&header(descr, shape))
    }

    /// An array of `f64` that is there as a whole.
    pub fn numbers(&mut self, name: &str, shape: &[usize], numbers: &[f64]) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.array(name, "<f8", shape)?;
        self.more(&bytes)
    }

    /// An array of whole numbers with one axis.
    pub fn whole(&mut self, name: &str, numbers: impl Iterator<Item = i64>) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.flat_map(i64::to_le_bytes).collect();
        self.array(name, "<i8", &[bytes.len() / 8])?;
        self.more(&bytes)
    }

    /// More numbers of the array that was begun last.
    pub fn more(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.zip.write_all(bytes)
    }

    /// Writes the list of contents.
    pub fn finish(self) -> io::Result<()> {
        self.zip.finish()?;
        Ok(())
    }
}

/// The first bytes of a file.
pub fn start(from: &mut dyn ReadSeek) -> io::Result<Vec<u8>> {
    from.seek(io::SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    from.take(8).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    fn archive() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.numbers("values", &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        writer.whole("episode", [7, 7, -8].into_iter()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let mut arrays = open("a.npz", &Bytes::Memory(archive().into())).unwrap();
        assert_eq!(arrays.iter().map(|a| a.0.as_str()).collect::<Vec<_>>(), ["values", "episode"]);
        assert_eq!(arrays[0].1.part(0..2, 1..2).unwrap(), [1.0, 4.0]);
        assert_eq!(arrays[1].1.all().unwrap(), [7.0, 7.0, -8.0]);
    }

    #[test]
    fn compressed_arrays_are_unpacked() {
        let mut bytes = Vec::new();
        let mut zip = ZipWriter::new(io::Cursor::new(&mut bytes));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file("x.npy", options).unwrap();
        zip.write_all(&header("<f4", &[1000])).unwrap();
        zip.write_all(&[0; 4000]).unwrap();
        zip.finish().unwrap();
        assert!(bytes.len() < 1000);
        let mut arrays = open("a.npz", &Bytes::Memory(bytes.into())).unwrap();
        assert_eq!(arrays[0].1.all().unwrap(), [0.0; 1000]);
    }

    /// Ten thousand damaged archives: an error or arrays, never a panic.
    #[test]
    fn damaged_archives_never_panic() {
        let whole = archive();
        let rng = &mut Rng::from_seed(5);
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            for _ in 0..=rng.below(6) {
                let at = rng.below(bytes.len());
                bytes[at] = rng.next_u64() as u8;
            }
            bytes.truncate(bytes.len() - rng.below(3) * rng.below(bytes.len()) / 2);
            if let Ok(arrays) = open("a.npz", &Bytes::Memory(bytes.into())) {
                for (_, mut array) in arrays {
                    let _ = array.all();
                }
            }
        }
    }
}
