//! What the environments of Procgen promise beyond equality with the Python package.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive::Rng;
use ive_envs::native::{self, Package};
use ive_envs::procgen::{Game, LevelSplit, Mode, Options, Procgen};
use ive_envs::{Environment, StateError, StepKind, VectorEnvironment, fnv1a, registry};

const FIVE: [Game; 5] = [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];

fn here() -> bool {
    native::for_tests(Package::Procgen).is_some()
}

fn easy() -> Options {
    Options { mode: Mode::Easy, ..Options::default() }
}

/// Random steps; a digest of all that was seen.
fn play(games: &mut Procgen, steps: usize, seed: u64) -> u64 {
    let (mut rng, mut seen) = (Rng::from_seed(seed), Vec::new());
    for _ in 0..steps {
        let actions: Vec<usize> = (0..games.num_envs()).map(|_| rng.below(15)).collect();
        let now = games.step(&actions).unwrap();
        seen.extend(fnv1a(now.observations).to_le_bytes());
        seen.extend(now.rewards.iter().flat_map(|reward| reward.to_le_bytes()));
        seen.extend(now.level_seeds.iter().flat_map(|level| level.to_le_bytes()));
        seen.extend(now.kinds.iter().map(|&kind| kind as u8));
    }
    fnv1a(&seen)
}

#[test]
fn restored_environments_show_what_they_showed_and_have_the_same_future() {
    if !here() {
        return;
    }
    for game in Game::ALL {
        let mut games = Procgen::new(game, &easy(), 3, 1, 5).unwrap();
        play(&mut games, 77, 1);
        let saved = games.save();
        let before: Vec<u8> = games.frame().observations.to_vec();
        let future = play(&mut games, 200, 2);
        // Other seed, other threads: all that matters is in the state.
        let mut other = Procgen::new(game, &easy(), 3, 2, 99).unwrap();
        other.restore(&saved).unwrap();
        assert!(before == other.frame().observations, "{game:?} shows something else");
        assert_eq!(other.save(), saved, "{game:?}");
        assert_eq!(play(&mut other, 200, 2), future, "{game:?} has another future");
        assert_eq!(other.save(), games.save(), "{game:?}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    if !here() {
        return;
    }
    for game in FIVE {
        let digests = [1, 2, 5, 64]
            .map(|threads| play(&mut Procgen::new(game, &easy(), 5, threads, 11).unwrap(), 150, 3));
        assert_eq!(digests, [digests[0]; 4], "{game:?}");
    }
}

#[test]
fn environments_do_not_depend_on_how_many_there_are() {
    if !here() {
        return;
    }
    let seeds = |envs| Procgen::new(Game::Jumper, &easy(), envs, 1, 4).unwrap().frame().level_seeds.to_vec();
    assert_eq!(seeds(3), seeds(9)[..3]);
}

/// Handles are independent: what four threads do side by side is what they do one after the other.
#[test]
fn instances_live_side_by_side_on_threads() {
    if !here() {
        return;
    }
    let one = |k: usize| play(&mut Procgen::new(FIVE[k], &easy(), 4, 1, 7).unwrap(), 200, k as u64);
    let alone: Vec<u64> = (0..4).map(one).collect();
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|k| scope.spawn(move || one(k))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<u64>>()
    });
    assert_eq!(together, alone);
    // An instance may also move from one thread to another between steps.
    let mut games = Procgen::new(FIVE[0], &easy(), 4, 2, 7).unwrap();
    let moved = std::thread::scope(|scope| scope.spawn(move || play(&mut games, 200, 0)).join().unwrap());
    assert_eq!(moved, alone[0]);
}

