"""In whose name something is done: through other nodes, in the background, and before a node knows the ACLs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.access_cases import ADMINISTRATOR, PRINCIPAL, envelope
from support.access_verdicts import ACL_PROPERTIES, authenticated, plain_listeners
from support.nodes_in_process import Nodes
from support.processes import free_port
from support.raw_client import RawClient, raw_client
from twin.asking import build
from twin.cases.security import creation

from tidelog.model.errors import ErrorCode
from tidelog.model.principal import Principal
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.vote_request import VoteRequest
from tidelog.security.acls import AclResourceType, Operation

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
CODE = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class Cluster:
    """Anybody may connect to `client(number)`, and is ANONYMOUS then."""

    def __init__(self, nodes: Nodes, administrator: RawClient) -> None:
        self.nodes = nodes
        self.administrator = administrator
        self._allowed = 0

    def client(self, number: int = 1) -> Any:
        return raw_client(self.nodes.address(number))

    async def allow(self, kind: AclResourceType, name: str, operation: Operation, **fields: Any) -> None:
        acl = creation(resource_type=kind, resource_name=name, operation=operation, principal=str(PRINCIPAL), **fields)
        reply = await self.administrator.ask(CreateAclsRequest(creations=[AclCreation(**acl)]))
        assert not reply.results[0].error_code, reply
        image = self.nodes.running[1].node.control.metadata
        self._allowed += 1
        await self.nodes.until(lambda: len(image.latest.acls) == self._allowed, "the node knows the ACL")


@asynccontextmanager
async def running(directory: Path, roles: dict[int, str], **properties: str) -> AsyncIterator[Cluster]:
    settings = ACL_PROPERTIES | {name.replace("_", "."): value for name, value in properties.items()}
    nodes = Nodes(directory, roles, settings)
    administrators = f"127.0.0.1:{free_port()}"
    nodes.own_properties[1] = plain_listeners(nodes, 1, administrators)
    try:
        await nodes.start()
        async with authenticated(administrators) as administrator:
            yield Cluster(nodes, administrator)
    finally:
        await nodes.close()


ALONE = {1: "broker,controller"}


async def test_a_missing_topic_is_created_only_for_those_who_may(tmp_path: Path) -> None:
    async with running(tmp_path, ALONE) as cluster, cluster.client() as client:
        await cluster.allow(TOPIC, "orders", Operation.DESCRIBE)
        question = MetadataRequest(topics=[MetadataRequestTopic(name="orders")], allow_auto_topic_creation=True)
        assert (await client.ask(question, 9)).topics[0].error_code == CODE
        await cluster.allow(TOPIC, "orders", Operation.CREATE)
        first = (await client.ask(question, 9)).topics[0]
        assert first.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        image = cluster.nodes.running[1].node.control.metadata
        await cluster.nodes.until(lambda: "orders" in image.latest.topics, "the topic is created")


async def test_a_client_needs_no_permission_for_the_topics_of_coordinators(tmp_path: Path) -> None:
    async with running(tmp_path, ALONE) as cluster, cluster.client() as client:
        await cluster.allow(AclResourceType.TRANSACTIONAL_ID, "t", Operation.WRITE)
        key = build(ApiKey.FIND_COORDINATOR, {"key_type": 1, "coordinator_keys": ["t"]}, 4, "", {})
        assert (await client.ask(key, 4)).coordinators[0].error_code == ErrorCode.NONE


async def test_two_phase_commit_needs_a_permission_of_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, ALONE, transaction_two_phase_commit_enable="true") as cluster:
        await cluster.allow(AclResourceType.TRANSACTIONAL_ID, "t", Operation.WRITE)
        asked = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000, enable2_pc=True)
        async with cluster.client() as client:
            refused = await client.ask(asked, 6)
            assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            await cluster.allow(AclResourceType.TRANSACTIONAL_ID, "t", Operation.TWO_PHASE_COMMIT)
            assert (await client.ask(asked, 6)).error_code != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_an_expression_finds_the_topics_that_its_member_may_describe(tmp_path: Path) -> None:
    async with running(tmp_path, ALONE) as cluster, cluster.client() as client:
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("open", "secret")]
        created = await cluster.administrator.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        await cluster.allow(GROUP, "g", Operation.READ)
        await cluster.allow(TOPIC, "open", Operation.READ)
        key = build(ApiKey.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": ["g"]}, 4, "", {})
        await client.ask(key, 4)
        beat = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            rebalance_timeout_ms=10_000,
            subscribed_topic_regex=".*",
            topic_partitions=[],
        )
        reply = await client.ask(beat, 1)
        assert not reply.error_code, reply
        ids = {topic.topic_id for topic in reply.assignment.topic_partitions}
        assert ids == {each.topic_id for each in created.topics if each.name == "open"}


async def test_a_controller_decides_for_the_client_and_not_for_the_broker_that_asks(tmp_path: Path) -> None:
    """The brokers are allowed everything that nodes ask each other, and to create topics, the client is not."""
    roles = {1: "broker", 2: "controller"}
    async with running(tmp_path, roles, super_users=f"{ADMINISTRATOR};{PRINCIPAL}") as cluster:
        secret = [CreatableTopic(name="secret", num_partitions=1, replication_factor=1)]
        request = CreateTopicsRequest(topics=secret, timeout_ms=10_000, validate_only=True)
        seen = await cluster.administrator.ask(request)
        assert seen.topics[0].error_code == ErrorCode.NONE
        voter = cluster.nodes.config(2).controller_quorum_voters[0]
        async with raw_client(f"{voter.host}:{voter.port}") as broker:
            somebody = Principal(type="User", name="somebody")
            sealed = build(ApiKey.ENVELOPE, envelope(somebody), 0, "", {})
            reply = await broker.ask(sealed, 0)
            assert not reply.error_code
            assert int(CODE).to_bytes(2, "big") in reply.response_data


@pytest.mark.parametrize("everyone", ["false", "true"])
async def test_a_controller_that_knows_no_acls_yet_decides_for_super_users_only(tmp_path: Path, everyone: str) -> None:
    """Its voters are never there, so there is never a log to know them from."""
    nodes = Nodes(
        tmp_path,
        dict.fromkeys((1, 2, 3), "controller"),
        ACL_PROPERTIES | {"allow.everyone.if.no.acl.found": everyone, "super.users": str(ADMINISTRATOR)},
    )
    try:
        await nodes.start(1)
        voter = nodes.config(1).controller_quorum_voters[0]
        async with raw_client(f"{voter.host}:{voter.port}") as client:
            for request, version in ((VoteRequest(), 1), (DescribeClusterRequest(endpoint_type=2), 1)):
                assert (await client.ask(request, version)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    finally:
        await nodes.close()
