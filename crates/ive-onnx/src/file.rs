//! Reading a file of the folder, and everything that is refused before the engine sees it.

use std::fs::File;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tract_onnx::pb::ModelProto;
use tract_onnx::prelude::Framework as _;

use crate::error::{OnnxError, Result};
use crate::model::stem;
use crate::wire::{self, Fault};

/// Bytes of a file, of which no more than the limit are ever read.
pub(crate) fn read(path: &Path, name: &str, limit: u64) -> Result<Vec<u8>> {
    let failed = |cause| OnnxError::Read { path: path.to_owned(), cause };
    // A named pipe would wait for ever, a device never end.
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    let too_large =
        |got| OnnxError::TooLarge { graph: stem(name), what: "file in bytes".to_owned(), got, limit };
    if about.len() > limit {
        return Err(too_large(about.len()));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Decodes a model, after its fields were counted.
pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<ModelProto> {
    let graph = name.to_owned();
    wire::scan(bytes).map_err(|fault| match fault {
        Fault::Malformed(reason) => OnnxError::Malformed { graph: graph.clone(), reason },
        Fault::Refused(reason) => OnnxError::Refused { graph: graph.clone(), reason: reason.to_owned() },
        Fault::TooMany(what, limit) => {
            OnnxError::TooLarge { graph: graph.clone(), what: what.to_owned(), got: limit + 1, limit }
        }
    })?;
    let decoded = guarded(name, || tract_onnx::onnx().proto_model_for_read(&mut &*bytes))?;
    decoded.map_err(|error| OnnxError::Malformed { graph, reason: error.to_string() })
}

/// Runs the engine. A panic in it becomes an error; its message also goes to the panic hook, as always.
pub(crate) fn guarded<T>(name: &str, run: impl FnOnce() -> T) -> Result<T> {
    // What the closure has touched is dropped by every caller when it fails.
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let reason = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "without a message".to_owned());
        OnnxError::Panicked { graph: name.to_owned(), reason }
    })
}
