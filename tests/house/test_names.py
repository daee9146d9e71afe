"""A class has a name of its own: no other one in src/ is called so, outside of the generated messages."""

from __future__ import annotations

import ast
from collections import defaultdict

from support.sources import definitions, modules

# tidelog.sync has the names of tidelog.client on purpose: it is the same without asyncio.
ON_PURPOSE = {"Admin", "Consumer", "Producer"}
# These mean two things, and one of them is to be renamed. Only ever shorter: an entry that is no longer needed fails.
TO_BE_RENAMED = {
    "Answered",
    "Candidate",
    "ConfigResource",
    "Endpoint",
    "Java",
    "Matching",
    "Refusal",
    "Segment",
    "TransactionSettings",
    "_Deletion",
}


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
    assert {name: paths for name, paths in shared_names().items() if name not in ON_PURPOSE | TO_BE_RENAMED} == {}


def test_names_that_may_be_shared_are_shared() -> None:
    assert (ON_PURPOSE | TO_BE_RENAMED) - set(shared_names()) == set()
