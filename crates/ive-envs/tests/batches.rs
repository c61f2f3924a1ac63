//! Environments by name, one at a time and in batches, whichever library steps them.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive::Rng;
use ive_envs::native::{self, Package};
use ive_envs::procgen::{Game, Mode, Options, Procgen};
use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered, names_of};
use ive_envs::{Action, Environments, Sight, StepKind};

fn kinds(observation: ObservationKind, action: ActionKind) -> Kinds {
    Kinds { observation, action }
}

/// What each family shows: boards (Young and Tian 2019), pixels (Cobbe et al. 2020), numbers (Tassa et al. 2018).
#[test]
fn environments_say_what_they_offer_without_being_made() {
    use ActionKind::{Continuous, Numbered};
    use ObservationKind::{Board, Pixels, Vector};
    let of = |name, options: &[(&str, &str)]| Registered::new(name, options).unwrap().kinds();
    assert_eq!(of("minatar:asterix", &[]), kinds(Board, Numbered));
    assert_eq!(of("procgen:maze", &[]), kinds(Pixels, Numbered));
    assert_eq!(of("walker:walk", &[]), kinds(Vector, Continuous));
    assert_eq!(of("walker:walk", &[("observation", "pixels")]), kinds(Pixels, Continuous));
    assert_eq!(names_of(kinds(Board, Numbered)).len(), 5);
    assert_eq!(names_of(kinds(Vector, Continuous)), ["walker:run", "walker:stand", "walker:walk"]);
    assert!(names_of(kinds(Vector, Numbered)).is_empty());
    let walker = Registered::new("walker:walk", &[]).unwrap();
    assert!(walker.bytes().is_none() && walker.states().is_some());
}

#[test]
fn options_and_seeds_are_checked_without_making_anything() {
    let refused = |name, options: &[(&str, &str)]| Registered::new(name, options).unwrap_err().to_string();
    assert!(refused("minatar:breakout", &[("oxygen_flash", "on")]).contains("belongs to seaquest"));
    assert!(refused("procgen:maze", &[("mode", "extreme")]).starts_with("mode cannot be `extreme`"));
    assert!(refused("walker:walk", &[("repeat", "0")]).starts_with("repeat cannot be `0`"));
    let numpy = Registered::new("minatar:breakout", &[("rng", "numpy")]).unwrap();
    assert!(numpy.check_seed(7).is_ok() && numpy.check_seed(u64::MAX).is_err());
    let calm = numpy.changed(&[("sticky".to_owned(), "0".to_owned())].into()).unwrap();
    assert!(calm != numpy && calm.check_seed(u64::MAX).is_err(), "other options stay");
}

/// Seeds are drawn one for each environment, in their order.
#[test]
fn a_batch_has_the_environments_of_the_next_seeds() {
    let source = Registered::new("minatar:breakout", &[]).unwrap().bytes().unwrap();
    let (mut batch, mut rng) = (source.many(3, &mut Rng::from_seed(8)).unwrap(), Rng::from_seed(8));
    let mut singles: Vec<_> = (0..3).map(|_| source.one(rng.next_u64()).unwrap()).collect();
    let first = batch.reset().unwrap().observations.to_vec();
    let seen: Vec<Vec<u8>> = singles.iter_mut().map(|one| one.reset().observation).collect();
    assert_eq!(first, seen.concat());
    for t in 0..50 {
        let now = batch.step(&[t % 6, 1, 3]).unwrap();
        for (i, one) in singles.iter_mut().enumerate() {
            let step = one.step([t % 6, 1, 3][i]).unwrap();
            assert_eq!((step.kind, step.reward), (now.kinds[i], now.rewards[i]));
            if step.kind.is_last() {
                one.reset();
            }
        }
    }
    let Some(Sight::Board { cells, .. }) = singles[0].sight(64) else { panic!("a board is seen") };
    assert_eq!(cells, batch.batch().observations[..400]);
    assert!(source.many(0, &mut rng).is_err(), "there must be one");
}

