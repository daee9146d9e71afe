"""What `Admin` tells about many groups at once."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin
from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.consumer.group_protocol import MemberSubscription, encode_subscription
from tidelog.client.offsets import committed
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse

# More than one request takes.
_MANY = 120


def places(topic: str, number: int) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(topic, 0): OffsetAndMetadata(offset=number),
        TopicPartition(topic, 1): OffsetAndMetadata(offset=number + 1, metadata=f"note {number}"),
    }


async def test_offsets_of_many_groups_are_read_together(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    groups = [f"{unique}-{number}" for number in range(_MANY)]
    for number, group in enumerate(groups):
        await admin.alter_group_offsets(group, places(unique, number))
    found = Admin.raise_any(await admin.list_offsets_of_groups([*groups, f"{unique}-nobody"]))
    assert found.pop(f"{unique}-nobody") == {}
    assert {group: {part: (at.offset, at.metadata) for part, at in found[group].items()} for group in groups} == {
        group: {part: (at.offset, at.metadata) for part, at in places(unique, number).items()}
        for number, group in enumerate(groups)
    }
    assert found == {group: await admin.list_group_offsets(group) for group in groups}


async def test_older_brokers_are_asked_for_one_group_after_the_other(
    admin: Admin, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await admin.create_topic(unique, partitions=2)
    groups = [f"{unique}-{number}" for number in range(3)]
    for number, group in enumerate(groups):
        await admin.alter_group_offsets(group, places(unique, number))
    together = await admin.list_offsets_of_groups([*groups, f"{unique}-nobody"])
    monkeypatch.setattr(committed, "_NAMED_TOPICS", 7)
    assert await admin.list_offsets_of_groups([*groups, f"{unique}-nobody"]) == together


async def test_no_groups_are_no_requests(admin: Admin) -> None:
    assert await admin.list_offsets_of_groups([]) == {}
    assert await admin.describe_groups([]) == {}


async def test_groups_of_both_kinds_are_described_together(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    classic, new, empty, missing = (f"{unique}-{name}" for name in ("classic", "new", "empty", "missing"))
    await admin.alter_group_offsets(empty, places(unique, 0))
    async with AsyncExitStack() as stack:
        for group, protocol in ((classic, "classic"), (new, "consumer")):
            consumer = await stack.enter_async_context(
                tidelog.Consumer(bootstrap_servers=servers, group_id=group, group_protocol=protocol, client_id=group)
            )
            consumer.subscribe([unique])
            while len(consumer.assignment()) < 2:
                await consumer.poll(timeout_ms=50)

        async def check() -> None:
            described = await admin.describe_groups([classic, new, empty, missing])
            gone = described.pop(missing)
            assert isinstance(gone, ApiError)
            assert gone.code == ErrorCode.GROUP_ID_NOT_FOUND
            known = Admin.raise_any(described)
            assert {group: (one.kind, one.state) for group, one in known.items()} == {
                classic: ("classic", "Stable"),
                new: ("consumer", "Stable"),
                empty: ("classic", "Empty"),
            }
            partitions = {TopicPartition(unique, 0), TopicPartition(unique, 1)}
            for group in (classic, new):
                (member,) = known[group].members
                assert member.client_id == group
                assert set(member.assignment) == partitions
            (member,) = known[new].members
            assert set(member.target) == partitions
            assert member.epoch == known[new].epoch == known[new].target_epoch
            assert known[empty].members == ()

        await eventually(check)


async def test_a_listing_names_the_coordinator(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    groups = [f"{unique}-{number}" for number in range(5)]
    for group in groups:
        await admin.alter_group_offsets(group, places(unique, 1))
    listed = {each.group_id: each.coordinator for each in await admin.list_groups() if each.group_id in groups}
    described = Admin.raise_any(await admin.describe_groups(groups))
    assert listed == {group: one.coordinator for group, one in described.items()}
    assert listed == await admin.cluster.coordinators(CoordinatorKind.GROUP, groups)


async def test_coordinators_are_asked_for_once(admin: Admin, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await admin.create_topic(unique, partitions=2)
    groups = [f"{unique}-{number}" for number in range(5)]
    for group in groups:
        await admin.alter_group_offsets(group, places(unique, 1))
    found = await admin.cluster.coordinators(CoordinatorKind.GROUP, groups)
    monkeypatch.setattr(Cluster, "_any_connection", None)
    assert await admin.cluster.coordinators(CoordinatorKind.GROUP, groups) == found
    assert await admin.cluster.coordinator(CoordinatorKind.GROUP, groups[0]) == found[groups[0]]


async def test_a_group_whose_leader_assigns_something_else_is_described(
    admin: Admin, servers: str, unique: str
) -> None:
    """Whoever may join a group may send any bytes as an assignment. That must not hide other groups."""
    await admin.create_topic(unique, partitions=2)
    await admin.alter_group_offsets(f"{unique}-other", places(unique, 0))
    node = await admin.cluster.coordinator(CoordinatorKind.GROUP, unique)
    subscription = encode_subscription(MemberSubscription(topics=(unique,)))
    joined = JoinGroupResponse()
    while not joined.protocol_name:
        # The first time, the coordinator gives a member id.
        join = JoinGroupRequest(
            group_id=unique,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
        )
        joined = await admin.cluster.ask_node(node, join, JoinGroupResponse)
        assert joined.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
    sync = SyncGroupRequest(
        group_id=unique,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"hello world")],
    )
    synced = await admin.cluster.ask_node(node, sync, SyncGroupResponse)
    assert synced.error_code == ErrorCode.NONE
    found = Admin.raise_any(await admin.describe_groups([unique, f"{unique}-other"]))
    (member,) = found[unique].members
    assert member.assignment == ()
    assert member.assignment_problem is not None
    assert member.assignment_problem.startswith("11 bytes that are no assignment of a consumer: ")
    assert found[f"{unique}-other"].members == ()
