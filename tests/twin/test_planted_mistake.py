"""The twin finds mistakes that are made on purpose.

A request is passed on in another version than it came in. A number is too large for a record, and the coordinator fails
that one request, or forgets everything it knows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.nodes_in_process import nodes
from support.tidelog_process import running_tidelog
from twin.cases import groups, topics
from twin.conftest import PROPERTIES, prepared
from twin.runner import Finding, Twin
from twin.side import Side

from tidelog.coordinators.groups import offset_commit
from tidelog.protocol.api import response_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Message
from tidelog.server.coordination.shard_runtime import ShardRuntime
from tidelog.server.declaration import Api
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import Forwarder

NUMBERS = (1, 2, 3)
DELETION = next(
    case for case in topics.CASES if case.key is ApiKey.DELETE_TOPICS and case.name == "created and deleted"
)


KEPT_FOR_EVER = next(case for case in groups.CASES if case.name == "kept for ever")
COMMITTED = next(case for case in groups.CASES if case.name == "without members")


def forward_in_the_newest_version(patch: pytest.MonkeyPatch) -> None:
    """`topic_names` is in the old versions only, and is lost."""

    async def send(self: Any, api: Api, request: Message, context: RequestContext, request_data: bytes) -> Any:
        return await self.controller.ask(request, response_class(context.api_key))

    patch.setattr(Forwarder, "send", send)


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


@pytest_asyncio.fixture
async def one_node_twin(tmp_path: Path) -> AsyncIterator[Twin]:
    """One node in this process beside one that is not in it."""
    with running_tidelog(tmp_path / "right", PROPERTIES) as right:
        async with (
            nodes(tmp_path / "nodes", {1: "broker,controller"}, **PROPERTIES) as cluster,
            prepared({1: cluster.address(1)}, {1: right.bootstrap_servers}) as twin,
        ):
            yield twin


async def test_a_number_that_does_not_fit_into_a_record_is_found(
    one_node_twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (2, 4):
        await one_node_twin.run(KEPT_FOR_EVER, version)
    assert one_node_twin.taken() == []
    monkeypatch.setattr(offset_commit, "LATEST_EXPIRY_MS", 1 << 80)
    await one_node_twin.run(KEPT_FOR_EVER, 2)
    # Version 5 has no such field.
    await one_node_twin.run(KEPT_FOR_EVER, 5)
    (found,) = one_node_twin.taken()
    assert "OffsetCommit v2 through node 1: kept for ever" in str(found)
    assert "differs: topics" in str(found)


async def test_a_request_that_costs_others_their_coordinator_is_found(
    one_node_twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_commit, "LATEST_EXPIRY_MS", 1 << 80)
    await one_node_twin.run(KEPT_FOR_EVER, 2)
    await one_node_twin.run(COMMITTED, 8)
    assert [finding.case for finding in one_node_twin.taken()] == ["kept for ever"]
    monkeypatch.setattr(ShardRuntime, "_decision_failed", lambda self, request: self._give_up())
    await one_node_twin.run(KEPT_FOR_EVER, 2)
    await one_node_twin.run(COMMITTED, 8)
    assert [finding.case for finding in one_node_twin.taken()] == ["kept for ever", "without members"]
