//! Who carries out graphs.

use super::cpu::tape::Memory;
use super::{Backend, Device, Engine, Graph, Parameters};

/// Carries out graphs: on the processor, or on a device of the tensor engine.
#[derive(Clone, Debug)]
pub enum Executor {
    /// The tape of [`cpu`](super::cpu), with its memory.
    Tape(Memory),
    /// The tensor engine.
    Engine(Device),
}

impl Default for Executor {
    fn default() -> Self {
        Self::Tape(Memory::default())
    }
}

impl From<&Backend> for Executor {
    fn from(backend: &Backend) -> Self {
        backend.device().map_or_else(Self::default, |device| Self::Engine(device.clone()))
    }
}

impl Executor {
    /// Hands a new graph over these parameters to `work`.
    pub fn run<R>(&mut self, parameters: &[Parameters<'_>], work: impl FnOnce(&mut dyn Graph) -> R) -> R {
        match self {
            Self::Tape(memory) => work(&mut memory.tape(parameters)),
            Self::Engine(device) => work(&mut Engine::new(device, parameters)),
        }
    }
}
