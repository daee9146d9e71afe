"""No test depends on an idle machine: what only guards against a hang has the one bound that is meant for it.

`support.processes.HANG_SECONDS` is long enough for any machine. Where time itself is tested, the bound has a name that
says so. In the simulation time is virtual, and costs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

TESTS = Path(__file__).parents[1]
VIRTUAL_TIME = TESTS / "simulation"


def bare_bounds(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "asyncio.timeout":
                given = node.args[:1]
            elif name == "asyncio.wait_for":
                given = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "timeout")]
            else:
                continue
            yield from (f"line {node.lineno}: {name} with {each.value!r}" for each in given if _is_number(each))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _bare_defaults(node)


def _bare_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, default in defaults:
        if argument.arg == "within_seconds" and _is_number(default):
            yield f"line {function.lineno}: within_seconds of {function.name}"


def _is_number(node: ast.expr | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def test_no_test_waits_with_a_bound_of_its_own() -> None:
    found = [
        f"{path.relative_to(TESTS)}, {each}"
        for path in TESTS.rglob("*.py")
        if not path.is_relative_to(VIRTUAL_TIME)
        for each in bare_bounds(path.read_text())
    ]
    assert not found, "use HANG_SECONDS, or a name that says why it takes no longer:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("asyncio.timeout(10)", 1),
        ("asyncio.wait_for(it, 10)", 1),
        ("asyncio.wait_for(it, timeout=1.5)", 1),
        ("def until(it, within_seconds=20): ...", 1),
        ("def until(it, *, within_seconds=20): ...", 1),
        ("asyncio.timeout(HANG_SECONDS)", 0),
        ("asyncio.wait_for(it, HANG_SECONDS)", 0),
        ("def until(it, *, within_seconds=HANG_SECONDS, every_seconds=0.05): ...", 0),
    ],
)
def test_bare_bounds_are_found(source: str, count: int) -> None:
    assert len(list(bare_bounds(source))) == count
