"""The parts of a server are complete when they are made: nothing is assigned to them from outside afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

SERVER = Path(__file__).parents[2] / "src/tidelog/server"

# (module, attribute): why it is assigned from outside all the same.
ALLOWED = {
    ("observability/logs.py", "handlers"): "the way of the standard library",
}


def assigned_from_outside(tree: ast.Module) -> Iterator[ast.Attribute]:
    """Attributes that are assigned to anything but `self`, `cls`, an object that was made in the same function, or a
    record of a class in the same module."""
    own = set(_own_attributes(tree))
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        made = {"self", "cls", *_made(function)}
        for target in _targets(function):
            holder = target.value
            if isinstance(holder, ast.Name) and (holder.id in made or target.attr in own):
                continue
            yield target


def _own_attributes(tree: ast.Module) -> Iterator[str]:
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(kind):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                yield node.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _made(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_class(node.value.func):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _is_class(called: ast.expr) -> bool:
    """Whether this is a class, or a class method such as `QuorumLog.open`."""
    names = [node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(called) if _is_name(node)]
    return any(name.lstrip("_")[:1].isupper() for name in names)


def _is_name(node: ast.AST) -> TypeGuard[ast.Name | ast.Attribute]:
    return isinstance(node, (ast.Name, ast.Attribute))


def _targets(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Attribute]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node


MODULES = sorted(SERVER.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SERVER)))
def test_nothing_is_assigned_to_a_part_from_outside(path: Path) -> None:
    module = str(path.relative_to(SERVER))
    found = {
        target.attr: target.lineno
        for target in assigned_from_outside(ast.parse(path.read_text()))
        if (module, target.attr) not in ALLOWED
    }
    assert not found, f"{module}: give these to the constructor, or let a method of the object set them: {found}"


def test_every_exception_is_needed() -> None:
    found = {
        (str(path.relative_to(SERVER)), target.attr)
        for path in MODULES
        for target in assigned_from_outside(ast.parse(path.read_text()))
    }
    assert set(ALLOWED) <= found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(part):\n    part.on_failure = print", ["on_failure"]),
        ("class A:\n    def f(self):\n        self.part.publish = print", ["publish"]),
        ("class A:\n    def f(self):\n        self.part = 1", []),
        ("def f():\n    part = Part()\n    part.ready = True", []),
        ("def f(parts):\n    part = parts.get(1)\n    part.ready = True", ["ready"]),
        ("class Move:\n    task: int\ndef f(move: Move):\n    move.task = 1", []),
        ("def f(part, other):\n    part.a, other.b = 1, 2", ["a", "b"]),
        ("def f(part):\n    part.count += 1", ["count"]),
    ],
)
def test_what_counts_as_assigned_from_outside(code: str, found: list[str]) -> None:
    assert [target.attr for target in assigned_from_outside(ast.parse(code))] == found
