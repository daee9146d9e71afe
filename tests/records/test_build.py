"""The build of what is compiled: what it does where it cannot compile."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.protocol import implementation as messages
from tidelog.records.implementation import MODULES, SWITCH

SCRIPT = Path(__file__).parents[2] / "hatch_build.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what is built, without anything compiled: other tests use what is."""
    shutil.copy(SCRIPT, tmp_path)
    without = shutil.ignore_patterns("*.so", "*.digest", "__pycache__")
    shutil.copytree(SCRIPT.parent / "src" / "tidelog", tmp_path / "src" / "tidelog", ignore=without)
    return tmp_path


def test_the_build_knows_the_modules_that_are_handed_out() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.MODULES == MODULES
    assert module.SWITCH == SWITCH == messages.SWITCH
    assert f"tidelog.protocol.native.{messages.MODULE}" == module.MESSAGE_CODEC
    for name in MODULES:
        assert (SCRIPT.parent / "src" / "tidelog" / "records" / f"{name}.pxd").is_file()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        pytest.param({SWITCH: "1"}, "TIDELOG_PURE_PYTHON is set", id="not wanted"),
        # Without Cython it does not come to calling the compiler.
        pytest.param(
            {"CC": "/nowhere/cc"}, "the codecs of records and messages: |the request path: ", id="no compiler"
        ),
    ],
)
def test_a_build_that_cannot_be_says_why(checkout: Path, environment: dict[str, str], reason: str) -> None:
    done = subprocess.run(
        [sys.executable, str(checkout / SCRIPT.name)],
        env={**os.environ, SWITCH: "", **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    problems = [line for line in done.stderr.splitlines() if line.startswith("not compiled: ")]
    assert len(problems) == reason.count("|") + 1, done.stderr
    for problem, expected in zip(problems, reason.split("|"), strict=True):
        assert problem.startswith(f"not compiled: {expected}")
    package = checkout / "src" / "tidelog"
    assert not [*package.rglob("*.so"), *package.rglob("*.digest")]
