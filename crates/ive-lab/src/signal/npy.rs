//! NumPy's array files (NPY, NEP 1): a header in Python's notation, then the numbers.
//!
//! Files come from anywhere: nothing is believed before it is checked, and nothing is allocated for what the file does not
//! hold.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::exit::{Failure, Outcome};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Headers that NumPy writes have some hundred bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// What can be read at any place.
pub trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// The types of numbers that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `<f4`
    F32,
    /// `<f8`
    F64,
    /// Whole numbers of so many bytes, with a sign or without.
    Whole {
        /// 1, 2, 4 or 8.
        bytes: usize,
        /// Whether negative ones exist.
        signed: bool,
    },
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Whole { bytes, .. } => bytes,
        }
    }

    /// Of a type in NumPy's notation; says what to do about those that are not read.
    fn parse(descr: &str) -> Result<Self, String> {
        let whole = |bytes, signed| Ok(Self::Whole { bytes, signed });
        match descr {
            "<f4" => Ok(Self::F32),
            "<f8" => Ok(Self::F64),
            "|b1" | "|u1" => whole(1, false),
            "|i1" => whole(1, true),
            "<u2" => whole(2, false),
            "<i2" => whole(2, true),
            "<u4" => whole(4, false),
            "<i4" => whole(4, true),
            "<u8" => whole(8, false),
            "<i8" => whole(8, true),
            _ if descr.starts_with('>') => {
                Err(format!("its numbers are big endian ({descr}); save it with .astype('<f8')"))
            }
            _ if descr.contains('O') => {
                Err("it holds Python objects, which are never read; save it with .astype('f8')".to_owned())
            }
            _ => Err(format!("its numbers have the type {descr}; save it with .astype('f8')")),
        }
    }

    /// The number in these bytes. Whole numbers beyond 2⁵³ lose their last digits, as in NumPy.
    fn number(self, bytes: &[u8]) -> f64 {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        match self {
            Self::F32 => f64::from(f32::from_le_bytes([eight[0], eight[1], eight[2], eight[3]])),
            Self::F64 => f64::from_le_bytes(eight),
            Self::Whole { signed: false, .. } => u64::from_le_bytes(eight) as f64,
            Self::Whole { bytes, signed: true } => {
                let unused = 64 - 8 * bytes as u32;
                ((i64::from_le_bytes(eight) << unused) >> unused) as f64
            }
        }
    }
}

/// What the header of an array says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of its numbers.
    pub kind: Kind,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    /// How many entries along each axis.
    pub shape: Vec<usize>,
}

impl Header {
    /// How many numbers there are, if that fits a machine word with all their bytes.
    fn count(&self) -> Option<usize> {
        let count = self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        count.checked_mul(self.kind.bytes())?;
        Some(count)
    }

