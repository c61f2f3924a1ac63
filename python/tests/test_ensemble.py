"""Ensembles against NumPy: the formula written out, term by term."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ive

Array = NDArray[Any]


def k_step_values(rewards: Array, values: Array, discounts: Array) -> Array:
    """v̂ᵏ = Σ_{i<k} (Π_{j<i} γʲ) rⁱ⁺¹ + (Π_{j<k} γʲ) v̂(sᵏ), [k, *batch], in double precision."""
    r, v = rewards.astype(np.float64), values.astype(np.float64)
    d = np.broadcast_to(np.asarray(discounts, np.float64), r.shape)
    products = np.concatenate([np.ones((1, *r.shape[1:])), np.cumprod(d, axis=0)])
    sums = np.concatenate([np.zeros((1, *r.shape[1:])), np.cumsum(products[:-1] * r, axis=0)])
    return np.asarray(sums + products * v)


def predictions(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[0] + 1, *shape[1:])).astype(dtype)


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 7), (5, 2, 3), (1, 4), (0, 4), (20, 1000), (5, 257, 1, 2)])
def test_members_mean_and_std_equal_numpy(shape: tuple[int, ...]) -> None:
    rewards, values = predictions(shape)
    e = ive.ensemble(rewards, values, 0.93)
    expected = k_step_values(rewards, values, np.array(0.93))
    assert e.k == tuple(range(shape[0] + 1)) and e.shape == shape[1:] and len(e) == shape[0] + 1
    assert np.abs(e.members - expected).max() < 1e-9
    assert np.abs(e.mean() - expected.mean(0)).max() < 1e-9
    assert np.abs(e.std() - expected.std(0)).max() < 1e-9
    assert np.abs(e.score(-0.5) - (expected.mean(0) - 0.5 * expected.std(0))).max() < 1e-9
    assert np.abs(e.range() - (expected.max(0) - expected.min(0))).max() < 1e-9
    for result in (e.mean(), e.std(), e.score(1.0), e.range()):
        assert result.shape == shape[1:] and result.dtype == np.float64


def test_the_sample_form_of_the_deviation_is_numpys() -> None:
    rewards, values = predictions((4, 9))
    expected = k_step_values(rewards, values, np.array(0.9)).std(0, ddof=1)
    assert np.abs(ive.ensemble(rewards, values, 0.9).std(ddof=1) - expected).max() < 1e-9


def test_the_call_of_the_issue() -> None:
    rewards, values = predictions((5, 32))
    sigma = ive.ensemble(rewards, values, 0.93, members=range(0, 6)).std()
    assert np.abs(sigma - k_step_values(rewards, values, np.array(0.93)).std(0)).max() < 1e-9


@pytest.mark.parametrize("members", [range(1, 6), [0, 5], (3,), np.array([2, 4]), {1, 2}])
def test_members_are_chosen_by_their_k(members: Any) -> None:
    rewards, values = predictions((5, 11))
    e = ive.ensemble(rewards, values, 0.9, members=members)
    chosen = sorted(int(k) for k in members)
    expected = k_step_values(rewards, values, np.array(0.9))[chosen]
    assert e.k == tuple(chosen) and np.abs(e.members - expected).max() < 1e-12
    assert np.abs(e.std() - expected.std(0)).max() < 1e-9
    again = ive.ensemble(rewards, values, 0.9).select(members)
    assert again.k == e.k and np.array_equal(again.members, e.members)


def test_discounts_for_each_step_and_for_each_state() -> None:
    rewards, values = predictions((3, 4, 2))
    each = np.random.default_rng(1).uniform(0, 1, (3, 4, 2))
    each[1, 2] = 0.0  # the end of an episode: nothing behind it counts
    by_state = ive.ensemble(rewards, values, each)
    assert np.abs(by_state.members - k_step_values(rewards, values, each)).max() < 1e-12
    assert np.array_equal(by_state.members[2][2], by_state.members[3][2])
    steps = np.array([0.9, 0.5, 1.0])
    by_step = ive.ensemble(rewards, values, steps)
    assert np.abs(by_step.members - k_step_values(rewards, values, steps[:, None, None])).max() < 1e-12
    for number in (0.9, np.float32(0.5), np.array(0.25), 1):
        gamma = np.asarray(number, np.float64)
        assert np.abs(ive.ensemble(rewards, values, number).members - k_step_values(rewards, values, gamma)).max() < 1e-12


def test_single_precision_is_read_as_it_is_and_computed_in_double() -> None:
    rewards, values = predictions((5, 300), dtype=np.float32)
    e = ive.ensemble(rewards, values, 0.99)
    expected = k_step_values(rewards, values, np.array(0.99))  # in double precision, from the same bits
    assert e.members.dtype == np.float64
    assert np.abs(e.members - expected).max() < 1e-12 and np.abs(e.std() - expected.std(0)).max() < 1e-9
    # In single precision a σ of nothing but rounding would be a million times larger.
    constant = ive.ensemble(np.ones((5, 3), np.float32), np.full((6, 3), 100.0, np.float32), 0.99)
    assert constant.std().max() < 1e-13


def test_mixed_precision_is_computed_from_all_bits() -> None:
    rewards, values = predictions((5, 30))
    single = rewards.astype(np.float32)
    expected = k_step_values(single, values, np.array(0.9))
    assert np.abs(ive.ensemble(single, values, 0.9).members - expected).max() < 1e-12
    each = np.random.default_rng(0).uniform(0, 1, rewards.shape)
    both = ive.ensemble(single, values.astype(np.float32), each)
    assert np.abs(both.members - k_step_values(single, values.astype(np.float32), each)).max() < 1e-12


class Foreign:
    """An array that only knows DLPack."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_anything_that_holds_numbers_is_read() -> None:
    rewards, values = predictions((3, 4))
    expected = ive.ensemble(rewards, values, 0.9).std()
    wide = np.zeros((3, 8))
    wide[:, ::2] = rewards
    for other in (
        rewards.tolist(),
        list(rewards),
        Foreign(rewards),
        np.asfortranarray(rewards),
        wide[:, ::2],
        rewards.astype(">f8"),
        memoryview(rewards.data),
    ):
        assert np.array_equal(ive.ensemble(other, values, 0.9).std(), expected)
    whole = ive.ensemble(np.ones((2, 3), np.int64), np.ones((3, 3), bool), 0)
    assert np.array_equal(whole.members, np.ones((3, 3)))
    half = ive.ensemble(rewards.astype(np.float16), values.astype(np.float16), 0.5)
    assert half.std().dtype == np.float64


