"""Runs that `ive train` made, opened from Python. The command is that of the checkout, or of IVE_COMMAND."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ive


def command() -> str:
    built = Path(__file__).resolve().parents[2] / "target" / "release" / "ive"
    found = os.environ.get("IVE_COMMAND") or (str(built) if built.exists() else shutil.which("ive"))
    if found is None:
        if os.environ.get("IVE_REQUIRE_ALL"):
            pytest.fail("the command `ive` is not built; set IVE_COMMAND")
        pytest.skip("the command `ive` is not built")
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("mu-ive", "dqn"):
        line = f"train {agent} --env minatar:breakout --preset smoke --steps 400 --greedy-episodes 1 --seed 7 --run {folder / agent}"
        subprocess.run([command(), *line.split()], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def boards() -> Any:
    envs = ive.make_vec("minatar:breakout", 6)
    observations, _ = envs.reset(seed=1)
    return observations


def test_an_agent_says_what_it_does_and_expects(runs: Path, boards: Any) -> None:
    agent = ive.load(runs / "mu-ive")
    assert (agent.agent, agent.environment, agent.seed, agent.steps) == ("mu-ive", "minatar:breakout", 7, 400)
    assert agent.planned_steps == 400 and agent.discount == 0.99 and len(agent.actions) == 6
    assert repr(agent) == "Trained('mu-ive', 'minatar:breakout', seed=7, steps=400)"
    decisions = agent.decide(boards)
    assert decisions.action.shape == (6,) and decisions.action.dtype == np.int64
    assert decisions.ensemble is not None and decisions.ensemble.k == (1, 2, 3, 4, 5)
    members = decisions.ensemble.members
    np.testing.assert_allclose(agent.sigma(boards), members.std(0), atol=1e-12)
    np.testing.assert_allclose(decisions.value, members.mean(0), atol=1e-5)  # mu-ive chooses by μ, in float32
    one = agent.act(boards[2])
    assert isinstance(one, int) and one == decisions.action[2]
    np.testing.assert_array_equal(agent.act(boards.reshape(2, 3, 10, 10, 4)), decisions.action.reshape(2, 3))
    assert agent.ensemble(boards, members=range(0, 6)).k == (0, 1, 2, 3, 4, 5)
    np.testing.assert_array_equal(agent.sigma(boards.astype(np.float32)), agent.sigma(boards))


def test_the_numbers_are_those_of_the_command(runs: Path, tmp_path: Path) -> None:
    line = f"eval {runs / 'mu-ive'} --csv {tmp_path / 'steps.csv'}"
    subprocess.run([command(), *line.split()], check=True, capture_output=True)
    rows = (tmp_path / "steps.csv").read_text().splitlines()
    head, first = rows[0].split(","), rows[1].split(",")
    row = dict(zip(head, first, strict=True))
    agent = ive.load(runs / "mu-ive")
    # Breakout begins in one of two ways: one of them is the first state of that episode.
    seen = set()
    for seed in range(20):
        observation, _ = ive.make("minatar:breakout").reset(seed=seed)
        seen.add((agent.actions[agent.act(observation)], f"{float(agent.sigma(observation)):.9g}"))
    assert (row["action"], f"{float(row['sigma']):.9g}") in seen


def test_a_dqn_acts_and_has_no_ensemble(runs: Path, boards: Any) -> None:
    agent = ive.load(str(runs / "dqn"))
    assert agent.act(boards).shape == (6,) and agent.decide(boards).ensemble is None
    with pytest.raises(ValueError, match="dqn has no model"):
        agent.sigma(boards)


def test_what_does_not_fit_is_an_exception(runs: Path, boards: Any) -> None:
    agent = ive.load(runs / "mu-ive")
    with pytest.raises(ValueError, match=r"observations: expected the shape \(10, 10, 4\)"):
        agent.act(np.zeros((10, 10)))
    with pytest.raises(ValueError, match="0 or 1"):
        agent.act(np.full((10, 10, 4), 2))
    with pytest.raises(ValueError, match="whole numbers"):
        agent.act(np.full((10, 10, 4), 0.5))
    with pytest.raises(ValueError, match="members"):
        agent.sigma(boards, members=[1, 9])
    with pytest.raises(TypeError):
        ive.Trained()


def test_wrong_paths_and_damage_are_exceptions(runs: Path, tmp_path: Path, boards: Any) -> None:
    with pytest.raises(FileNotFoundError, match="not a run"):
        ive.load(tmp_path)
    new = tmp_path / "new"
    new.mkdir()
    shutil.copy(runs / "mu-ive" / "config.toml", new)
    with pytest.raises(FileNotFoundError, match="no checkpoint yet"):
        ive.load(new)
    copy = tmp_path / "copy"
    shutil.copytree(runs / "mu-ive", copy)
    payloads = sorted((copy / "checkpoints").glob("*.safetensors"))
    for payload in payloads:
        payload.write_bytes(payload.read_bytes()[:-1])
    with pytest.raises(ValueError, match="no checkpoint .* is good"):
        ive.load(copy)
    (copy / "config.toml").write_text("nonsense")
    with pytest.raises(ValueError, match="damaged"):
        ive.load(copy)
