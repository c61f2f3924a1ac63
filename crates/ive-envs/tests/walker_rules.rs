//! What the walker must never break, whichever version of MuJoCo is there.
//!
//! Without MuJoCo the tests say so and pass; `IVE_REQUIRE_NATIVE=1` makes them fail instead.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive::Rng;
use ive_envs::native::{self, Package};
use ive_envs::walker::task::{EPISODE, JOINTS};
use ive_envs::walker::{Action, Generator, MakeError, Options, Task, Walker, action, make};
use ive_envs::{Environment, StateError, StepError, StepKind, VectorEnvironment, fnv1a};
use std::path::Path;
use std::process::Command;

fn engine() -> bool {
    native::for_tests(Package::Mujoco).is_some()
}

fn walker(repeat: u32, threshold: f64, seed: u64) -> Walker {
    make(Task::Walk, &Options { repeat, threshold, ..Options::default() }, seed).unwrap()
}

fn random_action(rng: &mut Rng) -> Action {
    [0.0; 6].map(|_: f64| 2.0 * rng.uniform() - 1.0)
}

/// Takes random steps, with a new episode after each end, and hashes all that happens.
fn walk(world: &mut Walker, rng: &mut Rng, steps: usize) -> u64 {
    let mut seen = Vec::new();
    for _ in 0..steps {
        let now = world.step(random_action(rng)).unwrap();
        let numbers = now.observation.iter().chain(world.qpos()).chain([&now.reward]);
        seen.extend(numbers.flat_map(|x| x.to_le_bytes()));
        if now.kind.is_last() {
            seen.extend(world.reset().observation.iter().flat_map(|x| x.to_le_bytes()));
        }
    }
    fnv1a(&seen)
}

#[test]
fn another_library_than_the_compared_one_is_named_in_a_warning() {
    if !engine() {
        return;
    }
    let (world, exact) = (walker(1, 0.0, 0), native::for_tests(Package::Mujoco).unwrap().exact);
    assert_eq!(world.warning().is_none(), exact);
    assert!(world.warning().is_none_or(|text| text.contains(world.engine_version())));
    assert!(!exact || world.engine_version() == Package::Mujoco.version());
}

/// The world that never stopped is the reference, across the end of an episode too.
#[test]
fn restored_walker_continues_bit_by_bit() {
    if !engine() {
        return;
    }
    for generator in [Generator::Ive, Generator::NumPy] {
        let options = Options { repeat: 1, threshold: 0.1, generator, ..Options::default() };
        // At the start, in the air, on the floor, close to the end, and at it.
        for steps in [0, 1, 20, 300, 700, EPISODE as usize - 1] {
            let mut world = make(Task::Run, &options, 5).unwrap();
            let mut rng = Rng::from_seed(steps as u64);
            world.reset();
            walk(&mut world, &mut rng, steps);
            let mut other = make(Task::Run, &options, 77).unwrap();
            other.reset();
            walk(&mut other, &mut rng.clone(), 10);
            other.restore(&world.save()).unwrap();
            assert_eq!(other.save(), world.save());
            assert_eq!((other.qpos(), other.raw_reward()), (world.qpos(), world.raw_reward()));
            let mut same = rng.clone();
            let expected = walk(&mut world, &mut rng, 500);
            assert_eq!(walk(&mut other, &mut same, 500), expected, "{generator:?} after {steps}");
            assert_eq!(other.save(), world.save());
        }
    }
}

