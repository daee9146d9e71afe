"""Readers whose leader does not have any more what they have read (KIP-320)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.nodes_in_process import Nodes, nodes
from support.reading import at_least, fill, poll_until, reader, topic_with, values
from support.tidelog_process import running_tidelog

from tidelog.client.admin import Admin, NewTopic
from tidelog.client.errors import LogTruncated
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition

T = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def two_epochs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose partition t-0 has the offsets 0 to 9 from leader epoch 0, and 10 to 14 from a later one."""
    directory = tmp_path_factory.mktemp("two-epochs")

    async def make_topic(servers: str) -> None:
        async with Admin(servers) as admin:
            await topic_with(admin, servers, "t", 10)

    with running_tidelog(directory) as broker:
        asyncio.run(make_topic(broker.bootstrap_servers))
    with running_tidelog(directory) as broker:
        asyncio.run(fill(broker.bootstrap_servers, "t", 5, first=10))
        yield broker.bootstrap_servers


async def test_what_the_leader_has_is_read_on(two_epochs: str) -> None:
    async with reader(two_epochs) as consumer:
        consumer.assign([T])
        consumer.seek(T, OffsetAndMetadata(offset=8, leader_epoch=0))
        records = await poll_until(consumer, at_least(7))
        assert values(records) == [8, 9, 10, 11, 12, 13, 14]
        consumer.seek(T, OffsetAndMetadata(offset=12, leader_epoch=records[-1].leader_epoch))
        assert values(await poll_until(consumer, at_least(3))) == [12, 13, 14]


async def test_a_reader_goes_back_to_where_the_logs_part(two_epochs: str) -> None:
    """It had read up to 12 from the leader of epoch 0, of which only 0 to 9 have survived."""
    async with reader(two_epochs, auto_offset_reset="latest") as consumer:
        consumer.assign([T])
        consumer.seek(T, OffsetAndMetadata(offset=12, leader_epoch=0))
        assert values(await poll_until(consumer, at_least(5))) == [10, 11, 12, 13, 14]


async def test_without_a_reset_the_reader_is_told_where_the_logs_part(two_epochs: str) -> None:
    async with reader(two_epochs, auto_offset_reset="none") as consumer:
        consumer.assign([T])
        consumer.seek(T, OffsetAndMetadata(offset=12, leader_epoch=0))
        with pytest.raises(LogTruncated, match=r"t-0 was truncated at offset 10 \(leader epoch 0\).*seek") as told:
            await poll_until(consumer, at_least(1))
        assert (told.value.partition, told.value.offset, told.value.diverged_at) == (T, 12, 10)
        with pytest.raises(LogTruncated):
            await poll_until(consumer, at_least(1))
        consumer.seek(T, 10)
        assert values(await poll_until(consumer, at_least(5))) == [10, 11, 12, 13, 14]


async def test_an_epoch_that_the_leader_has_never_had_is_no_place(two_epochs: str) -> None:
    async with reader(two_epochs) as consumer:
        consumer.assign([T])
        consumer.seek(T, OffsetAndMetadata(offset=12, leader_epoch=0x7000))
        assert values(await poll_until(consumer, at_least(15))) == list(range(15))


async def test_a_committed_offset_is_checked_too(two_epochs: str) -> None:
    async with Admin(two_epochs) as admin:
        await admin.alter_group_offsets("g", {T: OffsetAndMetadata(offset=13, leader_epoch=0)})
    async with reader(two_epochs, "t", group_id="g") as consumer:
        assert values(await poll_until(consumer, at_least(5))) == [10, 11, 12, 13, 14]


# -- a real one ------------------------------------------------------------------------------------------------------


async def test_a_reader_survives_an_unclean_election(tmp_path: Path) -> None:
    """Broker 3 is away while records are written; then 2, which has them, is gone, and 3 leads without them."""
    quick = {"unclean_leader_election_interval_ms": "300", "replica_lag_time_max_ms": "1000"}
    roles = {1: "broker,controller", 2: "broker", 3: "broker"}
    async with nodes(tmp_path, roles, **quick) as cluster:
        servers = cluster.bootstrap_servers
        async with Admin(servers) as admin:
            topic = NewTopic(name="t", assignment={0: (2, 3)}, configs={"unclean.leader.election.enable": "true"})
            Admin.raise_any(await admin.create_topics([topic]))
        await fill(servers, "t", 10)
        async with reader(servers, "t", metadata_max_age_ms=300, retry_backoff_ms=20) as consumer:
            assert values(await poll_until(consumer, at_least(10))) == list(range(10))
            await cluster.kill(3)
            await _in_sync(cluster, {2})
            await fill(servers, "t", 5, first=100)
            assert values(await poll_until(consumer, at_least(5))) == [100, 101, 102, 103, 104]
            await cluster.kill(2)
            await cluster.start(3)
            await _in_sync(cluster, {3})
            async with Producer(servers) as producer:
                for number in range(200, 208):
                    await producer.send("t", b"%d" % number, partition=0)
            # Offset 10 and what follows is something else now: the reader gets all of it, though it had been at 15.
            assert values(await poll_until(consumer, at_least(8))) == list(range(200, 208))


async def _in_sync(cluster: Nodes, brokers: set[int]) -> None:
    def as_wanted() -> bool:
        found = cluster.running[1].node.image.partition("t", 0)
        return found is not None and set(found.isr) == brokers and found.leader in brokers

    await cluster.until(as_wanted, f"that {brokers} are in sync")
    await asyncio.sleep(0)


# -- a topic recreated -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group_id", [None, "g"])
async def test_a_topic_that_is_recreated_is_read_from_its_beginning(
    admin: Admin, servers: str, unique: str, group_id: str | None
) -> None:
    """Its offsets and leader epochs begin again; only its id tells that it is another one."""
    await topic_with(admin, servers, unique, 10)
    options: dict[str, object] = {"metadata_max_age_ms": 300, "allow_auto_create_topics": False}
    if group_id is not None:
        options["group_id"] = unique
    async with reader(servers, unique, **options) as consumer:
        assert len(await poll_until(consumer, at_least(10))) == 10
        Admin.raise_any(await admin.delete_topics([unique]))
        await poll_until(consumer, lambda _: consumer.assignment() == frozenset())
        await topic_with(admin, servers, unique, 3)
        assert values(await poll_until(consumer, at_least(3))) == [0, 1, 2]


async def test_a_reader_notices_that_a_topic_was_recreated_behind_its_back(
    admin: Admin, servers: str, unique: str
) -> None:
    """By the name alone it would go on in the middle of records that it has never seen."""
    (partition,) = await topic_with(admin, servers, unique, 10)
    async with reader(servers) as resetting, reader(servers, auto_offset_reset="none") as strict:
        for consumer in (resetting, strict):
            consumer.assign([partition])
            consumer.seek(partition, 0)
            assert len(await poll_until(consumer, at_least(10))) == 10
        Admin.raise_any(await admin.delete_topics([unique]))
        await topic_with(admin, servers, unique, 20)
        assert values(await poll_until(resetting, at_least(20))) == list(range(20))
        for _ in range(2):
            with pytest.raises(LogTruncated, match="was deleted and recreated while the reader was at offset 10"):
                await poll_until(strict, at_least(1))
        strict.seek(partition, 15)
        assert values(await poll_until(strict, at_least(5))) == [15, 16, 17, 18, 19]
