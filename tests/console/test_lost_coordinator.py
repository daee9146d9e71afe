"""Pages of a cluster in which a broker has crashed that alone has a part of the coordinators' logs.

The metadata does not name it any more, so nobody is silent: what it has coordinated is in no list. An open transaction
of one of its ids looks as if no coordinator knew it, and is committed when the broker is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster_processes import NUMBERS, ClusterProcesses, running_cluster
from support.console_api import ConsoleApi, console_of
from support.eventually import eventually
from support.processes import HANG_SECONDS

from tidelog import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.console.pages.hanging_transactions import HangingSearch

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console-lost-coordinator")]

TOPIC = "orders"
PARTITION = TopicPartition(TOPIC, 0)
TILL = "till"
_ONE_REPLICA = {"transaction.state.log.replication.factor": "1", "offsets.topic.replication.factor": "1"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path, _ONE_REPLICA) as running:
        yield running


async def searched(api: ConsoleApi) -> Any:
    search = HangingSearch(api.console.parts, 0)
    while not (shown := await search.read())["done"]:  # type: ignore[index, call-overload]
        pass
    return shown


async def test_a_transaction_of_a_coordinator_that_has_crashed_is_committed_when_it_is_back(
    cluster: ClusterProcesses,
) -> None:
    lost = await asyncio.to_thread(cluster.coordinator, CoordinatorKind.TRANSACTION, TILL)
    others = [number for number in NUMBERS if number != lost]
    await asyncio.to_thread(cluster.create_topic, TOPIC, others)
    groups = (f"readers-{number}" for number in range(100))
    coordinators = (
        (name, await asyncio.to_thread(cluster.coordinator, CoordinatorKind.GROUP, name)) for name in groups
    )
    group = await anext(name async for name, coordinator in coordinators if coordinator != lost)
    async with (
        Admin(cluster.bootstrap_servers) as admin,
        console_of({"bootstrap.servers": cluster.bootstrap_servers}) as api,
        Producer(cluster.bootstrap_servers, transactional_id=TILL, transaction_timeout_ms=600_000) as producer,
    ):
        await admin.alter_group_offsets(group, {PARTITION: OffsetAndMetadata(offset=0)})
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(TOPIC, "paid", partition=0))
        await asyncio.to_thread(cluster.kill, lost)

        async def it_is_gone() -> None:
            reading = await api.live("transactions/live")
            assert (reading["leaderless"], reading["silent"], reading["transactions"]) == (1, [], [])

        await eventually(it_is_gone)
        assert (await api.live("groups/live"))["leaderless"] == 1
        for _ in range(2):
            (holding,) = (await api.live("group/live", id=group))["holding"]
            assert (holding["id"], holding["hangs"], holding["leaderless"]) == (None, False, 1)
        found = await searched(api)
        assert (found["found"], found["undecided"]) == ([], 1)
        (opened,) = admin.raise_any(await admin.describe_producers([PARTITION]))[PARTITION]
        body = {
            "topic": TOPIC,
            "partition": 0,
            "producer_id": opened.producer_id,
            "producer_epoch": opened.producer_epoch,
            "start_offset": opened.transaction_start,
            "may_go_on": True,
        }
        refused = await api.post("transactions/hanging/abort", body, expected=409)
        assert f"has no leader. Bring back broker {lost} and look again" in refused["message"]

        await asyncio.to_thread(cluster.start, lost)
        await producer.commit_transaction()

        async def it_is_back() -> None:
            reading = await api.live("transactions/live")
            assert (reading["leaderless"], [each["id"] for each in reading["transactions"]]) == (0, [TILL])

        await eventually(it_is_back)
        async with Consumer(
            bootstrap_servers=cluster.bootstrap_servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.assign([PARTITION])
            records: list[Any] = []
            async with asyncio.timeout(HANG_SECONDS):
                while not records:
                    records += await consumer.poll(timeout_ms=100)
        assert len(records) == 1
