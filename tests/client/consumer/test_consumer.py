"""`Consumer` against real brokers: alone, in groups, and over connections that are cut."""

from __future__ import annotations

import asyncio

import pytest
from support.cutting_proxy import CuttingProxy, running_proxy
from support.processes import HANG_SECONDS, free_port
from support.reading import at_least, divided, fill, members, poll_all, poll_until, reader, topic_with, values

from tidelog import Broker, Consumer, Producer
from tidelog.client.admin import Admin
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import CommitFailed, ConsumerClosed, NoOffsetForPartition, WrongUse
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

FETCH = 1
OFFSET_COMMIT = 8
HEARTBEAT = 12


# -- alone -----------------------------------------------------------------------------------------------------------


async def test_everything_is_read_once_and_in_order(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 3000, partitions=3)
    async with reader(servers, unique) as consumer:
        records = await poll_until(consumer, at_least(3000))
    assert sorted(values(records)) == list(range(3000))
    for number in range(3):
        assert values([record for record in records if record.partition == number]) == list(range(number, 3000, 3))


async def test_iteration_gives_the_same(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 700)
    seen: list[ConsumerRecord] = []
    async with reader(servers, unique, max_poll_records=10) as consumer, asyncio.timeout(HANG_SECONDS):
        async for record in consumer:
            seen.append(record)
            assert await consumer.position(record.topic_partition) == record.offset + 1
            if len(seen) == 700:
                break
    assert values(seen) == list(range(700))


async def test_others_get_their_turn_while_an_iteration_reads(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 100)
    async with reader(servers, unique, max_poll_records=10) as consumer, asyncio.timeout(HANG_SECONDS):
        await anext(consumer)
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        for _ in range(99):
            await anext(consumer)
        task.cancel()
    assert turns >= 9


async def test_who_is_cancelled_between_two_chunks_loses_no_record(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 30)
    async with reader(servers, unique, max_poll_records=10) as consumer, asyncio.timeout(HANG_SECONDS):
        seen = [await anext(consumer) for _ in range(10)]
        waiting = asyncio.ensure_future(anext(consumer))
        await asyncio.sleep(0)
        assert waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        seen += [await anext(consumer) for _ in range(20)]
    assert values(seen) == list(range(30))