def test_input_is_not_copied_and_not_changed() -> None:
    rewards, values = predictions((5, 1000))
    before = rewards.copy(), values.copy()
    from ive._arrays import floats

    assert floats("rewards", rewards) is rewards
    ive.ensemble(rewards, values, 0.9)
    assert np.array_equal(rewards, before[0]) and np.array_equal(values, before[1])
    rewards.flags.writeable = False
    assert ive.ensemble(rewards, values, 0.9).shape == (1000,)


def test_results_belong_to_the_caller() -> None:
    e = ive.ensemble(*predictions((5, 100)), 0.9)
    first = e.mean(), e.std()
    kept = first[0].copy(), first[1].copy()
    first[0][:] = first[1][:] = -1.0
    for _ in range(3):
        assert np.abs(e.mean() - kept[0]).max() < 1e-12 and np.abs(e.std() - kept[1]).max() < 1e-12


def test_members_cannot_be_written_to() -> None:
    e = ive.ensemble(*predictions((2, 3)), 0.9)
    with pytest.raises(ValueError, match="read-only"):
        e.members[0, 0] = 7.0
    assert e.members is e.members


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_reward_with_its_value_has_no_disagreement(gamma: float, dtype: Any) -> None:
    # c / (1 − γ) is the value of a constant reward c; 1e-12 is the rounding of sums of about a hundred.
    value = 1.0 / (1.0 - gamma)
    e = ive.ensemble(np.ones((10, 4), dtype), np.full((11, 4), value, np.float64), gamma)
    assert e.std().max() < 1e-12


