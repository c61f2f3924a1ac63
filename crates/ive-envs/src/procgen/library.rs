//! The C interface of Procgen's library, `libenv` version 1, and all that is `unsafe` about it.
//!
//! The library answers a bad argument by ending the process, so every argument is checked before it gets here: games,
//! modes and ranges by [`Options`](super::Options), the pictures of the games by [`super::assets`], saved states by the
//! instance. What this module answers for itself is memory. A [`Handle`] owns the buffers that the library writes to;
//! they are allocated once, never move, are written to only inside methods that borrow the handle mutably, and outlive
//! the library's environments.

#![allow(unsafe_code, reason = "the one module that calls the library of Procgen")]

mod arguments;
mod handle;
mod memory;
mod shard;

pub(super) use handle::Handle;

use super::assets;
use crate::native::{self, Package};
use crate::registry::OptionError;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
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
