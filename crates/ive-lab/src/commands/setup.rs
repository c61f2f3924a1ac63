//! `ive setup`: the native libraries that some environments need.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ive_envs::native::{self, Installed, NativeError, Package, Problem, Progress, Store};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::{self, layout};
use crate::progress::{Session, warn};
use crate::report::table::Table;

/// Arguments of `ive setup`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive setup                        fetch what is missing, repair what is damaged
  ive setup --check                only look, byte by byte
  ive setup procgen --wheel FILE   install from a wheel, without pip and network

Environments that need a library fetch it when they are first used; this does it beforehand, for \
instance where there still is a network. The libraries come with pip, by name and version, and must \
have the SHA-256 that this program knows. They lie in ~/.local/share/ive (IVE_HOME names another \
folder). IVE_PROCGEN and IVE_MUJOCO name folders with other copies, used in their place.

Exit codes: 0 all there, 64 usage, 65 missing (--check), damaged or another file than expected, \
74 no pip, network or space, or no such wheel, 75 interrupted, 78 an environment variable or the \
platform does not fit.")]
pub struct SetupArgs {
    /// Which library [default: all]
    #[arg(value_parser = package_parser())]
    package: Option<Package>,
    /// Only look whether all is there, byte by byte
    #[arg(long, conflicts_with = "wheel")]
    check: bool,
    /// Install from this wheel instead of fetching it
    #[arg(long, value_name = "FILE", requires = "package")]
    wheel: Option<PathBuf>,
    /// As JSON, and no progress
    #[arg(long)]
    json: bool,
}

fn package_parser() -> impl TypedValueParser<Value = Package> {
    let names = PossibleValuesParser::new(Package::ALL.map(Package::name));
    names.map(|name| Package::from_name(&name).expect("clap lets only the names of packages pass"))
}

/// How a package stands.
struct State {
    package: Package,
    found: Result<Option<Installed>, NativeError>,
    /// Whether it was installed just now.
    new: bool,
    /// Whether it is a copy that the user named.
    yours: bool,
}

/// Runs the command.
pub fn run(args: &SetupArgs) -> Outcome {
    if let Some(wheel) = args.wheel.as_deref().filter(|wheel| !wheel.exists()) {
        return Err(Failure::io(format!("{} does not exist; nothing was changed", wheel.display())));
    }
    let store = Store::of_user()?;
    let session = Session::start(args.json)?;
    let mut states = Vec::new();
    for package in args.package.map_or(Package::ALL.to_vec(), |one| vec![one]) {
        let state = if args.check { check(&store, package) } else { set_up(&store, package, args, &session) };
        let interrupted = matches!(&state.found, Err(NativeError { problem: Problem::Interrupted, .. }));
        states.push(state);
        if interrupted {
            break;
        }
    }
    for found in states.iter().filter_map(|state| state.found.as_ref().ok()?.as_ref()) {
        native::others_can_write(found).iter().for_each(|warning| warn(warning));
    }
    let printed = output::print(&if args.json {
        json!(states.iter().map(as_json).collect::<Vec<_>>()).to_string() + "\n"
    } else {
        as_text(&states)
    });
    let failures = states.into_iter().filter_map(|state| match state.found {
        Ok(Some(_)) => None,
        Ok(None) => Some(Failure::data(format!(
            "{0} is not installed; `ive setup {0}` fetches it",
            state.package.name()
        ))),
        Err(error) => Some(error.into()),
    });
    // All are told, in their order; the last decides the exit code.
    let mut failures: Vec<Failure> = failures.collect();
    let last = failures.pop();
    failures.iter().for_each(|other| warn(&other.message));
    last.map_or(printed, Err)
}

/// Looks byte by byte at what the environments would use.
fn check(store: &Store, package: Package) -> State {
    let yours = package.info().other_folder().is_some();
    let found = if yours { native::installed(package) } else { store.check(package.info()) };
    State { package, found, new: false, yours }
}

/// Fetches, repairs, or finds that all is well.
fn set_up(store: &Store, package: Package, args: &SetupArgs, session: &Session) -> State {
    let info = package.info();
    if let Some(folder) = info.other_folder() {
        let (variable, folder) = (info.variable, folder.display());
        warn(&format!("{variable} is set: environments use {folder}, not what is installed now"));
    }
    let label = format!("{} {}", info.name, info.version);
    let bar = session.bytes_bar(info.name, info.wheel.bytes);
    let (mut new, mut doing) = (false, "");
    let found = store.setup(info, args.wheel.as_deref(), &mut |progress| {
        let now = match progress {
            Progress::Waiting => "waiting for another process that installs it",
            Progress::Fetching { bytes, .. } => {
                bar.set_position(bytes);
                "fetching with pip"
            }
            Progress::Checking => "checking the hash",
            Progress::Unpacking { .. } => "unpacking",
        };
        new |= progress == Progress::Checking;
        if now != doing {
            doing = now;
            bar.set_message(now);
            if session.tells_lines() {
                session.say(&format!("{label}: {now}"));
            }
        }
        if session.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    State { package, found: found.map(Some), new, yours: false }
}

impl State {
    fn word(&self) -> &'static str {
        match &self.found {
            Ok(Some(found)) if !found.exact => "your copy, another version",
            Ok(Some(_)) if self.yours => "your copy, exact",
            Ok(Some(_)) if self.new => "installed now",
            Ok(Some(_)) => "installed",
            Ok(None) => "missing",
            Err(NativeError { problem: Problem::Damaged { .. }, .. }) => "damaged",
            Err(_) => "failed",
        }
    }
}

fn as_text(states: &[State]) -> String {
    let mut table = Table::new("", &["package", "version", "state", "folder"]);
    for state in states {
        let (info, found) = (state.package.info(), state.found.as_ref().ok().and_then(Option::as_ref));
        let folder = found.map_or("–".to_owned(), |found| found.folder.display().to_string());
        table.row([info.name.to_owned(), info.version.to_owned(), state.word().to_owned(), folder]);
    }
    let new = states.iter().filter(|state| state.new && state.found.is_ok());
    let credits: String = new.map(|state| format!("\n{}", state.package.info().credits)).collect();
    layout::table(&table, output::width()) + &credits
}

fn as_json(state: &State) -> Value {
    let info = state.package.info();
    let found = state.found.as_ref().ok().and_then(Option::as_ref);
    json!({
        "package": info.name, "version": info.version, "state": state.word(),
        "folder": found.map(|found| &found.folder), "library": found.map(|found| &found.library),
        "exact": found.map(|found| found.exact), "wheel": info.wheel.file, "wheel_sha256": info.wheel.sha256,
        "library_sha256": info.library_sha256, "credits": info.credits,
        "error": state.found.as_ref().err().map(ToString::to_string),
    })
}
