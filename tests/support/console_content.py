"""What the console's tests find in a cluster: `fill(cluster)`, once for each cluster.

    orders      JSON in three partitions, four days of it, each day a segment; on three nodes the leader of partition 0
                has changed in the middle
    compacted   gaps between what is left of ten keys, the last of them deleted
    payments    partition 0: plain, committed and aborted records, and a transaction that stays open, with records of
                others behind it; partition 1 ends with the marker of a commit
    hostile     records that would like to be more than text: HOSTILE_RECORDS, each at the offset of its place there

    billing     a classic group with one member, LAG behind in each partition of orders
    audit       a group of the consumer protocol (KIP-848) with one member; it reads committed records only, and waits
                for the open transaction
    nightly     a group without members, behind in orders
    settled     a group without members whose only lag is a transaction's control record
    HOSTILE_GROUP, HOSTILE_ID   a group and a transactional id whose names are markup

Members and the open transaction are held by this process, on a loop in a thread of their own, until `release`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from support.console_clusters import Cluster
from support.processes import HANG_SECONDS

from tidelog import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition
from tidelog.client.admin import ElectionType, NewTopic
from tidelog.client.browsing import Gap, LogBrowser
from tidelog.model.offset_times import LATEST
from tidelog.sync.background import Background

ORDERS = "orders"
COMPACTED = "compacted"
PAYMENTS = "payments"
HOSTILE = "hostile"

BILLING = "billing"
AUDIT = "audit"
NIGHTLY = "nightly"
SETTLED = "settled"

COMMITTED_ID = "payments-committed"
ABORTED_ID = "payments-aborted"
OPEN_ID = "payments-open"
# In place of HOSTILE_ID, where nothing is hostile.
SECOND_ID = "payments-second"

SCRIPT = "<script>window.hacked=1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"
HOSTILE_GROUP = SCRIPT
HOSTILE_ID = IMAGE

# 2025-03-01T00:00:00Z. Records have the times of the four days from then on, except those of payments: a marker has the
# time at which it is written, and an old record before it would make it the first of another segment.
FIRST_MS = 1_740_787_200_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DAYS = 4
# Orders come in the first third of a day. Half a day after the first batch of a segment comes the next segment.
_OPEN_MS = 8 * HOUR_MS
ORDERS_PARTITIONS = 3
ORDERS_PER_DAY = 150
ORDERS_IN_PARTITION = DAYS * ORDERS_PER_DAY
LAG = 100

COMPACTED_KEYS = 10
COMPACTED_ROUNDS = 6


class HostileRecord(NamedTuple):
    what: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


_NUMBERS = b'{"id": 9007199254740993, "price": 0.10000000000000000555, "small": 1e-400, "large": 1e400}'

HOSTILE_RECORDS = (
    HostileRecord("script", SCRIPT.encode(), SCRIPT.encode(), ((SCRIPT, SCRIPT.encode()),)),
    HostileRecord("image", IMAGE.encode(), IMAGE.encode(), ((IMAGE, IMAGE.encode()),)),
    HostileRecord("markup in JSON", b'"<b>"', json.dumps({SCRIPT: [IMAGE], "__proto__": {"hacked": 1}}).encode()),
    HostileRecord("1 MB", b"large", (IMAGE.encode() + b" and so on\n") * 23_000),
    HostileRecord("invalid UTF-8", b"\xff\xfe", b"before \xc3\x28 \xed\xa0\x80 \xf8 after", (("bytes", b"\x80\x81"),)),
    HostileRecord("control characters", b"\x00\x1b[31m", bytes(range(32)) + "\x7f\x85\u2028\u2029\ufeff".encode()),
    HostileRecord("right to left", "\u202eyek".encode(), "pay \u202e001\u202c now \u2066\u202b".encode()),
    HostileRecord("null", None, None, (("null", None),)),
    HostileRecord("empty", b"", b"", (("", b""),)),
    HostileRecord("deep JSON", b"deep", b"[" * 20_000 + b"]" * 20_000),
    HostileRecord("numbers", b"numbers", _NUMBERS),
    HostileRecord("long integer", b"long", b'{"id": ' + b"9" * 10_000 + b"}"),
    HostileRecord("not a number", b"nan", b"[NaN, Infinity, -Infinity]"),
    HostileRecord("half a surrogate pair", b"surrogate", b'{"text": "\\ud800"}'),
    HostileRecord("twice the same name", b"twice", b'{"a": 1, "a": 2}'),
    HostileRecord("formula", b"=1+1", b'=HYPERLINK("http://10.0.0.1/","open")\n"quoted",\r\n'),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What differs from cluster to cluster."""

    # The first offset of the open transaction in partition 0 of payments: its last stable offset.
    open_offset: int
    # Of the last entry of partition 1 of payments, a COMMIT.
    marker_offset: int
    # Of each partition at the end of `fill`.
    ends: Mapping[TopicPartition, int]


