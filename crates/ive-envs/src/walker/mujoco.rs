//! The physics engine: MuJoCo, through the functions of its C interface. All `unsafe` code of the walker is here.
//!
//! Only functions are used: models and data are opaque pointers, and states pass through `mj_getState` and
//! `mj_setState`. No layout of a C struct is assumed, so the same code runs with several versions: it was tried with 3.3.7, 3.17.0 and 4.0.1.
//!
//! There is one engine in a process and one compiled model in it. MuJoCo declares the model `const` in all functions that
//! simulate, so that threads may share it while each has data of its own, which is tested; a thousand walkers need one
//! compilation. Library and model live as long as the process, so that no pointer into them can dangle.

#![allow(unsafe_code, reason = "calls of a C library; each block says why it is sound")]

use super::MakeError;
use super::task::{JOINTS, MOTORS};
use crate::native::{self, Package};
use libloading::Library;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, OnceLock, PoisonError};

const BODY: &str = include_str!("body.xml");
/// The body whose subtree is the whole walker; body 0 is the world.
const TORSO: c_int = 1;
/// Physics steps of 2.5 ms in a control step of 25 ms.
const SUBSTEPS: usize = 10;

/// Bits of a state whose places never changed: time, positions, velocities. Their numbers come in this order.
const TIME: c_int = 1;
const QPOS: c_int = 2;
const QVEL: c_int = 4;

/// How many numbers a [`State`] has: time, positions, velocities, warm start, controls.
pub(super) const STATE: usize = 1 + 3 * JOINTS + MOTORS;

/// All that the future depends on, in MuJoCo's order: the time, positions, velocities, the last accelerations (the
/// constraint solver starts its search from them) and the controls. The walker has no other state: no activations, no
/// applied forces, no mocap bodies, no plugins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State(pub(super) [f64; STATE]);

impl State {
    /// Whether the engine can take these numbers.
    pub(super) fn is_usable(&self) -> bool {
        self.0.iter().all(|&x| is_usable(x))
    }
}

/// Whether the engine can take this number: it is finite and not larger than MuJoCo's own bound.
pub(super) fn is_usable(x: f64) -> bool {
    x.abs() <= 1e10
}

/// Where the body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Motion {
    pub(super) qpos: [f64; JOINTS],
    pub(super) qvel: [f64; JOINTS],
}

/// The engine could not go on: numbers got too large for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unstable;

type Model = c_void;
type Data = c_void;
type Spec = c_void;
type Handler = Option<unsafe extern "C" fn(*const c_char)>;
type Act = unsafe extern "C" fn(*const Model, *mut Data);

/// The opened library, its functions, and the compiled model.
#[derive(Debug)]
pub(super) struct Engine {
    model: NonNull<Model>,
    /// The bit of the controls, and the bits of a [`State`].
    ctrl: c_int,
    full: c_int,
    make_data: unsafe extern "C" fn(*const Model) -> *mut Data,
    delete_data: unsafe extern "C" fn(*mut Data),
    reset_data: Act,
    forward: Act,
    step: Act,
    step1: Act,
    step2: Act,
    get_state: unsafe extern "C" fn(*const Model, *const Data, *mut f64, c_int),
    set_state: unsafe extern "C" fn(*const Model, *mut Data, *const f64, c_int),
    jac_subtree_com: unsafe extern "C" fn(*const Model, *mut Data, *mut f64, c_int),
    /// As the library says it, such as `3.17.0`.
    pub(super) version: String,
    /// Whether it is the very file that parity was measured with.
    pub(super) exact: bool,
    _library: Library,
}

// SAFETY: the functions are code, and the model is only read after it was compiled: every function that is called with it
// takes it as `const mjModel*`; a test simulates with one model on several threads.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

static ENGINE: OnceLock<Engine> = OnceLock::new();

thread_local! {
    /// Whether the engine warned in this thread since somebody asked.
    static WARNED: Cell<bool> = const { Cell::new(false) };
}

/// MuJoCo warns when numbers are bad or buffers full. By default it would print and append to a file in the working
/// directory; here a warning becomes an error of the step in which it came. MuJoCo calls this in the thread that steps.
unsafe extern "C" fn on_warning(_text: *const c_char) {
    // A thread that is being torn down has no flag any more; it takes no further steps either.
    let _ = WARNED.try_with(|warned| warned.set(true));
}

