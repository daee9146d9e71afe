"""What the overview finds out from brokers that are silent, old, or have other clocks."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

import pytest
from support.processes import HANG_SECONDS
from support.scripted_brokers import ScriptedCluster, scripted_brokers

from tidelog.client.admin import Admin, QuorumInfo
from tidelog.client.errors import ApiTimeout
from tidelog.console.findings import attention
from tidelog.console.pages import overview
from tidelog.console.pages.overview import described_quorum, open_for_long, quorum_document
from tidelog.console.replies import encoded
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from tidelog.protocol.messages.describe_transactions_response import TransactionState as Described
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState

# Somewhere else in time.
THEIR_CLOCK_MS = 1_000_000


def quorum(*fetched_ms: int) -> DescribeQuorumResponse:
    """Node 0 leads; the others have fetched at these times."""
    replicas = [
        ReplicaState(replica_id=number, log_end_offset=7, last_fetch_timestamp=at, last_caught_up_timestamp=at)
        for number, at in enumerate((THEIR_CLOCK_MS, *fetched_ms))
    ]
    described = PartitionData(leader_id=0, leader_epoch=3, high_watermark=7, current_voters=replicas)
    return DescribeQuorumResponse(topics=[TopicData(topic_name="__cluster_metadata", partitions=[described])])


@pytest.fixture
async def brokers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedCluster]:
    monkeypatch.setattr(overview, "_QUORUM_ALONE_MS", 20)
    monkeypatch.setattr(overview, "QUORUM_PATIENCE_MS", HANG_SECONDS * 1000)
    async with scripted_brokers(4) as cluster:
        for broker in cluster.brokers:
            broker.ignores.add(DescribeQuorumRequest)
        yield cluster


@pytest.mark.parametrize("number", range(4))
async def test_one_broker_that_answers_is_enough(brokers: ScriptedCluster, number: int) -> None:
    brokers.brokers[number].ignores.clear()
    brokers.brokers[number].always(DescribeQuorumRequest, quorum())
    async with Admin(brokers.bootstrap_servers) as admin:
        found = await described_quorum(admin)
    assert isinstance(found, QuorumInfo)
    assert found.leader == 0


async def test_brokers_that_are_silent_have_not_answered_in_time(
    brokers: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    async def describe(*, broker: int | None = None, timeout_ms: float | None = None) -> QuorumInfo:
        asked.append(broker)
        raise ApiTimeout("silent")

    async with Admin(brokers.bootstrap_servers) as admin:
        monkeypatch.setattr(admin, "describe_quorum", describe)
        assert isinstance(await described_quorum(admin), ApiTimeout)
    assert sorted(asked, key=str) == [0, 1, 2, 3]


async def test_a_single_broker_has_the_whole_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_brokers(1) as cluster, Admin(cluster.bootstrap_servers) as admin:
        patience: list[float | None] = []

        async def describe(*, broker: int | None = None, timeout_ms: float | None = None) -> QuorumInfo:
            patience.append(timeout_ms)
            raise ApiTimeout("slow")

        monkeypatch.setattr(admin, "describe_quorum", describe)
        assert isinstance(await described_quorum(admin), ApiTimeout)
    assert patience == [overview.QUORUM_PATIENCE_MS]


async def test_times_of_fetches_are_by_the_clock_of_the_leader() -> None:
    async with scripted_brokers(1) as cluster:
        cluster.brokers[0].always(DescribeQuorumRequest, quorum(THEIR_CLOCK_MS - 100, THEIR_CLOCK_MS - 60_000))
        async with Admin(cluster.bootstrap_servers) as admin:
            found = await described_quorum(admin)
    assert isinstance(found, QuorumInfo)
    document = json.loads(encoded(quorum_document(found)))
    assert [voter["fetched_ms_ago"] for voter in document["voters"]] == [0, 100, 60_000]
    (concern,) = attention.of_quorum(found, 3_000)
    assert concern.text.startswith("Voter 2 of the metadata quorum does not keep up")


@pytest.mark.parametrize(("version", "found"), [(0, ["broken", "old"]), (1, ["broken", "old", "young"])])
async def test_start_times_are_asked_for_where_brokers_do_not_filter(version: int, found: list[str]) -> None:
    """Brokers that know the filter have used it: what they list is old."""
    now_ms = int(time.time() * 1000)
    states = {"old": ("Ongoing", 60_000), "young": ("PrepareCommit", 1_000), "idle": ("CompleteCommit", 60_000)}
    async with scripted_brokers(1) as cluster:
        broker = cluster.brokers[0]
        broker.newest[ListTransactionsRequest] = version
        listed = [
            TransactionState(transactional_id=name, producer_id=number, transaction_state=state)
            for number, (name, (state, _)) in enumerate({**states, "broken": ("Ongoing", 0)}.items())
        ]
        broker.always(ListTransactionsRequest, ListTransactionsResponse(transaction_states=listed))
        broker.answer(
            FindCoordinatorRequest,
            lambda request: FindCoordinatorResponse(
                coordinators=[
                    Coordinator(key=key, node_id=0, host="127.0.0.1", port=broker.port)
                    for key in request.coordinator_keys
                ]
            ),
        )
        broker.answer(
            DescribeTransactionsRequest,
            lambda request: DescribeTransactionsResponse(
                transaction_states=[
                    Described(
                        transactional_id=name,
                        transaction_state=states[name][0],
                        transaction_start_time_ms=now_ms - states[name][1],
                    )
                    if name in states
                    else Described(transactional_id=name, error_code=53)
                    for name in request.transactional_ids
                ]
            ),
        )
        async with Admin(cluster.bootstrap_servers) as admin:
            assert [each.transactional_id for each in await open_for_long(admin)] == found
            assert (DescribeTransactionsRequest in broker.seen) == (version == 0)
