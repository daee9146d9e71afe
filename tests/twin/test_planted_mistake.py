"""The twin finds a mistake that is made on purpose: a request that is passed on in another version than it came in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.nodes_in_process import nodes
from support.tidelog_process import running_tidelog
from twin.cases.topics import CASES
from twin.runner import Finding, Twin
from twin.side import Side

from tidelog.protocol.api import ApiKey, response_class
from tidelog.protocol.schema import Message
from tidelog.server import forwarding
from tidelog.server.context import RequestContext
from tidelog.server.node import Node

NUMBERS = (1, 2, 3)
DELETION = next(case for case in CASES if case.key is ApiKey.DELETE_TOPICS and case.name == "created and deleted")


def forward_in_the_newest_version(patch: pytest.MonkeyPatch) -> None:
    """`topic_names` is in the old versions only, and is lost."""

    async def forward(node: Node, request: Message, context: RequestContext, request_data: bytes) -> Message:
        return await node.controller.ask(request, response_class(context.api_key))

    patch.setattr(forwarding, "forward", forward)


@pytest_asyncio.fixture
async def twin(tmp_path: Path) -> AsyncIterator[Twin]:
    """Three nodes in this process beside one that is not in it, which stands for what is right."""
    with running_tidelog(tmp_path / "right") as right:
        async with nodes(tmp_path / "nodes", dict.fromkeys(NUMBERS, "broker,controller")) as cluster:
            ours = Side("tidelog", {number: _address(cluster.address(number)) for number in NUMBERS})
            theirs = Side("the right one", dict.fromkeys(NUMBERS, _address(right.bootstrap_servers)))
            for side in (ours, theirs):
                await side.open()
            await cluster.until(lambda: cluster.controller() is not None, "an active controller")
            yield Twin(ours, theirs)
            for side in (ours, theirs):
                await side.close()


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    return host, int(port)


async def deletions(twin: Twin, version: int) -> list[Finding]:
    for number in NUMBERS:
        await twin.run(DELETION, version, number)
    return [finding for finding in twin.taken() if finding.key is ApiKey.DELETE_TOPICS]


async def test_a_request_that_loses_its_names_on_the_way_is_found(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await deletions(twin, 1) == []
    forward_in_the_newest_version(monkeypatch)
    found = await deletions(twin, 2)
    # Through the active controller itself nothing is passed on.
    assert len({finding.node for finding in found}) == 2
    shown = str(found[0])
    assert "DeleteTopics v2 through node" in shown
    assert "topic_names=['twin-gone-again2n" in shown
    assert "differs: responses" in shown


async def test_the_newest_version_loses_nothing(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    forward_in_the_newest_version(monkeypatch)
    assert await deletions(twin, 6) == []
