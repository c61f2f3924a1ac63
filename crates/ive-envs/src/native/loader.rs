//! When the system cannot load a library: what its message means, and what to do.

use super::package::Package;

/// Turns the message of the system's loader (`dlopen`) into one that says what to do.
///
/// ```
/// use ive_envs::native::{Package, explain_loader_error};
/// let message = "libgthread-2.0.so.0: cannot open shared object file: No such file or directory";
/// let advice = explain_loader_error(Package::Procgen, message);
/// assert!(advice.contains("apt-get install libglib2.0-0"));
/// ```
pub fn explain_loader_error(package: Package, message: &str) -> String {
    let info = package.info();
    let (name, says) = (info.name, |words: &str| message.contains(words));
    // A library that it needs is named at the start; the library itself is named by its whole path.
    let needed = info.needs.iter().find(|(library, _)| message.starts_with(library));
    let advice = if let Some((_, install)) = needed {
        format!("it needs a library that this system lacks: {install}")
    } else if says("GLIBC_") {
        "the C library of this system is too old for it; a newer system is needed".to_owned()
    } else if says("GLIBCXX_") || says("CXXABI_") {
        "the C++ library of this system is too old for it; a newer system is needed".to_owned()
    } else if says("failed to map segment") || says("Operation not permitted") || says("Permission denied") {
        "its folder may not be executed from (a disk mounted with noexec?); set IVE_HOME to a folder on another disk, \
         then `ive setup`"
            .to_owned()
    } else if says("invalid ELF header") || says("file too short") || says("wrong ELF class") {
        format!("the file is damaged or for another machine: `ive setup {name}` repairs what was installed")
    } else {
        format!("`ive setup {name} --check` tells whether it is whole")
    };
    format!("cannot load {name}: {message}\n{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages are those of the GNU C library 2.36, with the library absent, on a noexec mount, and cut short.
    #[test]
    fn messages_of_the_loader_lead_to_advice() {
        let advice = |message| explain_loader_error(Package::Procgen, message);
        let glib = "libglib-2.0.so.0: cannot open shared object file: No such file or directory";
        assert!(advice(glib).contains("apt-get install libglib2.0-0"));
        let noexec = "/x/libenv.so: failed to map segment from shared object";
        assert!(advice(noexec).contains("IVE_HOME"));
        assert!(advice("/x/libenv.so: file too short").contains("`ive setup procgen` repairs"));
        let old = "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.27' not found (required by /x/libmujoco.so.3.17.0)";
        assert!(explain_loader_error(Package::Mujoco, old).contains("too old"));
        assert!(advice("something else").ends_with("`ive setup procgen --check` tells whether it is whole"));
    }
}
