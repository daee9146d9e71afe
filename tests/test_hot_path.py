"""The compiled request path: all of it is used, or none of it, and never against what the sources say."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import tidelog
from tidelog import hot_path
from tidelog.records import implementation

# Whether it is compiled, why not, and which of its modules are.
SHOW = """
import sys
from importlib import import_module
from tidelog import hot_path
for name in hot_path.MODULES:
    import_module(name)
compiled = [name for name in hot_path.MODULES if not sys.modules[name].__file__.endswith(".py")]
print(hot_path.COMPILED, len(compiled), hot_path.REASON)
"""
ALL = len(hot_path.MODULES)
SUFFIX = EXTENSION_SUFFIXES[0]
ROOT = Path(tidelog.__file__).parent.parent


def show(path: Path | None = None, **environment: str) -> str:
    settings = {name: value for name, value in os.environ.items() if name != hot_path.SWITCH}
    if path is not None:
        settings["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**settings, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    return done.stdout.strip() or done.stderr


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    """A copy that can be damaged."""
    if not hot_path.COMPILED:
        pytest.skip(f"runs plain Python: {hot_path.REASON}")
    source = Path(tidelog.__file__).parent
    shutil.copytree(source, tmp_path / "tidelog", ignore=shutil.ignore_patterns("__pycache__", "spark", "simulation"))
    # Beside the package is the library that its modules are in. Another one, of what is installed, would not fit.
    for library in source.parent.glob(f"*__mypyc{SUFFIX}"):
        shutil.copy(library, tmp_path)
    return tmp_path


def test_every_module_of_the_list_has_a_source() -> None:
    root = Path(tidelog.__file__).parents[1]

    assert list(hot_path.MODULES) == sorted(hot_path.MODULES)
    assert all(Path(hot_path.source_path(str(root), name)).is_file() for name in hot_path.MODULES)


def test_it_is_compiled_wherever_a_compiler_is_found() -> None:
    if os.environ.get(hot_path.SWITCH, "") not in ("", "0"):
        pytest.skip("plain Python was asked for")
    if shutil.which(os.environ.get("CC", "cc")) is None:
        pytest.skip("no C compiler is found here")

    assert hot_path.REASON == ""
    assert implementation.REASON == ""


def test_all_of_it_is_used(copied_package: Path) -> None:
    assert show(copied_package) == f"True {ALL}"


def test_plain_python_can_be_asked_for(copied_package: Path) -> None:
    assert show(copied_package, TIDELOG_PURE_PYTHON="1") == "False 0 TIDELOG_PURE_PYTHON is set"


def test_none_of_it_is_used_if_one_source_has_changed(copied_package: Path) -> None:
    with open(hot_path.source_path(str(copied_package), hot_path.MODULES[-1]), "a") as file:
        file.write("# changed\n")

    assert show(copied_package).startswith("False 0 the compiled modules were built from other sources")


def test_none_of_it_is_used_without_the_digest(copied_package: Path) -> None:
    (copied_package / "tidelog" / hot_path.DIGEST_FILE).unlink()

    assert show(copied_package).startswith("False 0 the compiled modules cannot be compared with their sources")


def test_what_cannot_be_loaded_is_not_used(copied_package: Path) -> None:
    for built in (copied_package / "tidelog").rglob(f"*{SUFFIX}"):
        if built.parent.name != "native":
            built.write_bytes(b"not a library")

    assert show(copied_package).startswith("False 0 the compiled modules cannot be loaded")


def test_plain_python_is_used_where_nothing_was_built(copied_package: Path) -> None:
    for built in (copied_package / "tidelog").rglob(f"*{SUFFIX}"):
        built.unlink()

    assert show(copied_package).startswith("False 0 no compiled modules have been built for this Python")


def test_a_compiled_module_that_left_the_list_does_not_hide_its_source(copied_package: Path) -> None:
    file = copied_package / "tidelog" / "hot_path.py"
    last = hot_path.MODULES[-1]
    text = file.read_text()
    file.write_text(text.replace(f'    "{last}",\n', ""))
    assert file.read_text() != text

    assert show(copied_package).startswith("False 0 the compiled modules were built from other sources")


def test_a_test_that_replaces_a_part_of_a_compiled_module_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hot_path.COMPILED:
        pytest.skip(f"runs plain Python: {hot_path.REASON}")
    from tidelog.server.replicas.replica import Replica
    from tidelog.storage.log import reader

    for target, name in ((reader, "read_records"), (Replica, "append")):
        with pytest.raises(AssertionError, match=r"is compiled.*pytest\.mark\.plain_python"):
            monkeypatch.setattr(target, name, None)
    with pytest.raises(AssertionError, match=r"tidelog\.storage\.log\.reader is compiled"):
        monkeypatch.setattr("tidelog.storage.log.reader.read_records", None)


def test_classes_that_plain_python_derives_from_are_compiled_for_that() -> None:
    """Compiled methods refuse objects of other classes, and of subclasses that the compiler did not see."""
    trees = {name: ast.parse((ROOT / hot_path.source_path("", name)).read_text()) for name in source_modules()}
    closed = {
        (name, node.name)
        for name in hot_path.MODULES
        for node in ast.walk(trees[name])
        if isinstance(node, ast.ClassDef)
        and not any("allow_interpreted_subclasses" in ast.unparse(each) for each in node.decorator_list)
    }
    refused = []
    for name in trees.keys() - set(hot_path.MODULES):
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(trees[name])
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(trees[name]):
            if isinstance(node, ast.ClassDef):
                bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
                found = [imported.get(base.id) for base in bases if isinstance(base, ast.Name)]
                refused += [f"{name}.{node.name} derives from {each}" for each in found if each in closed]
    assert len(closed) > 100
    assert not refused


def source_modules() -> list[str]:
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "tidelog").rglob("*.py")]


# What `async with` may enter in compiled code: leaving it suspends nobody.
LEFT_AT_ONCE = {"asyncio.timeout", "asyncio.timeout_at"}


def of_the_same_function(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from of_the_same_function(child)


def suspended_in_handlers(source: str) -> list[int]:
    """The lines on which a coroutine or generator may be left while it handles an exception."""
    suspending = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Try | ast.TryStar):
            parts = (each for part in (*node.handlers, *node.finalbody) for each in of_the_same_function(part))
            found |= {each.lineno for each in parts if isinstance(each, suspending)}
        elif isinstance(node, ast.AsyncWith):
            entered = {ast.unparse(item.context_expr).partition("(")[0] for item in node.items}
            found |= {node.lineno} if entered - LEFT_AT_ONCE else set()
    return sorted(found)


def test_nothing_compiled_is_suspended_while_it_handles_an_exception() -> None:
    """mypyc leaves the exception that is handled to whoever runs next. Everything that is raised meanwhile, anywhere in
    the thread, gets it as its context: chains of exceptions that grow as long as an outage lasts."""
    found = {
        name: suspended_in_handlers((ROOT / hot_path.source_path("", name)).read_text()) for name in hot_path.MODULES
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("try: pass\n except OSError:\n  await rest()", [4]),
        ("try: pass\n finally:\n  yield 1", [4]),
        ("try: pass\n except* OSError:\n  async for x in y: pass", [4]),
        ("try: pass\n finally:\n  def later(): yield 1", []),
        ("async with lock:\n  pass", [2]),
        ("async with asyncio.timeout(1):\n  await rest()", []),
        ("try:\n  await rest()\n except OSError: pass\n await rest()", []),
    ],
)
def test_what_is_suspended_in_a_handler_is_found(body: str, lines: list[int]) -> None:
    assert suspended_in_handlers(f"async def run():\n {body}\n") == lines
