//! The C interface of Procgen's library, `libenv` version 1, and all that is `unsafe` about it.
//!
//! The library answers a bad argument by ending the process, so every argument is checked before it gets here: games,
//! modes and ranges by [`Options`], the pictures of the games by [`super::assets`], saved states by the instance. What
//! this module answers for itself is memory. A [`Handle`] owns the buffers that the library writes to; they are
//! allocated once, never move, are written to only inside methods that borrow the handle mutably, and outlive the
//! library's environments.

#![allow(unsafe_code, reason = "the one module that calls the library of Procgen")]

use super::options::Options;
use super::workers::{Team, Work};
use super::{Game, assets};
use crate::native::{self, Package};
use crate::registry::OptionError;
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes of an observation: 64 × 64 pixels of red, green and blue.
pub(super) const OBSERVATION: usize = 64 * 64 * 3;
/// Bytes that hold any saved state; the Python package uses the same number. The largest seen has 50 thousand.
pub(super) const MAX_STATE: usize = 1 << 20;

const UINT8: c_int = 1;
const INT32: c_int = 2;

#[repr(C)]
struct COption {
    name: [c_char; 128],
    dtype: c_int,
    count: c_int,
    data: *mut c_void,
}

#[repr(C)]
struct COptions {
    items: *mut COption,
    count: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CTensorType {
    name: [c_char; 128],
    scalar_type: c_int,
    dtype: c_int,
    shape: [c_int; 16],
    ndim: c_int,
    low: i32,
    high: i32,
}

#[repr(C)]
struct CBuffers {
    ob: *mut *mut c_void,
    rew: *mut f32,
    first: *mut u8,
    info: *mut *mut c_void,
    ac: *mut *mut c_void,
}

/// The functions of the library. It is never unloaded, so that they are good for ever.
#[derive(Debug)]
pub(super) struct Library {
    make: unsafe extern "C" fn(c_int, COptions) -> *mut c_void,
    get_tensortypes: unsafe extern "C" fn(*mut c_void, c_int, *mut CTensorType) -> c_int,
    set_buffers: unsafe extern "C" fn(*mut c_void, *mut CBuffers),
    observe: unsafe extern "C" fn(*mut c_void),
    act: unsafe extern "C" fn(*mut c_void),
    close: unsafe extern "C" fn(*mut c_void),
    get_state: unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, c_int) -> c_int,
    set_state: unsafe extern "C" fn(*mut c_void, c_int, *mut c_char, c_int),
    /// The folder of the pictures. The library reads it once per process, which is why it is kept with the functions.
    assets: String,
    _library: libloading::Library,
}

impl Library {
    /// The library of this process, opened on first use.
    pub(super) fn get() -> Result<&'static Self, OptionError> {
        static OPENED: OnceLock<Library> = OnceLock::new();
        static OPENING: Mutex<()> = Mutex::new(());
        if let Some(library) = OPENED.get() {
            return Ok(library);
        }
        let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = OPENED.get() {
            return Ok(library);
        }
        let found = native::provide(Package::Procgen)?;
        let assets = assets::complete(&found.folder).map_err(OptionError::unusable)?;
        let library = Self::open(&found.library, assets).map_err(OptionError::unusable)?;
        Ok(OPENED.get_or_init(|| library))
    }

    fn open(path: &Path, assets: String) -> Result<Self, String> {
        let shown = path.display();
        // SAFETY: opening runs the library's initialisers. They set up Qt and touch nothing of ours; the file is the one
        // that the package manager of native libraries vouches for, or that the user named.
        let library = unsafe { libloading::Library::new(path) };
        let library =
            library.map_err(|error| native::explain_loader_error(Package::Procgen, &error.to_string()))?;
        // SAFETY: the name and the type are those of libenv.h, version 1, which the check below confirms.
        let version: unsafe extern "C" fn() -> c_int = unsafe { function(&library, "libenv_version")? };
        // SAFETY: the function takes nothing and returns a constant.
        let version = unsafe { version() };
        if version != 1 {
            return Err(format!("{shown} speaks version {version} of libenv, we speak version 1"));
        }
        // SAFETY: the names and types are those of libenv.h, version 1; the last two are declared in the Python package.
        unsafe {
            Ok(Self {
                make: function(&library, "libenv_make")?,
                get_tensortypes: function(&library, "libenv_get_tensortypes")?,
                set_buffers: function(&library, "libenv_set_buffers")?,
                observe: function(&library, "libenv_observe")?,
                act: function(&library, "libenv_act")?,
                close: function(&library, "libenv_close")?,
                get_state: function(&library, "get_state")?,
                set_state: function(&library, "set_state")?,
                assets,
                _library: library,
            })
        }
    }
}