async def test_who_is_cancelled_while_nothing_comes_loses_no_record(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with reader(servers, unique) as consumer, asyncio.timeout(HANG_SECONDS):
        assert (await anext(consumer)).offset == 0
        waiting: asyncio.Task[ConsumerRecord] = asyncio.create_task(anext(consumer))
        # So that it has looked around, found nothing, and waits.
        for _ in range(10):
            await asyncio.sleep(0)
        assert waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with Producer(servers) as producer:
            await (await producer.send(unique, b"1"))
        assert (await anext(consumer)).offset == 1


async def test_closing_ends_an_iteration_that_waits(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 3)
    seen = asyncio.Event()

    async def read(consumer: Consumer) -> list[int]:
        offsets = []
        async for record in consumer:
            offsets.append(record.offset)
            if len(offsets) == 3:
                seen.set()
        return offsets

    async with reader(servers, unique) as consumer, asyncio.timeout(HANG_SECONDS):
        reading = asyncio.create_task(read(consumer))
        await seen.wait()
        await consumer.close()
        assert await reading == [0, 1, 2]
        with pytest.raises(StopAsyncIteration):
            await anext(consumer)


async def test_what_happens_between_two_records_of_an_iteration_counts_at_once(
    admin: Admin, servers: str, unique: str
) -> None:
    await topic_with(admin, servers, unique, 10)
    place = TopicPartition(unique, 0)
    offsets = []
    async with reader(servers, unique) as consumer, asyncio.timeout(HANG_SECONDS):
        async for record in consumer:
            offsets.append(record.offset)
            if len(offsets) == 2:
                consumer.seek(place, 7)
            elif len(offsets) == 4:
                offsets += [record.offset for record in await consumer.poll(max_records=1)]
                consumer.pause(place)
                assert await consumer.poll(timeout_ms=0) == []
                consumer.resume(place)
                consumer.seek_to_beginning(place)
            elif len(offsets) == 7:
                break
        offsets.append((await anext(consumer)).offset)
        # Two steps that are asked for before either is awaited are two records.
        one, other = anext(consumer), anext(consumer)
        offsets += [(await other).offset, (await one).offset]
    assert offsets == [0, 1, 7, 8, 9, 0, 1, 2, 3, 4]


async def test_poll_gives_no_more_than_asked_for(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 50)
    async with reader(servers, unique) as consumer:
        first = await poll_until(consumer, at_least(1))
        assert len(first) == 50
        consumer.seek_to_beginning()
        assert len(await consumer.poll(timeout_ms=5000, max_records=7)) == 7
        assert values(await consumer.poll(timeout_ms=5000, max_records=5)) == [7, 8, 9, 10, 11]


async def test_latest_starts_with_what_comes_next(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 10)
    async with reader(servers, unique, auto_offset_reset="latest") as consumer:
        assert await consumer.poll(timeout_ms=500) == []
        await fill(servers, unique, 3, first=10)
        assert values(await poll_until(consumer, at_least(3))) == [10, 11, 12]


async def test_an_empty_poll_ends_in_time(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with reader(servers, unique) as consumer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await consumer.poll(timeout_ms=300) == []
        assert 0.25 < loop.time() - began < 3


async def test_assigned_partitions_can_be_sought(admin: Admin, servers: str, unique: str) -> None:
    first, second = await topic_with(admin, servers, unique, 100, partitions=2)
    async with reader(servers) as consumer:
        consumer.assign([second])
        assert consumer.assignment() == {second}
        consumer.seek(second, 40)
        assert values(await poll_until(consumer, at_least(10)))[:3] == [81, 83, 85]
        consumer.seek_to_end(second)
        assert await consumer.position(second) == 50
        consumer.seek_to_beginning(second)
        assert await consumer.position(second) == 0
        with pytest.raises(WrongUse, match=f"{unique}-0 is not assigned"):
            consumer.seek(first, 0)
        with pytest.raises(WrongUse, match="-1 is not an offset"):
            consumer.seek(second, -1)


async def test_offsets_are_found_by_time(admin: Admin, servers: str, unique: str) -> None:
    first, second = await topic_with(admin, servers, unique, 100, partitions=2)
    async with reader(servers) as consumer:
        found = await consumer.offsets_for_times({first: 41_000, second: 99_001})
        # The first record at or after 41 s in partition 0 is number 42; behind 99 s there is nothing.
        assert {partition: (entry.offset, entry.timestamp) for partition, entry in found.items()} == {
            first: (21, 42_000)
        }
        assert await consumer.beginning_offsets(first, second) == {first: 0, second: 0}
        assert await consumer.end_offsets(first, second) == {first: 50, second: 50}


async def test_paused_partitions_give_nothing_and_lose_nothing(admin: Admin, servers: str, unique: str) -> None:
    first, second = await topic_with(admin, servers, unique, 200, partitions=2)
    async with reader(servers, max_poll_records=5) as consumer:
        consumer.assign([first, second])
        seen = await poll_until(consumer, at_least(5))
        consumer.pause(first)
        seen += await poll_until(consumer, lambda got: len([r for r in got if r.partition == 1]) >= 50)
        quiet = await poll_until(consumer, at_least(20))
        assert {record.partition for record in quiet} == {1}
        consumer.resume(first)
        seen += quiet
        seen += await poll_until(consumer, lambda got: len(seen) + len(got) >= 200)
    for number in (0, 1):
        assert values([record for record in seen if record.partition == number]) == list(range(number, 200, 2))


async def test_a_position_behind_deleted_records_is_reset(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 20)
    Admin.raise_any(await admin.delete_records({partition: 15}))
    async with reader(servers) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 3)
        assert values(await poll_until(consumer, at_least(5))) == [15, 16, 17, 18, 19]
    async with reader(servers, auto_offset_reset="none") as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 3)
        with pytest.raises(ApiError, match=r"has no offset 3 \(any longer\), and auto\.offset\.reset=none"):
            await poll_until(consumer, at_least(1))


async def test_a_topic_may_come_later(servers: str, unique: str) -> None:
    async with reader(servers, unique, allow_auto_create_topics=False) as consumer:
        assert await consumer.poll(timeout_ms=100) == []
        await fill(servers, unique, 3)
        assert values(await poll_until(consumer, at_least(3))) == [0, 1, 2]


async def test_new_partitions_are_read_too(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 4)
    async with reader(servers, unique, metadata_max_age_ms=200) as consumer:
        await poll_until(consumer, at_least(4))
        Admin.raise_any(await admin.create_partitions({unique: 2}))
        await fill(servers, unique, 2, partitions=2, first=10)
        assert sorted(values(await poll_until(consumer, at_least(2)))) == [10, 11]