/// The contract shows what the library shows; discounts are zero at ends that are not truncations, by the definition of a
/// time step.
#[test]
fn procgen_is_a_batch_by_itself() {
    if native::for_tests(Package::Procgen).is_none() {
        return;
    }
    let source = Registered::new("procgen:bossfight", &[("mode", "easy")]).unwrap().bytes().unwrap();
    let mut batch = source.many(4, &mut Rng::from_seed(3)).unwrap();
    let easy = Options { mode: Mode::Easy, ..Options::default() };
    let mut games = Procgen::new(Game::BossFight, &easy, 4, 1, Rng::from_seed(3).next_u64()).unwrap();
    assert_eq!((batch.num_envs(), batch.spec().shape.as_slice()), (4, &[64, 64, 3][..]));
    assert!(batch.reset().unwrap().observations == games.frame().observations, "the first episodes");
    let (mut rng, mut ends) = (Rng::from_seed(1), 0);
    let mut saved = Vec::new();
    for t in 0..400 {
        if t == 200 {
            saved = batch.save();
        }
        let actions: Vec<usize> = (0..4).map(|_| Action::random(batch.spec(), &mut rng)).collect();
        let frame = games.step(&actions).unwrap();
        let now = batch.step(&actions).unwrap();
        assert!(now.observations == frame.observations && now.kinds == frame.kinds, "step {t}");
        for i in 0..4 {
            assert_eq!(now.rewards[i], f64::from(frame.rewards[i]));
            assert_eq!(now.discounts[i] == 0.0, now.kinds[i] == StepKind::Terminated);
            ends += usize::from(now.kinds[i].is_last());
        }
    }
    assert!(ends > 3, "only {ends} episodes ended");
    let last = batch.batch().observations.to_vec();
    let mut other = source.many(4, &mut Rng::from_seed(9)).unwrap();
    other.restore(&saved).unwrap();
    let mut rng = Rng::from_seed(1);
    for t in 0..400 {
        let actions: Vec<usize> = (0..4).map(|_| Action::random(batch.spec(), &mut rng)).collect();
        if t >= 200 {
            other.step(&actions).unwrap();
        }
    }
    assert!(other.batch().observations == last, "a restored batch has the same future");
    assert!(other.restore(&[]).is_err() && other.restore(&[vec![1, 2, 3]]).is_err());
}

/// Its last picture before the end of time is kept, so that one can bootstrap from it.
#[test]
fn a_truncated_episode_of_procgen_keeps_the_picture_before_its_end() {
    if native::for_tests(Package::Procgen).is_none() {
        return;
    }
    // In the maze, doing nothing lasts until the time is up: 500 steps.
    let source = Registered::new("procgen:maze", &[("mode", "easy")]).unwrap().bytes().unwrap();
    let mut batch = source.many(2, &mut Rng::from_seed(3)).unwrap();
    batch.reset().unwrap();
    for _ in 0..510 {
        let before = batch.batch().observations.to_vec();
        let now = batch.step(&[4, 4]).unwrap();
        if now.kinds[0] == StepKind::Truncated {
            assert_eq!(now.discounts[0], 1.0);
            assert!(now.last_observations[..before.len() / 2] == before[..before.len() / 2]);
            return;
        }
    }
    panic!("the time is never up");
}

#[test]
fn walkers_are_sources_of_numbers_and_can_be_seen() {
    if native::for_tests(Package::Mujoco).is_none() {
        return;
    }
    let source = Registered::new("walker:walk", &[("repeat", "500")]).unwrap().states().unwrap();
    let mut batch = source.many(2, &mut Rng::from_seed(3)).unwrap();
    batch.reset().unwrap();
    let action = Action::random(batch.spec(), &mut Rng::from_seed(4));
    batch.step(&[action; 2]).unwrap();
    let now = batch.step(&[action; 2]).unwrap();
    assert_eq!((now.observations.len(), now.kinds), (48, &[StepKind::Truncated; 2][..]));
    assert_eq!(now.discounts, [1.0; 2], "a walker only truncates");
    let mut one = source.one(1).unwrap();
    one.reset();
    let Some(Sight::Pixels { side: 64, rgb }) = one.sight(64) else { panic!("a picture is seen") };
    assert_eq!(rgb.len(), 64 * 64 * 3);
    assert!(matches!(one.sight(100), Some(Sight::Pixels { side: 100, .. })));
}