R, V = predictions((5, 32))
BAD = np.array(R)
BAD[2, 7] = np.nan


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((R, V[:5], 0.9), ValueError, "values: expected the shape (6, 32), a row more than rewards (5, 32), got (5, 32)"),
        ((R, V[:, :5], 0.9), ValueError, "values: expected the shape (6, 32), a row more than rewards (5, 32), got (6, 5)"),
        ((1.0, V, 0.9), ValueError, "rewards: expected an array [n, *batch], got a number"),
        ((R[:, :0], V[:, :0], 0.9), ValueError, "rewards: there are no states, the shape is (5, 0)"),
        ((R, V, [0.9, 0.8]), ValueError, "discount: expected a number, or the shape (5,) or (5, 32) of rewards, got (2,)"),
        ((R, V, 1.5), ValueError, "discount: 1.5 is outside the range 0 to 1"),
        ((R, V, -0.1), ValueError, "discount: -0.1 is outside the range 0 to 1"),
        ((R, V, float("nan")), ValueError, "discount: NaN is outside the range 0 to 1"),
        ((R, V, np.full(R.shape, 1.01)), ValueError, "discount: 1.01 is outside the range 0 to 1"),
        ((BAD, V, 0.9), ValueError, "rewards[2, 7] is NaN, not a finite number"),
        ((R, np.full(V.shape, np.inf), 0.9), ValueError, "values[0, 0] is inf, not a finite number"),
        ((np.full(R.shape, 1e308), np.full(V.shape, 1e308), 1.0), ValueError, "not a finite number"),
        (("text", V, 0.9), TypeError, "rewards: expected real numbers, got an array of dtype <U4"),
        ((None, V, 0.9), TypeError, "rewards: expected real numbers, got an array of dtype object"),
        ((R + 1j, V, 0.9), TypeError, "rewards: expected real numbers, got an array of dtype complex128"),
        (([[1.0], [1.0, 2.0]], V, 0.9), ValueError, "rewards: its parts have different shapes"),
        (([R[0], R[0, :3]], V, 0.9), ValueError, "rewards: its parts have different shapes: (32,), (3,)"),
        ((np.ma.masked_array(R, R > 0), V, 0.9), TypeError, "rewards: masked arrays are not supported"),
        ((R, V, "γ"), TypeError, "discount: expected real numbers"),
        ((R, V, 0.9, 5), TypeError, "members: expected unroll lengths such as range(0, 6) or [1, 3, 5], got 5"),
        ((R, V, 0.9, "0..5"), TypeError, "members: expected unroll lengths such as range(0, 6) or [1, 3, 5], got '0..5'"),
        ((R, V, 0.9, [0.5]), TypeError, "members: expected a whole number, got 0.5"),
        ((R, V, 0.9, []), ValueError, "members: must not be empty"),
        ((R, V, 0.9, [6]), ValueError, "members: there is no k = 6; the predictions have k = 0..5"),
        ((R, V, 0.9, [-1]), ValueError, "members: expected at least 0, got -1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        ive.ensemble(*arguments)
    assert message in str(caught.value)


def test_statistics_that_make_no_sense_are_refused() -> None:
    e = ive.ensemble(R, V, 0.9)
    for ddof in (2, -1):
        with pytest.raises(ValueError, match="ddof"):
            e.std(ddof=ddof)
    with pytest.raises(TypeError, match="ddof: expected a whole number, got 0.5"):
        e.std(ddof=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 2 are needed, got 1"):
        e.select([0]).std(ddof=1)
    with pytest.raises(ValueError, match="beta: inf is not a finite number"):
        e.score(float("inf"))
    with pytest.raises(ValueError, match="members: there is no k = 3; the predictions have k = 0, 2"):
        e.select([0, 2]).select([3])
    with pytest.raises(TypeError, match="use ive.ensemble"):
        ive.Ensemble()


def test_explicit_members() -> None:
    members = np.random.default_rng(0).normal(size=(5, 3, 2))
    e = ive.Ensemble.from_members(members)
    assert e.k is None and e.shape == (3, 2) and repr(e) == "Ensemble(members=5, shape=(3, 2))"
    assert np.abs(e.std() - members.std(0)).max() < 1e-12 and np.array_equal(e.members, members)
    with pytest.raises(ValueError, match="an explicit ensemble has no unroll lengths"):
        e.select([0])
    with pytest.raises(ValueError, match="members: expected an array"):
        ive.Ensemble.from_members(1.0)
    with pytest.raises(ValueError, match="entry 1 is NaN"):
        ive.Ensemble.from_members([[1.0, np.nan]])


def test_averages_come_before_sigma() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([[1.0, 2.0], [3.0, 2.0]])
    samples = [ive.Ensemble.from_members(truth + rng.normal(size=truth.shape)) for _ in range(400)]
    stacked = np.stack([sample.members for sample in samples])
    mean = ive.average(samples)
    assert np.abs(mean.members - stacked.mean(0)).max() < 1e-12
    sigma, error = ive.sampled_std(samples)
    assert np.abs(sigma - stacked.mean(0).std(0)).max() < 1e-12
    # The jackknife by hand, with NumPy.
    n = len(samples)
    without = np.stack([(stacked.sum(0) - sample) / (n - 1) for sample in stacked]).std(axis=1)
    jackknife = np.sqrt((n - 1) / n * ((without - without.mean(0)) ** 2).sum(0))
    assert np.abs(error - jackknife).max() < 1e-9
    stream = ive.SampledEnsemble(groups=20)
    for sample in samples:
        stream.push(sample)
    assert len(stream) == n and np.abs(stream.mean().members - mean.members).max() < 1e-12
    grouped_sigma, grouped_error = stream.std()
    # Twenty groups know the error within 16 %; five times that is allowed.
    assert np.abs(grouped_sigma - sigma).max() < 1e-12 and abs(grouped_error[0] / error[0] - 1) < 0.8


def test_samples_that_do_not_fit_are_refused() -> None:
    a, b = ive.Ensemble.from_members([[1.0], [2.0]]), ive.Ensemble.from_members([[1.0, 2.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match=r"samples: one has the shape \(1,\), another \(2,\)"):
        ive.average([a, b])
    with pytest.raises(ValueError, match="one has the members"):
        ive.average([a, ive.ensemble([[1.0]], [[1.0], [2.0]], 0.9)])
    with pytest.raises(ValueError, match="must not be empty"):
        ive.average([])
    with pytest.raises(ValueError, match="at least 2"):
        ive.sampled_std([a])
    with pytest.raises(TypeError, match="samples: expected an ive.Ensemble, got float"):
        ive.average([1.0])  # type: ignore[list-item]
    stream = ive.SampledEnsemble()
    stream.push(a)
    with pytest.raises(ValueError, match=r"sample: expected the shape \(1,\) of the samples before, got \(2,\)"):
        stream.push(b)
    with pytest.raises(ValueError, match="groups: expected at least 1, got 0"):
        ive.SampledEnsemble(0)


def entropy(p: Array) -> Array:
    return np.asarray(-np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=-1))


@pytest.mark.parametrize("weighting", ["uniform", "decreasing", "increasing"])
def test_jensen_shannon_equals_numpy(weighting: str) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(8), size=(5, 4, 3))
    p[0, 0, 0] = np.eye(8)[2]
    ratio = {"uniform": 1.0, "decreasing": (1 / 3) ** (1 / 4), "increasing": 3 ** (1 / 4)}[weighting]
    w = ratio ** np.arange(5)
    w /= w.sum()
    expected = entropy(np.tensordot(w, p, 1)) - np.tensordot(w, entropy(p), 1)
    found = ive.jensen_shannon(p, weighting)
    assert found.shape == (4, 3) and np.abs(found - expected).max() < 1e-12
    assert np.abs(ive.jensen_shannon(p.astype(np.float32), weighting) - expected).max() < 1e-6


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="member 1 of state 0 is no distribution: it sums to 1.1"):
        ive.jensen_shannon([[[0.5, 0.5]], [[0.5, 0.6]]])
    with pytest.raises(ValueError, match='weighting: expected "uniform", "decreasing" or "increasing", got "flat"'):
        ive.jensen_shannon([[[0.5, 0.5]]], "flat")
    with pytest.raises(ValueError, match=r"probabilities: expected an array \[member, \*batch, atom\], got the shape \(2,\)"):
        ive.jensen_shannon([0.5, 0.5])


def test_other_threads_run_while_native_code_works() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000), rng.normal(size=20_000)
    ticks, done = 0, False

    def tick() -> None:
        nonlocal ticks
        while not done:
            ticks += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    while ticks == 0:
        time.sleep(0.001)
    before = ticks
    ive.detection(*scores, replicates=200)  # a tenth of a second or more; with the lock held no tick could come
    after = ticks
    done = True
    other.join()
    assert after > before + 1
