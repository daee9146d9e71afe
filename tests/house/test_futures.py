"""Whoever waits for a future may be cancelled at any moment, and a future that is done takes no result.

So each place that sets one asks whether it is done, and nothing is awaited between the question and the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "tidelog"
SETTERS = ("set_result", "set_exception")


def unguarded(source: str) -> Iterator[str]:
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = list(_own_nodes(function))
            for call in nodes:
                if _sets(call) and not _is_guarded(call, nodes):
                    yield f"{function.name}, line {call.lineno}: {ast.unparse(call.func)}"


def _sets(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SETTERS


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own_nodes(child)


def _is_guarded(call: ast.Call, nodes: list[ast.AST]) -> bool:
    assert isinstance(call.func, ast.Attribute)
    future = ast.unparse(call.func.value)
    known = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and node.lineno <= call.lineno
        and (_asks(node, future) or ast.unparse(node.func).endswith("create_future"))
    ]
    end = call.end_lineno or call.lineno
    return bool(known) and not any(isinstance(node, ast.Await) and max(known) < node.lineno <= end for node in nodes)


def _asks(node: ast.Call, future: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "done" and ast.unparse(node.func.value) == future


def test_no_result_is_set_without_asking() -> None:
    found = [
        f"{path.relative_to(SOURCES)}: {each}" for path in SOURCES.rglob("*.py") for each in unguarded(path.read_text())
    ]
    assert not found


@pytest.mark.parametrize(
    "body",
    [
        "future.set_result(1)",
        "if not future.done():\n        future.set_result(await read())",
        "if not future.done():\n        value = await read()\n        future.set_result(value)",
        "if not other.done():\n        future.set_exception(error)",
    ],
)
def test_planted_mistakes_are_found(body: str) -> None:
    assert list(unguarded(f"async def answer():\n    {body}\n"))


def test_a_question_right_before_is_enough() -> None:
    body = "value = await read()\n    if not future.done():\n        future.set_result(value)"
    assert not list(unguarded(f"async def answer():\n    {body}\n"))