#[test]
fn damaged_and_foreign_states_are_refused_before_the_library_sees_them() {
    if !here() {
        return;
    }
    let mut games = Procgen::new(Game::Chaser, &easy(), 2, 1, 0).unwrap();
    play(&mut games, 20, 0);
    let saved = games.save();
    let digest = play(&mut games, 30, 1);
    games.restore(&saved).unwrap();
    for at in (0..saved.len()).step_by(997).chain([0, saved.len() - 1]) {
        let mut damaged = saved.clone();
        damaged[at] ^= 1;
        assert!(games.restore(&damaged).is_err(), "byte {at} was changed");
    }
    for length in [0, 3, 60, 1000, saved.len() - 1] {
        assert!(games.restore(&saved[..length]).is_err(), "only {length} bytes");
    }
    let foreign = |game, options: &Options, envs| {
        let refused = Procgen::new(game, options, envs, 1, 0).unwrap().restore(&saved);
        assert!(matches!(refused, Err(StateError::Foreign { .. })), "{refused:?}");
    };
    foreign(Game::Maze, &easy(), 2);
    foreign(Game::Chaser, &Options::default(), 2);
    foreign(Game::Chaser, &easy(), 3);
    // Whole by its checksum, but of no library that we know: the version of its format is another.
    let content = &saved[..saved.len() - 8];
    let name = content.windows(10).position(|w| w == b"\x06\0\0\0chaser").unwrap();
    let mut forged = content.to_vec();
    forged[name - 4] = 9;
    forged.extend(fnv1a(&forged).to_le_bytes());
    let refused = games.restore(&forged).unwrap_err().to_string();
    assert_eq!(refused, "damaged saved state: it was saved with another library of Procgen");
    // Nothing of all this changed the games.
    assert_eq!(play(&mut games, 30, 1), digest);
}

/// The time limit of a game is in its saved state, behind two generators.
#[test]
fn time_limits_are_those_in_the_states_of_the_library() {
    if !here() {
        return;
    }
    for game in Game::ALL {
        let saved = Procgen::new(game, &easy(), 1, 1, 0).unwrap().save();
        let name = format!("{}\0\0\0{}", char::from(game.name().len() as u8), game.name());
        let start = saved.windows(name.len()).rposition(|w| w == name.as_bytes()).unwrap();
        let int = |at: usize| i32::from_le_bytes(saved[at..][..4].try_into().unwrap());
        let mut at = start + name.len() + 17 * 4;
        for _generator in 0..2 {
            at += 8 + int(at + 4) as usize;
        }
        assert_eq!(int(at + 16) as u32, game.time_limit(), "{game:?}");
    }
}

#[test]
fn the_end_of_time_is_a_truncation_and_the_picture_before_it_stays() {
    if !here() {
        return;
    }
    let mut world = registry::make("procgen:maze", &[("mode", "easy")], 0).unwrap();
    let first = world.reset();
    for _ in 1..500 {
        assert_eq!(world.step(4).unwrap().kind, StepKind::Mid);
    }
    let last = world.step(4).unwrap();
    assert_eq!((last.kind, last.discount, last.reward), (StepKind::Truncated, 1.0, 0.0));
    // A mouse that never moves sees the same picture all the time, unless it were already that of the next maze.
    assert_eq!(last.observation, first.observation);
    assert_eq!(world.step(7).unwrap(), last, "nothing follows an end");
    let saved = world.save();
    let next = world.reset();
    assert_ne!(next.observation, last.observation);
    assert_eq!(world.step(4).unwrap().kind, StepKind::Mid);
    let mut other = registry::make("procgen:maze", &[("mode", "easy")], 1).unwrap();
    other.restore(&saved).unwrap();
    assert_eq!(other.step(7).unwrap(), last, "an end survives saving");
    assert_eq!(other.reset().observation, next.observation);
}

#[test]
fn a_lost_life_is_a_termination() {
    if !here() {
        return;
    }
    let mut world = registry::make("procgen:bossfight", &[("mode", "easy")], 0).unwrap();
    world.reset();
    let last = (0..4000).map(|_| world.step(4).unwrap()).find(|step| step.kind.is_last()).unwrap();
    assert_eq!((last.kind, last.discount), (StepKind::Terminated, 0.0));
}

