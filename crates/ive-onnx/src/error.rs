//! What can go wrong with a folder of graphs, with the file, the node and the numbers that went wrong.

use std::path::PathBuf;
use std::{fmt, io};

/// Result of a fallible function of this crate.
pub type Result<T> = std::result::Result<T, OnnxError>;

/// Everything that is refused. `graph` is the name of a file without its ending, such as `dynamics`.
#[derive(Debug)]
#[non_exhaustive]
pub enum OnnxError {
    /// A file could not be read.
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// `model.toml` is not of its form, or contradicts itself or the graphs.
    Settings {
        /// The key, or the place in the file.
        key: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A file is not an ONNX model.
    Malformed {
        /// Which graph.
        graph: String,
        /// Where it stops being one.
        reason: String,
    },
    /// A file holds something that is never accepted: data in other files, loops, operators of its own.
    Refused {
        /// Which graph.
        graph: String,
        /// What it holds.
        reason: String,
    },
    /// A file is larger, deeper or more expensive than the [`Limits`](crate::Limits).
    TooLarge {
        /// Which graph.
        graph: String,
        /// What is too large.
        what: String,
        /// How large it is.
        got: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A graph has no input or output of a name that `model.toml` uses.
    Name {
        /// Which graph.
        graph: String,
        /// `input` or `output`.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A tensor does not have the shape that it must have.
    Shape {
        /// Which graph.
        graph: String,
        /// Which tensor or node.
        what: String,
        /// The shapes, in words.
        reason: String,
    },
    /// The engine cannot run the graph.
    Engine {
        /// Which graph.
        graph: String,
        /// What it says.
        reason: String,
    },
    /// The engine panicked. The graph is refused; nothing else is harmed.
    Panicked {
        /// Which graph.
        graph: String,
        /// The message of the panic.
        reason: String,
    },
    /// Actions do not fit the model.
    Action {
        /// What does not fit.
        reason: String,
    },
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, cause } => write!(f, "{}: {cause}", path.display()),
            Self::Settings { key, reason } => write!(f, "model.toml: {key}: {reason}"),
            Self::Malformed { graph, reason } => write!(f, "{graph}.onnx is not an ONNX model: {reason}"),
            Self::Refused { graph, reason } => write!(f, "{graph}.onnx is refused: {reason}"),
            Self::TooLarge { graph, what, got, limit } => {
                write!(f, "{graph}.onnx is too large: {what} is {got}, the limit is {limit}")
            }
            Self::Name { graph, what, name, known } => {
                write!(f, "{graph}.onnx has no {what} `{name}`, only {}", known.join(", "))
            }
            Self::Shape { graph, what, reason } => write!(f, "{graph}.onnx, {what}: {reason}"),
            Self::Engine { graph, reason } => write!(f, "{graph}.onnx cannot be run: {reason}"),
            Self::Panicked { graph, reason } => {
                write!(f, "{graph}.onnx made the engine panic, and is refused: {reason}")
            }
            Self::Action { reason } => write!(f, "actions: {reason}"),
        }
    }
}

impl std::error::Error for OnnxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
