"""The hand-written modules under src/, for tests that read the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
_GENERATED = SOURCES / "tidelog" / "protocol" / "messages"


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax trees by path, as in "tidelog/client/producer/producer.py"."""
    paths = sorted(path for path in SOURCES.rglob("*.py") if _GENERATED not in path.parents)
    return {str(path.relative_to(SOURCES)): ast.parse(path.read_text(), str(path)) for path in paths}


def definitions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and classes with their dotted names inside of the module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            yield name, node
            yield from definitions(node, f"{name}.")
        else:
            yield from definitions(node, inside)
