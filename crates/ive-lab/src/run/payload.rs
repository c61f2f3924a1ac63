//! The archive of an agent as one safetensors file.
//!
//! safetensors is safe (nothing in it is executed, offsets are checked) but has no checksum; that is the manifest's task.
//! The bytes depend on the tensors only, so that equal states have equal files.

use ive_agents::{Kind, Stored, Tensors};
use safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};

/// The largest header that is read, in bytes: an agent has a few hundred tensors of 100 bytes each.
const MAX_HEADER: u64 = 16 << 20;
/// The largest number of tensors that is read.
const MAX_TENSORS: usize = 100_000;

/// The file of these tensors.
pub fn to_bytes(tensors: &Tensors) -> Result<Vec<u8>, String> {
    let views: Result<Vec<_>, String> = tensors.iter().map(|(name, stored)| view(name, stored)).collect();
    serialize(views?, None).map_err(|e| e.to_string())
}

fn view<'a>(name: &'a str, stored: &'a Stored) -> Result<(&'a str, TensorView<'a>), String> {
    let (dtype, size) = match stored.kind {
        Kind::U8 => (Dtype::U8, 1),
        Kind::U64 => (Dtype::U64, 8),
        Kind::F32 => (Dtype::F32, 4),
    };
    let view = TensorView::new(dtype, vec![stored.bytes.len() / size], &stored.bytes);
    Ok((name, view.map_err(|e| format!("tensor `{name}`: {e}"))?))
}

/// The tensors of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Tensors, String> {
    let header = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    if header > MAX_HEADER {
        return Err(format!("its header of {header} bytes is larger than {MAX_HEADER}"));
    }
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    if file.len() > MAX_TENSORS {
        return Err(format!("it holds {} tensors, more than {MAX_TENSORS}", file.len()));
    }
    let stored = |(name, view): (&str, TensorView<'_>)| {
        let kind = match view.dtype() {
            Dtype::U8 => Kind::U8,
            Dtype::U64 => Kind::U64,
            Dtype::F32 => Kind::F32,
            other => return Err(format!("tensor `{name}` has the unexpected type {other:?}")),
        };
        Ok((name.to_owned(), Stored { kind, bytes: view.data().to_vec() }))
    };
    file.iter().map(stored).collect()
}

/// The first tensor with a number that is NaN or infinite.
pub fn not_finite(tensors: &Tensors) -> Option<&str> {
    let bad = |stored: &Stored| {
        let (words, _) = stored.bytes.as_chunks();
        stored.kind == Kind::F32 && words.iter().any(|&word| !f32::from_le_bytes(word).is_finite())
    };
    tensors.iter().find(|(_, stored)| bad(stored)).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensors() -> Tensors {
        let stored = |kind, bytes: &[u8]| Stored { kind, bytes: bytes.to_vec() };
        Tensors::from([
            ("weights".to_owned(), stored(Kind::F32, &[0, 0, 128, 63, 0, 0, 0, 64])),
            ("count".to_owned(), stored(Kind::U64, &[7, 0, 0, 0, 0, 0, 0, 0])),
            ("replay".to_owned(), stored(Kind::U8, &[1, 2, 3])),
        ])
    }

    /// The layout as the format defines it: length of the header, header, data without holes, the widest type first.
    #[test]
    fn file_is_safetensors_and_reads_back() {
        let bytes = to_bytes(&tensors()).unwrap();
        let header = usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
        assert_eq!(json["count"], serde_json::json!({"dtype": "U64", "shape": [1], "data_offsets": [0, 8]}));
        assert_eq!(json["weights"]["dtype"], "F32");
        assert_eq!(bytes.len(), 8 + header + 8 + 8 + 3);
        assert_eq!(from_bytes(&bytes).unwrap(), tensors());
    }

    #[test]
    fn hostile_headers_are_refused_before_they_are_read() {
        let mut bytes = to_bytes(&tensors()).unwrap();
        bytes[..8].copy_from_slice(&(MAX_HEADER + 1).to_le_bytes());
        assert!(from_bytes(&bytes).unwrap_err().contains("header of 16777217 bytes"));
        for bytes in [&[][..], &[255; 8], &[2, 0, 0, 0, 0, 0, 0, 0, b'{']] {
            assert!(from_bytes(bytes).is_err());
        }
        let half = TensorView::new(Dtype::F16, vec![1], &[0, 0]).unwrap();
        let error = from_bytes(&serialize([("h", half)], None).unwrap()).unwrap_err();
        assert_eq!(error, "tensor `h` has the unexpected type F16");
    }

    #[test]
    fn not_a_number_and_infinity_are_found_by_name() {
        assert_eq!(not_finite(&tensors()), None);
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut tensors = tensors();
            tensors.get_mut("weights").unwrap().bytes[4..].copy_from_slice(&number.to_le_bytes());
            assert_eq!(not_finite(&tensors), Some("weights"));
        }
    }
}
