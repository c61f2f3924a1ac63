//! Asking for memory before it is needed. This module is the only unsafe code of the crate.

/// Tells the processor that `numbers[index]` will be read soon; nothing if there is no such number, or on other processors than x86-64. Unlike a read it
/// waits for nothing: an instruction that has to wait for memory keeps those behind it from finishing.
#[inline(always)]
pub(crate) fn prefetch<T>(numbers: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing that the program could see and never faults, and the number exists.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, index);
}
