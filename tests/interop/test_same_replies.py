"""The same requests, in every version that both brokers serve, get the same replies from tidelog and Apache Kafka.

Requests are written down as nested keyword arguments. `@name` stands for the id that a broker gave to a topic; what
differs from broker to broker by nature (ids, addresses, texts for people) is taken out of the replies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio
from support.apache_kafka import ApacheKafka
from support.raw_client import RawClient, raw_client
from support.tidelog_process import TidelogBroker

from tidelog.cli.dump_log_json import message_to_json
from tidelog.protocol.api import ApiKey, request_class
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.schema import Message
from tidelog.records.record import encode_batch

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.asyncio(loop_scope="module")]

NOW = int(time.time() * 1000)
PLAIN = "replies-plain"
COMPACTED = "replies-compacted"
MISSING = "replies-missing"
UNKNOWN_ID = bytes(15) + b"\x07"

# What people read, what has an id, and where the brokers are.
_LEFT_OUT = {
    "throttleTimeMs",
    "errorMessage",
    "batchIndexErrorMessage",
    "host",
    "port",
    "clusterId",
    "logDir",
    "totalBytes",
    "usableBytes",
}
# Below these a request for metadata creates topics, and records are refused by both brokers.
_LOWEST = {ApiKey.METADATA: 4, ApiKey.PRODUCE: 3}
# Where Kafka says null in a reply that only tells an error, and we an empty value: clients do not look at it.
_NOTHING_IS_NULL = {"abortedTransactions", "protocolName"}
_IDS = {"topicId", "memberId", "leader", "producerId"}


def batch(*values: bytes | None, key: bytes | None = b"k", timestamp: int = NOW, **fields: Any) -> bytes:
    return encode_batch([(timestamp, key, value, ()) for value in values], **fields)


def corrupt(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def old_format() -> bytes:
    data = bytearray(batch(b"old"))
    data[16] = 1
    return bytes(data)


def next_of_producer(version: int) -> bytes:
    """In each version the next batch of a producer whose beginning nobody has seen."""
    return batch(b"v", producer_id=77, producer_epoch=0, base_sequence=5 + version)


def produce(
    records: bytes | Callable[[int], bytes] | None, *, topic: str = PLAIN, index: int = 0, acks: int = -1
) -> dict[str, Any]:
    data = {"index": index, "records": records}
    topic_data = {"name": topic, "topic_id": f"@{topic}", "partition_data": [data]}
    return {"acks": acks, "timeout_ms": 5000, "topic_data": [topic_data]}


def fetch(*, topic: str = PLAIN, partition: int = 0, offset: int = 0, epoch: int = -1, **fields: Any) -> dict[str, Any]:
    asked = {
        "partition": partition,
        "fetch_offset": offset,
        "current_leader_epoch": epoch,
        "partition_max_bytes": 1 << 20,
    }
    topics = [{"topic": topic, "topic_id": f"@{topic}", "partitions": [asked]}]
    return {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1, "topics": topics, **fields}


def list_offsets(timestamp: int, *, topic: str = PLAIN, partition: int = 0, epoch: int = -1) -> dict[str, Any]:
    asked = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
    return {"replica_id": -1, "timeout_ms": 5000, "topics": [{"name": topic, "partitions": [asked]}]}


def leader_epoch(epoch: int, *, topic: str = PLAIN, current: int = -1, partition: int = 0) -> dict[str, Any]:
    asked = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    return {"replica_id": -2, "topics": [{"topic": topic, "partitions": [asked]}]}


def create_topic(name: str, **fields: Any) -> dict[str, Any]:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}
    return {"timeout_ms": 5000, "validate_only": True, "topics": [topic]}


def commit(
    *, group: str = "replies-group", generation: int = -1, member: str = "", offset: int = 5, **fields: Any
) -> Any:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "note"}
    topics = [{"name": PLAIN, "topic_id": f"@{PLAIN}", "partitions": [partition]}]
    given = {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member, "topics": topics}
    return {**given, **fields}


def offset_fetch(group: str, topic: str = PLAIN) -> dict[str, Any]:
    topics = [{"name": topic, "topic_id": f"@{topic}", "partition_indexes": [0, 1]}]
    return {"group_id": group, "topics": topics, "groups": [{"group_id": group, "topics": topics}]}


def config_change(name: str, value: str | None, *, topic: str = PLAIN, operation: int = 0) -> dict[str, Any]:
    config = {"name": name, "value": value, "config_operation": operation}
    return {"validate_only": True, "resources": [{"resource_type": 2, "resource_name": topic, "configs": [config]}]}


def describe(resource_type: int, name: str, *keys: str) -> dict[str, Any]:
    resource = {"resource_type": resource_type, "resource_name": name, "configuration_keys": keys or None}
    return {"resources": [resource], "include_synonyms": True}


JOIN = {
    "group_id": "replies-join",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"m"}],
}

CASES: list[tuple[str, ApiKey, dict[str, Any]]] = [
    ("an unknown topic", ApiKey.METADATA, {"topics": [{"name": MISSING}], "allow_auto_topic_creation": False}),
    ("a known topic", ApiKey.METADATA, {"topics": [{"name": PLAIN}], "allow_auto_topic_creation": False}),
    (
        "a known topic and what may be done",
        ApiKey.METADATA,
        {
            "topics": [{"name": PLAIN}, {"name": MISSING}],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": True,
            "include_cluster_authorized_operations": True,
        },
    ),
    ("a bad topic name", ApiKey.METADATA, {"topics": [{"name": "a b"}], "allow_auto_topic_creation": False}),
    ("records", ApiKey.PRODUCE, produce(batch(b"one", b"two"))),
    ("records with acks 1", ApiKey.PRODUCE, produce(batch(b"three"), acks=1)),
    ("records of an unknown topic", ApiKey.PRODUCE, produce(batch(b"v"), topic=MISSING)),
    ("records of an unknown partition", ApiKey.PRODUCE, produce(batch(b"v"), index=9)),
    ("bad acks", ApiKey.PRODUCE, produce(batch(b"v"), acks=2)),
    ("damaged records", ApiKey.PRODUCE, produce(corrupt(batch(b"v")))),
    ("records of an old format", ApiKey.PRODUCE, produce(old_format())),
    ("too many bytes", ApiKey.PRODUCE, produce(batch(bytes(1_100_000)))),
    ("records without keys to compact", ApiKey.PRODUCE, produce(batch(b"v", key=None), topic=COMPACTED)),
    ("records from the future", ApiKey.PRODUCE, produce(batch(b"v", timestamp=NOW + 10_000_000))),
    (
        "records of an unknown producer",
        ApiKey.PRODUCE,
        produce(next_of_producer),
    ),
    ("two batches", ApiKey.PRODUCE, produce(batch(b"v") + batch(b"w"))),
    ("records from the start", ApiKey.FETCH, fetch()),
    ("records of an empty partition", ApiKey.FETCH, fetch(partition=1)),
    ("records beyond the end", ApiKey.FETCH, fetch(offset=1_000_000)),
    ("records before the start", ApiKey.FETCH, fetch(offset=-5)),
    ("records of a missing topic", ApiKey.FETCH, fetch(topic=MISSING)),
    ("records of a missing partition", ApiKey.FETCH, fetch(partition=9)),
    ("records of a later leader", ApiKey.FETCH, fetch(epoch=7)),
    ("committed records", ApiKey.FETCH, fetch(isolation_level=1)),
    ("an unknown session", ApiKey.FETCH, fetch(session_id=123, session_epoch=1)),
    ("the earliest offset", ApiKey.LIST_OFFSETS, list_offsets(-2)),
    ("the latest offset", ApiKey.LIST_OFFSETS, list_offsets(-1)),
    ("the offset of the largest timestamp", ApiKey.LIST_OFFSETS, list_offsets(-3)),
    ("the earliest local offset", ApiKey.LIST_OFFSETS, list_offsets(-4)),
    ("the offset of a time", ApiKey.LIST_OFFSETS, list_offsets(NOW)),
    ("the offset of a later time", ApiKey.LIST_OFFSETS, list_offsets(NOW + 20_000_000)),
    ("an offset of an unknown kind", ApiKey.LIST_OFFSETS, list_offsets(-42)),
    ("an offset of a missing topic", ApiKey.LIST_OFFSETS, list_offsets(-1, topic=MISSING)),
    ("an offset of a missing partition", ApiKey.LIST_OFFSETS, list_offsets(-1, partition=9)),
    ("an offset of a later leader", ApiKey.LIST_OFFSETS, list_offsets(-1, epoch=7)),
    ("the end of an epoch", ApiKey.OFFSET_FOR_LEADER_EPOCH, leader_epoch(0)),
    ("the end of a future epoch", ApiKey.OFFSET_FOR_LEADER_EPOCH, leader_epoch(5)),
    ("an epoch of a later leader", ApiKey.OFFSET_FOR_LEADER_EPOCH, leader_epoch(0, current=7)),
    ("an epoch of a missing topic", ApiKey.OFFSET_FOR_LEADER_EPOCH, leader_epoch(0, topic=MISSING)),
    ("a new topic", ApiKey.CREATE_TOPICS, create_topic("replies-new")),
    (
        "a new topic with the defaults",
        ApiKey.CREATE_TOPICS,
        create_topic("replies-new", num_partitions=-1, replication_factor=-1),
    ),
    ("an existing topic", ApiKey.CREATE_TOPICS, create_topic(PLAIN)),
    ("a bad name", ApiKey.CREATE_TOPICS, create_topic("a/b")),
    ("an empty name", ApiKey.CREATE_TOPICS, create_topic("")),
    ("a long name", ApiKey.CREATE_TOPICS, create_topic("x" * 250)),
    ("no partitions", ApiKey.CREATE_TOPICS, create_topic("replies-new", num_partitions=0)),
    ("too many replicas", ApiKey.CREATE_TOPICS, create_topic("replies-new", replication_factor=3)),
    ("no replicas", ApiKey.CREATE_TOPICS, create_topic("replies-new", replication_factor=0)),
    (
        "an unknown config",
        ApiKey.CREATE_TOPICS,
        create_topic("replies-new", configs=[{"name": "nonsense", "value": "1"}]),
    ),
    (
        "a bad config",
        ApiKey.CREATE_TOPICS,
        create_topic("replies-new", configs=[{"name": "retention.ms", "value": "x"}]),
    ),
    (
        "an assignment",
        ApiKey.CREATE_TOPICS,
        create_topic(
            "replies-new",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[{"partition_index": 0, "broker_ids": [1]}],
        ),
    ),
    (
        "an assignment to an unknown broker",
        ApiKey.CREATE_TOPICS,
        create_topic(
            "replies-new",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[{"partition_index": 0, "broker_ids": [9]}],
        ),
    ),
    (
        "an assignment beside a count",
        ApiKey.CREATE_TOPICS,
        create_topic("replies-new", num_partitions=2, assignments=[{"partition_index": 0, "broker_ids": [1]}]),
    ),
    (
        "the deletion of a missing topic",
        ApiKey.DELETE_TOPICS,
        {"timeout_ms": 5000, "topic_names": [MISSING], "topics": [{"name": MISSING}]},
    ),
    *[
        (
            f"{count} partitions",
            ApiKey.CREATE_PARTITIONS,
            {
                "timeout_ms": 5000,
                "validate_only": True,
                "topics": [{"name": name, "count": count, "assignments": None}],
            },
        )
        for name, count in ((PLAIN, 3), (PLAIN, 2), (PLAIN, 1), (MISSING, 3))
    ],
    *[
        (
            f"deletion up to {offset} in {name}-{partition}",
            ApiKey.DELETE_RECORDS,
            {
                "timeout_ms": 5000,
                "topics": [{"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}],
            },
        )
        for name, partition, offset in ((PLAIN, 1, 0), (PLAIN, 1, 5), (PLAIN, 9, 0), (MISSING, 0, 0), (PLAIN, 1, -1))
    ],
    ("configs of a topic", ApiKey.DESCRIBE_CONFIGS, describe(2, PLAIN, "cleanup.policy", "max.message.bytes")),
    ("configs of a missing topic", ApiKey.DESCRIBE_CONFIGS, describe(2, MISSING)),
    ("configs of a bad topic", ApiKey.DESCRIBE_CONFIGS, describe(2, "a b")),
    ("configs of a broker", ApiKey.DESCRIBE_CONFIGS, describe(4, "1", "message.max.bytes", "log.retention.hours")),
    ("configs of another broker", ApiKey.DESCRIBE_CONFIGS, describe(4, "9")),
    ("configs of no broker", ApiKey.DESCRIBE_CONFIGS, describe(4, "x")),
    ("configs of a strange thing", ApiKey.DESCRIBE_CONFIGS, describe(99, "x")),
    ("a changed config", ApiKey.ALTER_CONFIGS, config_change("retention.ms", "5000")),
    ("a badly changed config", ApiKey.ALTER_CONFIGS, config_change("retention.ms", "five")),
    ("a changed unknown config", ApiKey.ALTER_CONFIGS, config_change("nonsense", "1")),
    ("a changed config of a missing topic", ApiKey.ALTER_CONFIGS, config_change("retention.ms", "5000", topic=MISSING)),
    ("a set config", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", "5000")),
    ("a config changed to nothing", ApiKey.ALTER_CONFIGS, config_change("retention.ms", None)),
    ("a config set to nothing", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", None)),
    ("a badly set config", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", "five")),
    ("a set unknown config", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("nonsense", "1")),
    ("a removed config", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", None, operation=1)),
    ("a longer list", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("cleanup.policy", "compact", operation=2)),
    ("a longer number", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", "5", operation=2)),
    ("set for a missing topic", ApiKey.INCREMENTAL_ALTER_CONFIGS, config_change("retention.ms", "5", topic=MISSING)),
    ("log directories", ApiKey.DESCRIBE_LOG_DIRS, {"topics": [{"topic": PLAIN, "partitions": [1]}]}),
    (
        "log directories of a missing topic",
        ApiKey.DESCRIBE_LOG_DIRS,
        {"topics": [{"topic": MISSING, "partitions": [0]}]},
    ),
    (
        "producers of an empty partition",
        ApiKey.DESCRIBE_PRODUCERS,
        {"topics": [{"name": PLAIN, "partition_indexes": [1, 9]}, {"name": MISSING, "partition_indexes": [0]}]},
    ),
    (
        "partitions of topics",
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        {"topics": [{"name": PLAIN}, {"name": MISSING}], "response_partition_limit": 100, "cursor": None},
    ),
    (
        "a page of partitions",
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        {"topics": [{"name": PLAIN}], "response_partition_limit": 1, "cursor": None},
    ),
    ("the cluster", ApiKey.DESCRIBE_CLUSTER, {"endpoint_type": 1}),
    (
        "the cluster and what may be done",
        ApiKey.DESCRIBE_CLUSTER,
        {"endpoint_type": 1, "include_cluster_authorized_operations": True},
    ),
    ("the controllers", ApiKey.DESCRIBE_CLUSTER, {"endpoint_type": 2}),
    ("a group's coordinator", ApiKey.FIND_COORDINATOR, {"key": "g", "key_type": 0, "coordinator_keys": ["g"]}),
    ("a strange coordinator", ApiKey.FIND_COORDINATOR, {"key": "g", "key_type": 9, "coordinator_keys": ["g"]}),
    ("an empty group's coordinator", ApiKey.FIND_COORDINATOR, {"key": "", "key_type": 0, "coordinator_keys": [""]}),
    ("a join of a stranger", ApiKey.JOIN_GROUP, {**JOIN, "member_id": "stranger"}),
    ("a join of a nameless group", ApiKey.JOIN_GROUP, {**JOIN, "group_id": ""}),
    ("a join with a short session", ApiKey.JOIN_GROUP, {**JOIN, "session_timeout_ms": 1}),
    ("a join with a long session", ApiKey.JOIN_GROUP, {**JOIN, "session_timeout_ms": 100_000_000}),
    ("a join without protocols", ApiKey.JOIN_GROUP, {**JOIN, "protocols": []}),
    ("a join without a protocol type", ApiKey.JOIN_GROUP, {**JOIN, "protocol_type": ""}),
    ("a heartbeat of a stranger", ApiKey.HEARTBEAT, {"group_id": "replies-none", "generation_id": 1, "member_id": "m"}),
    ("a sync of a stranger", ApiKey.SYNC_GROUP, {"group_id": "replies-none", "generation_id": 1, "member_id": "m"}),
    (
        "a leave of a stranger",
        ApiKey.LEAVE_GROUP,
        {"group_id": "replies-none", "member_id": "m", "members": [{"member_id": "m"}]},
    ),
    ("offsets of nobody", ApiKey.OFFSET_FETCH, offset_fetch("replies-none")),
    ("a commit without members", ApiKey.OFFSET_COMMIT, commit()),
    ("a commit of a stranger", ApiKey.OFFSET_COMMIT, commit(generation=3, member="stranger")),
    ("a commit of a nameless group", ApiKey.OFFSET_COMMIT, commit(group="")),
    ("committed offsets", ApiKey.OFFSET_FETCH, offset_fetch("replies-group")),
    ("committed offsets of a missing topic", ApiKey.OFFSET_FETCH, offset_fetch("replies-group", MISSING)),
    ("described groups", ApiKey.DESCRIBE_GROUPS, {"groups": ["replies-none", "replies-group", ""]}),
    (
        "described groups and what may be done",
        ApiKey.DESCRIBE_GROUPS,
        {"groups": ["replies-none", "replies-group"], "include_authorized_operations": True},
    ),
    (
        "deleted offsets",
        ApiKey.OFFSET_DELETE,
        {"group_id": "replies-none", "topics": [{"name": PLAIN, "partitions": [{"partition_index": 0}]}]},
    ),
    ("deleted groups", ApiKey.DELETE_GROUPS, {"groups_names": ["replies-none", ""]}),
    ("a producer id", ApiKey.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout_ms": 1000}),
    ("an empty transactional id", ApiKey.INIT_PRODUCER_ID, {"transactional_id": "", "transaction_timeout_ms": 1000}),
]


def build(kind: type[Message], given: Mapping[str, Any], ids: Mapping[str, bytes], version: int = 0) -> Message:
    values: dict[str, Any] = {}
    fields = {field.name: field for field in kind.SCHEMA.fields}
    for name, value in given.items():
        if name not in fields:
            continue
        struct = kind.STRUCTS.get(fields[name].kind.removeprefix("[]"))
        if struct is not None and isinstance(value, list):
            values[name] = [build(struct, element, ids, version) for element in value]
        elif callable(value):
            values[name] = value(version)
        elif isinstance(value, str) and value.startswith("@"):
            values[name] = ids.get(value[1:], UNKNOWN_ID)
        else:
            values[name] = value
    return kind(**values)


def normalise(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        # Where a config comes from depends on how the broker was started.
        left_out = _LEFT_OUT | {"configSource", "synonyms"} if "configSource" in value else _LEFT_OUT
        return {key: normalise(element, key) for key, element in value.items() if key not in left_out}
    if isinstance(value, list) and value:
        elements = [normalise(element, name) for element in value]
        # The order of these means nothing.
        return sorted(elements, key=repr) if name in {"results", "groups"} else elements
    if name in _NOTHING_IS_NULL and not value:
        return None
    if name in _IDS and isinstance(value, str):
        return "an id" if value.strip("A") else "no id"
    if name in _IDS and isinstance(value, int):
        return "an id" if value >= 0 else "no id"
    return value


class Peer:
    """A broker, and the ids that it gave to the topics."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.ids: dict[str, bytes] = {}
        self.versions: dict[int, tuple[int, int]] = {}

    async def prepare(self) -> None:
        topics = [
            {"name": PLAIN, "num_partitions": 2, "replication_factor": 1},
            {
                "name": COMPACTED,
                "num_partitions": 1,
                "replication_factor": 1,
                "configs": [{"name": "cleanup.policy", "value": "compact"}],
            },
        ]
        request = build(CreateTopicsRequest, {"topics": topics, "timeout_ms": 10_000}, {})
        created = await self.client.ask(request)
        self.ids = {topic.name: topic.topic_id for topic in created.topics}
        versions = await self.client.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in versions.api_keys}
        await self._warm_up()

    async def _warm_up(self) -> None:
        """Until leaders and coordinators are there: Apache Kafka makes its internal topics on first use."""
        questions: list[tuple[ApiKey, dict[str, Any], int]] = [
            (ApiKey.PRODUCE, produce(batch(b"first")), 9),
            (ApiKey.FIND_COORDINATOR, {"key": "replies-group", "key_type": 0}, 3),
            (ApiKey.OFFSET_COMMIT, commit(group="replies-warm-up"), 8),
            (ApiKey.OFFSET_COMMIT, commit(group="replies-join"), 8),
            (ApiKey.OFFSET_COMMIT, commit(group="replies-none-yet"), 8),
            (ApiKey.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout_ms": 1000}, 4),
        ]
        deadline = time.monotonic() + 30
        for key, given, version in questions:
            while error_codes(message_to_json(await self.reply(key, given, version), version)):
                assert time.monotonic() < deadline, f"the broker does not become ready for {key.name}"
                await asyncio.sleep(0.05)

    async def reply(self, key: ApiKey, given: Mapping[str, Any], version: int) -> Any:
        kind = request_class(key)
        return await self.client.ask(build(kind, given, self.ids, version), version)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def peers(tidelog_process: TidelogBroker, apache_kafka: ApacheKafka) -> AsyncIterator[tuple[Peer, Peer]]:
    async with (
        raw_client(tidelog_process.bootstrap_servers) as ours,
        raw_client(apache_kafka.bootstrap_servers) as theirs,
    ):
        pair = Peer(ours), Peer(theirs)
        for peer in pair:
            await peer.prepare()
        yield pair


@pytest.mark.parametrize(
    ("key", "given"), [case[1:] for case in CASES], ids=[f"{case[1].name}: {case[0]}" for case in CASES]
)
async def test_replies_are_the_same(peers: tuple[Peer, Peer], key: ApiKey, given: dict[str, Any]) -> None:
    ours, theirs = peers
    low = max(ours.versions[key][0], theirs.versions[key][0], _LOWEST.get(key, 0))
    high = min(ours.versions[key][1], theirs.versions[key][1])
    assert low <= high
    differences: dict[str, list[int]] = {}
    for version in range(low, high + 1):
        our_reply = normalise(message_to_json(await ours.reply(key, given, version), version))
        their_reply = normalise(message_to_json(await theirs.reply(key, given, version), version))
        for difference in compare(our_reply, their_reply):
            differences.setdefault(difference, []).append(version)
    if differences:
        pytest.fail("\n".join(f"versions {of}: {difference}" for difference, of in differences.items()), pytrace=False)


def error_codes(reply: Any) -> list[int]:
    """All error codes in a reply that are not 0."""
    if isinstance(reply, dict):
        here = [reply["errorCode"]] if reply.get("errorCode") else []
        return here + [code for value in reply.values() for code in error_codes(value)]
    if isinstance(reply, list):
        return [code for value in reply for code in error_codes(value)]
    return []


def compare(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """One line for each leaf that differs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted(ours.keys() | theirs.keys())
        absent = "(absent)"
        return [
            line
            for name in names
            for line in compare(ours.get(name, absent), theirs.get(name, absent), f"{path}.{name}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for number, pair in pairs for line in compare(*pair, f"{path}[{number}]")]
    return [] if ours == theirs else [f"{path}: tidelog {ours!r}, Apache Kafka {theirs!r}"]


async def test_the_same_versions_are_served(peers: tuple[Peer, Peer]) -> None:
    ours, theirs = peers
    different = {
        ApiKey(key).name: (versions, theirs.versions[key])
        for key, versions in ours.versions.items()
        if versions != theirs.versions.get(key)
    }
    # Ours knows the prepared transactions of KIP-939.
    different.pop("INIT_PRODUCER_ID", None)
    assert different == {}