/// A function of a library.
///
/// # Safety
/// `F` must be the type of a function pointer that fits the function, and the library must stay open.
unsafe fn function<F: Copy>(library: &libloading::Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller answers for the type.
    let symbol = unsafe { library.get::<F>(name) };
    symbol.map(|symbol| *symbol).map_err(|error| format!("this is not the library of Procgen: {error}"))
}

/// Memory that the library writes to. It is held by a raw pointer, because a `Box` that moves claims its content for
/// itself, and the library's pointers into it would no longer count.
#[derive(Debug)]
struct Fixed<T>(NonNull<[T]>);

// SAFETY: it owns its content like a `Box`, which is `Send` for such `T`.
unsafe impl<T: Send> Send for Fixed<T> {}

impl<T: Copy> Fixed<T> {
    fn new(value: T, length: usize) -> Self {
        Self(NonNull::from(Box::leak(vec![value; length].into_boxed_slice())))
    }

    /// The place of an entry, for the library.
    fn place(&self, index: usize) -> *mut T {
        assert!(index < self.0.len(), "entry {index} of {}", self.0.len());
        // SAFETY: the entry lies inside the allocation.
        unsafe { self.0.as_ptr().cast::<T>().add(index) }
    }

    fn get(&self) -> &[T] {
        // SAFETY: the allocation is initialised and lives as long as `self`; the library writes to it only inside methods
        // that borrow its handle mutably, so never while this borrow lasts.
        unsafe { self.0.as_ref() }
    }

