//! Environments of one game on one or several threads.

use super::Library;
use super::arguments::arguments;
use super::memory::Buffers;
use super::shard::Shard;
use crate::procgen::workers::Team;
use crate::procgen::{Game, Options};
use crate::registry::OptionError;

/// Environments of one game, which take their steps together on one or several threads.
#[derive(Debug)]
pub(in super::super) struct Handle {
    // The order matters: the shards, which the team holds, are closed before the buffers are freed.
    team: Team<Shard>,
    buffers: Buffers,
}

impl Handle {
    /// The environments of a seed. Environment i is the same whatever the numbers of environments and threads are: the
    /// library seeds environments by their number within one of its own, so we make them all there and, if they are to
    /// step on several threads, carry them over to one for each thread.
    pub(in super::super) fn new(
        game: Game,
        options: &Options,
        seed: i32,
        envs: usize,
        threads: usize,
    ) -> Result<Self, OptionError> {
        let library = Library::get()?;
        let make = |threads| {
            Self::sharded(library, game, options, seed, envs, threads).map_err(OptionError::unusable)
        };
        let whole = make(1)?;
        if threads.min(envs) <= 1 {
            return Ok(whole);
        }
        let mut parts = make(threads.min(envs))?;
        parts.set_states(&whole.states().collect::<Vec<_>>());
        Ok(parts)
    }

    fn sharded(
        library: &'static Library,
        game: Game,
        options: &Options,
        seed: i32,
        envs: usize,
        threads: usize,
    ) -> Result<Self, String> {
        let buffers = Buffers::new(envs);
        let part = |k: usize| k * envs / threads..(k + 1) * envs / threads;
        let shard = |k| {
            let arguments = arguments(game, options, seed, &library.assets);
            Shard::new(library, arguments, part(k), &buffers)
        };
        let shards: Result<Vec<Shard>, String> = (0..threads).map(shard).collect();
        let team = Team::new(shards?).map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { team, buffers })
    }

    /// A step with these actions, which must be 0 to 14, or −1 to give up the episode and start another.
    pub(in super::super) fn step(&mut self, actions: impl IntoIterator<Item = i32>) {
        for (slot, action) in self.buffers.actions.get_mut().iter_mut().zip(actions) {
            *slot = action;
        }
        self.team.work();
    }

    /// The complete states of all environments, one after the other.
    pub(in super::super) fn states(&self) -> impl Iterator<Item = Vec<u8>> {
        self.team.members().flat_map(Shard::states)
    }

    /// Takes over states that [`states`](Self::states) returned, of the same game and options: the library ends the
    /// process when it cannot read one.
    pub(in super::super) fn set_states(&mut self, states: &[Vec<u8>]) {
        self.team.members_mut().for_each(|shard| shard.set_states(states));
    }

    pub(in super::super) fn observations(&self) -> &[u8] {
        self.buffers.observations.get()
    }
    pub(in super::super) fn rewards(&self) -> &[f32] {
        self.buffers.rewards.get()
    }
    pub(in super::super) fn rewards_mut(&mut self) -> &mut [f32] {
        self.buffers.rewards.get_mut()
    }
    pub(in super::super) fn firsts(&self) -> &[u8] {
        self.buffers.firsts.get()
    }
    pub(in super::super) fn level_seeds(&self) -> &[i32] {
        self.buffers.level_seeds.get()
    }
    pub(in super::super) fn previous_level_seeds(&self) -> &[i32] {
        self.buffers.previous_level_seeds.get()
    }
    pub(in super::super) fn levels_complete(&self) -> &[u8] {
        self.buffers.levels_complete.get()
    }
}
