"""What CONTRIBUTING.md and ARCHITECTURE.md say about where things are is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tidelog"


def questions() -> list[tuple[str, list[str], list[str]]]:
    """The rows of "Where do I change ...?": the question, its folders, the files to begin with."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.split("## Where do I change ...?")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    return [
        (question, re.findall(r"`([^`]+)`", folder), re.findall(r"`([^`]+)`", begin))
        for question, folder, begin in rows
    ]


def test_at_least_fifteen_questions_are_answered() -> None:
    assert len(questions()) >= 15


@pytest.mark.parametrize(("question", "folders", "files"), questions())
def test_each_question_leads_to_a_folder_and_files_that_exist(
    question: str, folders: list[str], files: list[str]
) -> None:
    home = ROOT / folders[0]
    assert folders[0].endswith("/")
    assert home.is_dir(), f"{question}: {folders[0]}"
    for other in folders[1:]:
        assert (home.parent / other).is_dir(), f"{question}: {other}"
    for name in files:
        if name.endswith((".py", "/")):
            assert any((base / name).exists() for base in (home, PACKAGE, ROOT)), f"{question}: {name}"


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    everywhere = {path.name for path in PACKAGE.rglob("*.py")}
    missing = []
    for name in re.findall(r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.py)\b", text):
        found = (PACKAGE / name).exists() or (ROOT / name).exists() if "/" in name else name in everywhere
        if not found:
            missing.append(name)
    assert missing == []
