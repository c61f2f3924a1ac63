"""Tensors of PyTorch, as they come out of networks."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import needed

torch = needed("torch")

import numpy as np  # noqa: E402

import ive  # noqa: E402


def test_tensors_are_arrays() -> None:
    rewards, values = torch.randn(5, 7, dtype=torch.float64), torch.randn(6, 7, dtype=torch.float64)
    expected = ive.ensemble(rewards.numpy(), values.numpy(), 0.9).std()
    assert np.array_equal(ive.ensemble(rewards, values, 0.9).std(), expected)
    learned = rewards.clone().requires_grad_()
    assert np.array_equal(ive.ensemble(learned * 1, values, torch.tensor(0.9)).std(), ive.ensemble(rewards, values, float(torch.tensor(0.9))).std())
    assert np.array_equal(ive.ensemble(list(learned), tuple(values), 0.9).std(), expected)
    turned = rewards.T.contiguous().T  # not contiguous
    assert np.array_equal(ive.ensemble(turned, values, 0.9).std(), expected)
    sigma = torch.from_numpy(ive.ensemble(rewards, values, 0.9).std())
    assert sigma.dtype == torch.float64
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        close = ive.ensemble(rewards.to(dtype), values.to(dtype), 0.9).std()
        assert np.abs(close - expected).max() < 8 * torch.finfo(dtype).eps * float(values.abs().max() + rewards.abs().sum())


def test_single_precision_is_not_copied() -> None:
    from ive._arrays import floats

    tensor = torch.randn(5, 1000)
    assert floats("x", tensor).__array_interface__["data"][0] == tensor.data_ptr()


def test_networks_are_unrolled_with_a_generator() -> None:
    torch.manual_seed(0)
    body, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def dynamics(z: Any, a: Any, rng: Any) -> tuple[Any, Any, Any]:
        after = torch.tanh(body(z) + a + torch.randn(z.shape, generator=rng))
        return after, after.sum(-1), torch.sigmoid(after[:, 0])

    def value(z: Any) -> Any:
        return head(z).squeeze(-1)

    def policy(z: Any, rng: Any) -> Any:
        return torch.randn(z.shape, generator=rng)

    def run(seed: int) -> Any:
        rng = torch.Generator().manual_seed(seed)
        return ive.unroll(dynamics, value, policy, torch.ones(3, 4), 4, rng).ensemble().std()

    assert np.array_equal(run(0), run(0)) and not np.array_equal(run(0), run(1))
    rng = torch.Generator().manual_seed(0)
    actions = [torch.zeros(3, 4), torch.zeros(3, 4)]
    e = ive.branch(dynamics, value, policy, torch.ones(3, 4), actions, 4, rng)
    assert np.array_equal(e.members[..., 0], e.members[..., 1])  # the same action, the same random numbers


def test_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"value: values after 1 steps have the shape \(3, 1\), those at the start \(3,\)"):
        ive.unroll(lambda z, a: (z[:, None], z), lambda z: z, lambda z: z, torch.ones(3), 1, discount=0.9)
