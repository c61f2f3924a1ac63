//! Ray, through a small Python program over its core tasks.
//!
//! Ray opens ports on all interfaces, whatever address it is given, and whoever reaches them can run programs. So without
//! an address a cluster is started on the loopback interface, with a warning; another machine's is refused without Ray's
//! token authentication.

use std::process::{Command, Stdio};

use super::{How, full, program};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::progress::warn;
use crate::run::disk::Disk;
use crate::sweep::manifest::Sweep;

/// The adapter.
const ADAPTER: &str = include_str!("ray_adapter.py");

/// Runs the adapter until all tasks are made.
pub fn submit(sweep: &Sweep, tasks: &[u64], how: &How) -> Outcome {
    if how.dry_run {
        return output::print(ADAPTER);
    }
    let token = std::env::var("RAY_AUTH_MODE").is_ok_and(|mode| mode == "token");
    checked(how.address.as_deref(), token)?;
    warn(
        "Ray listens on all interfaces of this machine, and whoever reaches its ports can run programs here: use it behind \
         a firewall (https://docs.ray.io/en/latest/ray-security)",
    );
    let disk = Disk::default();
    disk.create_directory(&sweep.jobs())?;
    let (script, list) = (sweep.jobs().join("ray-adapter.py"), sweep.jobs().join("ray-tasks.txt"));
    disk.replace(&script, ADAPTER.as_bytes())?;
    disk.replace(&list, tasks.iter().map(|index| format!("{index}\n")).collect::<String>().as_bytes())?;
    let python = std::env::var("IVE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.arg(&script).arg(program()?).arg(full(&sweep.dir)?).arg(&list).arg(how.jobs.to_string());
    command.arg(how.address.as_deref().unwrap_or("")).args(how.task_flags()).stdin(Stdio::null());
    let status =
        command.status().map_err(|e| Failure::usage(format!("cannot run `{python}`: {e}; {PACKAGE}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(NO_RAY) => Err(Failure::usage(format!("{python} has no package `ray`; {PACKAGE}"))),
        Some(75) => Err(Failure::interrupted("stopped; `ive sweep resume` goes on")),
        _ => Err(Failure::io(
            "not all tasks are done; `ive sweep status` says which, `ive sweep resume` goes on",
        )),
    }
}

/// What the adapter says when it cannot import Ray.
const NO_RAY: i32 = 69;
const PACKAGE: &str =
    "install it with `python3 -m pip install ray`, and name the Python that has it in IVE_PYTHON";

/// Refuses the address of another machine unless Ray asks for a token.
fn checked(address: Option<&str>, token: bool) -> Outcome {
    let Some(address) = address else { return Ok(()) };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let here = ["127.0.0.1", "localhost", "::1"].contains(&host);
    if here || token {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--address {address} is not on this machine, and whoever reaches a Ray cluster can run programs on it; switch on its \
         token authentication (RAY_AUTH_MODE=token) first"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_machines_need_a_token() {
        for address in [None, Some("127.0.0.1:6379"), Some("localhost:6379"), Some("[::1]:6379")] {
            checked(address, false).unwrap();
        }
        for address in ["10.0.0.5:6379", "ray://example.org:10001", "auto", "127.0.0.1.example.org:1"] {
            assert_eq!(checked(Some(address), false).unwrap_err().code, 64, "{address}");
            checked(Some(address), true).unwrap();
        }
    }
}
