//! Our walker replays recorded runs of dm_control, bit by bit. `walker_parity.py` in this folder recorded them.
//!
//! Without MuJoCo 3.17.0 the tests say so and pass; `IVE_REQUIRE_NATIVE=1` makes them fail instead.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive_envs::native::{self, Package};
use ive_envs::walker::task::{EPISODE, JOINTS};
use ive_envs::walker::{Action, Generator, Options, Task, Walker, make};
use ive_envs::{Environment, StepKind, fnv1a};
use serde_json::Value;

/// Whether the library that the recordings were made with is there.
fn exact_engine() -> bool {
    let exact = native::for_tests(Package::Mujoco).is_some_and(|found| found.exact);
    let required = std::env::var_os("IVE_REQUIRE_NATIVE").is_some_and(|value| value == "1");
    assert!(exact || !required, "MuJoCo 3.17.0 is required, but not installed");
    if !exact {
        eprintln!("skipped: MuJoCo 3.17.0 is not installed");
    }
    exact
}

fn recordings() -> Value {
    let text = match std::env::var_os("IVE_WALKER_RUNS") {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => include_str!("fixtures/walker-1.0.50.json").to_string(),
    };
    serde_json::from_str(&text).unwrap()
}

fn bits(values: &Value) -> Vec<u64> {
    let hex = |value: &Value| u64::from_str_radix(value.as_str().unwrap(), 16).unwrap();
    values.as_array().unwrap().iter().map(hex).collect()
}

fn numbers(values: &Value) -> Vec<f64> {
    bits(values).into_iter().map(f64::from_bits).collect()
}

fn original(task: Task, seed: u64) -> Walker {
    make(
        task,
        &Options { repeat: 1, threshold: 0.0, generator: Generator::NumPy, ..Options::default() },
        seed,
    )
    .unwrap()
}

/// The actions of the recordings; `walker_parity.py` has the formula.
struct Actions {
    x: u64,
    scale: f64,
}

impl Actions {
    fn next(&mut self) -> Action {
        [0.0; 6].map(|_: f64| {
            self.x = self.x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.x >> 33) as f64 / f64::from(1 << 30) - 1.0) * self.scale
        })
    }
}

/// Replays a run with one of the tasks. Motion must agree in every bit, rewards and observations to 1e-12.
fn replay(run: &Value, every: u32, task: Task) {
    let (seed, hold) = (run["seed"].as_u64().unwrap(), run["hold"].as_u64().unwrap() as u32);
    let what = format!("{} with seed {seed}", task.name());
    let start: [f64; JOINTS] = numbers(&run["start"]).try_into().unwrap();
    let mut world = original(task, seed);
    if run["fixed"] == true {
        world = world.starting_at(start).unwrap();
    }
    world.reset();
    assert_eq!(world.qpos().map(f64::to_bits), start.map(f64::to_bits), "{what}: the starting pose");

    let mut actions = Actions { x: seed, scale: run["scale"].as_f64().unwrap() };
    let (mut action, mut moved, mut sum, mut last) = ([0.0; 6], Vec::new(), 0.0, None);
    for step in 1..=EPISODE {
        if (step - 1) % hold == 0 {
            action = actions.next();
        }
        let now = world.step(action).unwrap();
        assert_eq!(now.kind == StepKind::Truncated, step == EPISODE);
        moved.extend(world.qpos().iter().chain(world.qvel()).flat_map(|x| x.to_le_bytes()));
        sum += now.reward;
        if step % every == 0 {
            let point = (step / every) as usize - 1;
            let digest = u64::from_str_radix(run["digests"][point].as_str().unwrap(), 16).unwrap();
            assert_eq!(
                fnv1a(&moved),
                digest,
                "{what}: motion differs in the {every} control steps to {step}"
            );
            let reward = numbers(&run["rewards"][point])[task as usize];
            assert!((now.reward - reward).abs() < 1e-12, "{what}, step {step}: {} {reward}", now.reward);
        }
        last = Some(now);
    }
    assert_eq!(world.qpos().map(f64::to_bits).to_vec(), bits(&run["qpos"]), "{what}");
    assert_eq!(world.qvel().map(f64::to_bits).to_vec(), bits(&run["qvel"]), "{what}");
    let returned = numbers(&run["returns"])[task as usize];
    assert!((sum - returned).abs() < 1e-12 * f64::from(EPISODE), "{what}: {sum} {returned}");
    for (i, (ours, theirs)) in last.unwrap().observation.iter().zip(numbers(&run["observation"])).enumerate()
    {
        assert!((ours - theirs).abs() < 1e-12, "{what}: observation {i} is {ours}, theirs {theirs}");
    }
}

#[test]
fn motion_equals_that_of_dm_control_in_every_bit() {
    if !exact_engine() {
        return;
    }
    let recorded = recordings();
    let runs = recorded["runs"].as_array().unwrap();
    assert!(runs.len() >= 5);
    for run in runs {
        for task in Task::ALL {
            replay(run, recorded["every"].as_u64().unwrap() as u32, task);
        }
    }
}

#[test]
fn starting_poses_equal_those_of_dm_control() {
    if !exact_engine() {
        return;
    }
    for case in recordings()["poses"].as_array().unwrap() {
        let mut world = original(Task::Walk, case["seed"].as_u64().unwrap());
        for pose in case["poses"].as_array().unwrap() {
            world.reset();
            assert_eq!(world.qpos().map(f64::to_bits).to_vec(), bits(pose), "seed {}", case["seed"]);
            assert_eq!(world.qvel(), &[0.0; JOINTS]);
        }
    }
}
