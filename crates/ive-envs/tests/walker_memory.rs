//! Walkers give back what they take. Alone in its file, because it looks at the memory of the whole process.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod memory;

use ive_envs::Environment;
use ive_envs::native::{self, Package};
use ive_envs::walker::{Options, Task, make};

/// A walker touches some 40 kB of its simulation in three steps. If a hundredth of that stayed behind, 1,000 would make 400 kB.
#[test]
fn a_thousand_walkers_leave_no_memory_behind() {
    if native::for_tests(Package::Mujoco).is_none() {
        return;
    }
    let grown = memory::growth(|seed| {
        let mut world = make(Task::Walk, &Options::default(), seed).unwrap();
        world.reset();
        (0..3).for_each(|_| drop(world.step([0.5; 6]).unwrap()));
        let saved = world.save();
        world.restore(&saved).unwrap();
    });
    assert!(grown < 100, "{grown} kB more after 1,000 walkers");
}