/// MuJoCo calls this where it cannot go on, and its data are broken if it returns. Unwinding through C is not allowed, so
/// there is no way back: say it and end. What we pass in was checked, so this takes a broken library or no memory.
unsafe extern "C" fn on_error(text: *const c_char) {
    // SAFETY: MuJoCo passes a string that ends with a zero and lives for the call; null is excluded.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    let reason = text.as_deref().unwrap_or("it gave no reason");
    // Whether anybody reads it or not.
    let _ = writeln!(std::io::stderr(), "MuJoCo stopped with a fatal error: {reason}");
    std::process::abort();
}

/// The function of a name.
///
/// # Safety
/// `T` must be the type of a pointer to what the library has under this name.
unsafe fn symbol<T: Copy>(library: &Library, path: &Path, name: &str) -> Result<T, MakeError> {
    // SAFETY: the caller vouches for the type.
    let found = unsafe { library.get::<T>(name) };
    found.map(|it| *it).map_err(|_| {
        MakeError::engine(path, format!("it has no `{name}`; MuJoCo 3.2 or a later version is needed"))
    })
}

impl Engine {
    /// The engine of this process, opened at the first call. A failure is not remembered: the next call tries again.
    pub(super) fn shared() -> Result<&'static Self, MakeError> {
        static OPENING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = ENGINE.get() {
            return Ok(engine);
        }
        let installed = native::provide(Package::Mujoco)?;
        let engine = Self::open(&installed.library, installed.exact)?;
        Ok(ENGINE.get_or_init(|| engine))
    }

    fn open(path: &Path, exact: bool) -> Result<Self, MakeError> {
        // SAFETY: opening runs the initialisers of a library that the user chose or that was checked by its hash;
        // MuJoCo's register built-in plugins and do nothing else.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            MakeError::engine(path, native::explain_loader_error(Package::Mujoco, &error.to_string()))
        })?;
        // SAFETY: the types are those of MuJoCo's header mujoco.h, the same in all versions that have these names.
        // The two handlers are variables, of which a symbol is the address; nobody else uses them now, since nothing
        // of the library has been called yet and `shared` lets in one thread at a time.
        unsafe {
            *symbol::<*mut Handler>(&library, path, "mju_user_error")? = Some(on_error);
            *symbol::<*mut Handler>(&library, path, "mju_user_warning")? = Some(on_warning);
            let version: unsafe extern "C" fn() -> *const c_char =
                symbol(&library, path, "mj_versionString")?;
            let state_size = symbol(&library, path, "mj_stateSize")?;
            let model = compile(&library, path)?;
            let (warm, ctrl) = state_bits(model, state_size)
                .ok_or_else(|| MakeError::engine(path, "its states have a form unknown to this program"))?;
            Ok(Self {
                model,
                ctrl,
                full: TIME | QPOS | QVEL | warm | ctrl,
                make_data: symbol(&library, path, "mj_makeData")?,
                delete_data: symbol(&library, path, "mj_deleteData")?,
                reset_data: symbol(&library, path, "mj_resetData")?,
                forward: symbol(&library, path, "mj_forward")?,
                step: symbol(&library, path, "mj_step")?,
                step1: symbol(&library, path, "mj_step1")?,
                step2: symbol(&library, path, "mj_step2")?,
                get_state: symbol(&library, path, "mj_getState")?,
                set_state: symbol(&library, path, "mj_setState")?,
                jac_subtree_com: symbol(&library, path, "mj_jacSubtreeCom")?,
                version: CStr::from_ptr(version()).to_string_lossy().into_owned(),
                exact,
                _library: library,
            })
        }
    }
}

