"""The same requests through each of three nodes, of which one is the active controller."""

from __future__ import annotations

import pytest
from twin.catalogue import KEYS, ask_three_nodes
from twin.differences import unneeded
from twin.report import report
from twin.runner import Twin

from tidelog.protocol.messages import ApiKey

pytestmark = [
    pytest.mark.maven,
    pytest.mark.slow,
    pytest.mark.xdist_group("jvm"),
    pytest.mark.asyncio(loop_scope="module"),
]


async def test_both_are_prepared_alike(three_nodes: Twin) -> None:
    report(three_nodes.taken())


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
async def test_replies_are_the_same_through_each_node(three_nodes: Twin, key: ApiKey) -> None:
    report(await ask_three_nodes(three_nodes, key))


async def test_enough_is_asked_and_every_entry_of_the_table_is_needed(three_nodes: Twin) -> None:
    if set(three_nodes.asked) < set(KEYS):
        pytest.skip("only a part of the twin was run")
    assert sum(three_nodes.asked.values()) >= 1500
    assert unneeded(three_nodes.used, on_three_nodes=True) == set()
