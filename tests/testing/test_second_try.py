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
import pytest

{mark}
@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_it(client):
    tried = Path(__file__).with_suffix(f".{{client}}")
    times = len(tried.read_text()) if tried.exists() else 0
    tried.write_text("x" * (times + 1))
    assert client == "java" or times >= {needed}, f"the figure of try {{times}}"
"""
NAMED = '@pytest.mark.foreign_cause("librdkafka 2.16: throws away a broker that is fenced")'


def outcome(root: Path, mark: str, *, needed: int, workers: int = 0) -> tuple[int, str]:
    """Run a suite of one test, one parameter of which passes after `needed` failures."""
    file = root / "test_once.py"
    file.write_text(FAILS_AT_FIRST.format(mark=mark, needed=needed))
    (root / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers = foreign_cause\n")
    (root / "conftest.py").write_text('pytest_plugins = ["support.second_try"]\n')
    plugins = ["-p", "no:cacheprovider", "-p", "xdist", "-p", "rerunfailures"]
    command = [sys.executable, "-m", "pytest", "--strict-markers", *plugins, "-n", str(workers), str(file)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    finished = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return finished.returncode, finished.stdout + finished.stderr


@pytest.mark.parametrize("workers", [0, 2])
def test_one_failure_with_a_foreign_cause_is_shown_and_forgiven(tmp_path: Path, workers: int) -> None:
    code, output = outcome(tmp_path, NAMED, needed=1, workers=workers)
    assert code == 0, output
    assert "second tries: 1 of 2 tests with a foreign cause" in output
    assert "test_once.py::test_it[librdkafka]: librdkafka 2.16: throws away a broker that is fenced" in output
    assert "failed at first: test_once.py::test_it[librdkafka]" in output
    assert "the figure of try 0" in output


def test_the_rate_is_shown_if_nobody_needed_it(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, NAMED, needed=0)
    assert code == 0, output
    assert "second tries: 0 of 2 tests with a foreign cause" in output


def test_two_failures_are_a_failure(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, NAMED, needed=2)
    assert code == 1, output
    assert "the figure of try 0" in output
    assert "the figure of try 1" in output


def test_a_test_without_a_foreign_cause_gets_one_try(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, "", needed=1)
    assert code == 1, output
    assert "second tries" not in output


def test_a_mark_may_be_about_one_parameter_only(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, NAMED.replace('")', '", only="java")'), needed=1)
    assert code == 1, output
    assert "second tries: 0 of 1 tests with a foreign cause" in output


@pytest.mark.parametrize(
    "mark",
    [
        "@pytest.mark.foreign_cause",
        '@pytest.mark.foreign_cause("")',
        '@pytest.mark.foreign_cause("sometimes slow")',
        "@pytest.mark.flaky(reruns=3)",
    ],
)
def test_a_second_try_must_say_whose_fault_it_is(tmp_path: Path, mark: str) -> None:
    code, output = outcome(tmp_path, mark, needed=0)
    assert code == pytest.ExitCode.USAGE_ERROR, output
    assert "foreign_cause must say" in output or "names no cause" in output
