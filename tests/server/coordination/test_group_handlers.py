"""The group APIs over a socket: every version that is served, and what only the handlers decide."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.served_versions import versions_on

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.server.declaration import ListenerKind

SERVED = versions_on(ListenerKind.BROKER)

UNKNOWN_ID = b"\x07" * 16


def versions(api_key: ApiKey) -> range:
    low, high = SERVED[api_key]
    return range(low, high + 1)


async def create_topic(client: RawClient, name: str, partitions: int = 1) -> bytes:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    assert response.topics[0].error_code == 0
    topic_id: bytes = response.topics[0].topic_id
    return topic_id


async def find(client: RawClient, *groups: str) -> None:
    """What every client does first; it also brings the coordinator's topic into being."""
    async with asyncio.timeout(HANG_SECONDS):
        reply = await client.ask(FindCoordinatorRequest(coordinator_keys=groups), 6)
        assert all(coordinator.error_code == 0 for coordinator in reply.coordinators)
        while (await client.ask(ListGroupsRequest(), 5)).error_code:
            await asyncio.sleep(0.01)


def join(group: str, member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        member_id=member_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


def commit(group: str, offset: int, *, name: str = "", topic_id: bytes = bytes(16)) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="m")]
    topics = [OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=partitions)]
    return OffsetCommitRequest(group_id=group, topics=topics)


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
async def test_the_coordinator_is_found(broker: tidelog.Broker, client: RawClient, version: int) -> None:
    reply = await client.ask(FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"]), version)
    found = reply.coordinators if version >= 4 else [reply]
    assert len(found) == (2 if version >= 4 else 1)
    for coordinator in found:
        assert coordinator.error_code == 0
        assert f"{coordinator.host}:{coordinator.port}" == broker.bootstrap_servers


async def test_an_unknown_kind_of_key_has_no_coordinator(client: RawClient) -> None:
    reply = await client.ask(FindCoordinatorRequest(coordinator_keys=["a:b:0"], key_type=2), 6)
    assert reply.coordinators[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
async def test_a_group_lives_through_all_versions(client: RawClient, version: int) -> None:
    """Versions of the other APIs go along, up to their own limit."""

    def up_to(api_key: ApiKey) -> int:
        return min(version, SERVED[api_key][1])

    await find(client, "g")
    joined = await client.ask(join("g"), version)
    if version >= 4:
        assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
        joined = await client.ask(join("g", joined.member_id), version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.members[0].metadata == b"m"
    member_id = joined.member_id
    assignments = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"a")]
    syncing = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=member_id,
        # Version 5 and up has to say which protocol it means (KIP-559).
        protocol_type="consumer",
        protocol_name="range",
        assignments=assignments,
    )
    synced = await client.ask(syncing, up_to(ApiKey.SYNC_GROUP))
    assert (synced.error_code, synced.assignment) == (0, b"a")
    beating = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    assert (await client.ask(beating, up_to(ApiKey.HEARTBEAT))).error_code == 0
    described = await client.ask(DescribeGroupsRequest(groups=["g", "other"]), up_to(ApiKey.DESCRIBE_GROUPS))
    assert [group.group_state for group in described.groups] == ["Stable", "Dead"]
    assert described.groups[0].members[0].member_assignment == b"a"
    assert described.groups[0].members[0].client_host == "/127.0.0.1"
    listed = await client.ask(ListGroupsRequest(), up_to(ApiKey.LIST_GROUPS))
    assert [group.group_id for group in listed.groups] == ["g"]
    leaving = LeaveGroupRequest(group_id="g", member_id=member_id, members=[MemberIdentity(member_id=member_id)])
    left = await client.ask(leaving, up_to(ApiKey.LEAVE_GROUP))
    assert left.error_code == 0
    deleted = await client.ask(DeleteGroupsRequest(groups_names=["g", "other"]), up_to(ApiKey.DELETE_GROUPS))
    assert {result.group_id: result.error_code for result in deleted.results} == {
        "g": 0,
        "other": ErrorCode.GROUP_ID_NOT_FOUND,
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
async def test_offsets_are_committed(client: RawClient, version: int) -> None:
    topic_id = await create_topic(client, "t")
    await find(client, "g")
    known = commit("g", 5, name="t", topic_id=topic_id)
    partitions = known.topics[0].partitions
    unknown = OffsetCommitRequestTopic(name="unknown", topic_id=UNKNOWN_ID, partitions=partitions)
    reply = await client.ask(OffsetCommitRequest(group_id="g", topics=[unknown, known.topics[0]]), version)
    codes = [(topic.name, topic.topic_id, topic.partitions[0].error_code) for topic in reply.topics]
    if version < 10:
        assert codes == [("t", bytes(16), 0), ("unknown", bytes(16), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    else:
        assert codes == [("", topic_id, 0), ("", UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID)]
    only_unknown = await client.ask(OffsetCommitRequest(group_id="g", topics=[unknown]), version)
    assert only_unknown.topics[0].partitions[0].error_code != 0


def _fetch_request(version: int, group: str, topic_id: bytes, *, everything: bool = False) -> OffsetFetchRequest:
    if version < 8:
        wanted = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
        return OffsetFetchRequest(group_id=group, topics=None if everything else wanted)
    topics = [OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=[0, 1])]
    groups = [OffsetFetchRequestGroup(group_id=group, topics=None if everything else topics)]
    return OffsetFetchRequest(groups=groups)


def _fetched(version: int, reply: Any) -> dict[tuple[str, int], int]:
    """By name or id of the topic, and partition."""
    assert reply.error_code == 0
    topics = reply.topics
    if version >= 8:
        assert reply.groups[0].error_code == 0
        topics = reply.groups[0].topics
    return {
        (topic.topic_id.hex() if version >= 10 else topic.name, partition.partition_index): partition.committed_offset
        for topic in topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
async def test_offsets_are_fetched(client: RawClient, version: int) -> None:
    topic_id = await create_topic(client, "t")
    await find(client, "g")
    await client.ask(commit("g", 5, name="t"), 9)
    name = topic_id.hex() if version >= 10 else "t"
    reply = await client.ask(_fetch_request(version, "g", topic_id), version)
    assert _fetched(version, reply) == {(name, 0): 5, (name, 1): -1}
    reply = await client.ask(_fetch_request(version, "no-such-group", topic_id), version)
    assert _fetched(version, reply) == {(name, 0): -1, (name, 1): -1}
    if version >= 2:
        reply = await client.ask(_fetch_request(version, "g", topic_id, everything=True), version)
        assert _fetched(version, reply) == {(name, 0): 5}


async def test_several_groups_are_fetched_at_once(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    await find(client, "a", "b")
    for group, offset in (("a", 1), ("b", 2)):
        await client.ask(commit(group, offset, name="t"), 9)
    topics = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]),
        OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0]),
    ]
    groups = [OffsetFetchRequestGroup(group_id=group, topics=topics) for group in ("a", "b", "c")]
    reply = await client.ask(OffsetFetchRequest(groups=groups), 10)
    assert [group.topics[0].partitions[0].committed_offset for group in reply.groups] == [1, 2, -1]
    assert all(group.topics[1].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID for group in reply.groups)