async def test_wrong_uses_are_told(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 1)
    async with reader(servers, unique) as consumer:
        with pytest.raises(WrongUse, match="assign"):
            consumer.assign([partition])
        with pytest.raises(WrongUse, match="group_id"):
            await consumer.commit()
    with pytest.raises(ConsumerClosed, match="is closed"):
        await consumer.poll()
    with pytest.raises(ConsumerClosed, match="has not been started"):
        await reader(servers, unique).poll()
    async with reader(servers, "no/slashes") as consumer:
        with pytest.raises(ApiError, match="INVALID_TOPIC_EXCEPTION"):
            await poll_until(consumer, at_least(1))


# -- in a group ------------------------------------------------------------------------------------------------------


async def test_a_group_goes_on_where_it_stopped(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 100)
    async with reader(servers, unique, group_id=unique) as consumer:
        first = await consumer.poll(timeout_ms=20_000, max_records=30)
        assert len(first) == 30
    # Closing commits what was handed out, and nothing beyond it.
    assert (await admin.list_group_offsets(unique))[partition].offset == 30
    async with reader(servers, unique, group_id=unique) as consumer:
        rest = await poll_until(consumer, at_least(70))
    assert values(first + rest) == list(range(100))


async def test_iteration_commits_what_was_handed_out(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 100)
    async with reader(servers, unique, group_id=unique) as consumer, asyncio.timeout(HANG_SECONDS):
        async for record in consumer:
            if record.offset == 41:
                break
    assert (await admin.list_group_offsets(unique))[partition].offset == 42


async def test_commits_by_hand(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 50)
    async with reader(servers, unique, group_id=unique, enable_auto_commit=False) as consumer:
        await consumer.poll(timeout_ms=20_000, max_records=20)
        assert await consumer.committed(partition) == {}
        await consumer.commit()
        assert (await consumer.committed(partition))[partition].offset == 20
        await consumer.commit({partition: OffsetAndMetadata(offset=7, metadata="noted")})
        kept = (await consumer.committed(partition))[partition]
        assert (kept.offset, kept.metadata) == (7, "noted")
        await consumer.poll(timeout_ms=20_000, max_records=20)
    assert (await admin.list_group_offsets(unique))[partition].offset == 7


