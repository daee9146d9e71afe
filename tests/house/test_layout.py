"""A package says what each of its files is for, and its tests are where it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.sources import SOURCES, modules

TESTS = Path(__file__).parents[1]
SMALL = 2

# Packages that need no table, with the reason. An entry that is no longer needed fails.
WITHOUT_TABLE = {
    "tidelog/server/api": "one module for each API, with the API's name",
}
# Folders of tests that are about more than one package.
ACROSS_PACKAGES = {"cluster", "faults", "house", "interop", "soak", "states", "support", "twin"}


def unlisted_files() -> dict[str, list[str]]:
    """What the docstrings of packages do not name, of those with more than two files."""
    found: dict[str, list[str]] = {}
    for path, tree in modules().items():
        folder, _, name = path.rpartition("/")
        if name != "__init__.py" or not folder.startswith("tidelog"):
            continue
        files = sorted(file.name for file in (SOURCES / folder).glob("*.py") if file.name != "__init__.py")
        listed = (ast.get_docstring(tree) or "").replace("`", " ").split()
        missing = [file for file in files if file not in {word.strip(",.;:()") for word in listed}]
        if len(files) > SMALL and missing:
            found[folder] = missing
    return found


def test_packages_list_their_files() -> None:
    assert {folder: files for folder, files in unlisted_files().items() if folder not in WITHOUT_TABLE} == {}


def test_packages_that_may_go_without_a_table_have_none() -> None:
    assert set(WITHOUT_TABLE) - set(unlisted_files()) == set()


def test_tests_are_in_the_folder_of_what_they_test() -> None:
    packages = {str(path.parent.relative_to(SOURCES / "tidelog")) for path in SOURCES.glob("tidelog/**/__init__.py")}
    folders = {str(path.parent.relative_to(TESTS)) for path in TESTS.glob("**/test_*.py")}
    assert {folder for folder in folders - packages if folder.split("/")[0] not in ACROSS_PACKAGES} == set()


def test_each_package_has_tests() -> None:
    packages = {path.parent.name for path in SOURCES.glob("tidelog/*/__init__.py")}
    assert {package for package in packages if not list((TESTS / package).glob("**/test_*.py"))} == set()


def test_generated_pages_are_marked_for_github() -> None:
    root = SOURCES.parent
    marked = {
        line.split()[0] for line in (root / ".gitattributes").read_text().splitlines() if "generated=true" in line
    }
    pages = {str(page.relative_to(root)): page.read_text()[:600] for page in (root / "docs").glob("**/*.md")}
    generated = {
        name for name, text in pages.items() if re.search("(Written|Drawn) by `make|page is written from", text)
    }
    assert generated <= marked
    assert {name for name in marked if name.startswith("docs/")} <= generated
    assert "src/tidelog/protocol/messages/**" in marked
