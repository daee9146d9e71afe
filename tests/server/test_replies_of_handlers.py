"""Replies as Apache Kafka gives them, where clients were seen to depend on it. The twin compares all others."""

from __future__ import annotations

import logging
from random import Random

import pytest
from server.conftest import create_topic
from support.message_samples import sample
from support.raw_client import RawClient
from support.served_versions import versions_on

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import request_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.server.declaration import ListenerKind
from tidelog.server.observability.metrics import error_codes

SERVED = versions_on(ListenerKind.BROKER)

UNKNOWN_ID = bytes(15) + b"\7"


@pytest.mark.parametrize("replica_id", [-1, 0, 1, 7])
async def test_offsets_are_told_whatever_replica_id_a_client_sends(client: RawClient, replica_id: int) -> None:
    await create_topic(client, "t")
    await client.produce("t", b"a", b"b")
    wanted = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    reply = await client.ask(ListOffsetsRequest(replica_id=replica_id, topics=[wanted]), 7)
    partition = reply.topics[0].partitions[0]
    assert (partition.error_code, partition.offset) == (0, 2)


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_found_coordinator_has_the_message_none(client: RawClient, version: int) -> None:
    reply = await client.ask(FindCoordinatorRequest(key="g"), version)
    assert (reply.error_code, reply.error_message) == (0, "NONE")


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_requests_for_access_control_lists_are_answered_that_there_are_none(
    client: RawClient, version: int
) -> None:
    requests = [
        DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1),
        CreateAclsRequest(creations=[AclCreation(resource_name="t")] * 2),
        DeleteAclsRequest(filters=[DeleteAclsFilter()] * 2),
    ]
    codes = [list(error_codes(await client.ask(request, version))) for request in requests]
    assert codes == [[ErrorCode.SECURITY_DISABLED] * count for count in (1, 2, 2)]


@pytest.mark.parametrize("version", [10, 11])
async def test_metadata_by_id_is_refused_where_a_topic_needs_a_name(client: RawClient, version: int) -> None:
    wanted = MetadataRequestTopic(name=None, topic_id=UNKNOWN_ID)
    reply = await client.ask(MetadataRequest(topics=[wanted]), version)
    assert [(topic.error_code, topic.name) for topic in reply.topics] == [(ErrorCode.INVALID_REQUEST, "")]


async def test_offsets_of_partitions_that_are_not_there_are_not_committed(client: RawClient) -> None:
    await create_topic(client, "t")
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    partitions = [OffsetCommitRequestPartition(partition_index=number, committed_offset=1) for number in (0, 9)]
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)])
    (topic,) = (await client.ask(request, 8)).topics
    assert {each.partition_index: each.error_code for each in topic.partitions} == {
        0: 0,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


# Of what is random, these would end or hold up the test: a reply that waits, and a broker that goes.
_NOT_RANDOM = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.UNREGISTER_BROKER}


@pytest.mark.parametrize("key", [key for key in SERVED if key not in _NOT_RANDOM], ids=lambda key: key.name)
async def test_no_reply_fails_to_be_encoded(
    broker: tidelog.Broker, client: RawClient, key: ApiKey, caplog: pytest.LogCaptureFixture
) -> None:
    """Random requests with nulls wherever a version allows them: each gets a reply that its version can carry."""
    random = Random(key.name)
    low, high = SERVED[key]
    with caplog.at_level(logging.ERROR):
        for version in range(low, high + 1):
            for _ in range(20):
                await client.ask(sample(request_class(key), version, random), version)
    assert [record.getMessage() for record in caplog.records] == []
