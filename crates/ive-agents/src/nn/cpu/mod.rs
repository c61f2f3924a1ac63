//! Hand-written networks on the CPU, for nets so small that the bookkeeping of a tensor engine costs more than the
//! arithmetic.
//!
//! Everything works on slices of `f32`: parameters are one flat vector whose parts a [`Layout`] names, gradients are
//! another of the same shape. Forward passes keep what the backward pass needs in buffers that are made once. Each
//! piece is tested against the tensor engine's gradients, which stay the reference.
//!
//! - [`matmul`](mod@matmul): matrix products, and [`Packed`] weights for many products with few rows;
//! - [`functions`]: exp, tanh, sigmoid and ELU that the compiler can vectorise;
//! - [`board`]: the convolution over a board of zeros and ones, at the price of the ones;
//! - [`torso`], [`lstm`], [`head`], [`rows`]: layers, forwards and backwards;
//! - [`layout`]: names and places of parameters, and their initial values;
//! - [`descent`]: Adam and centred RMSProp.

pub mod board;
pub mod descent;
pub mod functions;
pub mod head;
pub mod layout;
pub mod lstm;
pub mod matmul;
pub mod rows;
pub mod torso;

pub use layout::{Layout, Slot};
pub use matmul::{Matrix, Packed, matmul};

/// Huber's loss with threshold one.
#[inline]
pub fn huber(x: f32) -> f32 {
    let a = x.abs();
    if a <= 1.0 { 0.5 * x * x } else { a - 0.5 }
}
