"""The search for secrets in what tests print finds them, where it should and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.planted_secrets import leaking_files, leaking_sections

TEST = """
import logging, sys

def test_silent(): pass
def test_prints(): print("the password is Planted-word")
def test_logs(): logging.getLogger("x").warning("user %s, password %s", "alice", "planted-word")
def test_has_a_process(tmp_path): (tmp_path / "broker.log").write_text("listening with planted-word")
def test_has_records(tmp_path): (tmp_path / "00000000000000000000.log").write_text("planted-word")
def test_speaks_of_plants(): print("planted trees")
"""


def test_a_test_that_prints_a_secret_fails(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TEST)
    options = ["-q", "-p", "support.planted_secrets", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    summary = [line for line in done.stdout.splitlines() if line.startswith(("ERROR ", "FAILED "))]
    failed = {line.split("::")[1].split(" ")[0] for line in summary}
    assert sorted(failed) == ["test_has_a_process", "test_logs", "test_prints"], done.stdout


@pytest.mark.parametrize(("text", "found"), [("nothing", []), ("PLANTED-x", ["stdout"])])
def test_sections(text: str, found: list[str]) -> None:
    assert leaking_sections([("stdout", text), ("stderr", "")]) == found


def test_files_of_processes(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "node-1.log").write_text("planted-x")
    (tmp_path / "node" / "node-2.log").write_text("fine")
    assert [path.name for path in leaking_files(tmp_path)] == ["node-1.log"]
    # Otherwise this test would be found to have printed it.
    (tmp_path / "node" / "node-1.log").unlink()
