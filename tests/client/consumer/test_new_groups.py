"""Groups of the new protocol (KIP-848), where the broker divides the partitions."""

from __future__ import annotations

import pytest
from support.apache_kafka import ApacheKafka
from support.cutting_proxy import running_proxy
from support.processes import free_port
from support.reading import at_least, divided, fill, members, poll_all, poll_until, reader, topic_with, values

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.errors import CommitFailed
from tidelog.model.errors import ApiError, ErrorCode

NEW: dict[str, object] = {"group_protocol": "consumer"}
CONSUMER_GROUP_HEARTBEAT = 68


@pytest.mark.parametrize("assignor", [None, "range"])
async def test_members_divide_the_partitions_and_read_everything_once(
    admin: Admin, servers: str, unique: str, assignor: str | None
) -> None:
    await topic_with(admin, servers, unique, 60, partitions=6)
    options = {**NEW, "group_remote_assignor": assignor}
    async with members(servers, unique, unique, 2, **options) as consumers:
        records = await poll_all(consumers, divided(consumers, 6))
        assert sorted(len(consumer.assignment()) for consumer in consumers) == [3, 3]
        await fill(servers, unique, 12, partitions=6, first=60)
        records += await poll_all(consumers, lambda: False, enough=72 - len(records))
        metadata = consumers[0].group_metadata()
        assert (metadata.group_id, metadata.generation_id > 0, bool(metadata.member_id)) == (unique, True, True)
        if assignor == "range":
            numbers = [sorted(partition.partition for partition in consumer.assignment()) for consumer in consumers]
            assert sorted(numbers) == [[0, 1, 2], [3, 4, 5]]
    assert sorted(values(records)) == list(range(72))


async def test_only_what_moves_is_taken_away_and_offsets_go_along(admin: Admin, servers: str, unique: str) -> None:
    partitions = await topic_with(admin, servers, unique, 40, partitions=4)
    heard: list[tuple[str, int]] = []
    async with members(servers, unique, unique, 1, **NEW) as (staying,):
        staying.subscribe(
            [unique],
            on_partitions_assigned=lambda some: heard.append(("assigned", len(some))),
            on_partitions_revoked=lambda some: heard.append(("revoked", len(some))),
        )
        records = await poll_all([staying], divided([staying], 4))
        records += await poll_until(staying, at_least(40 - len(records)))
        async with members(servers, unique, unique, 1, **NEW) as (joining,):
            records += await poll_all([staying, joining], divided([staying, joining], 4))
        records += await poll_all([staying], divided([staying], 4))
        await fill(servers, unique, 4, partitions=4, first=40)
        records += await poll_until(staying, at_least(4))
    assert sorted(values(records)) == list(range(44)), "nothing is lost or read twice"
    assert heard == [("assigned", 4), ("revoked", 2), ("assigned", 2), ("revoked", 4)]
    committed = await admin.list_group_offsets(unique)
    assert {partition: committed[partition].offset for partition in partitions} == dict.fromkeys(partitions, 11)


async def test_the_broker_matches_a_pattern(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, f"{unique}-a", 2)
    await topic_with(admin, servers, f"{unique}-other", 1)
    async with reader(servers, group_id=unique, **NEW) as consumer:
        consumer.subscribe(pattern=f"{unique}-[ab]")
        assert {record.topic for record in await poll_until(consumer, at_least(2))} == {f"{unique}-a"}
        # From a pattern to a name, within the same membership.
        member_id = consumer.group_metadata().member_id
        consumer.subscribe([f"{unique}-other"])
        assert {record.topic for record in await poll_until(consumer, at_least(1))} == {f"{unique}-other"}
        assert consumer.group_metadata().member_id == member_id


async def test_what_the_broker_does_not_allow_is_told(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1)
    async with reader(servers, unique, group_id=unique, group_remote_assignor="fairest", **NEW) as consumer:
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                await poll_until(consumer, at_least(1))
            assert refused.value.code == ErrorCode.UNSUPPORTED_ASSIGNOR
    async with reader(servers, group_id=unique, **NEW) as consumer:
        consumer.subscribe(pattern="(")
        with pytest.raises(ApiError) as refused:
            await poll_until(consumer, at_least(1))
        assert refused.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_a_static_member_comes_back_to_what_it_had(admin: Admin, servers: str, unique: str) -> None:
    await topic_with(admin, servers, unique, 1, partitions=4)
    heard: list[int] = []
    async with members(servers, unique, unique, 1, **NEW) as (staying,):
        staying.subscribe([unique], on_partitions_revoked=lambda some: heard.append(len(some)))
        async with members(servers, unique, unique, 1, group_instance_id="i", **NEW) as (leaving,):
            await poll_all([staying, leaving], divided([staying, leaving], 4))
            had = leaving.assignment()
        taken_away = len(heard)
        async with members(servers, unique, unique, 1, group_instance_id="i", **NEW) as (back,):
            await poll_all([staying, back], divided([staying, back], 4))
            assert back.assignment() == had
            assert len(heard) == taken_away
            async with members(servers, unique, unique, 1, group_instance_id="i", **NEW) as (double,):
                with pytest.raises(ApiError) as refused:
                    await poll_until(double, at_least(1))
                assert refused.value.code == ErrorCode.UNRELEASED_INSTANCE_ID
            await back.close(leave_group=True)
        await poll_all([staying], divided([staying], 4))


