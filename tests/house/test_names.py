"""A class has a name of its own: no other one in src/ is called so, outside of the generated messages."""

from __future__ import annotations

import ast
from collections import defaultdict

from support.sources import definitions, modules

# tidelog.sync has the names of tidelog.client on purpose: it is the same without asyncio. py4j asks for an inner class
# with the name Java. An entry that is no longer needed fails.
ON_PURPOSE = {"Admin", "Consumer", "Iteration", "Java", "Producer"}


def shared_names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules().items():
        if not path.startswith("tidelog/"):
            continue
        for name, node in definitions(tree):
            if isinstance(node, ast.ClassDef):
                found[name.rpartition(".")[2]].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_two_classes_have_one_name() -> None:
    assert {name: paths for name, paths in shared_names().items() if name not in ON_PURPOSE} == {}


def test_names_that_may_be_shared_are_shared() -> None:
    assert ON_PURPOSE - set(shared_names()) == set()
