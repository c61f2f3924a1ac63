"""What tests share: packages that may be missing on a laptop and must not be missing in CI."""

from __future__ import annotations

import doctest
import importlib
import os
from typing import Any

import numpy as np
import pytest

import ive


def needed(module: str) -> Any:
    """The module, or a skipped test; with IVE_REQUIRE_ALL=1 a missing module is a failure."""
    try:
        return importlib.import_module(module)
    except ImportError:
        if os.environ.get("IVE_REQUIRE_ALL"):
            raise
        pytest.skip(f"{module} is not installed", allow_module_level=True)


@pytest.fixture(scope="session")
def native() -> None:
    """Skips where the libraries of Procgen and MuJoCo cannot be had; with IVE_REQUIRE_NATIVE=1 that is a failure."""
    for name in ("procgen:coinrun", "walker:walk"):
        try:
            ive.make(name)
        except RuntimeError as error:
            if os.environ.get("IVE_REQUIRE_NATIVE"):
                raise
            pytest.skip(str(error))


def run_examples(text: str, name: str) -> None:
    """Runs the examples of a docstring or a page."""
    found = doctest.DocTestParser().get_doctest(text, {"ive": ive, "np": np}, name, name, 0)
    failed = doctest.DocTestRunner(verbose=False).run(found).failed
    assert failed == 0, f"{failed} examples of {name} fail"
