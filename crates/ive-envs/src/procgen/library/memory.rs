//! Memory that the library writes to.

use super::OBSERVATION;
use std::ptr::NonNull;

/// Memory that the library writes to. It is held by a raw pointer, because a `Box` that moves claims its content for
/// itself, and the library's pointers into it would no longer count.
#[derive(Debug)]
pub(super) struct Fixed<T>(NonNull<[T]>);

// SAFETY: it owns its content like a `Box`, which is `Send` for such `T`.
unsafe impl<T: Send> Send for Fixed<T> {}

impl<T: Copy> Fixed<T> {
    pub(super) fn new(value: T, length: usize) -> Self {
        Self(NonNull::from(Box::leak(vec![value; length].into_boxed_slice())))
    }

    /// The place of an entry, for the library.
    pub(super) fn place(&self, index: usize) -> *mut T {
        assert!(index < self.0.len(), "entry {index} of {}", self.0.len());
        // SAFETY: the entry lies inside the allocation.
        unsafe { self.0.as_ptr().cast::<T>().add(index) }
    }

    pub(super) fn get(&self) -> &[T] {
        // SAFETY: the allocation is initialised and lives as long as `self`; the library writes to it only inside methods
        // that borrow its handle mutably, so never while this borrow lasts.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `get`; and `self` is borrowed mutably, so that nobody else looks.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box and is given back once. The handle closes the library's environments first.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What the library reads and writes in a step, environment by environment.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) actions: Fixed<i32>,
    pub(super) observations: Fixed<u8>,
    pub(super) rewards: Fixed<f32>,
    pub(super) firsts: Fixed<u8>,
    pub(super) previous_level_seeds: Fixed<i32>,
    pub(super) levels_complete: Fixed<u8>,
    pub(super) level_seeds: Fixed<i32>,
}

impl Buffers {
    /// For so many environments.
    pub(super) fn new(envs: usize) -> Self {
        Self {
            actions: Fixed::new(0, envs),
            observations: Fixed::new(0, envs * OBSERVATION),
            rewards: Fixed::new(0.0, envs),
            firsts: Fixed::new(0, envs),
            previous_level_seeds: Fixed::new(0, envs),
            levels_complete: Fixed::new(0, envs),
            level_seeds: Fixed::new(0, envs),
        }
    }
}
