"""The APIs of consumer groups (KIP-848) over a socket, restarts of the broker included."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

PROPERTIES = {"offsets.topic.num.partitions": "3", "group.consumer.assignment.interval.ms": "0"}


@pytest.fixture
def properties() -> dict[str, str]:
    return dict(PROPERTIES)


async def prepare(client: RawClient) -> bytes:
    """Make the topic and the coordinator's topic; the id of the first."""
    topic = CreatableTopic(name="orders", num_partitions=2, replication_factor=1)
    response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    await find(client)
    return bytes(response.topics[0].topic_id)


async def find(client: RawClient) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        reply = await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
        assert reply.coordinators[0].error_code == 0
        while (await client.ask(ListGroupsRequest(), 5)).error_code:
            await asyncio.sleep(0.01)


def beat(member_id: str, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    if epoch == 0:
        fields = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["orders"],
            "topic_partitions": [],
            **fields,
        }
    return ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **fields)


def assigned(reply: Any) -> dict[bytes, list[int]]:
    return {bytes(topic.topic_id): list(topic.partitions) for topic in reply.assignment.topic_partitions}


@pytest.mark.parametrize("version", [0, 1])
async def test_members_join_are_described_and_leave(properties: dict[str, str], version: int) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await prepare(client)
        joined = await client.ask(beat("m" if version else "", 0), version)
        assert (joined.error_code, joined.member_epoch, assigned(joined)) == (0, 2, {topic_id: [0, 1]})
        described = (await client.ask(ConsumerGroupDescribeRequest(group_ids=["g", "x", ""]), version)).groups
        codes = [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]
        assert [group.error_code for group in described] == codes
        assert (described[0].group_state, described[0].members[0].member_id) == ("Stable", joined.member_id)
        assert described[0].members[0].client_host == "/127.0.0.1"
        left = await client.ask(beat(joined.member_id, -1), version)
        assert (left.error_code, left.member_epoch) == (0, -1)
        (listed,) = (await client.ask(ListGroupsRequest(types_filter=["consumer"]), 5)).groups
        assert (listed.group_id, listed.group_state, listed.group_type) == ("g", "Empty", "consumer")


async def test_new_partitions_are_assigned_with_the_next_heartbeat(properties: dict[str, str]) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await prepare(client)
        await client.ask(beat("m", 0), 1)
        more = CreatePartitionsTopic(name="orders", count=5, assignments=None)
        assert (await client.ask(CreatePartitionsRequest(topics=[more], timeout_ms=5000))).results[0].error_code == 0
        reply = await client.ask(beat("m", 2), 1)
        assert (reply.member_epoch, assigned(reply)) == (3, {topic_id: [0, 1, 2, 3, 4]})


async def test_topics_that_come_later_match_expressions(properties: dict[str, str]) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await prepare(client)
        subscription = {"subscribed_topic_names": None, "subscribed_topic_regex": "orders.*"}
        assert assigned(await client.ask(beat("m", 0, **subscription), 1)) == {topic_id: [0, 1]}
        topic = CreatableTopic(name="orders-too", num_partitions=1, replication_factor=1)
        created = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
        reply = await client.ask(beat("m", 2), 1)
        assert assigned(reply) == {topic_id: [0, 1], bytes(created.topics[0].topic_id): [0]}


async def test_the_time_between_assignments_can_be_changed(properties: dict[str, str]) -> None:
    properties["group.consumer.assignment.interval.ms"] = "100000"
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        await prepare(client)
        await client.ask(beat("m", 0), 1)
        assert (await client.ask(beat("n", 0), 1)).member_epoch == 2, "not assigned anything yet"
        entry = AlterableConfig(name="group.consumer.assignment.interval.ms", value="0", config_operation=0)
        resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[entry])
        changed = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert changed.responses[0].error_code == 0
        assert (await client.ask(beat("n", 2), 1)).member_epoch == 3


async def test_offsets_are_fenced_by_epoch(properties: dict[str, str]) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await prepare(client)
        await client.ask(beat("m", 0), 1)

        async def commit(epoch: int) -> int:
            partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
            topics = [OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions)]
            request = OffsetCommitRequest(
                group_id="g", member_id="m", generation_id_or_member_epoch=epoch, topics=topics
            )
            return int((await client.ask(request, 10)).topics[0].partitions[0].error_code)

        async def fetch(epoch: int) -> tuple[int, list[int]]:
            topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])]
            group = OffsetFetchRequestGroup(group_id="g", member_id="m", member_epoch=epoch, topics=topics)
            (reply,) = (await client.ask(OffsetFetchRequest(groups=[group]), 10)).groups
            return reply.error_code, [each.committed_offset for topic in reply.topics for each in topic.partitions]

        assert await commit(3) == ErrorCode.STALE_MEMBER_EPOCH
        assert await commit(2) == 0
        assert await fetch(2) == (0, [7])
        assert await fetch(3) == (ErrorCode.STALE_MEMBER_EPOCH, [])


async def test_a_commit_is_answered_with_one_entry_per_topic(properties: dict[str, str]) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await prepare(client)

        def topic(*numbers: int, **named: Any) -> OffsetCommitRequestTopic:
            partitions = [OffsetCommitRequestPartition(partition_index=each, committed_offset=7) for each in numbers]
            return OffsetCommitRequestTopic(partitions=partitions, **named)

        async def commit(version: int, *topics: OffsetCommitRequestTopic) -> list[dict[int, int]]:
            request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=list(topics))
            reply = await client.ask(request, version)
            return [{each.partition_index: each.error_code for each in topic.partitions} for topic in reply.topics]

        expected = {0: 0, 1: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert await commit(10, topic(0, 9, 1, topic_id=topic_id)) == [expected]
        assert await commit(9, topic(0, 9, 1, name="orders")) == [expected]
        # The same topic twice: none of its partitions is left out.
        assert await commit(9, topic(0, name="orders"), topic(1, 9, name="orders")) == [expected]


async def test_a_restarted_broker_knows_its_members(properties: dict[str, str], tmp_path: Path) -> None:
    async with (
        tidelog.Broker(properties=properties, data_dir=str(tmp_path)) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        topic_id = await prepare(client)
        await client.ask(beat("m", 0), 1)
    async with (
        tidelog.Broker(properties=properties, data_dir=str(tmp_path)) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await find(client)
        reply = await client.ask(beat("m", 2), 1)
        assert (reply.error_code, reply.member_epoch) == (0, 2)
        (group,) = (await client.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1)).groups
        (topic,) = group.members[0].assignment.topic_partitions
        assert (topic.topic_name, bytes(topic.topic_id), list(topic.partitions)) == ("orders", topic_id, [0, 1])


async def test_the_protocol_can_be_turned_off(properties: dict[str, str]) -> None:
    properties["group.coordinator.rebalance.protocols"] = "classic"
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        await prepare(client)
        assert (await client.ask(beat("m", 0), 1)).error_code == ErrorCode.UNSUPPORTED_VERSION
        (group,) = (await client.ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 1)).groups
        assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_the_feature_is_on_in_new_clusters(properties: dict[str, str]) -> None:
    async with tidelog.Broker(properties=properties) as broker, raw_client(broker.bootstrap_servers) as client:
        reply = await client.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
        supported = {feature.name: (feature.min_version, feature.max_version) for feature in reply.supported_features}
        finalized = {feature.name: feature.max_version_level for feature in reply.finalized_features}
        assert (supported["group.version"], finalized["group.version"]) == ((0, 1), 1)
