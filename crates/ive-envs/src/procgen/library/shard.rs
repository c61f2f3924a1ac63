//! Environments that the library makes and moves together.

use super::arguments::Datum;
use super::memory::Buffers;
use super::{CBuffers, COption, COptions, CTensorType, INT32, Library, MAX_STATE, OBSERVATION, UINT8};
use crate::procgen::workers::Work;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Some environments of a handle: one environment of the library, which holds them all.
#[derive(Debug)]
pub(super) struct Shard {
    library: &'static Library,
    env: NonNull<c_void>,
    envs: Range<usize>,
    /// Kept because `libenv.h` lets the library keep pointers to them.
    #[expect(dead_code, reason = "kept, not read")]
    arguments: Vec<(&'static str, Datum)>,
    places: [Vec<*mut c_void>; 3],
}

// SAFETY: `libenv.h` asks that different environments can be used from different threads at the same time, and this
// library has no state of a thread; a shard is used by one thread at a time.
unsafe impl Send for Shard {}

impl Drop for Shard {
    fn drop(&mut self) {
        // SAFETY: the environment came from `make` and is closed once, by its owner.
        unsafe { (self.library.close)(self.env.as_ptr()) };
    }
}

impl Shard {
    pub(super) fn new(
        library: &'static Library,
        mut arguments: Vec<(&'static str, Datum)>,
        envs: Range<usize>,
        buffers: &Buffers,
    ) -> Result<Self, String> {
        // Not asked for by the interface, but making is rare, and the first one loads all pictures.
        static MAKING: Mutex<()> = Mutex::new(());
        let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut items: Vec<COption> = arguments.iter_mut().map(|(key, datum)| datum.option(key)).collect();
        let options = COptions { items: items.as_mut_ptr(), count: items.len() as c_int };
        // SAFETY: the options are those that the library asks for, with their types, and every value was checked.
        let env = unsafe { (library.make)(envs.len() as c_int, options) };
        let env = NonNull::new(env).ok_or("the library of Procgen made no environment")?;
        let observations: Vec<_> =
            envs.clone().map(|i| buffers.observations.place(i * OBSERVATION).cast()).collect();
        let actions: Vec<_> = envs.clone().map(|i| buffers.actions.place(i).cast()).collect();
        let previous = envs.clone().map(|i| buffers.previous_level_seeds.place(i).cast());
        let complete = envs.clone().map(|i| buffers.levels_complete.place(i).cast());
        let infos = previous.chain(complete).chain(envs.clone().map(|i| buffers.level_seeds.place(i).cast()));
        let places = [observations, infos.collect(), actions];
        let mut shard = Self { library, env, envs, arguments, places };
        shard.agrees()?;
        let [ob, info, ac] = &mut shard.places;
        let first = shard.envs.start;
        let mut pointers = CBuffers {
            ob: ob.as_mut_ptr(),
            rew: buffers.rewards.place(first),
            first: buffers.firsts.place(first),
            info: info.as_mut_ptr(),
            ac: ac.as_mut_ptr(),
        };
        // SAFETY: `agrees` compared number, order, type and size of everything pointed to with what the library says it
        // writes; the buffers outlive the shard.
        unsafe { (library.set_buffers)(env.as_ptr(), &raw mut pointers) };
        shard.observe();
        Ok(shard)
    }

    /// Whether the library reads and writes what our buffers hold.
    fn agrees(&self) -> Result<(), String> {
        let spaces: [&[(&str, c_int, usize)]; 3] = [
            &[("rgb", UINT8, OBSERVATION)],
            &[("action", INT32, 1)],
            &[("prev_level_seed", INT32, 1), ("prev_level_complete", UINT8, 1), ("level_seed", INT32, 1)],
        ];
        for (number, expected) in (1..).zip(spaces) {
            let ask = |types| {
                // SAFETY: the environment is alive; the array is null, or as long as the library said.
                unsafe { (self.library.get_tensortypes)(self.env.as_ptr(), number, types) }
            };
            let blank = CTensorType {
                name: [0; 128],
                scalar_type: 0,
                dtype: 0,
                shape: [0; 16],
                ndim: 0,
                low: 0,
                high: 0,
            };
            let mut types = vec![blank; usize::try_from(ask(std::ptr::null_mut())).unwrap_or(0)];
            ask(types.as_mut_ptr());
            let size = |t: &CTensorType| t.shape.iter().take(t.ndim as usize).map(|&n| n as usize).product();
            let name = |t: &CTensorType| -> String {
                t.name.iter().take_while(|&&c| c != 0).map(|&c| char::from(c as u8)).collect()
            };
            let found: Vec<(String, c_int, usize)> =
                types.iter().map(|t| (name(t), t.dtype, size(t))).collect();
            let same = |(a, b): (&(String, c_int, usize), &(&str, c_int, usize))| {
                (a.0.as_str(), a.1, a.2) == (b.0, b.1, b.2)
            };
            if found.len() != expected.len() || !found.iter().zip(expected).all(same) {
                return Err(format!("this library of Procgen has other data: {found:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// The complete states of its environments.
    pub(super) fn states(&self) -> impl Iterator<Item = Vec<u8>> {
        (0..self.envs.len()).map(|index| {
            let mut state = vec![0; MAX_STATE];
            let (index, place) = (index as c_int, state.as_mut_ptr().cast());
            // SAFETY: the environment is alive and has this index; the length is that of the buffer.
            let length =
                unsafe { (self.library.get_state)(self.env.as_ptr(), index, place, MAX_STATE as c_int) };
            state.truncate(usize::try_from(length).unwrap_or(0));
            state.shrink_to_fit();
            state
        })
    }

    /// Takes over those of these states, one for each environment of the handle, that are its own.
    pub(super) fn set_states(&mut self, states: &[Vec<u8>]) {
        for (index, state) in states[self.envs.clone()].iter().enumerate() {
            let mut state = state.clone();
            let (place, length) = (state.as_mut_ptr().cast(), state.len() as c_int);
            // SAFETY: the environment is alive and has this index; the library reads `length` bytes and keeps nothing.
            unsafe { (self.library.set_state)(self.env.as_ptr(), index as c_int, place, length) };
        }
        self.observe();
    }

    /// Writes what there is to see into the buffers.
    fn observe(&mut self) {
        // SAFETY: the environment is alive and writes to our buffers only.
        unsafe { (self.library.observe)(self.env.as_ptr()) };
    }
}

/// A step: the library reads the actions and writes everything else.
impl Work for Shard {
    fn work(&mut self) {
        // SAFETY: the environment is alive, its actions exist, and it writes to the part of the buffers that is its own
        // while `Handle::step` borrows them mutably.
        unsafe { (self.library.act)(self.env.as_ptr()) };
        self.observe();
    }
}
