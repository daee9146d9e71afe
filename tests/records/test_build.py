"""The build of the compiled loops: what it does where it cannot compile."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.records.implementation import MODULES, SWITCH

SCRIPT = Path(__file__).parents[2] / "hatch_build.py"


def build(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_the_build_knows_the_modules_that_are_handed_out() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.MODULES == MODULES
    assert module.SWITCH == SWITCH
    for name in MODULES:
        assert (SCRIPT.parent / "src" / "tidelog" / "records" / f"{name}.pxd").is_file()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        pytest.param({SWITCH: "1"}, "TIDELOG_PURE_PYTHON is set", id="not wanted"),
        # Without Cython it does not come to calling the compiler.
        pytest.param({"CC": "/nowhere/cc"}, "", id="no compiler"),
    ],
)
def test_a_build_that_cannot_be_says_why_in_one_line(environment: dict[str, str], reason: str) -> None:
    native = SCRIPT.parent / "src" / "tidelog" / "records" / "native"
    before = {path.name: path.stat().st_mtime_ns for path in native.iterdir() if path.suffix == ".so"}

    done = build(**{SWITCH: "", **environment})

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"not compiled: {reason}")
    assert "Traceback" not in done.stderr
    assert {path.name: path.stat().st_mtime_ns for path in native.iterdir() if path.suffix == ".so"} == before
