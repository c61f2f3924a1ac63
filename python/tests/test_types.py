"""Types: the package and its tests pass mypy --strict, and the stub of the native module is what the module has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import needed

needed("mypy")

HERE = Path(__file__).resolve().parents[1]


def run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_and_tests_pass_strict_checks() -> None:
    needed("gymnasium")
    run("mypy", "src/ive", "tests")


def test_the_stub_is_complete() -> None:
    run("mypy.stubtest", "ive._ive", "--mypy-config-file", "tests/stubtest.ini")
