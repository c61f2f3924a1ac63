"""Models in ONNX files, against what ONNX Runtime said of the same graphs (`crates/ive-onnx/tests/models/make.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ive

MODELS = Path(__file__).resolve().parents[2] / "crates" / "ive-onnx" / "tests" / "models"


@pytest.mark.parametrize("name", ["mlp", "gru", "lstm", "conv"])
def test_members_are_those_of_onnx_runtime(name: str) -> None:
    model = ive.load_onnx(MODELS / name)
    expected = json.loads((MODELS / name / "expected.json").read_text())
    members = np.asarray(expected["members"])
    given = {key: np.reshape(s["data"], s["shape"]) for key, s in expected["start"].items()}
    states = given if len(given) > 1 else next(iter(given.values()))
    found = model.ensemble(states, horizon=len(members) - 1)
    assert found.k == tuple(range(len(members))) and found.shape == members.shape[1:]
    np.testing.assert_allclose(found.members, members, atol=1e-5)
    np.testing.assert_allclose(model.sigma(states, len(members) - 1, members=range(1, 3)), members[1:3].std(0), atol=1e-5)


def test_every_action_may_come_first() -> None:
    model = ive.load_onnx(MODELS / "mlp")
    assert model.num_actions == 3 and model.discount == 0.97 and not model.is_stochastic
    states = np.load(MODELS / "mlp" / "states.npy")
    by_action = model.action_ensemble(states, horizon=2)
    assert by_action.k == (1, 2) and by_action.members.shape == (2, len(states), 3)
    # The policy takes one of the actions first, and then the members are those of the state.
    of_state = model.ensemble(states, horizon=2, members=[1, 2]).members
    distance = np.abs(by_action.members - of_state[:, :, None]).max(0).min(1)
    assert distance.max() < 1e-5


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ive.load_onnx(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="model.toml"):
        ive.load_onnx(tmp_path)
    model = ive.load_onnx(MODELS / "mlp")
    for wrong in (np.zeros((4, 7)), np.zeros(6), np.zeros((0, 6))):
        with pytest.raises(ValueError, match="shape"):
            model.sigma(wrong)
    lstm = ive.load_onnx(MODELS / "lstm")
    with pytest.raises(ValueError, match="2 tensors"):
        lstm.sigma(np.zeros((1, 6)))
    with pytest.raises(ValueError, match="expected cell, hidden, got cell"):
        lstm.sigma({"cell": np.zeros((1, 6))})
    with pytest.raises(ValueError, match="horizon"):
        model.sigma(np.zeros((1, 6)), horizon=0)
    with pytest.raises(ValueError, match="samples"):
        model.sigma(np.zeros((1, 6)), samples=0)
    with pytest.raises(TypeError, match="load_onnx"):
        ive.OnnxModel()