async def test_errors_of_version_1_are_in_the_partitions(client: RawClient) -> None:
    # Nobody has asked for a coordinator yet, so there is none.
    request = _fetch_request(1, "g", bytes(16))
    reply = await client.ask(request, 1)
    codes = {partition.error_code for topic in reply.topics for partition in topic.partitions}
    assert codes == {ErrorCode.NOT_COORDINATOR}
    assert (await client.ask(request, 2)).error_code == ErrorCode.NOT_COORDINATOR


async def test_offsets_are_deleted(client: RawClient) -> None:
    await create_topic(client, "t")
    await find(client, "g")
    await client.ask(commit("g", 5, name="t"), 9)
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions) for name in ("t", "unknown")]
    reply = await client.ask(OffsetDeleteRequest(group_id="g", topics=topics), 0)
    assert {topic.name: topic.partitions[0].error_code for topic in reply.topics} == {
        "t": 0,
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert _fetched(9, await client.ask(_fetch_request(9, "g", bytes(16)), 9))[("t", 0)] == -1


async def test_a_topic_that_is_named_twice_is_answered_with_all_of_its_partitions(client: RawClient) -> None:
    await create_topic(client, "t", 2)
    await find(client, "g")
    await client.ask(commit("g", 5, name="t"), 9)
    topics = [
        OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=number)])
        for number in (0, 1, 9)
    ]
    reply = await client.ask(OffsetDeleteRequest(group_id="g", topics=topics), 0)
    codes = [(each.partition_index, each.error_code) for topic in reply.topics for each in topic.partitions]
    assert codes == [(0, 0), (1, 0), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


async def test_the_offsets_of_a_deleted_topic_go_with_it(client: RawClient) -> None:
    await create_topic(client, "t")
    await find(client, "g")
    await client.ask(commit("g", 5, name="t"), 9)
    await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5000), 6)
    await create_topic(client, "t")
    assert _fetched(9, await client.ask(_fetch_request(9, "g", bytes(16)), 9))[("t", 0)] == -1


async def test_offsets_and_groups_survive_a_restart(tmp_path: Any) -> None:
    async with (
        tidelog.Broker(data_dir=str(tmp_path)) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await create_topic(client, "t")
        await find(client, "g")
        await client.ask(commit("g", 5, name="t"), 9)
    async with (
        tidelog.Broker(data_dir=str(tmp_path)) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await find(client, "g")
        assert _fetched(9, await client.ask(_fetch_request(9, "g", bytes(16)), 9))[("t", 0)] == 5
        assert [group.group_id for group in (await client.ask(ListGroupsRequest(), 5)).groups] == ["g"]


async def test_a_broker_that_stops_does_not_wait_for_those_who_wait_to_join(tmp_path: Any) -> None:
    properties = {"group.initial.rebalance.delay.ms": "3600000"}
    broker = tidelog.Broker(data_dir=str(tmp_path), properties=properties)
    await broker.start()
    async with raw_client(broker.bootstrap_servers) as client:
        await find(client, "g")
        joining = asyncio.ensure_future(client.ask(join("g"), 3))
        await asyncio.sleep(0.1)
        assert not joining.done()
        async with asyncio.timeout(HANG_SECONDS):
            await broker.stop()
        assert (await joining).error_code == ErrorCode.NOT_COORDINATOR
