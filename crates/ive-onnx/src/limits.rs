//! How large a graph may be.

/// What a folder may ask for. The defaults suit world models up to some 60 million parameters; a caller who knows where
/// the files come from may allow more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a file. Looked at before it is read.
    pub file_bytes: u64,
    /// Nodes of a graph, and likewise its constants. Time for optimising a graph grows with their square.
    pub nodes: u64,
    /// Bytes of all tensors of one run together, constants and results, as if none were freed before the end.
    pub run_bytes: u64,
    /// Multiplications of one run.
    pub run_products: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, nodes: 2000, run_bytes: 1 << 30, run_products: 100_000_000_000 }
    }
}

/// Axes of a tensor.
pub(crate) const MAX_RANK: usize = 8;
/// States in one run of a graph whose batch is free. Larger batches are cut into pieces of this many.
pub(crate) const ROWS: usize = 256;
