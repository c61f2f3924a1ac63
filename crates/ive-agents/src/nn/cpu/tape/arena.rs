//! Memory for matrices that is handed out from front to back and used again by the next graph.

use std::ops::Range;

use crate::nn::cpu::aligned::{Aligned, LINE};

/// A row of numbers of which the first `used` are handed out. What was there before stays there: whoever takes a part
/// writes all of it. Matrices begin at the beginning of a cache line.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    numbers: Aligned,
    used: usize,
}

impl Arena {
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// The place of `count` numbers that nobody has.
    pub(super) fn take(&mut self, count: usize) -> Range<usize> {
        let start = self.used;
        self.used += count.next_multiple_of(LINE);
        self.grow_to(self.used);
        start..start + count
    }

    /// Makes room for so many numbers in all.
    pub(super) fn grow_to(&mut self, count: usize) {
        if count > self.numbers.len() {
            let mut larger = Aligned::zeros(2 * count);
            larger[..self.numbers.len()].copy_from_slice(&self.numbers);
            self.numbers = larger;
        }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn all(&self) -> &[f32] {
        &self.numbers
    }

    pub(super) fn all_mut(&mut self) -> &mut [f32] {
        &mut self.numbers
    }

    /// Writes over everything, so that a test sees who reads what nobody wrote.
    pub(super) fn spoil(&mut self) {
        self.numbers.fill(f32::NAN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_aligned_and_survive_growth() {
        let mut arena = Arena::default();
        let mut parts = Vec::new();
        for (i, count) in [3, 0, 16, 17, 1000, 5].into_iter().enumerate() {
            let part = arena.take(count);
            arena.all_mut()[part.clone()].fill(i as f32);
            parts.push(part);
        }
        for (i, part) in parts.iter().enumerate() {
            assert!(arena.all()[part.clone()].iter().all(|&x| x == i as f32));
            assert_eq!(arena.all()[part.start..].as_ptr() as usize % 64, 0);
        }
        assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }
}