/// The test starts itself a second time; there it restores, goes on and prints what it saw.
#[test]
fn restored_walker_continues_in_another_process() {
    const FILE: &str = "IVE_WALKER_STATE";
    if !engine() {
        return;
    }
    let mut world = walker(2, 0.0, 3);
    if let Some(path) = std::env::var_os(FILE) {
        world.restore(&std::fs::read(path).unwrap()).unwrap();
        println!("digest {:016x}", walk(&mut world, &mut Rng::from_seed(2), 500));
        return;
    }
    world.reset();
    walk(&mut world, &mut Rng::from_seed(1), 123);
    let path = std::env::temp_dir().join(format!("ive-walker-{}", std::process::id()));
    std::fs::write(&path, world.save()).unwrap();
    let name = "restored_walker_continues_in_another_process";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(FILE, &path)
        .output()
        .unwrap();
    std::fs::remove_file(path).unwrap();
    let expected = format!("digest {:016x}", walk(&mut world, &mut Rng::from_seed(2), 500));
    let said = String::from_utf8(child.stdout).unwrap();
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn damaged_and_foreign_states_are_refused_and_change_nothing() {
    if !engine() {
        return;
    }
    let mut world = walker(2, 0.0, 1);
    world.reset();
    walk(&mut world, &mut Rng::from_seed(1), 7);
    let good = world.save();
    let foreign = make(Task::Stand, &Options::default(), 1).unwrap().save();
    assert!(matches!(world.restore(&foreign), Err(StateError::Foreign { .. })));
    assert!(matches!(world.restore(&walker(3, 0.0, 1).save()), Err(StateError::Foreign { .. })));
    assert!(matches!(world.restore(&good[..good.len() - 9]), Err(StateError::Corrupt { .. })));
    // With a right checksum, but a position that is no number or is beyond what the engine takes. The last 8 bytes are
    // the checksum, before them 34 numbers: the time, then the positions.
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut bytes = good.clone();
        let (place, end) = (bytes.len() - 8 * 34, bytes.len() - 8);
        bytes[place..place + 8].copy_from_slice(&bad.to_le_bytes());
        let sum = fnv1a(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        assert!(matches!(world.restore(&bytes), Err(StateError::Corrupt { .. })), "{bad}");
    }
    assert_eq!(world.save(), good);
}

#[test]
fn episodes_are_truncated_after_a_thousand_control_steps() {
    if !engine() {
        return;
    }
    for (repeat, steps) in [(1, 1000), (2, 500), (3, 334), (1000, 1)] {
        let mut world = walker(repeat, 0.0, 2);
        assert_eq!(world.reset().kind, StepKind::First);
        let kinds: Vec<StepKind> = (0..steps).map(|_| world.step([0.1; 6]).unwrap().kind).collect();
        assert!(kinds[..steps - 1].iter().all(|&kind| kind == StepKind::Mid), "repeat {repeat}");
        assert_eq!((kinds[steps - 1], world.control_steps()), (StepKind::Truncated, EPISODE));
        // Nothing follows, and the future keeps its worth.
        let pose = *world.qpos();
        let after = world.step([1.0; 6]).unwrap();
        assert_eq!((after.kind, after.reward, after.discount), (StepKind::Truncated, 0.0, 1.0));
        assert_eq!(world.qpos(), &pose);
        assert_eq!(world.reset().kind, StepKind::First);
        assert_eq!(world.control_steps(), 0);
    }
}

/// Holding an action over three control steps is taking it three times; the threshold is applied to each of them.
#[test]
fn repeated_steps_sum_rewards_after_the_threshold() {
    if !engine() {
        return;
    }
    let (eta, pose) = (0.15, [0.0; JOINTS]);
    let mut single = walker(1, 0.0, 1).starting_at(pose).unwrap();
    let mut triple = walker(3, eta, 1).starting_at(pose).unwrap();
    single.reset();
    triple.reset();
    let (mut rng, mut mixed) = (Rng::from_seed(4), 0);
    for _ in 0..60 {
        let action = random_action(&mut rng);
        let rewards = [0; 3].map(|_| single.step(action).unwrap().reward);
        let kept: Vec<f64> = rewards.into_iter().filter(|&r| r >= eta).collect();
        mixed += usize::from(!kept.is_empty() && kept.len() < 3);
        let now = triple.step(action).unwrap();
        assert_eq!(now.reward, kept.iter().sum::<f64>());
        assert_eq!(triple.raw_reward(), rewards.iter().sum::<f64>());
        assert_eq!(triple.qpos(), single.qpos());
    }
    assert!(mixed > 0, "no step had rewards on both sides of the threshold");
}

#[test]
fn bad_actions_are_refused_by_name_and_large_ones_are_cut() {
    if !engine() {
        return;
    }
    let (mut world, mut clipped) = (walker(2, 0.0, 1), walker(2, 0.0, 1));
    world.reset();
    clipped.reset();
    let before = world.save();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = world.step([0.0, 0.0, 0.0, 0.0, bad, 0.0]).unwrap_err();
        assert_eq!(refused.to_string(), "action left_knee must be a finite number");
    }
    assert_eq!(action(&[0.0; 5]).unwrap_err().to_string(), "action: expected length 6, got 5");
    assert_eq!(
        action(&[0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0]),
        Err(StepError::NotFinite { action: "right_knee" })
    );
    assert_eq!(action(&[0.5; 6]), Ok([0.5; 6]));
    assert!(world.step_into([0.0; 6], &mut [0.0; 23]).is_err());
    assert_eq!(world.save(), before);
    world.step([1e300, -7.0, 0.5, 1.5, -1.0, 1.0]).unwrap();
    clipped.step([1.0, -1.0, 0.5, 1.0, -1.0, 1.0]).unwrap();
    assert_eq!(world.qpos(), clipped.qpos());
}

