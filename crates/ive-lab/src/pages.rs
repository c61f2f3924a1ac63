//! Memory of the program: large blocks are mapped by themselves, in large pages.
//!
//! A fresh array of 48 MB, the members of a million states, costs 12 000 page faults, three times as long as filling it. NumPy asks Linux for
//! pages of 2 MB (`MADV_HUGEPAGE`), and so do we; blocks also begin with such a page, or Linux fills the part before it with small ones.
//! Elsewhere this is the system's allocator. This module is the only unsafe code of the crate.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

#[global_allocator]
static MEMORY: LargePages = LargePages;

struct LargePages;

// SAFETY: a block is a mapping of its own if its layout says that it is large, and otherwise the system's, for the layout that was asked for. Every method
// decides by that layout alone, so a block is given back to where it came from.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if large(layout) {
            return map::fresh(layout.size());
        }
        // SAFETY: the caller's promise is the one that the system's allocator needs; so below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if large(layout) {
            return map::fresh(layout.size());
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size, rounded up to the alignment, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (large(layout), large(new)) {
            // SAFETY: as above.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: the block is a mapping of this size.
            (true, true) => unsafe { map::resized(block, layout.size(), size) },
            // SAFETY: both blocks have as many bytes as are copied and do not overlap, and the old one is not used again.
            _ => unsafe {
                let moved = self.alloc(new);
                if !moved.is_null() {
                    moved.copy_from_nonoverlapping(block, size.min(layout.size()));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if large(layout) {
            // SAFETY: the block is a mapping of this size and is not used again.
            return unsafe { map::gone(block, layout.size()) };
        }
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Whether a block is a mapping of its own: from 4 MB on, as NumPy has it.
fn large(layout: Layout) -> bool {
    cfg!(target_os = "linux") && layout.size() >= 4 << 20 && layout.align() <= 4096
}

/// Mappings of whole large pages. Fresh ones are zero and begin with a large page.
#[cfg(target_os = "linux")]
mod map {
    use libc::{
        MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MREMAP_MAYMOVE, PROT_READ, PROT_WRITE,
    };
    use std::ptr::null_mut;

    /// Bytes of a large page.
    const PAGE: usize = 2 << 20;

    /// As many bytes as are mapped for a block; sizes of blocks are at most `isize::MAX`, so nothing overflows.
    fn length(size: usize) -> usize {
        size.next_multiple_of(PAGE)
    }

    pub fn fresh(size: usize) -> *mut u8 {
        let length = length(size);
        // SAFETY: a new mapping, of which the ends are given back; nobody else knows of it yet. The advice changes no content, and a refusal of it does not matter.
        unsafe {
            let all = libc::mmap(
                null_mut(),
                length + PAGE,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0,
            );
            if all == MAP_FAILED {
                return null_mut();
            }
            let before = all.addr().next_multiple_of(PAGE) - all.addr();
            let block = all.byte_add(before);
            if before > 0 {
                libc::munmap(all, before);
            }
            if before < PAGE {
                libc::munmap(block.byte_add(length), PAGE - before);
            }
            libc::madvise(block, length, MADV_HUGEPAGE);
            block.cast()
        }
    }

    /// The same content with another size; null, and the block as it was, if there is no room.
    ///
    /// # Safety
    /// The block is a mapping of a block of the old size.
    pub unsafe fn resized(block: *mut u8, old: usize, new: usize) -> *mut u8 {
        if length(old) == length(new) {
            return block;
        }
        // SAFETY: the whole mapping is ours.
        let moved = unsafe { libc::mremap(block.cast(), length(old), length(new), MREMAP_MAYMOVE) };
        if moved == MAP_FAILED { null_mut() } else { moved.cast() }
    }

    /// # Safety
    /// The block is a mapping of a block of this size, and nobody uses it any more.
    pub unsafe fn gone(block: *mut u8, size: usize) {
        // SAFETY: the whole mapping is ours.
        unsafe { libc::munmap(block.cast(), length(size)) };
    }
}

/// Nothing is large elsewhere.
#[cfg(not(target_os = "linux"))]
mod map {
    pub fn fresh(_: usize) -> *mut u8 {
        unreachable!()
    }
    pub unsafe fn resized(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        unreachable!()
    }
    pub unsafe fn gone(_: *mut u8, _: usize) {
        unreachable!()
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

    /// There is no room for an eighth of all addresses.
    #[test]
    fn what_does_not_fit_is_refused() {
        let mut block = vec![1_u8; 5 << 20];
        assert!(block.try_reserve_exact(isize::MAX as usize / 4).is_err());
        assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize / 4).is_err());
        assert!(block.iter().all(|b| *b == 1));
    }
}
