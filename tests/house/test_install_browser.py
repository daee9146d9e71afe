"""`make browser` never fails: it finds a browser, installs one, or says in a sentence what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from install_browser import install

SCRIPT = Path(__file__).parents[2] / "tools" / "install_browser.py"


def program(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def said(folder: Path) -> str:
    """With nothing on PATH but what the folder has."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Programs that a machine has where the user is not root, and may become it."""
    program(tmp_path, "sudo", '[ "$1" = -n ] && shift\nexec "$@"')
    program(tmp_path, "true", "exit 0")
    program(tmp_path, "env", 'shift\nexec "$@"')
    return tmp_path


def test_a_browser_that_is_there_is_left_alone(path: Path) -> None:
    program(path, "google-chrome", "exit 1")
    program(path, "apt-get", "exit 1")
    assert said(path) == f"browser: {path}/google-chrome\n"


def test_without_apt_get_it_says_what_to_install(path: Path) -> None:
    assert said(path) == (
        "browser: none, and there is no apt-get to install one: install chromium or chromium-browser or google-chrome "
        "and put it on PATH; the browser tests of the console will be skipped\n"
    )


def test_the_reason_of_apt_get_is_given(path: Path) -> None:
    program(path, "apt-get", "echo working >&2\necho 'E: Unable to locate package chromium' >&2\nexit 100")
    assert "apt-get --quiet update` failed: E: Unable to locate package chromium; " in said(path)


def test_it_installs_a_browser_and_a_font(path: Path) -> None:
    program(path, "apt-get", f"echo $* >> {path}/calls\n: > {path}/chromium\n/bin/chmod 755 {path}/chromium")
    assert said(path) == f"browser: {path}/chromium\n"
    assert (path / "calls").read_text().splitlines() == [
        "--quiet update",
        "--quiet install --yes --no-install-recommends chromium fonts-dejavu-core",
    ]


def test_without_rights_it_says_what_to_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path, "apt-get", "exit 1")
    program(path, "sudo", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(path))
    problem = install()
    assert problem is not None
    assert problem.endswith("run `apt-get install chromium fonts-dejavu-core`")