/// A body far below the floor is thrown out faster than MuJoCo can count. Its own answer is to start over from rest
/// without a word; ours is an error, the state before the step, and no file in the working directory.
#[test]
fn unstable_physics_is_an_error_and_changes_nothing() {
    if !engine() {
        return;
    }
    for depth in [2e8, 1e9, 1e10] {
        let pose = [-depth, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let mut world = walker(2, 0.0, 1).starting_at(pose).unwrap();
        for _ in 0..2 {
            world.reset();
            let (mut before, mut refused) = (world.save(), None);
            for _ in 0..20 {
                refused = world.step([0.0; 6]).err();
                if refused.is_some() {
                    break;
                }
                before = world.save();
            }
            let refused = refused.expect("nothing stays stable at this depth");
            assert!(matches!(refused, StepError::Unstable { .. }));
            assert!(refused.to_string().contains("reset the environment"), "{refused}");
            assert_eq!(world.save(), before);
            assert_eq!(world.step([0.0; 6]), Err(refused), "it happens again");
            assert_eq!(world.save(), before);
        }
        // A healthy state makes it healthy.
        assert!(world.restore(&walker(2, 0.0, 1).save()).is_ok() && world.step([0.0; 6]).is_ok());
    }
    assert!(!Path::new("MUJOCO_LOG.TXT").exists());
}

#[test]
fn walkers_in_threads_do_not_disturb_each_other() {
    if !engine() {
        return;
    }
    let run = |seed: u64| {
        let mut world = walker(2, 0.0, seed);
        world.reset();
        // Half of the way here, half in whichever thread comes next.
        (walk(&mut world, &mut Rng::from_seed(seed), 60), world)
    };
    let go_on = |(first, mut world): (u64, Walker)| (first, walk(&mut world, &mut Rng::from_seed(8), 60));
    let alone: Vec<_> = (0..8).map(|seed| go_on(run(seed))).collect();
    let threads: Vec<_> = (0..8).map(|seed| std::thread::spawn(move || run(seed))).collect();
    let moved: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let threads: Vec<_> = moved.into_iter().map(|it| std::thread::spawn(move || go_on(it))).collect();
    let together: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(together, alone);
}

#[test]
fn batch_equals_single_walkers_with_resets_by_hand() {
    if !engine() {
        return;
    }
    let mut batch = VectorEnvironment::new((0..3).map(|seed| walker(100, 0.2, seed)).collect()).unwrap();
    let mut singles: Vec<Walker> = (0..3).map(|seed| walker(100, 0.2, seed)).collect();
    batch.reset().unwrap();
    singles.iter_mut().for_each(|world| drop(world.reset()));
    let mut rng = Rng::from_seed(6);
    for _ in 0..15 {
        let actions = [0; 3].map(|_| random_action(&mut rng));
        let now = batch.step(&actions).unwrap();
        for (i, world) in singles.iter_mut().enumerate() {
            let mut step = world.step(actions[i]).unwrap();
            assert_eq!((step.kind, step.reward), (now.kinds[i], now.rewards[i]));
            if step.kind.is_last() {
                assert_eq!(step.observation, now.last_observations[i * 24..][..24]);
                step = world.reset();
            }
            assert_eq!(step.observation, now.observations[i * 24..][..24]);
        }
    }
}

/// Seeds choose poses; poses stay within the limits of the joints, and go round all of them.
#[test]
fn poses_are_random_within_limits() {
    if !engine() {
        return;
    }
    let (mut world, mut low, mut high) = (walker(2, 0.0, 0), [f64::MAX; JOINTS], [f64::MIN; JOINTS]);
    for _ in 0..400 {
        world.reset();
        for (i, &x) in world.qpos().iter().enumerate() {
            (low[i], high[i]) = (low[i].min(x), high[i].max(x));
        }
    }
    let limits = [0.0, 0.0, 180.0, 100.0, 0.0, 45.0, 100.0, 0.0, 45.0].map(f64::to_radians);
    let floors = [0.0, 0.0, -180.0, -20.0, -150.0, -45.0, -20.0, -150.0, -45.0].map(f64::to_radians);
    for i in 0..JOINTS {
        let slack = (limits[i] - floors[i]) * 0.05;
        assert!(floors[i] <= low[i] && low[i] <= floors[i] + slack, "joint {i}: {}", low[i]);
        assert!(limits[i] - slack <= high[i] && high[i] <= limits[i], "joint {i}: {}", high[i]);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let mut options = Options::default();
    for (key, value) in [("repeat", "0"), ("repeat", "1001"), ("repeat", "two"), ("threshold", "-0.1")] {
        assert!(options.set(key, value).is_err(), "{key}={value}");
    }
    for (key, value) in [("threshold", "nan"), ("threshold", "1.5"), ("rng", "python"), ("repeats", "2")] {
        assert!(options.set(key, value).is_err(), "{key}={value}");
    }
    assert_eq!(options, Options::default());
    for (key, value) in [("repeat", "4"), ("threshold", "0.3"), ("rng", "numpy")] {
        options.set(key, value).unwrap();
    }
    assert_eq!(options.to_string(), "repeat=4 threshold=0.3 rng=numpy");
    // Options are looked at before any library.
    assert!(matches!(make(Task::Walk, &options, 1 << 32), Err(MakeError::Option(_))));
    if engine() {
        let refused = walker(1, 0.0, 0).starting_at([0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(matches!(refused, Err(MakeError::Pose { index: 1 })));
    }
}