    /// Reads magic, version and header.
    fn read(from: &mut dyn Read) -> Result<Self, String> {
        let cut = |_| "it ends within its header".to_owned();
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(cut)?;
        if &start[..6] != MAGIC {
            return Err("it is no NumPy array: it does not begin with \\x93NUMPY".to_owned());
        }
        let length = match start[6] {
            1 => {
                let mut two = [0; 2];
                from.read_exact(&mut two).map_err(cut)?;
                usize::from(u16::from_le_bytes(two))
            }
            2 | 3 => {
                let mut four = [0; 4];
                from.read_exact(&mut four).map_err(cut)?;
                u32::from_le_bytes(four) as usize
            }
            version => return Err(format!("it has version {version} of the format; 1 to 3 are read")),
        };
        if length > LONGEST_HEADER {
            return Err(format!("its header has {length} bytes; at most {LONGEST_HEADER} are read"));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text).map_err(cut)?;
        Self::parse(std::str::from_utf8(&text).map_err(|_| "its header is no text".to_owned())?)
    }

    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (5, 100), }`
    fn parse(text: &str) -> Result<Self, String> {
        let strange = || format!("its header is `{}`", text.trim().chars().take(80).collect::<String>());
        let (mut kind, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{').ok_or_else(strange)?.trim_start();
        while !rest.starts_with('}') {
            let (key, after) = quoted(rest).ok_or_else(strange)?;
            let after = after.trim_start().strip_prefix(':').ok_or_else(strange)?.trim_start();
            rest = match key {
                "descr" => {
                    let (descr, after) = quoted(after)
                        .ok_or_else(|| "its entries are records; save one array for each field".to_owned())?;
                    kind = Some(Kind::parse(descr)?);
                    after
                }
                "fortran_order" => {
                    let (value, after) = [("True", true), ("False", false)]
                        .iter()
                        .find_map(|(word, value)| Some((*value, after.strip_prefix(word)?)))
                        .ok_or_else(strange)?;
                    fortran = Some(value);
                    after
                }
                "shape" => {
                    let (inside, after) =
                        after.strip_prefix('(').and_then(|t| t.split_once(')')).ok_or_else(strange)?;
                    let numbers = inside.split(',').map(str::trim).filter(|n| !n.is_empty());
                    shape = Some(
                        numbers.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| strange())?,
                    );
                    after
                }
                _ => return Err(strange()),
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            if rest.is_empty() {
                return Err(strange());
            }
        }
        match (kind, fortran, shape) {
            (Some(kind), Some(fortran), Some(shape)) => Ok(Self { kind, fortran, shape }),
            _ => Err(strange()),
        }
    }
}

/// The text between quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// The start of a file with numbers in C order, padded so that they begin at a multiple of 64 bytes.
pub fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let axes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let axes =
        if shape.len() == 1 { axes.trim_end().to_owned() } else { axes.trim_end_matches(", ").to_owned() };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let total = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64);
    text.push_str(&" ".repeat(total - MAGIC.len() - 4 - text.len() - 1));
    text.push('\n');
    [&MAGIC[..], &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

/// An array in a file, read a part at a time.
pub struct Array {
    /// For messages: the file and, in an archive, the name.
    pub name: String,
    /// What it is.
    pub header: Header,
    from: Box<dyn ReadSeek>,
    /// Where its numbers begin.
    start: u64,
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Array")
            .field("name", &self.name)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Array {
    /// Opens the array that begins at `at` and has at most `length` bytes, header included.
    pub fn open(name: String, mut from: Box<dyn ReadSeek>, at: u64, length: u64) -> Outcome<Self> {
        let seek = from.seek(SeekFrom::Start(at));
        seek.map_err(|e| Failure::io(format!("cannot read {name}: {e}")))?;
        let header = Header::read(&mut (&mut from).take(length));
        let header = header.map_err(|reason| Failure::data(format!("cannot read {name}: {reason}")))?;
        let start = from.stream_position().map_err(|e| Failure::io(format!("cannot read {name}: {e}")))?;
        let there = length.saturating_sub(start - at);
        let needed = header.count().map(|n| n as u64 * header.kind.bytes() as u64);
        if needed.is_none_or(|needed| needed > there) {
            let shape = shape(&header.shape);
            let message = format!(
                "cannot read {name}: its header says {shape}, but only {there} bytes of numbers follow"
            );
            return Err(Failure::data(message));
        }
        if header.fortran && header.shape.len() > 2 {
            let message = "it has more than two axes in Fortran order; save it with numpy.ascontiguousarray";
            return Err(Failure::data(format!("cannot read {name}: {message}")));
        }
        Ok(Self { name, header, from, start })
    }

    /// Rows and columns: the first axis, and all others in one.
    pub fn size(&self) -> (usize, usize) {
        match self.header.shape.as_slice() {
            [] => (1, 1),
            [rows, rest @ ..] => (*rows, rest.iter().product()),
        }
    }

    /// How many axes it has.
    pub fn axes(&self) -> usize {
        self.header.shape.len()
    }

    /// The numbers of some rows and columns, `[row, column]`.
    pub fn part(&mut self, rows: Range<usize>, columns: Range<usize>) -> Outcome<Vec<f64>> {
        let (all_rows, all_columns) = self.size();
        let (height, width) = (rows.len(), columns.len());
        let mut out = Vec::with_capacity(height * width);
        if self.header.fortran {
            let block = self.run(columns.start * all_rows, width * all_rows)?;
            for row in rows {
                out.extend((0..width).map(|column| block[column * all_rows + row]));
            }
        } else if columns == (0..all_columns) {
            out = self.run(rows.start * all_columns, height * all_columns)?;
        } else {
            for row in rows {
                out.extend(self.run(row * all_columns + columns.start, width)?);
            }
        }
        Ok(out)
    }

    /// All numbers of an array with one axis.
    pub fn all(&mut self) -> Outcome<Vec<f64>> {
        let count = self.header.count().unwrap_or(0);
        self.run(0, count)
    }

    /// Numbers that follow each other in the file.
    fn run(&mut self, first: usize, count: usize) -> Outcome<Vec<f64>> {
        let kind = self.header.kind;
        let mut bytes = vec![0; count * kind.bytes()];
        let at = self.start + (first * kind.bytes()) as u64;
        let read: io::Result<()> =
            self.from.seek(SeekFrom::Start(at)).and_then(|_| self.from.read_exact(&mut bytes));
        read.map_err(|e| Failure::io(format!("cannot read {}: {e}", self.name)))?;
        Ok(match kind {
            Kind::F64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            Kind::F32 => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
            other @ Kind::Whole { .. } => {
                bytes.chunks_exact(other.bytes()).map(|b| other.number(b)).collect()
            }
        })
    }
}

/// `[5, 100]`
pub fn shape(axes: &[usize]) -> String {
    format!("{axes:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;
    use std::io::Cursor;

    fn open(bytes: Vec<u8>) -> Outcome<Array> {
        let length = bytes.len() as u64;
        Array::open("a.npy".to_owned(), Box::new(Cursor::new(bytes)), 0, length)
    }

    /// A file with this header, as NumPy writes it.
    fn file(text: &str, numbers: &[u8]) -> Vec<u8> {
        [&MAGIC[..], &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes(), numbers].concat()
    }

    fn numbers(x: &[f64]) -> Vec<u8> {
        x.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn both_orders_and_all_kinds_are_read() {
        let x: Vec<f64> = (0..6).map(f64::from).collect();
        let mut c = open([header("<f8", &[2, 3]), numbers(&x)].concat()).unwrap();
        assert_eq!((c.size(), c.part(0..2, 1..3).unwrap()), ((2, 3), vec![1.0, 2.0, 4.0, 5.0]));
        assert_eq!(c.part(1..2, 0..3).unwrap(), [3.0, 4.0, 5.0]);
        // The same array column by column.
        let text = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n";
        let mut fortran = open(file(text, &numbers(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]))).unwrap();
        assert_eq!(fortran.part(0..2, 1..3).unwrap(), [1.0, 2.0, 4.0, 5.0]);
        for (descr, bytes, expected) in [
            ("<f4", 1.5f32.to_le_bytes().to_vec(), 1.5),
            ("|b1", vec![1], 1.0),
            ("|i1", vec![0xfe], -2.0),
            ("<i2", (-300i16).to_le_bytes().to_vec(), -300.0),
            ("<u4", 4_000_000_000u32.to_le_bytes().to_vec(), 4e9),
            ("<i8", (-5i64).to_le_bytes().to_vec(), -5.0),
        ] {
            assert_eq!(
                open([header(descr, &[1]), bytes].concat()).unwrap().all().unwrap(),
                [expected],
                "{descr}"
            );
        }
        assert_eq!(open([header("<f8", &[]), numbers(&[7.0])].concat()).unwrap().size(), (1, 1));
    }

    /// The bytes of `numpy.lib.format.write_array_header_1_0` for these shapes (NumPy 2).
    #[test]
    fn headers_are_those_of_numpy() {
        let text = |shape: &[usize]| String::from_utf8(header("<f8", shape)[10..].to_vec()).unwrap();
        assert_eq!(text(&[3]).trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }");
        assert_eq!(
            text(&[6, 100]).trim_end(),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 100), }"
        );
        assert_eq!(text(&[]).trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
        assert!(header("<f8", &[6, 100]).len().is_multiple_of(64));
    }

    #[test]
    fn what_is_not_read_is_named() {
        let said = |text: &str| open(file(text, &[0; 64])).unwrap_err().message;
        let of =
            |descr: &str| said(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}"));
        assert!(of("'>f8'").contains("big endian (>f8)"));
        assert!(of("'|O'").contains("Python objects, which are never read"));
        assert!(of("'<c16'").contains("the type <c16"));
        assert!(of("[('a', '<f8')]").contains("records"));
        let huge = said("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }");
        assert_eq!(
            huge,
            "cannot read a.npy: its header says [99999999999], but only 64 bytes of numbers follow"
        );
        let overflow =
            said("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 9), }");
        assert!(overflow.contains("but only 64 bytes"));
        assert!(
            said("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1, 1), }").contains("Fortran order")
        );
        assert!(open(b"PK\x03\x04....".to_vec()).unwrap_err().message.contains("no NumPy array"));
        assert!(open(MAGIC.to_vec()).unwrap_err().message.contains("ends within its header"));
        let long = [&MAGIC[..], &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(open(long).unwrap_err().message.contains("at most 65536"));
    }

    /// A hundred thousand damaged headers: an error or an array, never a panic, and no more memory than the file has.
    #[test]
    fn damaged_headers_never_panic() {
        let whole = [header("<f8", &[2, 3]), numbers(&[0.5; 6])].concat();
        let rng = &mut Rng::from_seed(17);
        for _ in 0..100_000 {
            let mut bytes = whole.clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(80);
                match rng.below(3) {
                    0 => bytes[at] = rng.next_u64() as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"(){}',:0123456789TrueFals<f|>"[rng.below(29)]),
                }
            }
            bytes.truncate(bytes.len() - rng.below(20));
            if let Ok(mut array) = open(bytes) {
                let (rows, columns) = array.size();
                assert!(rows.saturating_mul(columns) <= 48);
                let _ = array.part(0..rows, 0..columns);
            }
        }
    }
}
