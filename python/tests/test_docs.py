"""What documentation shows must run: docstrings, the README's sections and docs/python.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ive
from conftest import needed, run_examples

ROOT = Path(__file__).resolve().parents[2]


def documented() -> list[tuple[str, str]]:
    found = []
    for name in ive.__all__:
        thing = getattr(ive, name)
        assert thing.__doc__, f"ive.{name} has no docstring"
        found.append((f"ive.{name}", thing.__doc__))
        for member, inner in vars(thing).items() if isinstance(thing, type) else ():
            text = getattr(getattr(inner, "__func__", inner), "__doc__", None)
            if not member.startswith("_") and isinstance(text, str):
                found.append((f"ive.{name}.{member}", text))
    return found


@pytest.mark.parametrize(("name", "text"), [pair for pair in documented() if ">>>" in pair[1]])
def test_examples_in_docstrings(name: str, text: str) -> None:
    if "ive.make" in text:
        needed("gymnasium")
    run_examples(text, name)


def test_public_methods_are_documented() -> None:
    for thing in (ive.Ensemble, ive.SampledEnsemble, ive.Rollout, ive.Guard):
        for name, inner in vars(thing).items():
            if not name.startswith("_") and (callable(inner) or isinstance(inner, (property, classmethod, staticmethod))):
                assert getattr(inner, "__doc__", None), f"{thing.__name__}.{name} has no docstring"


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "python/README.md"])
def test_code_on_pages_runs_from_top_to_bottom(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = blocks(page)
    assert code, f"{page} shows no Python"
    for module in ("torch", "jax", "gymnasium"):
        if any(module in block for block in code):
            needed(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in code:
        exec(compile(block, page, "exec"), names)