/// Compiles our body.
///
/// # Safety
/// The library must be MuJoCo.
unsafe fn compile(library: &Library, path: &Path) -> Result<NonNull<Model>, MakeError> {
    type Parse = unsafe extern "C" fn(*const c_char, *const c_void, *mut c_char, c_int) -> *mut Spec;
    let xml = CString::new(BODY).expect("the file of the body has no zero byte");
    let mut reason = [0u8; 1000];
    // SAFETY: the types are those of the header. The strings end with zeros; `reason` is longer than we say, so that its
    // last byte stays zero. The specification is freed once, after its message was copied; the model does not refer to it.
    unsafe {
        let parse: Parse = symbol(library, path, "mj_parseXMLString")?;
        let compile: unsafe extern "C" fn(*mut Spec, *const c_void) -> *mut Model =
            symbol(library, path, "mj_compile")?;
        let message: unsafe extern "C" fn(*mut Spec) -> *const c_char =
            symbol(library, path, "mjs_getError")?;
        let delete: unsafe extern "C" fn(*mut Spec) = symbol(library, path, "mj_deleteSpec")?;
        let refused = |why: &CStr| {
            MakeError::engine(path, format!("it refuses the walker's body: {}", why.to_string_lossy()))
        };
        let spec = parse(xml.as_ptr(), ptr::null(), reason.as_mut_ptr().cast(), reason.len() as c_int - 1);
        if spec.is_null() {
            return Err(refused(CStr::from_bytes_until_nul(&reason).unwrap_or_default()));
        }
        let model = NonNull::new(compile(spec, ptr::null()));
        let model = model.ok_or_else(|| refused(CStr::from_ptr(message(spec))));
        delete(spec);
        model
    }
}

/// The bits of the warm start and of the controls. They lie side by side, but not in the same place in all versions: the
/// controls are the first part after the velocities with as many numbers as there are motors. None if anything about the
/// state is not as expected; then no buffer of ours would have the right length.
///
/// # Safety
/// The function must be `mj_stateSize` of the library that compiled the model.
unsafe fn state_bits(
    model: NonNull<Model>,
    state_size: unsafe extern "C" fn(*const Model, c_int) -> c_int,
) -> Option<(c_int, c_int)> {
    // SAFETY: the caller vouches for function and model; bits below 2¹⁰ exist in all versions.
    let size = |bits| unsafe { state_size(model.as_ptr(), bits) } as usize;
    let ctrl = (4..10).map(|place| 1 << place).find(|&bit| size(bit) == MOTORS)?;
    let (warm, full) = (ctrl >> 1, TIME | QPOS | QVEL | (ctrl >> 1) | ctrl);
    let expected = [(TIME, 1), (QPOS, JOINTS), (QVEL, JOINTS), (warm, JOINTS), (full, STATE)];
    expected.into_iter().all(|(bits, length)| size(bits) == length).then_some((warm, ctrl))
}

/// One simulation of the body.
#[derive(Debug)]
pub(super) struct Physics {
    engine: &'static Engine,
    data: NonNull<Data>,
    motion: Motion,
}

// SAFETY: MuJoCo's data belong to no thread, and they are reached only through the one `Physics` that made them.
unsafe impl Send for Physics {}

impl Drop for Physics {
    fn drop(&mut self) {
        // SAFETY: the data came from `mj_makeData` of this library and are freed once.
        unsafe { (self.engine.delete_data)(self.data.as_ptr()) }
    }
}

impl Physics {
    /// A body at rest.
    pub(super) fn new(engine: &'static Engine) -> Result<Self, MakeError> {
        // SAFETY: the model is alive; null is handled.
        let data = NonNull::new(unsafe { (engine.make_data)(engine.model.as_ptr()) });
        let data = data.ok_or(MakeError::Memory)?;
        let motion = Motion { qpos: [0.0; JOINTS], qvel: [0.0; JOINTS] };
        let mut physics = Self { engine, data, motion };
        physics.begin(&[0.25; JOINTS], &[0.0; JOINTS]);
        if physics.motion.qpos != [0.25; JOINTS] {
            return Err(MakeError::Precision);
        }
        physics.begin(&[0.0; JOINTS], &[0.0; JOINTS]);
        Ok(physics)
    }