class _Held(NamedTuple):
    content: Content
    background: Background
    leave: asyncio.Event
    holding: asyncio.Task[None]


_held: dict[str, _Held] = {}


def fill(cluster: Cluster, *, hostile: bool = True) -> Content:
    """Write it all if that has not happened yet. Members and the open transaction stay until `release`. Pictures show
    it without what is hostile."""
    known = _held.get(cluster.bootstrap_servers)
    if known is None:
        background = Background()
        known = background.run(_filled(cluster, background, hostile), HANG_SECONDS)
        _held[cluster.bootstrap_servers] = known
    return known.content


def release(cluster: Cluster) -> None:
    """Members leave their groups, and the open transaction is aborted. Raises what has ended one of them before."""
    held = _held.pop(cluster.bootstrap_servers, None)
    if held is not None:
        held.background.run(_released(held), HANG_SECONDS)


async def _released(held: _Held) -> None:
    held.leave.set()
    await held.holding


async def _filled(cluster: Cluster, background: Background, hostile: bool) -> _Held:
    leave = asyncio.Event()
    content: asyncio.Future[Content] = asyncio.get_running_loop().create_future()
    holding = asyncio.create_task(_hold(cluster, content, leave, hostile))
    await asyncio.wait((content, holding), return_when=asyncio.FIRST_COMPLETED)
    if not content.done():
        # It has raised, or nobody would know why there is no content.
        await holding
    return _Held(content.result(), background, leave, holding)


async def _hold(cluster: Cluster, ready: asyncio.Future[Content], leave: asyncio.Event, hostile: bool) -> None:
    servers = cluster.bootstrap_servers
    async with contextlib.AsyncExitStack() as stack:
        admin = await stack.enter_async_context(Admin(servers))
        partitions = await _create_topics(admin, hostile)
        await _write_orders(admin, servers)
        await _write_compacted(servers)
        if hostile:
            await _write_hostile(servers)
        open_offset = await _write_payments(stack, servers, HOSTILE_ID if hostile else SECOND_ID)
        ends = await _ends(admin, partitions)
        marker_offset = ends[TopicPartition(PAYMENTS, 1)] - 1
        content = Content(open_offset=open_offset, marker_offset=marker_offset, ends=ends)
        await _commit_without_members(admin, content)
        members = [await stack.enter_async_context(member) for member in _members(servers, content)]
        await _until_compacted(admin)
        ready.set_result(content)
        await _poll_until(leave, members)


# -- topics --------------------------------------------------------------------------------------------------------


