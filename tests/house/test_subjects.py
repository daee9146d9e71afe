"""Which subjects of commits pass, and that a checkout without history passes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_subjects import problem_of

SCRIPT = Path(__file__).parents[2] / "tools" / "check_subjects.py"


@pytest.mark.parametrize(
    "subject",
    [
        "fetch: sessions",
        "client, spark, cli: one class for each name",
        "storage and others: x",
        "spark source, cli: options",
        'Revert "fetch: sessions"',
    ],
)
def test_subjects_that_begin_with_their_area(subject: str) -> None:
    assert problem_of(subject) is None


@pytest.mark.parametrize(
    "subject",
    [
        "Add things",
        "three words before: x",
        "fetch sessions",
        "fetch:",
        "Fetch: sessions",
        "fetch: it ends.",
        f"fetch: {'x' * 120}",
    ],
)
def test_subjects_that_do_not(subject: str) -> None:
    assert problem_of(subject) is not None


def run_in(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [sys.executable, str(root / "tools" / SCRIPT.name)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def git(root: Path, *arguments: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    return tmp_path


def test_a_directory_without_git_passes(root: Path) -> None:
    checked = run_in(root)
    assert (checked.returncode, checked.stdout) == (0, "")
    assert "not a git repository" in checked.stderr


def test_commits_before_the_check_and_before_the_last_tag_are_left_alone(root: Path) -> None:
    git(root, "init")
    git(root, "commit", "--allow-empty", "-m", "Begin")
    git(root, "add", ".")
    git(root, "commit", "-m", "Check subjects")
    assert run_in(root).returncode == 0

    git(root, "commit", "--allow-empty", "-m", "No area")
    checked = run_in(root)
    assert checked.returncode == 1
    assert "No area\n    begins without its area" in checked.stderr
    assert "Begin" not in checked.stderr

    git(root, "tag", "v1")
    git(root, "commit", "--allow-empty", "-m", "fetch: sessions")
    assert run_in(root).returncode == 0


def test_a_shallow_clone_is_checked_as_far_as_it_goes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "Check subjects")
    git(root, "commit", "--allow-empty", "-m", "fetch: sessions")
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "--depth", "1", f"file://{root}", "shallow")
    assert run_in(clone / "shallow").returncode == 0