    pub(super) fn engine(&self) -> &'static Engine {
        self.engine
    }

    /// Where the body is and how it moves.
    pub(super) fn motion(&self) -> &Motion {
        &self.motion
    }

    /// Starts in a pose, with the calls of dm_control in its order; dm_control always starts at rest.
    pub(super) fn begin(&mut self, qpos: &[f64; JOINTS], qvel: &[f64; JOINTS]) {
        self.call(self.engine.reset_data);
        self.call(self.engine.forward);
        self.write(qpos, QPOS);
        self.write(qvel, QVEL);
        self.call(self.engine.forward);
        self.look();
    }

    /// A control step in dm_control's order: finish the physics step that `mj_step1` began, take nine whole ones, and
    /// begin the next, so that all that follows from positions and velocities is up to date.
    pub(super) fn control_step(&mut self, action: &[f64; MOTORS]) -> Result<(), Unstable> {
        WARNED.set(false);
        self.write(action, self.engine.ctrl);
        self.call(self.engine.step2);
        for _ in 1..SUBSTEPS {
            self.call(self.engine.step);
        }
        self.call(self.engine.step1);
        self.look();
        // MuJoCo answers bad numbers by starting over from rest. It warns only once until its data are reset, and after
        // an error they are: by `begin` or by `set_state`.
        if WARNED.get() { Err(Unstable) } else { Ok(()) }
    }

    /// The horizontal velocity of the centre of mass: row 0 of its Jacobian times the velocities.
    pub(super) fn velocity(&mut self) -> f64 {
        let mut jacobian = [0.0; 3 * JOINTS];
        // SAFETY: model and data are alive and belong together; the Jacobian is 3 × 9, as `state_bits` made sure of.
        unsafe {
            let (model, data) = (self.engine.model.as_ptr(), self.data.as_ptr());
            (self.engine.jac_subtree_com)(model, data, jacobian.as_mut_ptr(), TORSO);
        }
        jacobian.iter().zip(&self.motion.qvel).map(|(j, v)| j * v).sum()
    }

    /// All that the future depends on.
    pub(super) fn state(&self) -> State {
        State(self.read(self.engine.full))
    }

    /// Takes over a state. The derived quantities are brought up to date by `mj_step1`, the last call of a control step:
    /// then the next one continues bit by bit. (`mj_forward` would also do, and solve for accelerations in vain.)
    pub(super) fn set_state(&mut self, state: &State) {
        self.call(self.engine.reset_data);
        self.write(&state.0, self.engine.full);
        self.call(self.engine.step1);
        self.look();
    }

    fn look(&mut self) {
        let numbers: [f64; 2 * JOINTS] = self.read(QPOS | QVEL);
        self.motion.qpos.copy_from_slice(&numbers[..JOINTS]);
        self.motion.qvel.copy_from_slice(&numbers[JOINTS..]);
    }

    fn call(&mut self, act: Act) {
        // SAFETY: `act` is one of the engine's functions; model and data are alive and belong together.
        unsafe { act(self.engine.model.as_ptr(), self.data.as_ptr()) }
    }

    /// The parts `bits` of the state, which have `N` numbers.
    fn read<const N: usize>(&self, bits: c_int) -> [f64; N] {
        let mut numbers = [0.0; N];
        let (model, data) = (self.engine.model.as_ptr(), self.data.as_ptr());
        // SAFETY: model and data belong together. This is called with two sets of bits, whose lengths `state_bits` checked.
        unsafe { (self.engine.get_state)(model, data, numbers.as_mut_ptr(), bits) };
        numbers
    }

    /// Sets the parts `bits` of the state, which have `N` numbers.
    fn write<const N: usize>(&mut self, numbers: &[f64; N], bits: c_int) {
        let (model, data) = (self.engine.model.as_ptr(), self.data.as_ptr());
        // SAFETY: as in `read`; here for positions, for velocities, for controls and for whole states.
        unsafe { (self.engine.set_state)(model, data, numbers.as_ptr(), bits) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A fatal error inside MuJoCo (here: a part of the state that does not exist) ends the program with a message, at
    /// once. The library's own handler would wait for a key. The test starts itself a second time to die there.
    #[test]
    fn fatal_errors_of_the_library_say_so_and_abort() {
        const DYING: &str = "IVE_WALKER_DIES";
        if native::for_tests(Package::Mujoco).is_none() {
            return;
        }
        if std::env::var_os(DYING).is_some() {
            let physics = Physics::new(Engine::shared().unwrap()).unwrap();
            let nothing: [f64; STATE] = physics.read(1 << 29);
            unreachable!("MuJoCo gave {nothing:?}");
        }
        let name = "walker::mujoco::tests::fatal_errors_of_the_library_say_so_and_abort";
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(DYING, "1")
            .output()
            .unwrap();
        let said = String::from_utf8(child.stderr).unwrap();
        assert!(!child.status.success() && child.status.code().is_none(), "{}: {said}", child.status);
        assert!(said.contains("MuJoCo stopped with a fatal error: "), "{said}");
    }
}