async def test_a_member_tells_as_whom_it_commits(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with reader(servers, unique, group_id=unique, group_instance_id="i") as consumer:
        assert consumer.group_metadata() == ConsumerGroupMetadata(group_id=unique, instance_id="i")
        await poll_until(consumer, at_least(1))
        found = consumer.group_metadata()
        assert (found.group_id, found.instance_id) == (unique, "i")
        assert found.generation_id > 0
        assert found.member_id
    async with reader(servers, unique) as outsider:
        with pytest.raises(WrongUse, match="group_id"):
            outsider.group_metadata()


async def test_auto_commit_happens_while_reading(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 50)
    async with reader(servers, unique, group_id=unique, auto_commit_interval_ms=50) as consumer:
        await poll_until(consumer, at_least(50))
        async with asyncio.timeout(HANG_SECONDS):
            while (await consumer.committed(partition)).get(partition) != OffsetAndMetadata(offset=50, leader_epoch=0):
                await consumer.poll(timeout_ms=20)


async def test_without_an_offset_and_without_reset_there_is_no_start(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 5)
    async with reader(servers, unique, group_id=unique, auto_offset_reset="none") as consumer:
        with pytest.raises(NoOffsetForPartition, match=rf"{unique}-0.*auto\.offset\.reset=none"):
            await poll_until(consumer, at_least(1))


async def test_members_divide_the_partitions_and_read_everything_once(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 600, partitions=6)
    async with members(servers, unique, unique, 3) as consumers:
        records = await poll_all(consumers, divided(consumers, 6))
        assert sorted(len(consumer.assignment()) for consumer in consumers) == [2, 2, 2]
        await fill(servers, unique, 60, partitions=6, first=600)
        read = len(records)
        records += await poll_all(consumers, lambda: False, enough=660 - read)
        (described,) = Admin.raise_any(await admin.describe_groups([unique])).values()
        assert described.state == "Stable"
        assert sorted(member.client_id for member in described.members) == ["m0", "m1", "m2"]
        assert {partition for member in described.members for partition in member.assignment} == {
            TopicPartition(unique, number) for number in range(6)
        }
    assert sorted(values(records)) == list(range(660))


async def test_partitions_of_a_member_that_leaves_go_to_the_others(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 40, partitions=4)
    events: list[tuple[str, int]] = []
    async with members(servers, unique, unique, 1) as (staying,):
        staying.subscribe(
            [unique],
            on_partitions_assigned=lambda partitions: events.append(("assigned", len(partitions))),
            on_partitions_revoked=lambda partitions: events.append(("revoked", len(partitions))),
        )
        records = await poll_all([staying], divided([staying], 4))
        async with members(servers, unique, unique, 1) as (leaving,):
            records += await poll_all([staying, leaving], divided([staying, leaving], 4))
            assert len(leaving.assignment()) == 2
        records += await poll_all([staying], divided([staying], 4))
        records += await poll_until(staying, lambda got: len(records) + len(got) >= 40)
    assert sorted(values(records)) == list(range(40)), "a rebalance neither loses nor repeats what was polled"
    assert events[:5] == [("assigned", 4), ("revoked", 4), ("assigned", 2), ("revoked", 2), ("assigned", 4)]


async def test_a_member_that_does_not_poll_is_left_behind(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 10)
    async with members(servers, unique, unique, 1, max_poll_interval_ms=1000, enable_auto_commit=False) as (slow,):
        await poll_all([slow], divided([slow], 1))
        await poll_until(slow, lambda got: True)
        member = slow.group_metadata()
        async with members(servers, unique, unique, 1) as (eager,):
            await poll_all([eager], divided([eager], 1))
            assert eager.assignment() == {partition}
            # Not as somebody outside of the group: a transaction with such offsets would not be refused.
            assert slow.group_metadata() == member
            with pytest.raises(CommitFailed, match="has rebalanced"):
                await slow.commit({partition: 1})


async def test_a_group_follows_topics_that_grow(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with members(servers, unique, unique, 1, metadata_max_age_ms=200) as (consumer,):
        await poll_all([consumer], divided([consumer], 1))
        Admin.raise_any(await admin.create_partitions({unique: 3}))
        await poll_all([consumer], divided([consumer], 3))


async def test_groups_with_members_cannot_be_deleted(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with members(servers, unique, unique, 1) as (consumer,):
        await poll_all([consumer], divided([consumer], 1))
        refused = (await admin.delete_groups([unique]))[unique]
        assert isinstance(refused, ApiError)
        assert refused.code == ErrorCode.NON_EMPTY_GROUP
    assert unique in [group.group_id for group in await admin.list_groups()]
    Admin.raise_any(await admin.delete_groups([unique]))
    assert unique not in [group.group_id for group in await admin.list_groups()]


async def test_offsets_can_be_altered_from_outside(admin: Admin, servers: str, unique: str) -> None:
    (partition,) = await topic_with(admin, servers, unique, 10)
    await admin.alter_group_offsets(unique, {partition: OffsetAndMetadata(offset=6)})
    async with reader(servers, unique, group_id=unique) as consumer:
        assert values(await poll_until(consumer, at_least(4))) == [6, 7, 8, 9]


# -- connections that are cut ----------------------------------------------------------------------------------------


async def test_a_group_reader_gets_over_lost_connections() -> None:
    async with running_proxy() as (proxy, port):
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=advertised):
            await _read_with_cuts(proxy, f"127.0.0.1:{port}")


async def _read_with_cuts(proxy: CuttingProxy, servers: str) -> None:
    async with Admin(servers) as admin:
        await topic_with(admin, servers, "t", 2000, partitions=2)
    backoff = {"retry_backoff_ms": 10, "reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}
    records: list[ConsumerRecord] = []
    async with reader(
        servers,
        "t",
        group_id="g",
        max_poll_records=50,
        auto_commit_interval_ms=20,
        max_partition_fetch_bytes=2000,
        **backoff,
    ) as consumer:
        async with asyncio.timeout(HANG_SECONDS):
            while len(records) < 2000:
                records += await consumer.poll(timeout_ms=100)
                if len(records) % 400 == 0:
                    proxy.cut_replies[FETCH] += 1
                    proxy.cut_replies[OFFSET_COMMIT] += 1
                    proxy.cut_requests[HEARTBEAT] += 1
                if len(records) == 1000:
                    proxy.cut_all()
    assert proxy.cuts >= 3
    for number in (0, 1):
        assert values([record for record in records if record.partition == number]) == list(range(number, 2000, 2))


async def test_a_consumer_waits_for_a_broker_that_is_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory, port = str(tmp_path_factory.mktemp("data")), free_port()
    servers = f"127.0.0.1:{port}"
    async with Broker(port=port, data_dir=directory):
        async with Admin(servers) as admin:
            await topic_with(admin, servers, "t", 5)
        consumer = reader(servers, "t", group_id="g", retry_backoff_ms=20, reconnect_backoff_max_ms=50)
        await consumer.start()
        assert values(await poll_until(consumer, at_least(5))) == [0, 1, 2, 3, 4]
    assert await consumer.poll(timeout_ms=200) == []
    async with Broker(port=port, data_dir=directory):
        await fill(servers, "t", 3, first=5)
        assert values(await poll_until(consumer, at_least(3))) == [5, 6, 7]
        await consumer.close()
