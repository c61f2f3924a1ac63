"""The worked examples run, and what they claim holds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import needed

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {"torch_world_model": "torch", "jax_world_model": "jax", "dreamer_v3": "torch", "td_mpc2": "torch"}


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_example_runs_and_holds(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    needed(NEEDS[name])
    claims = loaded(name, monkeypatch).main()
    assert claims and all(claims.values()), claims
    assert capsys.readouterr().out


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    nbformat, nbclient = needed("nbformat"), needed("nbclient")
    needed("matplotlib")
    needed("ipykernel")
    notebook = nbformat.read(EXAMPLES / "uncertainty.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error", output
