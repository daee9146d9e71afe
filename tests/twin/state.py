"""The state that both sides have before they are asked: topics, records, offsets. Made through the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twin.asking import Case, Step, TopicId, script, step

from tidelog.protocol.messages import ApiKey
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch

PLAIN = "twin-plain"
COMPACTED = "twin-compacted"
APPENDED = "twin-appended"
SMALL = "twin-small"
EMPTY = "twin-empty"
MISSING = "twin-missing"
GROUP = "twin-offsets"

COORDINATOR_PARTITIONS = 3

# The time of all records, in the past. Nothing is deleted for its age.
NOW = 1_750_000_000_000


def batch(*values: bytes | None, key: bytes | None = b"k", timestamp: int = NOW, **fields: Any) -> bytes:
    return encode_batch([(timestamp, key, value, ()) for value in values], **fields)


def spread(partitions: int, nodes: Sequence[int]) -> list[dict[str, Any]]:
    """Partition i is led by the i-th node, and all have a replica."""
    return [
        {"partition_index": number, "broker_ids": [nodes[(number + each) % len(nodes)] for each in range(len(nodes))]}
        for number in range(partitions)
    ]


def topic(name: str, partitions: int, nodes: Sequence[int], **configs: str) -> dict[str, Any]:
    configs = {"retention_ms": "-1", **configs}
    return {
        "name": name,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": spread(partitions, nodes),
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


def topics(nodes: Sequence[int]) -> list[dict[str, Any]]:
    return [
        topic(PLAIN, 3, nodes),
        topic(COMPACTED, 1, nodes, cleanup_policy="compact"),
        topic(APPENDED, 1, nodes, message_timestamp_type="LogAppendTime"),
        topic(SMALL, 1, nodes, max_message_bytes="2000"),
        topic(EMPTY, 1, nodes),
        # Where the coordinators are is the same on both sides, too.
        topic(
            "__consumer_offsets", COORDINATOR_PARTITIONS, nodes, cleanup_policy="compact", compression_type="producer"
        ),
        topic(
            "__transaction_state", COORDINATOR_PARTITIONS, nodes, cleanup_policy="compact", compression_type="producer"
        ),
    ]


def produced(partition: int, records: bytes, topic: str = PLAIN, **options: Any) -> Step:
    data = {"name": topic, "topic_id": TopicId(topic), "partition_data": [{"index": partition, "records": records}]}
    given = {"acks": -1, "timeout_ms": 5000, "topic_data": [data], **options}
    return step(ApiKey.PRODUCE, given, version=9, leader=partition, until_done=True)


def committed(group: str) -> Step:
    partition = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": "x"}
    topics = [{"name": PLAIN, "partitions": [partition, {**partition, "partition_index": 2}]}]
    given = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    return step(ApiKey.OFFSET_COMMIT, given, version=8, coordinator=group, until_done=True)


def preparation(nodes: Sequence[int]) -> Case:
    """Asked and compared like every other case, before them."""
    codecs = [Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]
    return script(
        ApiKey.CREATE_TOPICS,
        "preparation",
        step(ApiKey.CREATE_TOPICS, {"timeout_ms": 20_000, "topics": topics(nodes)}, version=7),
        *[produced(0, batch(b"0", b"1", timestamp=NOW + 100 * codec, compression=codec)) for codec in codecs],
        produced(1, batch(b"first", timestamp=NOW + 7)),
        produced(0, batch(b"k", b"l"), COMPACTED),
        # One group on each partition of the coordinators' topic, so that all of them are loaded.
        *[committed(group) for group in (GROUP, "twin-a", "twin-b", "twin-c", "twin-d", "twin-e")],
        *[transactional_id(name) for name in ("twin-t", "twin-u", "twin-v", "twin-w", "twin-x", "twin-y")],
        versions=(7, 7),
    )


def transactional_id(name: str) -> Step:
    given = {"transactional_id": name, "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    return step(ApiKey.INIT_PRODUCER_ID, given, version=4, coordinator=name, until_done=True)
