"""Commits: in order, with and without waiting, and around rebalances."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import pytest
from support.cutting_proxy import running_proxy
from support.processes import free_port
from support.reading import at_least, divided, fill, members, poll_all, poll_until, reader, topic_with, values

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.errors import ApiTimeout, CommitFailed, WrongUse
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

OFFSET_COMMIT = 8


async def test_commits_that_nobody_waits_for_keep_their_order(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 10)
    told: list[tuple[int, Exception | None]] = []

    def note(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
        told.append((offsets[partition].offset, error))

    async def note_later(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
        await asyncio.sleep(0)
        note(offsets, error)

    async with reader(servers, unique, group_id=unique, enable_auto_commit=False) as consumer:
        await poll_until(consumer, at_least(10))
        for offset in (3, 1, 4):
            consumer.commit_async({partition: offset}, note)
        consumer.commit_async(None, note_later)
        assert told == [], "callbacks come inside of calls of the reader"
        await consumer.commit({partition: 7})
        assert [offset for offset, _ in told] == [3, 1, 4, 10]
        assert [error for _, error in told] == [None] * 4
        assert (await consumer.committed(partition))[partition].offset == 7
        consumer.commit_async({partition: 9}, note)
    assert told[-1] == (9, None), "closing waits for what is under way"
    assert (await admin.list_group_offsets(unique))[partition].offset == 9


async def test_what_is_wrong_with_a_commit_is_told(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 1)
    told: list[Exception | None] = []
    async with reader(servers, unique, group_id=unique) as consumer:
        await poll_until(consumer, at_least(1))
        long = OffsetAndMetadata(offset=1, metadata="x" * 5000)
        with pytest.raises(ApiError, match="OFFSET_METADATA_TOO_LARGE"):
            await consumer.commit({partition: long})
        consumer.commit_async({partition: long}, lambda _, error: told.append(error))
        await poll_until(consumer, lambda _: bool(told))
        assert isinstance(told[0], ApiError)
    async with reader(servers) as consumer:
        with pytest.raises(WrongUse, match="give the consumer a group_id"):
            consumer.commit_async()


async def test_offsets_can_be_committed_while_partitions_are_given_up(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 40, partitions=4)
    async with members(servers, unique, unique, 1, enable_auto_commit=False) as (first,):

        async def commit(_: Collection[TopicPartition]) -> None:
            await first.commit()

        first.subscribe([unique], on_partitions_revoked=commit)
        records = await poll_until(first, at_least(40))
        async with members(servers, unique, unique, 1, enable_auto_commit=False) as (second,):
            records += await poll_all([first, second], divided([first, second], 4))
    assert len(records) == 40, "what was committed is not read again"


async def test_a_member_that_is_out_cannot_commit(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 4)
    async with members(servers, unique, unique, 1, max_poll_interval_ms=1000) as (slow,):
        await poll_until(slow, at_least(4))
        async with members(servers, unique, unique, 1) as (eager,):
            await poll_all([eager], divided([eager], 1))
            told: list[Exception | None] = []
            slow.commit_async({partition: 1}, lambda _, error: told.append(error))
            await poll_all([slow, eager], lambda: bool(told))
            assert isinstance(told[0], CommitFailed)
    assert (await admin.list_group_offsets(unique))[partition].offset != 1


async def test_commits_get_over_lost_connections_or_end_in_time() -> None:
    async with running_proxy() as (proxy, port):
        proxy.target = ("127.0.0.1", free_port())
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        async with Broker(port=proxy.target[1], properties=advertised):
            servers = f"127.0.0.1:{port}"
            async with Admin(servers) as admin:
                (partition,) = await topic_with(admin, servers, "t", 5)
            options: dict[str, object] = {"enable_auto_commit": False, "retry_backoff_ms": 10}
            async with reader(servers, "t", group_id="g", reconnect_backoff_max_ms=20, **options) as consumer:
                await poll_until(consumer, at_least(5))
                proxy.cut_replies[OFFSET_COMMIT] += 2
                proxy.cut_requests[OFFSET_COMMIT] += 1
                await consumer.commit()
                assert (await consumer.committed(partition))[partition].offset == 5
                proxy.cut_requests[OFFSET_COMMIT] += 1_000_000
                with pytest.raises(ApiTimeout, match="committing offsets of group 'g'"):
                    await consumer.commit({partition: 1}, timeout_ms=300)
                proxy.cut_requests.clear()
                await consumer.commit({partition: 2})
                assert (await consumer.committed(partition))[partition].offset == 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_reads_on_when_one_of_its_topics_is_deleted(
    admin: Admin, servers: str, unique: str, protocol: str
) -> None:
    gone, stays = f"{unique}-gone", f"{unique}-stays"
    for topic in (gone, stays):
        await topic_with(admin, servers, topic, 10)
    taken_away: list[TopicPartition] = []
    options: dict[str, object] = {"group_protocol": protocol, "metadata_max_age_ms": 300, "auto_commit_interval_ms": 50}
    async with reader(servers, group_id=unique, allow_auto_create_topics=False, **options) as consumer:
        consumer.subscribe([gone, stays], on_partitions_revoked=taken_away.extend, on_partitions_lost=taken_away.extend)
        await poll_until(consumer, at_least(20))
        Admin.raise_any(await admin.delete_topics([gone]))
        await poll_until(consumer, lambda _: consumer.assignment() == {TopicPartition(stays, 0)})
        assert TopicPartition(gone, 0) in taken_away
        await fill(servers, stays, 5, first=10)
        assert values(await poll_until(consumer, at_least(5))) == [10, 11, 12, 13, 14]
    assert (await admin.list_group_offsets(unique))[TopicPartition(stays, 0)].offset == 15
