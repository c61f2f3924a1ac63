//! The memory of this process, for tests that are alone in theirs.
//!
//! Counted is what was allocated and not freed, by us and by native libraries. What the process holds (`VmRSS`) would not do:
//! the C library keeps what was freed for later, in amounts that differ by megabytes between moments and between machines.

#![expect(unsafe_code, reason = "only the C library knows what was not freed")]

/// `struct mallinfo2` of `malloc.h`, since glibc 2.33.
#[repr(C)]
struct Information {
    _arena: usize,
    _free_chunks: [usize; 3],
    mapped: usize,
    _small: [usize; 2],
    in_use: usize,
    _free: [usize; 2],
}

unsafe extern "C" {
    safe fn mallinfo2() -> Information;
}

fn kilobytes() -> usize {
    let now = mallinfo2();
    (now.in_use + now.mapped) / 1024
}

/// Kilobytes by which memory in use grows in a thousand cycles of making and dropping, after a hundred that warm up.
pub fn growth(cycle: impl FnMut(u64) + Copy) -> usize {
    (0..100).for_each(cycle);
    let before = kilobytes();
    (100..1100).for_each(cycle);
    kilobytes().saturating_sub(before)
}
