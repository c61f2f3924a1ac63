//! Tables with a row for each state, read a part at a time: CSV here, Parquet in its own file.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use super::npy::ReadSeek;
use super::source::NO_SCORES;
use crate::exit::{Failure, Outcome};

/// No line of a table of numbers is longer.
const LONGEST_LINE: u64 = 1 << 24;

/// A table of named columns.
pub trait Rows {
    /// The names of the columns.
    fn names(&self) -> &[String];
    /// The next rows, at most so many, as columns of equal length; none at the end.
    fn next(&mut self, most: usize) -> Outcome<Option<Vec<Vec<f64>>>>;
}

/// Comma-separated values with a line of names. Columns whose first cell is a word, such as the actions of `ive eval --csv`, are left
/// out.
pub struct Csv {
    file: String,
    /// Of the columns of numbers.
    names: Vec<String>,
    /// The name of each column, and whether it holds numbers.
    columns: Vec<(String, bool)>,
    lines: BufReader<Box<dyn ReadSeek>>,
    line: usize,
    /// The first line below the names, which says what is a number.
    first: Option<String>,
}

impl std::fmt::Debug for Csv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csv").field("file", &self.file).field("names", &self.names).finish_non_exhaustive()
    }
}

impl Csv {
    /// Reads the names.
    pub fn open(file: &str, mut from: Box<dyn ReadSeek>) -> Outcome<Self> {
        let unreadable = |e: std::io::Error| Failure::io(format!("cannot read {file}: {e}"));
        from.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut csv = Self {
            file: file.to_owned(),
            names: Vec::new(),
            columns: Vec::new(),
            lines: BufReader::new(from),
            line: 0,
            first: None,
        };
        let head = csv.next_line()?.unwrap_or_default();
        let head = head.trim_start_matches('\u{feff}');
        let all: Vec<String> = head.split(',').map(|name| cell(name).to_owned()).collect();
        let numbers = all.iter().filter(|name| name.parse::<f64>().is_ok()).count();
        if all.iter().any(String::is_empty) || numbers > 0 {
            let message = "its first line does not name the columns; is it CSV, NPY, NPZ or Parquet at all?";
            return Err(Failure::data(format!("cannot read {file}: {message}")));
        }
        csv.first = csv.next_line()?;
        let first = csv.first.clone().unwrap_or_default();
        let mut cells = first.split(',').map(cell);
        let is_word = |text: &str| text.starts_with(char::is_alphabetic) && text.parse::<f64>().is_err();
        for name in all {
            let cell = cells.next().unwrap_or_default();
            if is_word(cell) && is_numeric(&name) {
                return Err(csv.no_number(cell, &name));
            }
            csv.columns.push((name, !is_word(cell)));
        }
        csv.names = csv.columns.iter().filter(|column| column.1).map(|column| column.0.clone()).collect();
        Ok(csv)
    }

    fn no_number(&self, cell: &str, name: &str) -> Failure {
        let (file, at) = (&self.file, self.line);
        Failure::data(format!("cannot read {file}: line {at} has `{cell}` for `{name}`, which is no number"))
    }

    /// The next line that is not empty, without its end.
    fn next_line(&mut self) -> Outcome<Option<String>> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut bytes);
            read.map_err(|e| Failure::io(format!("cannot read {}: {e}", self.file)))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            let refused = |reason: &str| {
                Err(Failure::data(format!("cannot read {}: line {} {reason}", self.file, self.line)))
            };
            if bytes.len() as u64 == LONGEST_LINE {
                return refused("is longer than any line of numbers");
            }
            let Ok(text) = String::from_utf8(bytes) else { return refused("is no text") };
            if text.contains('\0') {
                return refused("is no text");
            }
            let text = text.trim_end_matches(['\n', '\r']);
            if !text.is_empty() {
                return Ok(Some(text.to_owned()));
            }
        }
    }
}

/// Whether a column of this name holds predictions: `value_0`, `reward_1`, `discount_1`, ….
pub fn is_prediction(name: &str) -> bool {
    ["value_", "reward_", "discount_"]
        .iter()
        .filter_map(|start| name.strip_prefix(start))
        .any(|number| number.parse::<usize>().is_ok())
}

/// Whether a column of this name holds numbers: predictions, episodes or errors.
pub fn is_numeric(name: &str) -> bool {
    is_prediction(name) || NO_SCORES.contains(&name)
}

/// A cell without spaces and quotes around it.
fn cell(text: &str) -> &str {
    text.trim().trim_matches('"')
}

impl Rows for Csv {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, most: usize) -> Outcome<Option<Vec<Vec<f64>>>> {
        let mut columns = vec![Vec::new(); self.names.len()];
        for _ in 0..most {
            let next = self.first.take().map_or_else(|| self.next_line(), |line| Ok(Some(line)))?;
            let Some(line) = next else { break };
            let (mut cells, mut places) = (line.split(',').map(cell), columns.iter_mut());
            for (name, is_number) in &self.columns {
                let cell = cells.next().unwrap_or("");
                let Some(column) = is_number.then(|| places.next()).flatten() else { continue };
                column.push(cell.parse::<f64>().map_err(|_| self.no_number(cell, name))?);
            }
            if cells.next().is_some() {
                let (file, at, width) = (&self.file, self.line, self.columns.len());
                return Err(Failure::data(format!(
                    "cannot read {file}: line {at} has more than {width} cells"
                )));
            }
        }
        Ok(Some(columns).filter(|columns| columns.iter().any(|c| !c.is_empty())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn csv(text: &[u8]) -> Outcome<Csv> {
        Csv::open("a.csv", Box::new(Cursor::new(text.to_vec())))
    }

    #[test]
    fn rows_come_a_part_at_a_time() {
        let mut table = csv(b"\xef\xbb\xbf\"a\", b\r\n1,2\r\n\r\n3,4e0\n5,6").unwrap();
        assert_eq!(table.names(), ["a", "b"]);
        assert_eq!(table.next(2).unwrap().unwrap(), [[1.0, 3.0], [2.0, 4.0]]);
        assert_eq!(table.next(2).unwrap().unwrap(), [[5.0], [6.0]]);
        assert!(table.next(2).unwrap().is_none());
    }

    #[test]
    fn columns_of_words_are_left_out() {
        let mut table = csv(b"action,sigma,where\nleft,0.5,x\nright,1.5,7\n").unwrap();
        assert_eq!(table.names(), ["sigma"]);
        assert_eq!(table.next(9).unwrap().unwrap(), [[0.5, 1.5]]);
    }

    #[test]
    fn garbage_is_refused_with_its_line() {
        let said = |text: &[u8]| match csv(text) {
            Err(failure) => failure.message,
            Ok(mut table) => table.next(9).unwrap_err().message,
        };
        assert!(said(b"a,b\n1,2\n3,x\n").ends_with("line 3 has `x` for `b`, which is no number"));
        assert!(said(b"a,b\n1\n").ends_with("line 2 has `` for `b`, which is no number"));
        assert!(said(b"a,b\n1,2,3\n").ends_with("line 2 has more than 2 cells"));
        assert!(said(b"1,2\n3,4\n").contains("does not name the columns"));
        assert!(said(b"").contains("does not name the columns"));
        assert!(said(b"\xff\xfe\x00").contains("line 1 is no text"));
        assert!(said(&[0; 100]).contains("line 1 is no text"));
        assert!(said(&vec![b'a'; 1 << 25]).contains("longer than any line"));
    }
}
