"""Many environments in one call: the same numbers as one at a time, in every autoreset mode, on any number of threads."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import needed

gymnasium = needed("gymnasium")

import numpy as np  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import ive  # noqa: E402


def actions_of(envs: Any, steps: int) -> list[Any]:
    envs.action_space.seed(0)
    return [envs.action_space.sample() for _ in range(steps)]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", ["minatar:breakout", "minatar:asterix", "walker:walk"])
def test_gymnasiums_own_vector_environment_sees_the_same(name: str, mode: AutoresetMode, request: pytest.FixtureRequest) -> None:
    if name.startswith("walker"):
        request.getfixturevalue("native")
    limit = 20 if name.startswith("walker") else 200
    make = lambda: gymnasium.wrappers.TimeLimit(ive.make(name), limit)  # noqa: E731
    theirs = SyncVectorEnv([make] * 4, autoreset_mode=mode)
    ours = ive.make_vec(name, 4, autoreset_mode=mode, max_episode_steps=limit, threads=2)
    assert ours.metadata["autoreset_mode"] == mode
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert np.array_equal(ours.reset(seed=11)[0], theirs.reset(seed=11)[0])
    ended = 0
    for action in actions_of(ours, 300):
        a, b = ours.step(action), theirs.step(action)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(x, y) and x.dtype == y.dtype and x.shape == y.shape
        over = a[2] | a[3]
        ended += int(over.sum())
        if mode == AutoresetMode.SAME_STEP:
            assert ("final_obs" in a[4]) == ("final_obs" in b[4]) == over.any()
            if over.any():
                assert np.array_equal(a[4]["_final_obs"], b[4]["_final_obs"])
                for x, y in zip(a[4]["final_obs"], b[4]["final_obs"], strict=True):
                    assert (x is None and y is None) or np.array_equal(x, y)
        if mode == AutoresetMode.DISABLED and over.any():
            x, y = (envs.reset(options={"reset_mask": over.copy()})[0] for envs in (ours, theirs))
            assert np.array_equal(x, y)
    assert ended > 10


def test_a_seed_with_a_mask_leaves_the_other_environments_alone() -> None:
    make = lambda: ive.make("minatar:breakout")  # noqa: E731
    theirs = SyncVectorEnv([make] * 4, autoreset_mode=AutoresetMode.DISABLED)
    ours = ive.make_vec("minatar:breakout", 4, autoreset_mode=AutoresetMode.DISABLED)
    mask = np.array([True, False, False, True])
    for envs in (ours, theirs):
        envs.reset(seed=3)
        envs.step(np.ones(4, int))
    x, y = (envs.reset(seed=8, options={"reset_mask": mask.copy()})[0] for envs in (ours, theirs))
    assert np.array_equal(x, y)
    for action in actions_of(ours, 5):
        a, b = ours.step(action), theirs.step(action)
        assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))


def test_procgen_equals_single_environments_until_an_episode_ends(native: None) -> None:
    ours, first = ive.make_vec("procgen:coinrun", 3, threads=2, mode="easy"), ive.make("procgen:coinrun", mode="easy")
    observations, info = ours.reset(seed=4)
    assert np.array_equal(observations[0], first.reset(seed=4)[0])
    assert set(info) == {"level_seed", "prev_level_seed", "prev_level_complete"} and info["level_seed"].shape == (3,)
    before = observations
    for action in actions_of(ours, 600):
        observations, rewards, terminated, truncated, info = ours.step(action)
        observation, reward, end, cut, _ = first.step(action[0])
        assert (rewards[0], terminated[0], truncated[0]) == (reward, end, cut)
        if end or cut:
            # The library never paints the end: what is kept is the picture before it.
            assert np.array_equal(info["final_obs"][0], before[0]) and np.array_equal(observation, before[0])
            observation, _ = first.reset()
        assert np.array_equal(observations[0], observation)
        before = observations


@pytest.mark.parametrize("name", ["minatar:seaquest", "procgen:jumper", "walker:run"])
def test_threads_change_nothing(name: str, request: pytest.FixtureRequest) -> None:
    if not name.startswith("minatar"):
        request.getfixturevalue("native")
    runs = [ive.make_vec(name, 5, threads=threads) for threads in (1, 3, 16)]
    for envs in runs:
        envs.reset(seed=0)
    for action in actions_of(runs[0], 60):
        a, *others = (envs.step(action)[:4] for envs in runs)
        assert all(np.array_equal(x, y) for other in others for x, y in zip(a, other, strict=True))


@pytest.mark.parametrize("name", ["minatar:space_invaders", "procgen:jumper", "walker:run"])
def test_saved_states_have_the_same_future(name: str, request: pytest.FixtureRequest) -> None:
    if not name.startswith("minatar"):
        request.getfixturevalue("native")
    envs, other = ive.make_vec(name, 3), ive.make_vec(name, 3)
    envs.reset(seed=0)
    actions = actions_of(envs, 80)
    for action in actions[:40]:
        seen = envs.step(action)[0]
    assert np.array_equal(other.restore(envs.save()), seen)
    for action in actions[40:]:
        assert all(np.array_equal(x, y) for x, y in zip(envs.step(action)[:4], other.step(action)[:4], strict=True))
    with pytest.raises(ValueError, match="states"):
        other.restore([])
    with pytest.raises(ValueError):
        other.restore([b"garbage"] * 3)


def test_results_are_new_arrays_each_time() -> None:
    envs = ive.make_vec("minatar:breakout", 8)
    first, _ = envs.reset(seed=0)
    copy = first.copy()
    second = envs.step(np.zeros(8, int))
    third = envs.step(np.zeros(8, int))
    assert np.array_equal(first, copy) and all(x is not y for x, y in zip(second[:4], third[:4], strict=True))


def test_seeds() -> None:
    envs = ive.make_vec("minatar:asterix", 3)
    same = envs.reset(seed=[7, 7, 8])[0]
    action = actions_of(envs, 1)[0] * 0
    steps = [envs.step(action)[0] for _ in range(40)]
    assert all(np.array_equal(step[0], step[1]) for step in steps) and any(not np.array_equal(s[0], s[2]) for s in steps)
    assert same.shape == (3, 10, 10, 4)
    envs.reset(seed=[1, None, None])
    alone = ive.make("minatar:asterix")
    alone.reset(seed=9)
    envs.reset(seed=8)
    for _ in range(30):
        assert np.array_equal(envs.step(action)[0][1], alone.step(0)[0])


def test_registered_with_gymnasium_as_vector_environment() -> None:
    envs = gymnasium.make_vec("ive/minatar-breakout-v0", num_envs=4, vectorization_mode="vector_entry_point", sticky=0.0)
    assert type(envs.unwrapped).__name__ == "VectorEnv" and envs.num_envs == 4
    assert envs.reset(seed=0)[0].shape == (4, 10, 10, 4)
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    recorded.reset(seed=0)
    ends = [recorded.step(actions) for actions in actions_of(recorded, 60)]
    assert any("episode" in step[4] for step in ends)


def test_pictures_of_all() -> None:
    envs = ive.make_vec("minatar:breakout", 3, render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    assert pictures is not None and len(pictures) == 3 and pictures[0].shape == (160, 160, 3)
    assert ive.make_vec("minatar:breakout", 3).render() is None


def test_what_makes_no_sense_is_refused() -> None:
    envs = ive.make_vec("minatar:breakout", 4)
    envs.reset(seed=0)
    before = envs.save()
    for actions, kind, message in [
        (np.zeros(3, int), ValueError, "actions: expected the shape (4,), got (3,)"),
        (np.zeros((4, 1), int), ValueError, "actions: expected the shape (4,), got (4, 1)"),
        (np.zeros(4), TypeError, "actions: expected whole numbers, got an array of dtype float64"),
        (np.array([0, 0, 0, 6]), ValueError, "action 6 does not exist"),
        (np.array([0, 0, 0, -1]), ValueError, "actions: -1 is negative"),
    ]:
        with pytest.raises(kind) as caught:
            envs.step(actions)
        assert message in str(caught.value)
    assert envs.save() == before  # nothing has moved
    calls: list[tuple[Any, str]] = [
        (lambda: envs.reset(seed=[1, 2]), "seed: expected one seed or 4 of them, got 2"),
        (lambda: envs.reset(options={"mask": 1}), "options: expected nothing but reset_mask, got ['mask']"),
        (lambda: envs.reset(options={"reset_mask": np.ones(3, bool)}), "reset_mask: expected bool of the shape (4,)"),
        (lambda: ive.make_vec("minatar:breakout", 0), "num_envs: expected at least 1, got 0"),
        (lambda: ive.make_vec("minatar:breakout", 2, threads=0), "threads: expected at least 1, got 0"),
        (lambda: ive.make_vec("minatar:breakout", 2, max_episode_steps=0), "max_episode_steps: expected at least 1, got 0"),
        (lambda: ive.make_vec("minatar:breakout", 2, autoreset_mode="never"), "AutoresetMode"),
        (lambda: ive.make_vec("procgen:coinrun", 2, autoreset_mode="NextStep"), "Procgen has SAME_STEP only, got NEXT_STEP"),
        (lambda: ive.make_vec("procgen:coinrun", 2, max_episode_steps=5), "have limits of their own"),
    ]
    for call, message in calls:
        with pytest.raises(ValueError) as error:
            call()
        assert message in str(error.value)
