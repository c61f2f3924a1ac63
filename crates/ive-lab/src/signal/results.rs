//! Scores of all states, and the files they are written to.

use std::io::{self, Write};

use ive::Members;

use super::npz::Writer;
use super::source::Columns;
use super::spool::Spool;
use crate::exit::{Failure, Outcome};

/// Fields of states, in the order in which the states came; they need not fit memory.
#[derive(Debug)]
pub struct Results {
    /// The unroll lengths of the first fields.
    pub members: Members,
    /// The name of every field: `member_0`…, `mean`, `std`, `relative`, perhaps `score`, and what travelled along.
    pub names: Vec<String>,
    spool: Spool,
    /// Where each part begins, and how many states it has: `[field, state]`.
    parts: Vec<(u64, usize)>,
    states: usize,
}

/// A file format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Arrays of NumPy.
    Npz,
    /// A row for each state.
    Csv,
    /// The same in columns.
    Parquet,
    /// An object of lists.
    Json,
}

impl Format {
    /// By the ending of a file.
    pub fn of(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npz" => Some(Self::Npz),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

impl Results {
    /// No states yet; with or without μ + βσ.
    pub fn new(members: Members, with_score: bool, carried: &[String]) -> Self {
        let mut names: Vec<String> = members.lengths().iter().map(|k| format!("member_{k}")).collect();
        names.extend(["mean", "std", "relative"].map(str::to_owned));
        names.extend(with_score.then(|| "score".to_owned()));
        names.extend_from_slice(carried);
        Self { members, names, spool: Spool::default(), parts: Vec::new(), states: 0 }
    }

    /// Adds states: a row of `width` numbers for every field.
    pub fn push<'a>(&mut self, width: usize, rows: impl Iterator<Item = &'a [f64]>) -> io::Result<()> {
        let bytes: Vec<u8> = rows.flatten().flat_map(|x| x.to_le_bytes()).collect();
        debug_assert_eq!(bytes.len(), 8 * width * self.names.len(), "a row for every field");
        self.parts.push((self.spool.append(&bytes)?, width));
        self.states += width;
        Ok(())
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.states
    }

    /// How many parts they came in.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The bytes of a field of a part.
    fn bytes(&mut self, field: usize, part: usize) -> io::Result<Vec<u8>> {
        let (at, width) = self.parts[part];
        let mut bytes = vec![0; 8 * width];
        self.spool.read_at(at + (8 * width * field) as u64, &mut bytes)?;
        Ok(bytes)
    }

    /// A field of the states of a part.
    pub fn field(&mut self, field: usize, part: usize) -> io::Result<Vec<f64>> {
        Ok(self.bytes(field, part)?.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    /// Calls `see` with a field of all states, part by part.
    pub fn each(&mut self, name: &str, mut see: impl FnMut(&[f64])) -> Outcome {
        let field = self.index(name);
        for part in 0..self.parts.len() {
            see(&self.field(field, part).map_err(lost)?);
        }
        Ok(())
    }

    /// All fields but the members, in memory.
    pub fn columns(&mut self) -> Outcome<Columns> {
        let mut columns = Columns::default();
        for field in self.members.len()..self.names.len() {
            let name = self.names[field].clone();
            let mut all = Vec::with_capacity(self.states);
            self.each(&name, |part| all.extend_from_slice(part))?;
            columns.columns.push((name, all));
        }
        Ok(columns)
    }

    fn index(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).expect("only fields of our own are asked for")
    }

    /// Writes all of it.
    pub fn write(&mut self, format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
        match format {
            Format::Npz => self.npz(out),
            Format::Csv => self.csv(out),
            Format::Parquet => super::parquet::write(self, out),
            Format::Json => self.json(out),
        }
    }

    /// `members` [m, batch], their lengths `k`, and an array for every other field.
    fn npz(&mut self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let (size, states) = (self.members.len(), self.states);
        let mut archive = Writer::new(out);
        archive.whole("k", self.members.lengths().iter().map(|&k| k as i64))?;
        archive.array("members", "<f8", &[size, states])?;
        for field in 0..self.names.len() {
            let whole = self.is_whole(field)?;
            if field >= size {
                archive.array(&self.names[field], if whole { "<i8" } else { "<f8" }, &[states])?;
            }
            for part in 0..self.parts.len() {
                let bytes = if whole {
                    self.field(field, part)?.iter().flat_map(|&x| (x as i64).to_le_bytes()).collect()
                } else {
                    self.bytes(field, part)?
                };
                archive.more(&bytes)?;
            }
        }
        archive.finish()
    }

    /// Whether a field that travelled along is `episode`, in whole numbers.
    fn is_whole(&mut self, field: usize) -> io::Result<bool> {
        if self.names[field] != "episode" {
            return Ok(false);
        }
        for part in 0..self.parts.len() {
            if self.field(field, part)?.iter().any(|x| x.fract() != 0.0 || x.abs() >= 2f64.powi(53)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A row for each state, in full precision.
    fn csv(&mut self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        writeln!(out, "state,{}", self.names.join(","))?;
        let mut state = 0;
        for part in 0..self.parts.len() {
            let columns: Vec<Vec<f64>> =
                (0..self.names.len()).map(|field| self.field(field, part)).collect::<io::Result<_>>()?;
            for i in 0..columns[0].len() {
                let cells: Vec<String> = columns.iter().map(|column| column[i].to_string()).collect();
                writeln!(out, "{state},{}", cells.join(","))?;
                state += 1;
            }
        }
        Ok(())
    }

    /// An object with a list for each field, and a list of lists for the members.
    fn json(&mut self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let size = self.members.len();
        write!(out, "{{\n\"k\": {:?},\n\"members\": [\n", self.members.lengths())?;
        for field in 0..self.names.len() {
            let name = serde_json::Value::from(self.names[field].as_str());
            let open = if field < size { String::new() } else { format!(",\n{name}: ") };
            write!(out, "{open}")?;
            for part in 0..self.parts.len() {
                let numbers: Vec<String> = self
                    .field(field, part)?
                    .iter()
                    .map(|&x| serde_json::Value::from(x).to_string())
                    .collect();
                write!(out, "{}{}", if part == 0 { "[" } else { ", " }, numbers.join(", "))?;
            }
            write!(out, "]")?;
            match field + 1 {
                next if next < size => writeln!(out, ",")?,
                next if next == size => write!(out, "\n]")?,
                _ => {}
            }
        }
        writeln!(out, "\n}}")
    }
}

/// What was kept cannot be read back.
pub fn lost(e: io::Error) -> Failure {
    Failure::io(format!("cannot read the scores back: {e}"))
}
