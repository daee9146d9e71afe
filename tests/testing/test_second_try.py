"""What the suite does with a test that fails once, and with one that fails twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

FAILS_AT_FIRST = """
from pathlib import Path

def test_it():
    tried = Path(__file__).with_suffix(".tried")
    times = len(tried.read_text()) if tried.exists() else 0
    tried.write_text("x" * (times + 1))
    assert times >= {needed}, f"the figure of try {{times}}"
"""


def outcome(root: Path, folder: str, *, needed: int, workers: int) -> tuple[int, str]:
    """Run a suite of one test that passes after `needed` failures."""
    file = root / "tests" / folder / "test_once.py"
    file.parent.mkdir(parents=True)
    file.write_text(FAILS_AT_FIRST.format(needed=needed))
    (root / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\n")
    (root / "conftest.py").write_text('pytest_plugins = ["support.second_try"]\n')
    plugins = ["-p", "no:cacheprovider", "-p", "xdist", "-p", "rerunfailures"]
    command = [sys.executable, "-m", "pytest", *plugins, "-n", str(workers), str(file)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    finished = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return finished.returncode, finished.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_one_failure_in_real_time_is_told_and_forgiven(tmp_path: Path, workers: int) -> None:
    code, output = outcome(tmp_path, "interop", needed=1, workers=workers)
    assert code == 0, output
    assert "failed at first: tests/interop/test_once.py::test_it" in output
    assert "the figure of try 0" in output


def test_two_failures_are_a_failure(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, "interop", needed=2, workers=0)
    assert code == 1, output
    assert "the figure of try 0" in output
    assert "the figure of try 1" in output


def test_pure_code_gets_one_try(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, "storage", needed=1, workers=0)
    assert code == 1, output
