//! Windows of consecutive steps: what an update learns from, and their replay.

use crate::archive::{Archive, ArchiveError};
use crate::nn::cpu::board::Board;

/// A ring of windows of equal length, boards as bits.
#[derive(Clone, Debug)]
pub struct Windows {
    words: usize,
    length: usize,
    capacity: usize,
    boards: Vec<u64>,
    actions: Vec<u8>,
    rewards: Vec<f32>,
    ends: Vec<u8>,
    filled: usize,
    next: usize,
}

/// One window: `length + 1` boards, `length` actions, rewards and ends of episodes. The board behind an end is the first
/// of the next episode.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// `[length + 1, words]`.
    pub boards: &'a [u64],
    /// `[length]`.
    pub actions: &'a [u8],
    /// `[length]`.
    pub rewards: &'a [f32],
    /// `[length]`, one where the episode ended with that step.
    pub ends: &'a [u8],
}

impl<'a> Window<'a> {
    /// The board after the last step, if a bootstrap is wanted there.
    pub fn last_board(&self) -> Option<&'a [u64]> {
        let words = self.boards.len() / (self.actions.len() + 1);
        (self.ends.last() == Some(&0)).then(|| &self.boards[self.boards.len() - words..])
    }
}

impl Windows {
    /// Room for `capacity` windows.
    pub fn new(words: usize, length: usize, capacity: usize) -> Self {
        Self {
            words,
            length,
            capacity,
            boards: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            ends: Vec::new(),
            filled: 0,
            next: 0,
        }
    }

    /// Windows of zeros, to be written step by step.
    pub fn zeroed(words: usize, length: usize, count: usize) -> Self {
        Self {
            boards: vec![0; count * (length + 1) * words],
            actions: vec![0; count * length],
            rewards: vec![0.0; count * length],
            ends: vec![0; count * length],
            filled: count,
            ..Self::new(words, length, count)
        }
    }

    /// Writes the board before step t of a window; t may be the length, for the board after the last step.
    pub fn set_board(&mut self, i: usize, t: usize, board: &[u64]) {
        let at = (i * (self.length + 1) + t) * self.words;
        self.boards[at..at + self.words].copy_from_slice(board);
    }

    /// Writes step t of a window.
    pub fn set_step(&mut self, i: usize, t: usize, action: u8, reward: f32, end: bool) {
        let at = i * self.length + t;
        (self.actions[at], self.rewards[at], self.ends[at]) = (action, reward, u8::from(end));
    }

    /// How many windows there are.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// A window.
    pub fn get(&self, i: usize) -> Window<'_> {
        let (n, w) = (self.length, (self.length + 1) * self.words);
        Window {
            boards: &self.boards[i * w..][..w],
            actions: &self.actions[i * n..][..n],
            rewards: &self.rewards[i * n..][..n],
            ends: &self.ends[i * n..][..n],
        }
    }

    /// Adds a window, in place of the oldest if there is no room.
    pub fn push(&mut self, window: Window<'_>) {
        if self.filled < self.capacity {
            self.filled += 1;
            self.boards.extend_from_slice(window.boards);
            self.actions.extend_from_slice(window.actions);
            self.rewards.extend_from_slice(window.rewards);
            self.ends.extend_from_slice(window.ends);
        } else {
            let (i, n, w) = (self.next, self.length, (self.length + 1) * self.words);
            self.boards[i * w..][..w].copy_from_slice(window.boards);
            self.actions[i * n..][..n].copy_from_slice(window.actions);
            self.rewards[i * n..][..n].copy_from_slice(window.rewards);
            self.ends[i * n..][..n].copy_from_slice(window.ends);
        }
        self.next = (self.next + 1) % self.capacity;
    }

    /// Adds a window of one step.
    pub fn push_step(&mut self, before: &[u64], after: &[u64], action: u8, reward: f32, end: bool) {
        let i = if self.filled < self.capacity { self.filled } else { self.next };
        if i == self.filled {
            self.filled += 1;
            self.boards.resize(self.filled * 2 * self.words, 0);
            self.actions.push(0);
            self.rewards.push(0.0);
            self.ends.push(0);
        }
        self.set_board(i, 0, before);
        self.set_board(i, 1, after);
        self.set_step(i, 0, action, reward, end);
        self.next = (i + 1) % self.capacity;
    }

    /// Saves or restores; refuses what no world with such boards and so many actions can have shown.
    pub fn archive(
        &mut self,
        name: &str,
        board: &Board,
        actions: usize,
        archive: &mut Archive,
    ) -> Result<(), ArchiveError> {
        archive.index(&format!("{name}.filled"), &mut self.filled)?;
        archive.index(&format!("{name}.next"), &mut self.next)?;
        archive.u64s(&format!("{name}.boards"), &mut self.boards)?;
        archive.bytes(&format!("{name}.actions"), &mut self.actions)?;
        archive.f32s(&format!("{name}.rewards"), &mut self.rewards)?;
        archive.bytes(&format!("{name}.ends"), &mut self.ends)?;
        let n = self.filled.saturating_mul(self.length);
        let sizes = self.filled <= self.capacity
            && self.next < self.capacity
            && self.boards.len() == (n + self.filled) * self.words
            && [self.actions.len(), self.rewards.len(), self.ends.len()] == [n; 3];
        let wrong = |part: &str, problem: &str| {
            let (name, problem) = (format!("{name}{part}"), problem.to_owned());
            Err(ArchiveError::Content { name, problem })
        };
        match () {
            () if !sizes => wrong("", "its parts do not fit together"),
            () if !self.boards.chunks_exact(self.words).all(|bits| board.holds(bits)) => {
                wrong(".boards", "it has a cell behind the last one of a board")
            }
            () if self.actions.iter().any(|&action| usize::from(action) >= actions) => {
                wrong(".actions", &format!("it has an action beyond the {actions} that there are"))
            }
            () if self.ends.iter().any(|&end| end > 1) => {
                wrong(".ends", "it is something other than 0 and 1")
            }
            () if self.rewards.iter().any(|reward| !reward.is_finite()) => {
                wrong(".rewards", "it has a number that is not finite")
            }
            () => Ok(()),
        }
    }
}
