//! A disk that fails on purpose.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No room.
    Full,
    /// The device fails.
    Device,
    /// Half of the bytes are written, then there is no room.
    Short,
}

type Script = dyn Fn(usize) -> Option<Fault> + Send + Sync;

/// Which operations of a disk fail: a function of their number.
#[derive(Clone, Default)]
pub struct Faults {
    count: Arc<AtomicUsize>,
    script: Option<Arc<Script>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faults after {} operations", self.count())
    }
}

impl Faults {
    pub fn new(script: impl Fn(usize) -> Option<Fault> + Send + Sync + 'static) -> Self {
        Self { count: Arc::default(), script: Some(Arc::new(script)) }
    }

    /// How many operations there were.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn next(&self) -> Option<Fault> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        self.script.as_ref().and_then(|script| script(number))
    }

    /// The error of this operation, if it is to fail.
    pub fn strike(&self) -> Option<io::Error> {
        self.next().map(error)
    }

    /// The same for a write, of which half may succeed.
    pub fn strike_within(&self, file: &mut File, bytes: &[u8]) -> Option<io::Error> {
        let fault = self.next()?;
        if fault == Fault::Short {
            file.write_all(&bytes[..bytes.len() / 2]).unwrap();
        }
        Some(error(fault))
    }
}

fn error(fault: Fault) -> io::Error {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    io::Error::from_raw_os_error(if fault == Fault::Device { EIO } else { ENOSPC })
}
