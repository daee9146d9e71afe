"""Classic groups: strategies, incremental rebalances, static members, and members of other makes."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import confluent_kafka
import pytest
from support.group_members.java import JavaMember, JavaMembers
from support.processes import HANG_SECONDS
from support.reading import at_least, divided, fill, members, poll_all, poll_until, reader, topic_with, values
from support.tidelog_process import TidelogBroker

from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.errors import WrongUse
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

COOPERATIVE = "cooperative-sticky"

FIRST = frozenset({0})


class Events:
    """What the listeners of one member hear."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, frozenset[int]]] = []

    def subscribe(self, consumer: Consumer, topic: str) -> None:
        consumer.subscribe(
            [topic],
            on_partitions_assigned=self.assigned,
            on_partitions_revoked=self.revoked,
            on_partitions_lost=self.lost,
        )

    async def assigned(self, partitions: Collection[TopicPartition]) -> None:
        await asyncio.sleep(0)
        self._hear("assigned", partitions)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        self._hear("revoked", partitions)

    async def lost(self, partitions: Collection[TopicPartition]) -> None:
        self._hear("lost", partitions)

    def _hear(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.heard.append((what, frozenset(partition.partition for partition in partitions)))

    def taken_away(self) -> set[int]:
        return {number for what, numbers in self.heard if what != "assigned" for number in numbers}


@pytest.mark.parametrize("strategy", ["roundrobin", "sticky", COOPERATIVE])
async def test_every_strategy_divides_the_partitions_and_reads_everything_once(
    admin: Admin, servers: str, unique: str, strategy: str
) -> None:
    await topic_with(admin, servers, unique, 60, partitions=6)
    async with members(servers, unique, unique, 2, partition_assignment_strategy=strategy) as consumers:
        records = await poll_all(consumers, divided(consumers, 6))
        assert sorted(len(consumer.assignment()) for consumer in consumers) == [3, 3]
        await fill(servers, unique, 12, partitions=6, first=60)
        records += await poll_all(consumers, lambda: False, enough=72 - len(records))
    assert sorted(values(records)) == list(range(72))


async def test_a_cooperative_member_keeps_what_it_keeps_and_reads_on(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 40, partitions=4)
    events = Events()
    async with members(servers, unique, unique, 1, partition_assignment_strategy=COOPERATIVE) as (staying,):
        events.subscribe(staying, unique)
        records = await poll_all([staying], divided([staying], 4))
        records += await poll_until(staying, at_least(40 - len(records)))
        async with members(servers, unique, unique, 1, partition_assignment_strategy=COOPERATIVE) as (joining,):
            records += await poll_all([staying, joining], divided([staying, joining], 4))
            kept = {partition.partition for partition in staying.assignment()}
            assert len(kept) == 2
            assert events.taken_away() == {0, 1, 2, 3} - kept, "what is kept is never taken away"
        records += await poll_all([staying], divided([staying], 4))
        assert events.taken_away() == {0, 1, 2, 3} - kept
        await fill(servers, unique, 4, partitions=4, first=40)
        records += await poll_until(staying, at_least(4))
    assert sorted(values(records)) == list(range(44)), "nothing is lost or read twice"
    assert events.heard[0] == ("assigned", frozenset({0, 1, 2, 3}))
    assert events.heard[-1] == ("revoked", frozenset({0, 1, 2, 3})), "closing gives everything up in order"


async def test_sticky_members_get_again_what_they_had(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1, partitions=6)
    async with members(servers, unique, unique, 2, partition_assignment_strategy="sticky") as consumers:
        await poll_all(consumers, divided(consumers, 6))
        before = [consumer.assignment() for consumer in consumers]
        async with members(servers, unique, unique, 1, partition_assignment_strategy="sticky") as (third,):
            await poll_all([*consumers, third], divided([*consumers, third], 6))
            assert all(consumer.assignment() < had for consumer, had in zip(consumers, before, strict=True))
        await poll_all(consumers, divided(consumers, 6))


async def test_a_static_member_comes_back_without_a_rebalance(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 20, partitions=2)
    events = Events()
    async with members(servers, unique, unique, 1, group_instance_id="stays") as (staying,):
        events.subscribe(staying, unique)
        async with members(servers, unique, unique, 1, group_instance_id="comes back") as (leaving,):
            records = await poll_all([staying, leaving], divided([staying, leaving], 2))
            had = leaving.assignment()
        heard = len(events.heard)
        async with members(servers, unique, unique, 1, group_instance_id="comes back") as (back,):
            records += await poll_all([staying, back], divided([staying, back], 2))
            assert back.assignment() == had
            records += await poll_all([staying, back], lambda: False, enough=20 - len(records))
            # With a farewell for good, its place goes to the others at once (KIP-1092).
            await back.close(leave_group=True)
            assert len(events.heard) == heard, "the other member has not heard of it"
        await poll_all([staying], divided([staying], 2))
    assert sorted(values(records)) == list(range(20))


async def test_of_two_static_members_with_one_id_the_first_is_fenced(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with members(servers, unique, unique, 1, group_instance_id="one") as (first,):
        await poll_all([first], divided([first], 1))
        async with members(servers, unique, unique, 1, group_instance_id="one") as (second,):
            await poll_all([second], divided([second], 1))
            for _ in range(2):
                with pytest.raises(ApiError, match=r"another consumer has joined with group\.instance\.id='one'"):
                    await poll_until(first, lambda _: False)
            assert first.assignment() == frozenset()


async def test_partitions_are_lost_by_a_member_that_does_not_poll(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 10)
    events = Events()
    async with members(servers, unique, unique, 1, max_poll_interval_ms=1000) as (slow,):
        events.subscribe(slow, unique)
        await poll_until(slow, at_least(1))
        described = await _members_of(admin, unique)
        while described:
            described = await _members_of(admin, unique)
        fenced = slow.group_metadata()
        assert fenced.member_id, "it does not commit as if it had never been a member"
        await poll_until(slow, lambda _: len(events.heard) >= 3)
        assert events.heard == [("assigned", FIRST), ("lost", FIRST), ("assigned", FIRST)]
        assert slow.group_metadata().generation_id > fenced.generation_id


async def _members_of(admin: Admin, group: str) -> int:
    (described,) = Admin.raise_any(await admin.describe_groups([group])).values()
    await asyncio.sleep(0.05)
    return len(described.members)


async def test_what_a_listener_raises_reaches_the_reader_and_the_group_goes_on(
    admin: Admin, servers: str, unique: str
) -> None:
    await topic_with(admin, servers, unique, 3)

    def refuse(_: Collection[TopicPartition]) -> None:
        raise LookupError("no room")

    async with members(servers, unique, unique, 1) as (consumer,):
        consumer.subscribe([unique], on_partitions_assigned=refuse)
        with pytest.raises(LookupError, match="no room"):
            await poll_until(consumer, at_least(1))
        assert len(await poll_until(consumer, at_least(3))) == 3


async def test_a_pattern_finds_topics_that_come_later(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, f"{unique}-a", 2)
    async with reader(servers, group_id=unique, metadata_max_age_ms=300) as consumer:
        consumer.subscribe(pattern=re.compile(rf"^{unique}-[ab]$"))
        assert len(await poll_until(consumer, at_least(2))) == 2
        await topic_with(admin, servers, f"{unique}-c", 1)
        await topic_with(admin, servers, f"{unique}-b", 3)
        later = await poll_until(consumer, at_least(3))
        assert {record.topic for record in later} == {f"{unique}-b"}
        assert consumer.subscription() == {f"{unique}-a", f"{unique}-b"}


async def test_a_consumer_can_turn_to_something_else(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 5)
    events = Events()
    async with members(servers, unique, unique, 1) as (consumer,):
        with pytest.raises(WrongUse, match=r"write \['t'\]"):
            consumer.subscribe("t")
        with pytest.raises(WrongUse, match="topics or a pattern"):
            consumer.subscribe([unique], pattern="x")
        events.subscribe(consumer, unique)
        await poll_until(consumer, at_least(5))
        await consumer.unsubscribe()
        assert events.heard == [("assigned", FIRST), ("revoked", FIRST)]
        assert consumer.assignment() == frozenset()
        assert await consumer.poll(timeout_ms=0) == []
        consumer.assign([partition])
        consumer.seek(partition, 3)
        assert values(await poll_until(consumer, at_least(2))) == [3, 4]
    assert (await admin.list_group_offsets(unique))[partition].offset == 5


async def test_a_rebalance_can_be_asked_for(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with members(servers, unique, unique, 1) as (consumer,):
        await poll_all([consumer], divided([consumer], 1))
        before = consumer.group_metadata().generation_id
        consumer.enforce_rebalance()
        await poll_until(consumer, lambda _: consumer.group_metadata().generation_id > before)
        await poll_all([consumer], divided([consumer], 1))


# -- with members of other makes -------------------------------------------------------------------------------------


@contextmanager
def librdkafka_member(servers: str, topic: str, group: str, strategy: str) -> Iterator[set[int]]:
    """A member by librdkafka that polls in a thread; the set is what it has."""
    owned: set[int] = set()
    stop = threading.Event()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "partition.assignment.strategy": strategy,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 100,
        }
    )

    def run() -> None:
        consumer.subscribe([topic])
        while not stop.is_set():
            consumer.poll(0.05)
            owned.clear()
            owned.update(partition.partition for partition in consumer.assignment())
        consumer.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield owned
    finally:
        stop.set()
        thread.join(30)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", COOPERATIVE])
async def test_a_group_with_librdkafka(admin: Admin, servers: str, unique: str, strategy: str) -> None:
    """Whoever came first leads: ours at first, librdkafka's when ours has left and come back."""
    await topic_with(admin, servers, unique, 6, partitions=6)
    options: dict[str, object] = {"partition_assignment_strategy": strategy}
    async with members(servers, unique, unique, 1, **options) as (ours,):
        await poll_all([ours], divided([ours], 6))
        with librdkafka_member(servers, unique, unique, strategy) as theirs:
            await poll_all([ours], lambda: _shared(ours, theirs))
            await ours.close()
            async with members(servers, unique, unique, 1, **options) as (again,):
                await poll_all([again], lambda: _shared(again, theirs))


def _shared(ours: Consumer, theirs: set[int]) -> bool:
    mine = {partition.partition for partition in ours.assignment()}
    return len(mine) == 3 and mine | theirs == set(range(6)) and not mine & theirs


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
async def test_a_group_with_java(tidelog_process: TidelogBroker, jars: Path, tmp_path: Path, unique: str) -> None:
    """Both lead in turn, for each strategy whose memory has a format of its own."""
    servers = tidelog_process.bootstrap_servers
    with closing(JavaMembers(servers, jars=jars, log=tmp_path / "java.log")) as java:
        for strategy, name in {"sticky": "StickyAssignor", COOPERATIVE: "CooperativeStickyAssignor"}.items():
            topic = group = f"{unique}-{strategy}"
            async with Admin(servers) as admin:
                await topic_with(admin, servers, topic, 6, partitions=6)
            settings = {
                "group.protocol": "classic",
                "partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{name}",
                "heartbeat.interval.ms": "100",
                "session.timeout.ms": "6000",
            }
            options: dict[str, object] = {"partition_assignment_strategy": strategy}
            async with members(servers, topic, group, 1, **options) as (ours,):
                await poll_all([ours], divided([ours], 6))
                had = {partition.partition for partition in ours.assignment()}
                theirs = await asyncio.to_thread(java.open, group, topic=topic, settings=settings)
                kept = await _share_with_java(ours, theirs)
                assert kept < had
                # Ours leaves, Java's leads and remembers what it had.
                before = set(range(6)) - kept
                await ours.close()
                async with members(servers, topic, group, 1, **options) as (again,):
                    got = await _share_with_java(again, theirs)
                    assert len(got & before) <= 3
            await asyncio.to_thread(theirs.close)


async def _share_with_java(ours: Consumer, theirs: JavaMember) -> set[int]:
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            await asyncio.gather(ours.poll(timeout_ms=50), asyncio.to_thread(theirs.poll))
            owned = await asyncio.to_thread(theirs.assignment)
            numbers = {number for _, number in owned}
            mine = {partition.partition for partition in ours.assignment()}
            if len(mine) == 3 and mine | numbers == set(range(6)) and not mine & numbers:
                return mine
