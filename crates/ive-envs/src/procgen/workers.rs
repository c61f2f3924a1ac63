//! Threads that work on parts of one thing and are done together.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// A part that can be worked on.
pub(super) trait Work: Send + 'static {
    /// Does the work once.
    fn work(&mut self);
}

/// Parts, one for each thread. The caller's thread works on the first, so that a team of one has no thread at all.
#[derive(Debug)]
pub(super) struct Team<P> {
    /// `None` only while a part is with its worker.
    parts: Vec<Option<P>>,
    workers: Vec<Worker<P>>,
}

/// A thread that takes a part, works on it and hands it back.
#[derive(Debug)]
struct Worker<P> {
    /// `None` only when the worker is being dropped.
    to: Option<Sender<P>>,
    from: Receiver<P>,
    thread: Option<JoinHandle<()>>,
}

impl<P: Work> Worker<P> {
    fn start() -> io::Result<Self> {
        let ((to, work), (done, from)) = (channel::<P>(), channel());
        let thread = Builder::new().name("procgen".into()).spawn(move || {
            for mut part in work {
                part.work();
                if done.send(part).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { to: Some(to), from, thread: Some(thread) })
    }
}

impl<P> Drop for Worker<P> {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has been reported by the panic itself.
            let _ = thread.join();
        }
    }
}

impl<P: Work> Team<P> {
    /// A team for these parts.
    pub(super) fn new(parts: Vec<P>) -> io::Result<Self> {
        let workers = (1..parts.len()).map(|_| Worker::start()).collect::<io::Result<_>>()?;
        Ok(Self { parts: parts.into_iter().map(Some).collect(), workers })
    }

    /// Works once on every part, and returns when all are done.
    pub(super) fn work(&mut self) {
        let Some((first, rest)) = self.parts.split_first_mut() else { return };
        for (worker, part) in self.workers.iter().zip(rest.iter_mut()) {
            if let (Some(to), Some(part)) = (&worker.to, part.take()) {
                to.send(part).expect("a worker lives as long as its team");
            }
        }
        if let Some(part) = first {
            part.work();
        }
        for (worker, part) in self.workers.iter().zip(rest) {
            *part = Some(worker.from.recv().expect("a worker hands back what it was given"));
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &P> {
        self.parts.iter().flatten()
    }

    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut P> {
        self.parts.iter_mut().flatten()
    }
}