/// A world is environment 0 of an instance; its first reset takes the episode that the library has begun, another one
/// gives it up for the next level.
#[test]
fn a_world_is_an_instance_of_one_and_can_be_reset_at_any_time() {
    if !here() {
        return;
    }
    let mut games = Procgen::new(Game::CoinRun, &easy(), 4, 1, 21).unwrap();
    let mut world = registry::make("procgen:coinrun", &[("mode", "easy")], 21).unwrap();
    let picture = |games: &Procgen| games.frame().observations[..64 * 64 * 3].to_vec();
    assert_eq!(world.reset().observation, picture(&games));
    for t in 0..50 {
        games.step(&[7, 0, 0, 0]).unwrap();
        let step = world.step(7).unwrap();
        assert_eq!(step.kind, games.frame().kinds[0]);
        let now = if step.kind.is_last() { world.reset() } else { step };
        assert_eq!(now.observation, picture(&games), "step {t}");
    }
    let level = games.frame().level_seeds[0];
    let now = games.restart();
    assert_eq!((now.kinds[0], now.rewards), (StepKind::First, [0.0; 4].as_slice()));
    assert_ne!(now.level_seeds[0], level);
    assert_eq!(now.previous_level_seeds[0], level);
    assert_eq!(world.reset().observation, picture(&games));
}

#[test]
fn worlds_step_together_like_others() {
    if !here() {
        return;
    }
    let make = |seed| registry::make("procgen:fruitbot", &[("mode", "easy")], seed).unwrap();
    let mut worlds = VectorEnvironment::new((0..3).map(make).collect()).unwrap();
    worlds.reset().unwrap();
    let (mut ends, mut single) = (0, make(2));
    single.reset();
    for _ in 0..200 {
        let batch = worlds.step(&[4, 1, 7]).unwrap();
        ends += batch.kinds.iter().filter(|kind| kind.is_last()).count();
        let mut now = single.step(7).unwrap();
        assert_eq!((now.kind, now.reward), (batch.kinds[2], batch.rewards[2]));
        if now.kind.is_last() {
            assert!(now.observation == batch.last_observations[2 * now.observation.len()..]);
            now = single.reset();
        }
        assert!(now.observation == batch.observations[2 * now.observation.len()..]);
    }
    assert!(ends > 0, "no episode ended");
}

/// Level 5 completed leads to level 1002 (the library adds 997) within the episode, and time starts over.
#[test]
fn sequential_levels_lead_on_within_an_episode() {
    if !here() {
        return;
    }
    let options = Options { levels: 1, start_level: 5, sequential_levels: true, ..easy() };
    let mut games = Procgen::new(Game::Maze, &options, 16, 1, 3).unwrap();
    let (mut rng, mut led_on) = (Rng::from_seed(0), 0);
    for _ in 0..1500 {
        let actions: Vec<usize> = (0..16).map(|_| rng.below(9)).collect();
        let now = games.step(&actions).unwrap();
        for i in (0..16).filter(|&i| now.levels_complete[i] == 1) {
            assert_eq!((now.firsts[i], now.kinds[i]), (0, StepKind::Mid));
            assert_eq!(now.level_seeds[i], now.previous_level_seeds[i] + 997);
            led_on += 1;
        }
        assert!(!now.kinds.contains(&StepKind::Terminated), "only time ends a maze");
    }
    assert!(led_on > 0, "no maze was solved");
}

#[test]
fn levels_are_those_of_the_split() {
    if !here() {
        return;
    }
    let split = LevelSplit::new(10).unwrap();
    let levels = |options: Options| {
        let mut games = Procgen::new(Game::Chaser, &options, 32, 1, 0).unwrap();
        (0..5).flat_map(|_| games.restart().level_seeds.to_vec()).collect::<Vec<i32>>()
    };
    assert!(levels(split.train(easy())).iter().all(|level| (0..10).contains(level)));
    assert!(levels(split.unseen(easy())).iter().all(|level| *level >= 10));
    assert!(levels(split.test(easy())).iter().any(|level| *level >= 10));
    let exploration = Options { mode: Mode::Exploration, ..Options::default() };
    let games = Procgen::new(Game::Maze, &exploration, 2, 1, 0).unwrap();
    assert_eq!(games.frame().level_seeds, [158988835; 2]); // the Python package's table
}

