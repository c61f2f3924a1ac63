//! What must hold in every game whatever happens: where things can be, that saved states are complete, and that random
//! play does as well as in the original.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive::Rng;
use ive_envs::minatar::{Game, Generator, Options, make};
use ive_envs::{ByteEnvironment, Environment, StateError, StepKind, fnv1a};

fn world(game: Game, generator: Generator, seed: u64) -> ByteEnvironment {
    make(game, &Options { generator, ..Options::default() }, seed).unwrap()
}

/// The cells (row, column) that are set in a channel.
fn cells(observation: &[u8], channels: usize, channel: usize) -> Vec<(usize, usize)> {
    (0..100).filter(|i| observation[i * channels + channel] == 1).map(|i| (i / 10, i % 10)).collect()
}

/// Checks what the rules of a game say about an observation.
fn check(game: Game, seen: &[u8]) {
    assert!(seen.iter().all(|&entry| entry <= 1));
    let channels = game.channels().len();
    let of = |channel| cells(seen, channels, channel);
    let one = |channel| assert_eq!(of(channel).len(), 1, "channel {channel}");
    let within = |channel, rows: std::ops::RangeInclusive<usize>| {
        assert!(
            of(channel).iter().all(|(row, _)| rows.contains(row)),
            "channel {channel} outside rows {rows:?}"
        );
    };
    let exclusive = |a, b| assert!(of(a).iter().all(|cell| !of(b).contains(cell)), "channels {a} and {b}");
    match game {
        Game::Asterix => {
            one(0);
            (0..4).for_each(|channel| within(channel, 1..=8));
            exclusive(1, 3);
            exclusive(1, 2);
            let things = [of(1), of(3)].concat();
            assert!((1..=8).all(|row| things.iter().filter(|thing| thing.0 == row).count() <= 1));
        }
        Game::Breakout => {
            (0..3).for_each(one);
            within(0, 9..=9);
            within(3, 1..=3);
        }
        Game::Freeway => {
            one(0);
            assert!(of(0)[0].1 == 4 && of(0)[0].0 > 0);
            let rows: Vec<usize> = of(1).iter().map(|car| car.0).collect();
            assert_eq!(rows, [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!((2..7).map(|speed| of(speed).len()).sum::<usize>(), 8);
        }
        Game::Seaquest => {
            one(0);
            assert!(of(1).len() <= 1);
            (0..7).for_each(|channel| within(channel, 0..=8));
            for channel in [3, 4, 5, 6, 9] {
                within(channel, 1..=8);
            }
            within(7, 9..=9);
            within(8, 9..=9);
            assert!(of(8).len() <= 6);
        }
        Game::SpaceInvaders => {
            one(0);
            within(0, 9..=9);
            assert!(!of(1).is_empty());
            assert_eq!([of(2), of(3)].concat(), of(1));
            assert!(of(2).is_empty() || of(3).is_empty());
            exclusive(1, 4);
        }
    }
}

#[test]
fn nothing_is_where_it_cannot_be() {
    for game in Game::ALL {
        let (mut world, mut rng) = (world(game, Generator::Ive, 4), Rng::from_seed(11));
        check(game, &world.reset().observation);
        for _ in 0..20_000 {
            let step = world.step(rng.below(6)).unwrap();
            check(game, &step.observation);
            if step.kind == StepKind::Terminated {
                check(game, &world.reset().observation);
            }
        }
    }
}

/// Plays on for some steps and says what happened.
fn future(world: &mut ByteEnvironment, steps: usize) -> Vec<(u64, f64, StepKind)> {
    let mut rng = Rng::from_seed(5);
    (0..steps)
        .map(|_| {
            let step = world.step(rng.below(6)).unwrap();
            if step.kind.is_last() {
                world.reset();
            }
            (fnv1a(&step.observation), step.reward, step.kind)
        })
        .collect()
}

#[test]
fn restored_world_has_the_same_future_from_any_point() {
    for (game, generator) in Game::ALL.into_iter().flat_map(|g| [(g, Generator::Ive), (g, Generator::NumPy)])
    {
        let (mut original, mut rng) = (world(game, generator, 1), Rng::from_seed(2));
        original.reset();
        for _ in 0..40 {
            future(&mut original, rng.below(97));
            let saved = original.save();
            let mut copy = world(game, generator, 99);
            copy.restore(&saved).unwrap();
            assert_eq!(copy.save(), saved);
            assert_eq!(future(&mut copy, 150), future(&mut original, 150), "{game:?} {generator:?}");
        }
    }
}

#[test]
fn damaged_or_foreign_states_are_refused() {
    for game in Game::ALL {
        let mut world = world(game, Generator::Ive, 1);
        world.reset();
        future(&mut world, 60);
        let saved = world.save();
        for i in 0..saved.len() {
            let mut damaged = saved.clone();
            damaged[i] ^= 0x10;
            assert!(world.restore(&damaged).is_err(), "byte {i} of {game:?}");
            assert!(world.restore(&saved[..i]).is_err(), "the first {i} bytes of {game:?}");
        }
        assert_eq!(world.save(), saved, "a refused state changes nothing");
        assert_eq!(world.restore(b"something else"), Err(StateError::NotAState));
    }
    let breakout = world(Game::Breakout, Generator::Ive, 1).save();
    let refused = world(Game::Asterix, Generator::Ive, 1).restore(&breakout);
    assert!(matches!(refused, Err(StateError::Foreign { .. })), "{refused:?}");
    let refused = world(Game::Breakout, Generator::NumPy, 1).restore(&breakout);
    assert!(matches!(refused, Err(StateError::Foreign { .. })), "{refused:?}");
}

/// Whoever forges a state with a valid checksum gets an error or a playable world, never a panic.
#[test]
fn forged_states_never_panic() {
    let mut rng = Rng::from_seed(8);
    for game in Game::ALL {
        let mut world = world(game, Generator::Ive, 1);
        world.reset();
        future(&mut world, 60);
        let saved = world.save();
        let (content, mut accepted) = (saved.len() - 8, 0);
        for _ in 0..20_000 {
            let mut forged = saved[..content].to_vec();
            for _ in 0..=rng.below(3) {
                let i = rng.below(content);
                forged[i] = if rng.below(2) == 0 { rng.below(256) as u8 } else { rng.below(12) as u8 };
            }
            forged.extend(fnv1a(&forged).to_le_bytes());
            if world.restore(&forged).is_ok() {
                accepted += 1;
                future(&mut world, 30);
                world.save();
            }
        }
        assert!(accepted > 100, "{game:?}: only {accepted} forgeries were accepted, the test is blind");
    }
}

/// Random play, 60,000 steps of the original with seed 0: mean length and mean return of an episode.
const ORIGINAL: [(Game, f64, f64); 5] = [
    (Game::Asterix, 69.3, 0.51),
    (Game::Breakout, 11.2, 0.51),
    (Game::Freeway, 2501.0, 0.17),
    (Game::Seaquest, 30.1, 0.10),
    (Game::SpaceInvaders, 50.7, 2.83),
];

/// The tolerance is five standard errors of the difference of both means, and half a unit of the last digit.
#[test]
fn random_play_does_as_well_as_in_the_original() {
    for (game, length, score) in ORIGINAL {
        let (mut world, mut rng) = (world(game, Generator::Ive, 17), Rng::from_seed(23));
        let mut episodes = vec![(0.0, 0.0)];
        world.reset();
        for _ in 0..300_000 {
            let step = world.step(rng.below(6)).unwrap();
            let now = episodes.last_mut().unwrap();
            *now = (now.0 + 1.0, now.1 + step.reward);
            if step.kind == StepKind::Terminated {
                episodes.push((0.0, 0.0));
                world.reset();
            }
        }
        episodes.pop();
        let lengths: Vec<f64> = episodes.iter().map(|episode| episode.0).collect();
        let returns: Vec<f64> = episodes.iter().map(|episode| episode.1).collect();
        for (what, ours, theirs, digit) in
            [("length", &lengths, length, 0.05), ("return", &returns, score, 0.005)]
        {
            let (n, m) = (ours.len() as f64, 60_000.0 / length);
            let mean = ours.iter().sum::<f64>() / n;
            let variance = ours.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let tolerance = 5.0 * (variance * (1.0 / n + 1.0 / m)).sqrt() + digit;
            assert!(
                (mean - theirs).abs() <= tolerance,
                "{game:?} {what}: {mean} ± {tolerance}, original {theirs}"
            );
        }
    }
}

/// Results depend on these streams: changing them is a breaking change.
#[test]
fn value_stability() {
    for (game, expected) in Game::ALL.into_iter().zip(VALUE_STABILITY) {
        let mut world = world(game, Generator::Ive, 2022);
        world.reset();
        let seen: Vec<u8> = future(&mut world, 2000).iter().flat_map(|step| step.0.to_le_bytes()).collect();
        assert_eq!(fnv1a(&seen), expected, "{game:?}");
    }
}
const VALUE_STABILITY: [u64; 5] =
    [0x6e78ad182dd0a86d, 0x7d38c5d3b9349330, 0x22ebeba82d7fcd41, 0x974e560ed3e961e3, 0x4594da093919d653];

#[test]
fn options_mean_what_they_say() {
    for game in Game::ALL {
        let minimal = make(game, &Options { minimal_actions: true, ..Options::default() }, 0).unwrap();
        assert_eq!(minimal.spec().actions.len(), [5, 3, 3, 6, 4][game as usize]);
    }
    // With every action repeated for ever, the first one, noop, is all that ever happens.
    let stuck = Options { sticky: 1.0, ..Options::default() };
    let mut world = make(Game::SpaceInvaders, &stuck, 0).unwrap();
    world.reset();
    assert!((0..20).all(|_| cells(&world.step(1).unwrap().observation, 6, 0) == [(9, 5)]));
    assert!(make(Game::Asterix, &Options { sticky: f64::NAN, ..Options::default() }, 0).is_err());
    assert!(make(Game::Asterix, &Options { oxygen_flash: true, ..Options::default() }, 0).is_err());
    let numpy = Options { generator: Generator::NumPy, ..Options::default() };
    assert!(make(Game::Asterix, &numpy, u64::from(u32::MAX)).is_ok());
    assert!(make(Game::Asterix, &numpy, 1 << 32).is_err());
}

#[test]
fn steps_after_the_end_change_nothing() {
    let mut world = world(Game::Breakout, Generator::Ive, 0);
    world.reset();
    let last = std::iter::repeat_with(|| world.step(0).unwrap()).find(|step| step.kind.is_last()).unwrap();
    let after = world.step(0).unwrap();
    assert_eq!((after.kind, after.reward, after.discount), (StepKind::Terminated, 0.0, 0.0));
    assert_eq!(after.observation, last.observation);
}
