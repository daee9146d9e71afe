"""What nodes ask each other an ordinary client cannot ask: it cannot vote, be a broker, or end a transaction.

The requests here would do harm if they were carried out, and a super user can carry out each of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.access_cases import ADMINISTRATOR, envelope
from support.nodes_in_process import CLUSTER_ID, Nodes, nodes
from support.raw_client import RawClient, raw_client
from twin.asking import build

from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.server.api.catalogue import APIS
from tidelog.server.declaration import CLUSTER_ACTION, ListenerKind
from tidelog.server.observability.metrics import error_codes

TOPIC = "orders"
METADATA = "__cluster_metadata"
Given = Mapping[str, Any]


def _vote(image: ClusterImage, epoch: int) -> Given:
    ballot = {"partition_index": 0, "replica_epoch": epoch + 1, "replica_id": 2, "last_offset_epoch": epoch + 1}
    topics = [{"topic_name": METADATA, "partitions": [{**ballot, "last_offset": 1 << 40}]}]
    return {"cluster_id": CLUSTER_ID, "topics": topics}


def _leading(image: ClusterImage, epoch: int) -> Given:
    led = {"partition_index": 0, "leader_id": 2, "leader_epoch": epoch + 1}
    return {"cluster_id": CLUSTER_ID, "topics": [{"topic_name": METADATA, "partitions": [led]}]}


def _read_metadata(image: ClusterImage, epoch: int) -> Given:
    partition = {"partition": 0, "current_leader_epoch": epoch, "fetch_offset": 0, "last_fetched_epoch": 0}
    topics = [{"topic": METADATA, "partitions": [{**partition, "partition_max_bytes": 1 << 20}]}]
    return {"cluster_id": CLUSTER_ID, "replica_id": 2, "max_wait_ms": 0, "max_bytes": 1 << 20, "topics": topics}


def _read_snapshot(image: ClusterImage, epoch: int) -> Given:
    part = {"partition": 0, "current_leader_epoch": epoch, "snapshot_id": {"end_offset": 1, "epoch": 1}, "position": 0}
    return {"cluster_id": CLUSTER_ID, "replica_id": 2, "topics": [{"name": METADATA, "partitions": [part]}]}


def _broker(image: ClusterImage) -> dict[str, Any]:
    return {"broker_id": 1, "broker_epoch": image.brokers[1].epoch}


def _register(image: ClusterImage, epoch: int) -> Given:
    listener = {"name": "PLAINTEXT", "host": "127.0.0.1", "port": 1, "security_protocol": 0}
    identity = {"broker_id": 2, "cluster_id": CLUSTER_ID, "incarnation_id": b"i" * 16, "log_dirs": [b"d" * 16]}
    features = [{"name": name, "min_supported_version": 0, "max_supported_version": 30} for name in image.features]
    return {**identity, "listeners": [listener], "features": features}


def _heartbeat(image: ClusterImage, epoch: int) -> Given:
    return {**_broker(image), "want_fence": True, "current_metadata_offset": image.offset}


def _alter_partition(image: ClusterImage, epoch: int) -> Given:
    partition = image.topics[TOPIC].partitions[0]
    change = {
        "partition_index": 0,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
    }
    topics = [{"topic_id": image.topics[TOPIC].id, "partitions": [{**change, "new_isr": [1]}]}]
    return {**_broker(image), "topics": topics}


def _assign(image: ClusterImage, epoch: int) -> Given:
    topics = [{"topic_id": image.topics[TOPIC].id, "partitions": [{"partition_index": 0}]}]
    return {**_broker(image), "directories": [{"id": b"e" * 16, "topics": topics}]}


def _allocate(image: ClusterImage, epoch: int) -> Given:
    return _broker(image)


def _envelope(image: ClusterImage, epoch: int) -> Given:
    return envelope(ADMINISTRATOR)


def _log_levels(image: ClusterImage, epoch: int) -> Given:
    level = [{"name": "tidelog", "value": "TRACE", "config_operation": 0}]
    resource = {"resource_type": 8, "resource_name": "1", "configs": level}
    return {"resources": [resource], "validate_only": True}


def _follow(image: ClusterImage, epoch: int) -> Given:
    partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": 0}
    topics = [{"topic": TOPIC, "partitions": [{**partition, "partition_max_bytes": 1000}]}]
    return {"replica_id": 1, "max_wait_ms": 0, "topics": topics}


def _ends_of_epochs(image: ClusterImage, epoch: int) -> Given:
    partition = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}
    return {"replica_id": 1, "topics": [{"topic": TOPIC, "partitions": [partition]}]}


def _markers(image: ClusterImage, epoch: int) -> Given:
    topics = [{"name": TOPIC, "partition_indexes": [0]}]
    marker = {"producer_id": 7, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
    return {"markers": [{**marker, "topics": topics}]}


def _add_partitions(image: ClusterImage, epoch: int) -> Given:
    topics = [{"name": TOPIC, "partitions": [0]}]
    one = {"transactional_id": "t", "producer_id": 7, "producer_epoch": 0, "verify_only": False}
    return {"transactions": [{**one, "topics": topics}]}


BROKER, CONTROLLER = ListenerKind.BROKER, ListenerKind.CONTROLLER
REQUESTS: dict[tuple[ApiKey, ListenerKind], tuple[int, Callable[[ClusterImage, int], Given]]] = {
    (ApiKey.VOTE, CONTROLLER): (0, _vote),
    (ApiKey.BEGIN_QUORUM_EPOCH, CONTROLLER): (0, _leading),
    (ApiKey.END_QUORUM_EPOCH, CONTROLLER): (0, _leading),
    (ApiKey.FETCH, CONTROLLER): (12, _read_metadata),
    (ApiKey.FETCH_SNAPSHOT, CONTROLLER): (0, _read_snapshot),
    (ApiKey.BROKER_REGISTRATION, CONTROLLER): (3, _register),
    (ApiKey.BROKER_HEARTBEAT, CONTROLLER): (1, _heartbeat),
    (ApiKey.ALTER_PARTITION, CONTROLLER): (2, _alter_partition),
    (ApiKey.ASSIGN_REPLICAS_TO_DIRS, CONTROLLER): (0, _assign),
    (ApiKey.ALLOCATE_PRODUCER_IDS, CONTROLLER): (0, _allocate),
    (ApiKey.ENVELOPE, CONTROLLER): (0, _envelope),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, CONTROLLER): (1, _log_levels),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, BROKER): (1, _log_levels),
    (ApiKey.FETCH, BROKER): (11, _follow),
    (ApiKey.FETCH_SNAPSHOT, BROKER): (0, _read_snapshot),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, BROKER): (4, _ends_of_epochs),
    (ApiKey.WRITE_TXN_MARKERS, BROKER): (1, _markers),
    (ApiKey.ADD_PARTITIONS_TO_TXN, BROKER): (4, _add_partitions),
}


def test_all_apis_of_nodes_are_tried_on_all_their_listeners() -> None:
    declared = {(api.key, kind) for api in APIS if CLUSTER_ACTION in api.permissions for kind in api.listeners}
    assert set(REQUESTS) == declared


class Tried:
    def __init__(self, cluster: Nodes, clients: Mapping[ListenerKind, RawClient]) -> None:
        self._cluster = cluster
        self._clients = clients

    @property
    def _control(self) -> Any:
        return self._cluster.running[1].node.control

    def state(self) -> Any:
        """What none of the requests may change for those who may not."""
        node = self._cluster.running[1].node
        replica = node.replicas.get(TOPIC, 0)
        assert replica is not None
        return (
            self._control.metadata.latest.offset,
            self._control.quorum.replica.epoch,
            self._control.quorum.replica.leader_id,
            replica.log.log_end_offset,
        )

    async def ask(self, key: ApiKey, kind: ListenerKind) -> set[int]:
        version, given = REQUESTS[key, kind]
        request = build(key, given(self._control.metadata.latest, self._control.quorum.replica.epoch), version, "", {})
        reply = await self._clients[kind].ask(request, version)
        return {int(code) for code in error_codes(reply)}


@asynccontextmanager
async def running(directory: Path, **properties: str) -> AsyncIterator[Tried]:
    """A node with a topic, which its super user has created."""
    properties |= {"authorizer_class_name": STANDARD_AUTHORIZER}
    async with nodes(directory, {1: "broker,controller"}, **properties) as cluster:
        voter = cluster.config(1).controller_quorum_voters[0]
        node = cluster.running[1].node
        await node.topics_on_demand.create_missing([TOPIC])
        await cluster.until(lambda: node.replicas.get(TOPIC, 0) is not None, "the topic is there")
        async with raw_client(cluster.address(1)) as broker, raw_client(f"{voter.host}:{voter.port}") as controller:
            yield Tried(cluster, {BROKER: broker, CONTROLLER: controller})


REFUSALS = {int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}


async def test_an_ordinary_client_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, super_users="User:admin") as tried:
        before = tried.state()
        for key, kind in REQUESTS:
            codes = await tried.ask(key, kind)
            assert len(codes) == 1, (key, kind)
            assert codes <= REFUSALS, (key, kind)
        assert tried.state() == before


@pytest.mark.parametrize(("key", "kind"), REQUESTS, ids=lambda each: each.name)
async def test_a_node_is_heard(key: ApiKey, kind: ListenerKind, tmp_path: Path) -> None:
    async with running(tmp_path, super_users="User:ANONYMOUS") as tried:
        assert not await tried.ask(key, kind) & REFUSALS


@pytest.mark.parametrize("version", [12, 17])
@pytest.mark.parametrize("super_user", ["User:admin", "User:ANONYMOUS"])
async def test_only_nodes_read_the_metadata_log_from_brokers(version: int, super_user: str, tmp_path: Path) -> None:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    topic = {"topic": METADATA, "topic_id": bytes(15) + b"\1", "partitions": [partition]}
    given = {"max_wait_ms": 0, "max_bytes": 1 << 20, "session_epoch": -1, "topics": [topic]}
    async with running(tmp_path, super_users=super_user) as tried:
        request = build(ApiKey.FETCH, given, version, "", {})
        reply: Any = await tried._clients[BROKER].ask(request, version)
        if super_user == "User:admin":
            assert reply.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert not reply.responses
        else:
            (answered,) = reply.responses[0].partitions
            assert answered.error_code == ErrorCode.NONE
            assert answered.records
            assert answered.high_watermark > 0


async def test_a_client_without_permission_cannot_even_create_a_topic(tmp_path: Path) -> None:
    async with running(tmp_path, super_users="User:admin") as tried:
        with pytest.raises(AssertionError, match="may not create"):
            await create_topic(tried._clients[BROKER], "mine")
