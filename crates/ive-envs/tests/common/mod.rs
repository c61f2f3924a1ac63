//! What the tests of native worlds share.

use ive_envs::native::{Package, provide};
use std::io::Write;

/// Whether the library is here. Without it a test has nothing to say and passes, unless `IVE_REQUIRE_NATIVE=1` asks that
/// it be there.
pub fn have(package: Package) -> bool {
    match provide(package) {
        Ok(_) => true,
        Err(error) => {
            let required = std::env::var_os("IVE_REQUIRE_NATIVE").is_some_and(|value| value == "1");
            assert!(!required, "IVE_REQUIRE_NATIVE=1, but: {error}");
            // Not by `eprintln`, which the test harness hides.
            let _ = std::io::stderr().write_all(format!("SKIPPED, because {error}\n").as_bytes());
            false
        }
    }
}