    fn get_mut(&mut self) -> &mut [T] {
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
struct Buffers {
    actions: Fixed<i32>,
    observations: Fixed<u8>,
    rewards: Fixed<f32>,
    firsts: Fixed<u8>,
    previous_level_seeds: Fixed<i32>,
    levels_complete: Fixed<u8>,
    level_seeds: Fixed<i32>,
}

/// The value of an option in memory that the library may keep a pointer to.
#[derive(Debug)]
enum Datum {
    Flag(Box<u8>),
    Int(Box<i32>),
    Text(Box<[u8]>),
}

impl Datum {
    fn option(&mut self, key: &str) -> COption {
        let mut name = [0; 128];
        for (to, from) in name.iter_mut().zip(key.bytes()) {
            *to = from as c_char;
        }
        let (dtype, count, data): (_, _, *mut c_void) = match self {
            Self::Flag(flag) => (UINT8, 1, (&raw mut **flag).cast()),
            Self::Int(int) => (INT32, 1, (&raw mut **int).cast()),
            Self::Text(text) => (UINT8, text.len() as c_int, text.as_mut_ptr().cast()),
        };
        COption { name, dtype, count, data }
    }
}

/// All seventeen options that the library wants.
fn arguments(game: Game, options: &Options, seed: i32, assets: &str) -> Vec<(&'static str, Datum)> {
    let flag = |yes: bool| Datum::Flag(Box::new(u8::from(yes)));
    let int = |number: i32| Datum::Int(Box::new(number));
    let text = |text: &str| Datum::Text(text.as_bytes().into());
    let (levels, start_level) = options.level_range(game);
    vec![
        ("center_agent", flag(options.center_agent)),
        ("use_generated_assets", flag(options.generated_assets)),
        ("use_monochrome_assets", flag(options.monochrome)),
        ("restrict_themes", flag(options.restrict_themes)),
        ("use_backgrounds", flag(options.backgrounds)),
        ("paint_vel_info", flag(options.velocity_info)),
        ("distribution_mode", int(options.mode.number())),
        ("env_name", text(game.name())),
        ("num_levels", int(levels)),
        ("start_level", int(start_level)),
        ("num_actions", int(super::ACTIONS.len() as i32)),
        ("use_sequential_levels", flag(options.sequential_levels)),
        ("debug_mode", int(0)),
        ("rand_seed", int(seed)),
        // Threads are ours: the library's own wake each other once per environment, and two of them lose against one.
        ("num_threads", int(0)),
        ("render_human", flag(false)),
        ("resource_root", text(assets)),
    ]
}

/// Some environments of a handle: one environment of the library, which holds them all.
#[derive(Debug)]
struct Shard {
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
    fn new(
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

/// Environments of one game, which take their steps together on one or several threads.
#[derive(Debug)]
pub(super) struct Handle {
    // The order matters: the shards, which the team holds, are closed before the buffers are freed.
    team: Team<Shard>,
    buffers: Buffers,
}

impl Handle {
    /// The environments of a seed. Environment i is the same whatever the numbers of environments and threads are: the
    /// library seeds environments by their number within one of its own, so we make them all there and, if they are to
    /// step on several threads, carry them over to one for each thread.
    pub(super) fn new(
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
        let states: Vec<Vec<u8>> = (0..envs).map(|i| whole.get_state(i)).collect();
        parts.set_states(&states);
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
        let buffers = Buffers {
            actions: Fixed::new(0, envs),
            observations: Fixed::new(0, envs * OBSERVATION),
            rewards: Fixed::new(0.0, envs),
            firsts: Fixed::new(0, envs),
            previous_level_seeds: Fixed::new(0, envs),
            levels_complete: Fixed::new(0, envs),
            level_seeds: Fixed::new(0, envs),
        };
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
    pub(super) fn step(&mut self, actions: impl IntoIterator<Item = i32>) {
        for (slot, action) in self.buffers.actions.get_mut().iter_mut().zip(actions) {
            *slot = action;
        }
        self.team.work();
    }

    /// The complete state of an environment.
    pub(super) fn get_state(&self, i: usize) -> Vec<u8> {
        let (shard, index) = self.find(i);
        let mut state = vec![0; MAX_STATE];
        let place = state.as_mut_ptr().cast();
        // SAFETY: the environment is alive and has this index; the length is that of the buffer.
        let length = unsafe {
            (shard.library.get_state)(shard.env.as_ptr(), index as c_int, place, MAX_STATE as c_int)
        };
        state.truncate(usize::try_from(length).unwrap_or(0));
        state.shrink_to_fit();
        state
    }

    /// Takes over states that [`get_state`](Self::get_state) returned, of the same game and options: the library ends
    /// the process when it cannot read one.
    pub(super) fn set_states(&mut self, states: &[Vec<u8>]) {
        for (i, state) in states.iter().enumerate() {
            let (shard, index) = self.find(i);
            let mut state = state.clone();
            let (place, length) = (state.as_mut_ptr().cast(), state.len() as c_int);
            // SAFETY: the environment is alive and has this index; the library reads `length` bytes and keeps nothing.
            unsafe { (shard.library.set_state)(shard.env.as_ptr(), index as c_int, place, length) };
        }
        self.team.members_mut().for_each(Shard::observe);
    }

    fn find(&self, i: usize) -> (&Shard, usize) {
        let shard = self.team.members().find(|shard| shard.envs.contains(&i));
        let shard = shard.expect("the shards hold all environments");
        (shard, i - shard.envs.start)
    }

    pub(super) fn observations(&self) -> &[u8] {
        self.buffers.observations.get()
    }
    pub(super) fn rewards(&self) -> &[f32] {
        self.buffers.rewards.get()
    }
    pub(super) fn rewards_mut(&mut self) -> &mut [f32] {
        self.buffers.rewards.get_mut()
    }
    pub(super) fn firsts(&self) -> &[u8] {
        self.buffers.firsts.get()
    }
    pub(super) fn level_seeds(&self) -> &[i32] {
        self.buffers.level_seeds.get()
    }
    pub(super) fn previous_level_seeds(&self) -> &[i32] {
        self.buffers.previous_level_seeds.get()
    }
    pub(super) fn levels_complete(&self) -> &[u8] {
        self.buffers.levels_complete.get()
    }
}
