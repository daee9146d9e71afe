"""What groups and transactions cost: a coordinator's restart, a rebalance, and a transaction next to plain records.

The groups are real: every member joins over a connection of its own and gets an assignment, and every offset is
committed by a member. The restart is timed from outside, until the broker answers for all groups.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import tidelog
from benchmarks.broker_process import MeasuredBroker, broker
from benchmarks.group_members import connections, find_coordinator, form_group
from tidelog.model.errors import ErrorCode
from tidelog.network.client_connection import ClientConnection
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_groups_response import DescribeGroupsResponse
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_commit_response import OffsetCommitResponse

GROUPS = 1000
MEMBERS = 10
OFFSETS_PER_GROUP = 100
# Groups that form at the same time; each needs a connection per member.
LANES = 8
TOPIC = "measured"
MAX_RESTART_SECONDS = 5.0
MAX_REBALANCE_MS = 200.0
REBALANCES = 20

RECORD = b"x" * 1024
RECORDS_PER_TRANSACTION = 1000
TRANSACTIONS = 150
# Of them, those that meet cold caches.
WARM_UP = 10
MAX_TRANSACTION_COST = 1.3

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as directory:
        data = Path(directory)
        options = ("--override", "group.initial.rebalance.delay.ms=200")
        with broker(data, *options) as target:
            asyncio.run(_create_topic(target))
            started = time.perf_counter()
            rebalances = asyncio.run(_fill(target))
            yield (f"form {GROUPS} groups of {MEMBERS}", f"{time.perf_counter() - started:.1f} s", "")
            took_ms = sorted(rebalances)[len(rebalances) // 2]
            yield ("rebalance of one group, median", f"{took_ms:.0f} ms", f"at most {MAX_REBALANCE_MS:.0f} ms")
        with broker(data, *options) as target:
            started = time.perf_counter()
            asyncio.run(_wait_for_groups(target))
            seconds = time.perf_counter() - started + target.start_seconds
            offsets = GROUPS * OFFSETS_PER_GROUP
            what = f"restart with {GROUPS} groups and {offsets:,} offsets, until all answer"
            yield (what, f"{seconds:.2f} s", f"at most {MAX_RESTART_SECONDS:.0f} s")
    yield from _transactions()


async def _create_topic(target: MeasuredBroker) -> None:
    from tidelog.client.admin import Admin, NewTopic

    async with Admin(bootstrap_servers=target.bootstrap_servers) as admin:
        await admin.create_topics([NewTopic(name=TOPIC, partitions=OFFSETS_PER_GROUP, replication_factor=1)])
    await find_coordinator(target.bootstrap_servers, "group-0")


async def _fill(target: MeasuredBroker) -> list[float]:
    """Form all groups and commit their offsets; how long single rebalances took, with nothing else to do."""
    async with connections(target.bootstrap_servers, LANES * MEMBERS) as opened:
        lanes = [opened[lane * MEMBERS : (lane + 1) * MEMBERS] for lane in range(LANES)]

        async def work(lane: int) -> None:
            for number in range(lane, GROUPS, LANES):
                formed = await form_group(lanes[lane], f"group-{number}")
                await _commit(lanes[lane][0], f"group-{number}", formed.members[0], formed.generation)

        await asyncio.gather(*(work(lane) for lane in range(LANES)))
        took = []
        for number in range(REBALANCES):
            group_id = f"rebalanced-{number}"
            members = (await form_group(lanes[0], group_id)).members
            # All members have another subscription now: that is the rebalance.
            started = time.perf_counter()
            await form_group(lanes[0], group_id, members=members, subscription=b"other")
            took.append((time.perf_counter() - started) * 1000)
        return took


async def _commit(connection: ClientConnection, group_id: str, member_id: str, generation: int) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=number)
        for number in range(OFFSETS_PER_GROUP)
    ]
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )
    # Version 9: the newest that names topics instead of giving their ids.
    response = await connection.request(request, OffsetCommitResponse, version=9)
    codes = {partition.error_code for topic in response.topics for partition in topic.partitions}
    if codes != {ErrorCode.NONE}:
        raise RuntimeError(f"OffsetCommit: {codes}")


async def _wait_for_groups(target: MeasuredBroker) -> None:
    request = DescribeGroupsRequest(groups=[f"group-{number}" for number in range(GROUPS)])
    async with connections(target.bootstrap_servers, 1) as (connection,):
        while True:
            response = await connection.request(request, DescribeGroupsResponse)
            if all(group.error_code == ErrorCode.NONE for group in response.groups):
                break
            await asyncio.sleep(0.02)
    lost = [group.group_id for group in response.groups if len(group.members) != MEMBERS]
    if lost:
        raise RuntimeError(f"{len(lost)} groups have lost members: {lost[:3]}")


# -- transactions ------------------------------------------------------------------------------------------------


def _transactions() -> Iterator[Row]:
    """The same records with and without a transaction, by turns on the same broker, with our client and librdkafka.

    The bound is for our client. librdkafka waits a millisecond before it tells the coordinator of a partition, whatever
    the broker does, and that alone is a quarter of the time that the records take.
    """
    with broker() as target:
        for client, measure, bound in (
            ("tidelog", _with_tidelog, f"at most {MAX_TRANSACTION_COST}x"),
            ("librdkafka", _with_librdkafka, ""),
        ):
            plain, transactional = (statistics.median(seconds[WARM_UP:]) for seconds in measure(target))
            what = f"{RECORDS_PER_TRANSACTION} records of 1 KiB with {client}"
            yield (f"{what}, idempotent", f"{plain * 1000:.1f} ms", "")
            yield (f"{what}, as a transaction", f"{transactional * 1000:.1f} ms", "")
            yield (f"cost of a transaction with {client}", f"{transactional / plain:.2f}x", bound)


def _with_tidelog(target: MeasuredBroker) -> tuple[list[float], list[float]]:
    """Seconds that the records took, again and again: (idempotent, as a transaction)."""

    async def run() -> tuple[list[float], list[float]]:
        topic = f"transactions-{uuid.uuid4().hex[:8]}"
        async with (
            tidelog.Producer(target.bootstrap_servers, acks="all") as plain,
            tidelog.Producer(target.bootstrap_servers, acks="all", transactional_id=topic) as transactional,
        ):
            await transactional.init_transactions()

            async def send_plain() -> None:
                for _ in range(RECORDS_PER_TRANSACTION):
                    await plain.send(topic, value=RECORD, partition=0)
                await plain.flush()

            async def send_transaction() -> None:
                async with transactional.transaction():
                    for _ in range(RECORDS_PER_TRANSACTION):
                        await transactional.send(topic, value=RECORD, partition=0)

            took: tuple[list[float], list[float]] = ([], [])
            for _ in range(TRANSACTIONS):
                for send, seconds in zip((send_plain, send_transaction), took, strict=True):
                    started = time.perf_counter()
                    await send()
                    seconds.append(time.perf_counter() - started)
            return took

    return asyncio.run(run())


def _with_librdkafka(target: MeasuredBroker) -> tuple[list[float], list[float]]:
    from confluent_kafka import Producer

    topic = f"transactions-{uuid.uuid4().hex[:8]}"
    options: dict[str, object] = {
        "bootstrap.servers": target.bootstrap_servers,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 0,
    }
    plain, transactional = Producer(options), Producer({**options, "transactional.id": topic})
    transactional.init_transactions(60)

    def send_plain() -> None:
        for _ in range(RECORDS_PER_TRANSACTION):
            plain.produce(topic, RECORD, partition=0)
        if plain.flush(60):
            raise RuntimeError("records were not delivered within 60 s")

    def send_transaction() -> None:
        transactional.begin_transaction()
        for _ in range(RECORDS_PER_TRANSACTION):
            transactional.produce(topic, RECORD, partition=0)
        transactional.commit_transaction(60)

    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(TRANSACTIONS):
        for send, seconds in zip((send_plain, send_transaction), took, strict=True):
            started = time.perf_counter()
            send()
            seconds.append(time.perf_counter() - started)
    return took