async def _create_topics(admin: Admin, hostile: bool) -> dict[str, int]:
    """Returns the numbers of their partitions."""
    nodes = sorted(node.node_id for node in (await admin.describe_cluster()).nodes)

    def topic(name: str, partitions: int, **configs: str) -> NewTopic:
        replicas = [nodes[first % len(nodes) :] + nodes[: first % len(nodes)] for first in range(partitions)]
        return NewTopic(
            name=name,
            assignment=dict(enumerate(replicas)),
            # The records are old, and stay.
            configs={"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}},
        )

    topics = [
        topic(ORDERS, ORDERS_PARTITIONS, segment_bytes="1048576", segment_ms=str(DAY_MS // 2)),
        topic(
            COMPACTED,
            1,
            cleanup_policy="compact",
            segment_ms=str(HOUR_MS),
            min_cleanable_dirty_ratio="0.01",
            delete_retention_ms="0",
        ),
        topic(PAYMENTS, 2),
        *([topic(HOSTILE, 1, max_message_bytes=str(4 << 20))] if hostile else []),
    ]
    Admin.raise_any(await admin.create_topics(topics))
    partitions = {topic.name: len(topic.assignment) for topic in topics}
    await _until_led(admin, partitions)
    return partitions


async def _until_led(admin: Admin, partitions: Mapping[str, int]) -> None:
    async def led() -> bool:
        described = await admin.describe_topics(list(partitions))
        return all(
            not isinstance(topic, Exception)
            and len(topic.partitions) == partitions[name]
            and all(partition.leader is not None for partition in topic.partitions)
            for name, topic in described.items()
        )

    while not await led():
        await asyncio.sleep(0.05)


async def _write_orders(admin: Admin, servers: str) -> None:
    async with Producer(servers, linger_ms=20) as producer:
        for day in range(DAYS):
            if day == DAYS // 2:
                await _move_leader(admin, TopicPartition(ORDERS, 0))
            for number in range(ORDERS_PER_DAY):
                for partition in range(ORDERS_PARTITIONS):
                    await _send_order(producer, day, number, partition)
            # No batch has records of two days: each day is a segment.
            await producer.flush()


async def _send_order(producer: Producer, day: int, number: int, partition: int) -> None:
    identity = (day * ORDERS_PER_DAY + number) * ORDERS_PARTITIONS + partition
    customer = f"customer-{identity % 40}"
    order = {
        "order": identity,
        "customer": customer,
        "state": ("placed", "paid", "packed", "sent")[identity % 4],
        "total": {"amount": f"{identity % 500}.{identity % 100:02}", "currency": "EUR"},
        "items": [{"article": f"A-{(identity + item) % 300:04}", "count": item} for item in range(1, 2 + identity % 4)],
        "note": None if identity % 7 else "leave it at the door — grüße",
    }
    await producer.send(
        ORDERS,
        json.dumps(order, ensure_ascii=False),
        key=customer,
        headers=[("source", b"web" if identity % 3 else b"shop"), ("trace", f"{identity:08x}".encode())],
        partition=partition,
        timestamp_ms=FIRST_MS + day * DAY_MS + number * _OPEN_MS // ORDERS_PER_DAY,
    )


async def _move_leader(admin: Admin, partition: TopicPartition) -> None:
    """To the partition's second replica, if it has one: what is written from now on has another leader epoch."""
    described = Admin.raise_any(await admin.describe_topics([partition.topic]))[partition.topic]
    first, *others = described.partitions[partition.partition].replicas
    if not others:
        return
    Admin.raise_any(await admin.alter_partition_reassignments({partition: [*others, first]}))
    while await admin.list_partition_reassignments([partition]):
        await asyncio.sleep(0.05)
    Admin.raise_any(await admin.elect_leaders(ElectionType.PREFERRED, [partition]))


async def _write_compacted(servers: str) -> None:
    """Each round is later than a segment may last, so that only the last one is in the active segment."""
    async with Producer(servers) as producer:
        for number in range(COMPACTED_ROUNDS):
            timestamp = FIRST_MS + 2 * number * HOUR_MS
            for key in range(COMPACTED_KEYS):
                # The last round overwrites a few only: gaps are where the others were overwritten before.
                if number < COMPACTED_ROUNDS - 1 or key < 3:
                    await _send_state(producer, key, number, timestamp)
            await producer.flush()


async def _send_state(producer: Producer, key: int, number: int, timestamp_ms: int) -> None:
    deleted = key == COMPACTED_KEYS - 1 and number == COMPACTED_ROUNDS - 2
    value = None if deleted else json.dumps({"key": key, "round": number})
    await producer.send(COMPACTED, value, key=f"key-{key}", partition=0, timestamp_ms=timestamp_ms)


async def _until_compacted(admin: Admin) -> None:
    browser = LogBrowser(admin)
    while True:
        page = await browser.page(TopicPartition(COMPACTED, 0), 0, max_entries=1000)
        if any(isinstance(entry, Gap) for entry in page.entries):
            return
        await asyncio.sleep(0.1)


async def _write_hostile(servers: str) -> None:
    async with Producer(servers, max_request_size=4 << 20) as producer:
        for record in HOSTILE_RECORDS:
            sent = await producer.send(
                HOSTILE, record.value, key=record.key, headers=record.headers, partition=0, timestamp_ms=FIRST_MS
            )
            await sent


# -- transactions --------------------------------------------------------------------------------------------------


async def _write_payments(stack: contextlib.AsyncExitStack, servers: str, third_id: str) -> int:
    """Returns where the open transaction begins."""
    async with Producer(servers) as producer:
        await _pay(producer, 0, range(5))
    async with _transactional(servers, COMMITTED_ID) as producer, producer.transaction():
        await _pay(producer, 0, range(5, 10))
        await _pay(producer, 1, range(5))
    async with _transactional(servers, ABORTED_ID) as producer:
        await producer.begin_transaction()
        await _pay(producer, 0, range(10, 14))
        await _pay(producer, 1, range(5, 9))
        await producer.flush()
        await producer.abort_transaction()
    async with _transactional(servers, third_id) as producer, producer.transaction():
        await _pay(producer, 1, range(9, 12))
    # Longer than all tests together take; clusters of these tests allow it.
    holder = await stack.enter_async_context(_transactional(servers, OPEN_ID, transaction_timeout_ms=HOUR_MS))
    await holder.begin_transaction()
    (first, *_) = await _pay(holder, 0, range(14, 18))
    async with Producer(servers) as producer:
        await _pay(producer, 0, range(18, 21))
    return first


@contextlib.asynccontextmanager
async def _transactional(
    servers: str, transactional_id: str, *, transaction_timeout_ms: int = 60_000
) -> AsyncIterator[Producer]:
    async with Producer(
        servers, transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms
    ) as producer:
        await producer.init_transactions()
        yield producer


async def _pay(producer: Producer, partition: int, numbers: Iterable[int]) -> list[int]:
    """Returns the offsets of the payments."""
    deliveries = [
        await producer.send(
            PAYMENTS,
            json.dumps({"payment": number, "amount": f"{number}.50"}),
            key=f"account-{number % 5}",
            partition=partition,
        )
        for number in numbers
    ]
    return [(await delivery).offset for delivery in deliveries]


# -- groups --------------------------------------------------------------------------------------------------------


async def _ends(admin: Admin, partitions: Mapping[str, int]) -> dict[TopicPartition, int]:
    wanted = {TopicPartition(name, number): LATEST for name, count in partitions.items() for number in range(count)}
    found = Admin.raise_any(await admin.list_offsets(wanted))
    return {partition: place.offset for partition, place in found.items()}


async def _commit_without_members(admin: Admin, content: Content) -> None:
    orders = [TopicPartition(ORDERS, number) for number in range(ORDERS_PARTITIONS)]
    nightly = dict(zip(orders, (0, ORDERS_IN_PARTITION // 2, ORDERS_IN_PARTITION), strict=True))
    groups: dict[str, dict[TopicPartition, int]] = {
        NIGHTLY: nightly,
        SETTLED: {TopicPartition(PAYMENTS, 1): content.marker_offset},
    }
    if TopicPartition(HOSTILE, 0) in content.ends:
        groups[HOSTILE_GROUP] = {TopicPartition(HOSTILE, 0): 1}
    for group, offsets in groups.items():
        metadata = IMAGE if group == HOSTILE_GROUP else ""
        places = {each: OffsetAndMetadata(offset=offset, metadata=metadata) for each, offset in offsets.items()}
        await admin.alter_group_offsets(group, places)


def _members(servers: str, content: Content) -> Sequence[contextlib.AbstractAsyncContextManager[Consumer]]:
    orders = [TopicPartition(ORDERS, number) for number in range(ORDERS_PARTITIONS)]
    behind = {partition: content.ends[partition] - LAG for partition in orders}
    stable = {
        **{partition: content.ends[partition] for partition in orders},
        TopicPartition(PAYMENTS, 0): content.open_offset,
        TopicPartition(PAYMENTS, 1): content.ends[TopicPartition(PAYMENTS, 1)],
    }
    return (
        _member(servers, BILLING, behind),
        _member(servers, AUDIT, stable, protocol="consumer", isolation_level="read_committed"),
    )


@contextlib.asynccontextmanager
async def _member(
    servers: str,
    group: str,
    places: Mapping[TopicPartition, int],
    *,
    protocol: str = "classic",
    isolation_level: str = "read_uncommitted",
) -> AsyncIterator[Consumer]:
    """It has committed these places, and reads nothing."""
    topics = sorted({partition.topic for partition in places})
    async with Consumer(
        bootstrap_servers=servers,
        group_id=group,
        group_protocol=protocol,
        client_id=f"{group}-worker",
        isolation_level=isolation_level,
        enable_auto_commit=False,
        auto_offset_reset="latest",
    ) as consumer:
        consumer.subscribe(topics, on_partitions_assigned=lambda partitions: consumer.pause(*partitions))
        while consumer.assignment() != set(places):
            await consumer.poll(timeout_ms=50)
        await consumer.commit(places)
        yield consumer


async def _poll_until(leave: asyncio.Event, members: Sequence[Consumer]) -> None:
    """Who does not poll for long leaves the group."""
    for member in itertools.cycle(members):
        if leave.is_set():
            return
        await member.poll(timeout_ms=200)
