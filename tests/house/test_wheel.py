"""A wheel holds all that runs: each module, what the browser loads, and the files that a package reads.

It is built without compiling, which takes minutes; what is compiled is added to the same files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("tidelog", "pyspark_tidelog", "pyspark_tidelog_log")
# What a compiler leaves among the sources; a wheel with compiled parts has them, one for every Python has not.
_COMPILED = {".so", ".pyd", ".pyc"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    environment = {**os.environ, "TIDELOG_PURE_PYTHON": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = directory.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    return zipfile.ZipFile(path)


def committed_files() -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.removeprefix("src/") for name in listed.stdout.split("\0") if name}


def test_a_wheel_has_all_files_of_the_packages(wheel: zipfile.ZipFile) -> None:
    there = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert committed_files() <= there
    assert {name for name in there if Path(name).suffix in _COMPILED} == set()
    assert {name.partition("/")[0] for name in there} == set(PACKAGES)


def test_a_wheel_has_the_page_of_the_console(wheel: zipfile.ZipFile) -> None:
    static = {name for name in wheel.namelist() if name.startswith("tidelog/console/static/")}
    assert {Path(name).suffix for name in static} >= {".html", ".js", ".css", ".svg"}
    assert "tidelog/console/static/vendor/preact.js" in static


def test_the_console_needs_one_extra(wheel: zipfile.ZipFile) -> None:
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    needed = BytesParser().parsebytes(wheel.read(name)).get_all("Requires-Dist", [])
    of_console = {each.partition(">")[0].strip() for each in needed if "extra == 'console'" in each}
    assert of_console == {"fastapi", "uvicorn", "pyarrow"}
