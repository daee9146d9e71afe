"""Which fields of configuration classes the sources read, found in their syntax trees.

A field counts as read where an attribute of its name is loaded from something that holds the class: a parameter, field
or variable that is annotated with the class, a function that returns it, or what one of these is assigned to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "tidelog"


def sources_of(*patterns: str) -> dict[str, ast.Module]:
    """The trees of the modules that match, by path below `src/tidelog`."""
    paths = sorted({path for pattern in patterns for path in SOURCES.glob(pattern)})
    return {str(path.relative_to(SOURCES)): ast.parse(path.read_text()) for path in paths}


def fields_read(
    trees: Mapping[str, ast.Module], classes: Sequence[str], declaring: Mapping[str, ast.Module] | None = None
) -> set[str]:
    """The names of all attributes that are loaded from holders of one of the classes.

    `declaring` are modules with functions that return one, whose own reads do not count.
    """
    holders = _holders([*trees.values(), *(declaring or {}).values()], classes)
    return {
        node.attr
        for node in _nodes(trees.values())
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _last_name(node.value) in holders
    }


def any_attribute_read(trees: Mapping[str, ast.Module]) -> set[str]:
    """The names of all attributes that are loaded from anything."""
    return {
        node.attr
        for node in _nodes(trees.values())
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


def fields_behind(tree: ast.Module, class_name: str) -> dict[str, set[str]]:
    """For each method of a class the attributes of `self` that it reads."""
    return {
        method.name: {
            node.attr
            for node in ast.walk(method)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef) and each.name == class_name
        for method in each.body
        if isinstance(method, ast.FunctionDef)
    }


def keys_read(tree: ast.Module, mapping: str) -> set[str]:
    """The constant keys that are looked up in a variable of this name."""
    return {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and _last_name(node.value) == mapping
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


def _holders(trees: Iterable[ast.Module], classes: Sequence[str]) -> set[str]:
    holders: set[str] = set()
    assignments: list[tuple[str, str]] = []
    for node in _nodes(trees):
        if isinstance(node, ast.arg) and _mentions(node.annotation, classes):
            holders.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and _mentions(node.annotation, classes):
            holders.add(_last_name(node.target))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _mentions(node.returns, classes):
            holders.add(node.name)
        elif isinstance(node, ast.Assign):
            assignments.extend((_last_name(target), _last_name(node.value)) for target in node.targets)
    while found := {target for target, value in assignments if value in holders} - holders - {""}:
        holders |= found
    return holders


def _mentions(annotation: ast.expr | None, classes: Sequence[str]) -> bool:
    return annotation is not None and any(
        isinstance(node, ast.Name) and node.id in classes for node in ast.walk(annotation)
    )


def _last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `a.b.c()`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _last_name(function)
    return ""


def _nodes(trees: Iterable[ast.Module]) -> Iterator[ast.AST]:
    for tree in trees:
        yield from ast.walk(tree)
