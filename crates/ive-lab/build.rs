//! Tells the program from which commit it was built, for provenance. Without git it says nothing.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
        println!("cargo::rustc-env=IVE_COMMIT={commit}{}", if dirty { "-modified" } else { "" });
    }
    // Git says where its files are: in a work tree they are elsewhere, and a name that does not exist means to run always.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
