//! JSON files that show whether they are whole: the last field, `blake3`, is the hash of all bytes before that field. So
//! each byte is covered, whatever version wrote the file.

use serde::Serialize;
use serde_json::Value;

use crate::exit::{Failure, Outcome};

fn field(hash: blake3::Hash) -> String {
    format!(",\n  \"blake3\": \"{hash}\"\n}}\n")
}

/// The text of a file, sealed.
pub fn seal(content: &impl Serialize) -> Outcome<Vec<u8>> {
    sealed(serde_json::to_string_pretty(content), "\n}")
}

/// The same on a line, for files with long lists.
pub fn seal_compact(content: &impl Serialize) -> Outcome<Vec<u8>> {
    sealed(serde_json::to_string(content), "}")
}

/// The last field brings its own closing brace, in place of `end`.
fn sealed(text: serde_json::Result<String>, end: &str) -> Outcome<Vec<u8>> {
    let text = text.map_err(|e| Failure::internal(e.to_string()))?;
    let body = text.strip_suffix(end).unwrap_or(&text);
    Ok((body.to_owned() + &field(blake3::hash(body.as_bytes()))).into_bytes())
}

/// The content of a sealed file; `None` if a byte is not as it was written.
pub fn open(bytes: &[u8]) -> Option<Value> {
    let end = bytes.len().checked_sub(field(blake3::hash(&[])).len())?;
    let (body, last) = bytes.split_at(end);
    if last != field(blake3::hash(body)).as_bytes() {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}
