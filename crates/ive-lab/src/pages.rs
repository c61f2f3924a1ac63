//! Memory of the program: large blocks are asked for in large pages.
//!
//! A fresh array of 48 MB, the members of a million states, costs 12 000 page faults, three times as long as filling it. NumPy asks Linux for
//! pages of 2 MB (`MADV_HUGEPAGE`), and so do we. Elsewhere this is the system's allocator.
//! This module is the only unsafe code of the crate.

use std::alloc::{GlobalAlloc, Layout, System};

#[global_allocator]
static MEMORY: LargePages = LargePages;

struct LargePages;

/// Blocks from this size on: that of NumPy.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Tells the system that a block is large, if it is. Only its speed depends on it.
#[allow(unsafe_code)]
fn told(block: *mut u8, size: usize) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if size >= LARGE && !block.is_null() {
        const PAGE: usize = 4096;
        let before = block.addr().wrapping_neg() % PAGE;
        // SAFETY: the pages lie within the block, which is ours and at least 4 MB long; the advice changes no content. A refusal does not matter.
        unsafe {
            libc::madvise(block.add(before).cast(), (size - before) / PAGE * PAGE, libc::MADV_HUGEPAGE)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = size;
    block
}

// SAFETY: every block is the system's, for the layout that was asked for.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that the system's allocator needs; so below.
        told(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        told(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        told(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    /// Large and small blocks, zeroed, grown and shrunk, keep their content.
    #[test]
    fn blocks_of_every_size_keep_their_content() {
        for size in [1, 4095, (4 << 20) - 1, 4 << 20, (4 << 20) + 4097, 9 << 20] {
            let mut block = vec![0_u8; size];
            assert!(block.iter().all(|b| *b == 0));
            block.iter_mut().enumerate().for_each(|(i, b)| *b = (i % 251) as u8);
            block.reserve_exact(7 << 20);
            block.extend([7; 100]);
            block.truncate(size);
            block.shrink_to_fit();
            assert!(block.iter().enumerate().all(|(i, b)| *b == (i % 251) as u8));
        }
    }
}
