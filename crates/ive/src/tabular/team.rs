//! A few threads that work in step on one vector.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Threads that meet after every step. They wait by spinning for a short while, since steps are short, and then let
/// others run.
pub(super) struct Team {
    size: usize,
    waiting: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// Tells the others when its thread panics: they would wait for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Team {
    pub(super) fn new(size: usize) -> Self {
        let (waiting, round) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { size, waiting, round, broken: AtomicBool::new(false) }
    }

    /// Runs `work(i)` for every member i of the team, the last on the calling thread. If one panics, all do.
    pub(super) fn run<T: Send>(&self, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let work = |i| {
            let _alarm = Alarm(&self.broken);
            work(i)
        };
        std::thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> = (0..self.size - 1).map(|i| scope.spawn(move || work(i))).collect();
            let last = work(self.size - 1);
            let join = |thread: std::thread::ScopedJoinHandle<'_, T>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(join).chain([last]).collect()
        })
    }

    /// Waits until everybody is here.
    pub(super) fn meet(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the team panicked");
            spins += 1;
            if spins < 20_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

/// A vector that every thread reads and each writes its own part of, in two copies: step k writes copy k mod 2 while
/// copy k − 1 mod 2 is read. Numbers travel as bits in atomics, which cost no more than plain memory.
pub(super) struct Shared([Vec<AtomicU64>; 2]);

impl Shared {
    pub(super) fn new(start: &[f64]) -> Self {
        let copy = || start.iter().map(|x| AtomicU64::new(x.to_bits())).collect();
        Self([copy(), copy()])
    }

    pub(super) fn write(&self, step: usize, at: usize, part: &[f64]) {
        for (cell, x) in self.0[step % 2][at..at + part.len()].iter().zip(part) {
            cell.store(x.to_bits(), Ordering::Relaxed);
        }
    }

    pub(super) fn read_into(&self, step: usize, out: &mut [f64]) {
        for (x, cell) in out.iter_mut().zip(&self.0[step % 2]) {
            *x = f64::from_bits(cell.load(Ordering::Relaxed));
        }
    }

    pub(super) fn read(&self, step: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.0[0].len()];
        self.read_into(step, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        for bad in 0..3 {
            let team = Team::new(3);
            let work = || team.run(|i| if i == bad { panic!("on purpose") } else { team.meet() });
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        }
    }
}
