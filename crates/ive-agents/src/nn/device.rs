//! Where tensors live and with how many bits: both chosen at run time.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError, mpsc};

use burn::tensor::{DType, Tensor, TensorCreationOptions, TensorData};

/// How many bits a floating-point number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Precision {
    /// 32 bits: what every agent trains with.
    #[default]
    Single,
    /// 64 bits: for comparisons with reference numbers and for finite differences. Slower.
    Double,
}

/// A device of the tensor engine and the precision of the tensors made on it.
///
/// ```
/// use ive_agents::nn::{Device, Precision};
/// let training = Device::cpu();
/// let checking = Device::cpu().with_precision(Precision::Double);
/// assert_ne!(training.precision(), checking.precision());
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    engine: burn::tensor::Device,
    precision: Precision,
}

impl Default for Device {
    fn default() -> Self {
        Self::cpu()
    }
}

impl Device {
    /// The processor, in single precision.
    pub fn cpu() -> Self {
        Self { engine: burn::tensor::Device::flex(), precision: Precision::Single }
    }

    /// The device of a name, if this build has it: `engine` is the processor; `cuda`, `metal`, `rocm`, `vulkan` and `wgpu`
    /// are the first graphics processor of that kind, behind the cargo features of those names. Nothing is opened yet.
    pub(super) fn named(name: &str) -> Option<Self> {
        let engine = match name {
            "engine" => burn::tensor::Device::flex(),
            #[cfg(feature = "cuda")]
            "cuda" => burn::tensor::Device::cuda(0),
            #[cfg(feature = "metal")]
            "metal" => burn::tensor::Device::metal(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "rocm")]
            "rocm" => burn::tensor::Device::rocm(0),
            #[cfg(feature = "vulkan")]
            "vulkan" => burn::tensor::Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "wgpu")]
            "wgpu" => burn::tensor::Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            _ => return None,
        };
        Some(Self { engine, precision: Precision::Single })
    }

    /// The same device after it has carried a number there and back, or what stood in the way.
    ///
    /// The engine opens a device at its first use and panics if the machine has none; that ends here.
    pub(super) fn open(self) -> Result<Self, String> {
        let right = caught(|| to_host(self.vector(&[1.0]) + 1.0) == [2.0])?;
        if right { Ok(self) } else { Err("it computes 1 + 1 wrongly".to_owned()) }
    }

    /// The same device with another precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The same device, recording what is needed for gradients. Every forward pass on it must be followed by a
    /// backward pass, or its graph stays in memory; to evaluate, use the device without recording.
    #[must_use]
    pub fn recording(&self) -> Self {
        Self { engine: self.engine.clone().autodiff(), precision: self.precision }
    }

    /// The precision of tensors made here.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// A vector with these numbers.
    pub fn vector(&self, values: &[f64]) -> Tensor<1> {
        Tensor::from_data(values, self.options())
    }

    /// A matrix with these numbers, row by row.
    ///
    /// # Panics
    /// If the number of values is not `rows * columns`: a mistake of the calling code, not of its input.
    pub fn matrix(&self, values: &[f64], [rows, columns]: [usize; 2]) -> Tensor<2> {
        assert_eq!(values.len(), rows * columns, "a matrix of {rows} rows and {columns} columns");
        // Not a vector reshaped: the engine reads a zero in a new shape as "keep", so empty matrices would fail.
        Tensor::from_data(TensorData::new(values.to_vec(), [rows, columns]), self.options())
    }

    fn options(&self) -> TensorCreationOptions {
        let dtype = match self.precision {
            Precision::Single => DType::F32,
            Precision::Double => DType::F64,
        };
        (&self.engine, dtype).into()
    }
}

/// What the work gives, or the first words of a panic, which may come from a thread that it waited for. Meanwhile no panic
/// of this process is printed; whoever else asks waits, since the process has one hook only.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Mutex<()> = Mutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let (say, said) = mpsc::channel();
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // `said` outlives this hook, so that somebody listens.
        let _ = info.payload_as_str().map(|words| say.send(words.to_owned()));
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    result.map_err(|_| said.recv().unwrap_or_else(|_| "no reason given".to_owned()))
}

/// The numbers of a tensor on the host, row by row, whatever its precision.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data_as::<f64>().try_into_vec().expect("the engine has just converted to f64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_panic_tells_why() {
        let name = "adapter";
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught::<()>(|| panic!("no {name} here")), Err("no adapter here".to_owned()));
        // The engine asks a thread of its own, which fails first.
        let asking = || std::thread::spawn(|| panic!("no device")).join().expect("an answer");
        assert_eq!(caught::<()>(asking), Err("no device".to_owned()));
        assert_eq!(caught::<()>(|| panic::panic_any(3)), Err("no reason given".to_owned()));
    }

    #[test]
    fn precision_is_that_of_the_device() {
        let third = 1.0 / 3.0;
        assert_eq!(to_host(Device::cpu().vector(&[third])), [f64::from(third as f32)]);
        let double = Device::cpu().with_precision(Precision::Double);
        assert_eq!(to_host(double.vector(&[third])), [third]);
        let matrix = double.recording().matrix(&[1.0, 2.0, 3.0, third], [2, 2]);
        assert_eq!(to_host(matrix.matmul(double.recording().matrix(&[0.0, 1.0], [2, 1]))), [2.0, third]);
        assert_eq!(double.matrix(&[], [1, 0]).dims(), [1, 0]);
    }
}
