"""The same requests, in every version, get the same replies from a node of tidelog and from one of Apache Kafka.

A failure shows each request whole, with both replies. `TIDELOG_TWIN_SEED` and `TIDELOG_TWIN_VARIATIONS` ask others.
"""

from __future__ import annotations

import asyncio

import pytest
from support.served_versions import versions_on
from twin.catalogue import KEYS, ask_one_node
from twin.differences import NOT_SERVED_BY_KAFKA, unneeded
from twin.report import report
from twin.runner import Twin

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ListenerKind

SERVED = {key: versions for key, versions in versions_on(ListenerKind.BROKER).items() if key not in NOT_SERVED_BY_KAFKA}

pytestmark = [
    pytest.mark.maven,
    pytest.mark.slow,
    pytest.mark.xdist_group("jvm"),
    pytest.mark.asyncio(loop_scope="module"),
]


async def test_both_are_prepared_alike(one_node: Twin) -> None:
    report(one_node.taken())


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
async def test_replies_are_the_same(one_node: Twin, key: ApiKey) -> None:
    report(await ask_one_node(one_node, key))


async def test_versions_that_are_not_served_are_refused_alike(one_node: Twin) -> None:
    sides = one_node.ours, one_node.theirs
    different = {}
    for key, (_, high) in SERVED.items():
        # Versions of what others are at are another matter, and ApiVersions is answered.
        version = max(high, one_node.theirs.versions[key][1]) + 1
        ours, theirs = await asyncio.gather(*(side.unserved(1, key, version) for side in sides))
        if ours != theirs:
            different[key.name, version] = ours, theirs
    assert different == {}


async def test_nothing_is_served_that_is_not_asked_for() -> None:
    assert set(SERVED) - set(KEYS) == set()


async def test_enough_is_asked_and_every_entry_of_the_table_is_needed(one_node: Twin) -> None:
    if set(one_node.asked) < set(KEYS):
        pytest.skip("only a part of the twin was run")
    assert sum(one_node.asked.values()) >= 3000
    assert unneeded(one_node.used, on_three_nodes=False) == set()