/// A game, options, and what is said about them.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// None of these needs the library, and none of them may reach it.
#[test]
fn bad_options_are_refused_with_a_reason() {
    let refused = |game: &str, options: &[(&str, &str)]| {
        registry::make(&format!("procgen:{game}"), options, 0).err().unwrap().to_string()
    };
    let cases: [Case; 12] = [
        ("coinrnu", &[], "no environment is called `procgen:coinrnu`; did you mean procgen:coinrun?"),
        (
            "maze",
            &[("level", "3")],
            "no option is called `level`; there is levels, start_level, sequential_levels",
        ),
        ("maze", &[("levels", "-1")], "levels cannot be `-1`: it must be a whole number, 0 to 2147483647"),
        (
            "maze",
            &[("levels", "2147483648")],
            "levels cannot be `2147483648`: it must be a whole number, 0 to 2147483647",
        ),
        (
            "maze",
            &[("start_level", "x")],
            "start_level cannot be `x`: it must be a whole number, 0 to 2147483647",
        ),
        (
            "maze",
            &[("start_level", "5")],
            "start_level cannot be `5`: it must be 0 unless `levels` says how many there are from there on",
        ),
        (
            "maze",
            &[("levels", "8"), ("start_level", "2147483640")],
            "levels cannot be `8`: it must be at most 7 with start_level=2147483640",
        ),
        (
            "maze",
            &[("mode", "esay")],
            "mode cannot be `esay`: it must be one of easy, hard, extreme, memory, exploration",
        ),
        (
            "maze",
            &[("mode", "extreme")],
            "mode cannot be `extreme`: it must be one of easy, hard, memory, exploration in maze",
        ),
        (
            "coinrun",
            &[("mode", "memory")],
            "mode cannot be `memory`: it must be one of easy, hard, exploration in coinrun",
        ),
        (
            "maze",
            &[("mode", "exploration"), ("levels", "3")],
            "levels cannot be `3`: it must be left out with mode=exploration, which is one level",
        ),
        ("maze", &[("monochrome", "yes")], "monochrome cannot be `yes`: it must be off or on"),
    ];
    for (game, options, message) in cases {
        assert_eq!(refused(game, options), message);
    }
    let number =
        |envs, threads| Procgen::new(Game::Maze, &easy(), envs, threads, 0).err().unwrap().to_string();
    assert_eq!(number(0, 1), "envs cannot be `0`: it must be 1 to 65536");
    assert_eq!(number(1, 0), "threads cannot be `0`: it must be 1 to 1024");
    assert!(LevelSplit::new(0).is_err() && LevelSplit::new(i32::MAX as u32).is_err());
}

#[test]
fn bad_actions_are_refused_and_nothing_moves() {
    if !here() {
        return;
    }
    let mut games = Procgen::new(Game::Maze, &easy(), 2, 1, 0).unwrap();
    let saved = games.save();
    assert_eq!(games.step(&[4]).unwrap_err().to_string(), "actions: expected length 2, got 1");
    let refused = games.step(&[4, 15]).unwrap_err().to_string();
    assert_eq!(refused, "action 15 does not exist: this environment has the actions 0 to 14");
    assert_eq!(games.save(), saved);
}

/// Every mode and switch of every game, so that no accepted option can end the process.
#[test]
fn every_accepted_option_is_accepted_by_the_library() {
    if !here() {
        return;
    }
    for game in Game::ALL {
        for mode in Mode::ALL.into_iter().filter(|&mode| game.has(mode)) {
            for flip in [false, true] {
                let options = Options {
                    mode,
                    backgrounds: !flip,
                    generated_assets: flip,
                    monochrome: flip,
                    restrict_themes: flip,
                    center_agent: !flip,
                    velocity_info: flip,
                    sequential_levels: flip,
                    ..Options::default()
                };
                play(&mut Procgen::new(game, &options, 2, 1, 0).unwrap(), 20, 0);
            }
        }
    }
}
