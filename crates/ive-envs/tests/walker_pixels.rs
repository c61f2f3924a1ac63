//! The walker by name, and the walker as pictures.
//!
//! Without MuJoCo the tests that need it say so and pass; `IVE_REQUIRE_NATIVE=1` makes them fail instead.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive::Rng;
use ive_envs::native::{self, Package};
use ive_envs::registry::{self, ActionKind, AnyEnvironment};
use ive_envs::walker::picture::Renderer;
use ive_envs::walker::{Action, Options, Pixels, Task, make};
use ive_envs::{Environment, VectorEnvironment};

/// Bytes of a picture.
const PICTURE: usize = 64 * 64 * 3;

fn engine() -> bool {
    native::for_tests(Package::Mujoco).is_some()
}

fn pixels(repeat: u32, seed: u64) -> Pixels {
    Pixels::new(make(Task::Walk, &Options { repeat, ..Options::default() }, seed).unwrap())
}

fn random_action(rng: &mut Rng) -> Action {
    [0.0; 6].map(|_: f64| 2.0 * rng.uniform() - 1.0)
}

#[test]
fn walkers_are_listed_and_say_what_moves_them() {
    let names: Vec<String> = registry::entries().into_iter().map(|entry| entry.name).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
    assert_eq!(names[names.len() - 3..], ["walker:run", "walker:stand", "walker:walk"]);
    let entry = registry::find("walker:walk").unwrap();
    assert_eq!((entry.shape.as_slice(), entry.channels.len()), ([24].as_slice(), 24));
    assert_eq!((entry.action_kind, entry.actions.len()), (ActionKind::Continuous, 6));
    assert_eq!(registry::find("minatar:breakout").unwrap().action_kind, ActionKind::Numbered);
}

#[test]
fn what_a_walker_cannot_be_is_refused_with_what_can() {
    let refused =
        |options: &[(&str, &str)]| registry::open("walker:walk", options, 0).err().unwrap().to_string();
    assert_eq!(
        registry::open("walker:wakl", &[], 0).err().unwrap().to_string(),
        "no environment is called `walker:wakl`; did you mean walker:walk?"
    );
    assert_eq!(
        refused(&[("observation", "pictures")]),
        "observation cannot be `pictures`: it must be state or pixels"
    );
    assert_eq!(
        refused(&[("sticky", "0")]),
        "no option is called `sticky`; there is observation, repeat, threshold, rng, start"
    );
    assert_eq!(refused(&[("threshold", "NaN")]), "threshold cannot be `NaN`: it must be a reward, 0 to 1");
    let error = registry::make("walker:walk", &[], 0).err().unwrap().to_string();
    assert_eq!(
        error,
        "walker:walk has continuous actions; an environment with numbered actions is needed here"
    );
}

#[test]
fn a_name_and_its_options_make_the_walker_that_they_say() {
    if !engine() {
        return;
    }
    let options = [("repeat", "5"), ("threshold", "0.25"), ("rng", "numpy")];
    let AnyEnvironment::Walker(mut walker) = registry::open("walker:run", &options, 7).unwrap() else {
        panic!()
    };
    assert_eq!((walker.task(), walker.spec().name.as_str()), (Task::Run, "walker:run"));
    assert_eq!(walker.options().to_string(), "repeat=5 threshold=0.25 rng=numpy");
    let seen = [options.as_slice(), &[("observation", "pixels")]].concat();
    let AnyEnvironment::Pixels(mut pixels) = registry::open("walker:run", &seen, 7).unwrap() else {
        panic!()
    };
    assert_eq!(pixels.spec().shape, [64, 64, 3]);
    walker.reset();
    pixels.reset();
    assert_eq!(pixels.walker().qpos(), walker.qpos());
    assert!(matches!(registry::open("minatar:asterix", &[], 0), Ok(AnyEnvironment::Bytes(_))));
}

/// A picture is that of the pose after the step, and rewards and ends are the walker's.
#[test]
fn pictures_follow_the_walker() {
    if !engine() {
        return;
    }
    let (mut seen, mut alone) = (pixels(100, 3), pixels(100, 3).into_walker());
    let mut renderer = Renderer::default();
    alone.reset();
    assert_eq!(seen.reset().observation, renderer.render(alone.qpos()).unwrap());
    let mut rng = Rng::from_seed(1);
    for _ in 0..10 {
        let action = random_action(&mut rng);
        let (seen, alone) = (seen.step(action).unwrap(), (alone.step(action).unwrap(), alone.qpos()));
        assert_eq!((seen.kind, seen.reward), (alone.0.kind, alone.0.reward));
        assert_eq!(seen.observation, renderer.render(alone.1).unwrap());
    }
    let before = seen.save();
    assert!(seen.step_into([f64::NAN; 6], &mut [0; PICTURE]).is_err());
    assert!(seen.step_into([0.0; 6], &mut [0; 24]).is_err());
    assert_eq!(seen.save(), before, "a refused step changes nothing");
}

#[test]
fn batch_of_pictures_equals_single_ones_and_continues_after_restore() {
    if !engine() {
        return;
    }
    let mut batch = VectorEnvironment::new((0..3).map(|seed| pixels(250, seed)).collect()).unwrap();
    let mut singles: Vec<Pixels> = (0..3).map(|seed| pixels(250, seed)).collect();
    batch.reset().unwrap();
    singles.iter_mut().for_each(|world| drop(world.reset()));
    let mut rng = Rng::from_seed(6);
    for _ in 0..6 {
        let actions = [0; 3].map(|_| random_action(&mut rng));
        let now = batch.step(&actions).unwrap();
        for (i, world) in singles.iter_mut().enumerate() {
            let mut step = world.step(actions[i]).unwrap();
            assert_eq!((step.kind, step.reward), (now.kinds[i], now.rewards[i]));
            if step.kind.is_last() {
                assert_eq!(step.observation, now.last_observations[i * PICTURE..][..PICTURE]);
                step = world.reset();
            }
            assert_eq!(step.observation, now.observations[i * PICTURE..][..PICTURE]);
        }
    }
    let mut other = VectorEnvironment::new((7..10).map(|seed| pixels(250, seed)).collect()).unwrap();
    other.restore(&batch.save()).unwrap();
    assert_eq!(other.batch().observations, batch.batch().observations);
    for _ in 0..3 {
        let actions = [0; 3].map(|_| random_action(&mut rng));
        let (a, b) = (other.step(&actions).unwrap(), batch.step(&actions).unwrap());
        assert_eq!((a.observations, a.rewards, a.kinds), (b.observations, b.rewards, b.kinds));
    }
}