async def test_a_member_that_does_not_poll_loses_its_partitions_and_comes_back(
    admin: Admin, servers: str, unique: str
) -> None:
    (partition,) = await topic_with(admin, servers, unique, 10)
    heard: list[str] = []
    async with members(servers, unique, unique, 1, max_poll_interval_ms=1500, enable_auto_commit=False, **NEW) as (
        slow,
    ):
        slow.subscribe(
            [unique],
            on_partitions_assigned=lambda _: heard.append("assigned"),
            on_partitions_lost=lambda _: heard.append("lost"),
        )
        await poll_until(slow, at_least(1))
        async with members(servers, unique, unique, 1, **NEW) as (eager,):
            await poll_all([eager], divided([eager], 1))
            assert heard == ["assigned"], "listeners are only called inside of the reader's calls"
            with pytest.raises(CommitFailed, match="has rebalanced"):
                await slow.commit({partition: 1})
        await poll_all([slow], lambda: heard.count("assigned") == 2)
    assert heard == ["assigned", "lost", "assigned"]


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
async def test_a_group_is_moved_to_the_new_protocol_one_member_after_the_other(
    apache_kafka: ApacheKafka, unique: str
) -> None:
    servers = apache_kafka.bootstrap_servers
    async with Admin(servers) as admin:
        await topic_with(admin, servers, unique, 4, partitions=4)
    async with members(servers, unique, unique, 1) as (classic,):
        records = await poll_all([classic], divided([classic], 4))
        async with members(servers, unique, unique, 1, **NEW) as (new,):
            records += await poll_all([classic, new], divided([classic, new], 4))
            await classic.close()
            records += await poll_all([new], divided([new], 4))
            records += await poll_until(new, at_least(4 - len(records)))
    assert sorted(values(records)) == [0, 1, 2, 3]


async def test_heartbeats_get_over_lost_connections() -> None:
    async with running_proxy() as (proxy, port):
        advertised = {
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "group.consumer.heartbeat.interval.ms": "100",
            "group.consumer.min.heartbeat.interval.ms": "100",
        }
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=advertised):
            servers = f"127.0.0.1:{port}"
            async with Admin(servers) as admin:
                await topic_with(admin, servers, "t", 100, partitions=2)
            async with members(servers, "t", "g", 1, retry_backoff_ms=10, reconnect_backoff_max_ms=50, **NEW) as (one,):
                records = await poll_until(one, at_least(100))
                proxy.cut_replies[CONSUMER_GROUP_HEARTBEAT] += 2
                proxy.cut_requests[CONSUMER_GROUP_HEARTBEAT] += 1
                async with members(servers, "t", "g", 1, **NEW) as (two,):
                    records += await poll_all([one, two], divided([one, two], 2))
                assert proxy.cuts == 3
    assert sorted(values(records)) == list(range(100))


async def test_a_member_that_the_broker_has_forgotten_joins_again() -> None:
    """Its heartbeats do not come through for longer than the session lasts."""
    heard: list[str] = []
    async with running_proxy() as (proxy, port):
        quick = {
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "group.consumer.session.timeout.ms": "1000",
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.heartbeat.interval.ms": "100",
            "group.consumer.min.heartbeat.interval.ms": "100",
        }
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=quick):
            servers = f"127.0.0.1:{port}"
            async with Admin(servers) as admin:
                await topic_with(admin, servers, "t", 5)
                async with reader(servers, group_id="g", retry_backoff_ms=10, **NEW) as consumer:
                    consumer.subscribe(
                        ["t"],
                        on_partitions_assigned=lambda _: heard.append("assigned"),
                        on_partitions_lost=lambda _: heard.append("lost"),
                    )
                    await poll_until(consumer, at_least(5))
                    before = consumer.group_metadata()
                    proxy.cut_requests[CONSUMER_GROUP_HEARTBEAT] += 1_000_000
                    while Admin.raise_any(await admin.describe_groups(["g"]))["g"].members:
                        await consumer.poll(timeout_ms=20)
                    proxy.cut_requests.clear()
                    await poll_until(consumer, lambda _: heard == ["assigned", "lost", "assigned"])
                    after = consumer.group_metadata()
                    assert (after.member_id, after.generation_id > before.generation_id) == (before.member_id, True)
