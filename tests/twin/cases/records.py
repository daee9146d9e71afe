"""Producing, fetching and asking for offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.asking import Case, TopicId, ask, script, step
from twin.state import APPENDED, COMPACTED, EMPTY, MISSING, NOW, PLAIN, SMALL, batch

from tidelog.protocol.messages import ApiKey


def corrupt(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def old_format() -> bytes:
    data = bytearray(batch(b"old"))
    data[16] = 1
    return bytes(data)


def next_of_producer(version: int) -> bytes:
    """In each version the next batch of a producer whose beginning nobody has seen."""
    return batch(b"v", producer_id=770_000, producer_epoch=0, base_sequence=5 + version)


def produce(
    records: bytes | Callable[[int], bytes] | None, *, topic: str = PLAIN, index: int = 0, acks: int = -1
) -> dict[str, Any]:
    data = {"index": index, "records": records}
    topic_data = {"name": topic, "topic_id": TopicId(topic), "partition_data": [data]}
    return {"acks": acks, "timeout_ms": 5000, "topic_data": [topic_data]}


def fetch(*, topic: str = PLAIN, partition: int = 0, offset: int = 0, epoch: int = -1, **fields: Any) -> dict[str, Any]:
    asked = {
        "partition": partition,
        "fetch_offset": offset,
        "current_leader_epoch": epoch,
        "log_start_offset": -1,
        "last_fetched_epoch": -1,
        "partition_max_bytes": 1 << 20,
    }
    topics = [{"topic": topic, "topic_id": TopicId(topic), "partitions": [asked]}]
    given = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    return {**given, "topics": topics, "rack_id": "", **fields}


def list_offsets(
    timestamp: int, *, topic: str = PLAIN, partition: int = 0, epoch: int = -1, **fields: Any
) -> dict[str, Any]:
    asked = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
    return {
        "replica_id": -1,
        "isolation_level": 0,
        "timeout_ms": 5000,
        "topics": [{"name": topic, "partitions": [asked]}],
        **fields,
    }


def leader_epoch(epoch: int, *, topic: str = PLAIN, current: int = -1, partition: int = 0, **fields: Any) -> Any:
    asked = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    return {"replica_id": -2, "topics": [{"topic": topic, "partitions": [asked]}], **fields}


def delete_records(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {
        "timeout_ms": 5000,
        "topics": [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}],
    }


_FUTURE = 1 << 42

PRODUCE: list[Case] = [
    ask(ApiKey.PRODUCE, "records", produce(batch(b"one", b"two")), varied=True),
    ask(ApiKey.PRODUCE, "records with acks 1", produce(batch(b"three"), acks=1), one_node=True),
    ask(ApiKey.PRODUCE, "records with acks 0", produce(batch(b"four"), acks=0), one_node=True),
    ask(ApiKey.PRODUCE, "records of another partition", produce(batch(b"v"), index=1)),
    ask(ApiKey.PRODUCE, "records of an unknown topic", produce(batch(b"v"), topic=MISSING)),
    ask(ApiKey.PRODUCE, "records of an unknown partition", produce(batch(b"v"), index=9)),
    ask(ApiKey.PRODUCE, "bad acks", produce(batch(b"v"), acks=2)),
    ask(ApiKey.PRODUCE, "damaged records", produce(corrupt(batch(b"v")))),
    ask(ApiKey.PRODUCE, "records of an old format", produce(old_format())),
    ask(ApiKey.PRODUCE, "too many bytes", produce(batch(bytes(1_100_000)))),
    ask(ApiKey.PRODUCE, "too many bytes for the topic", produce(batch(bytes(3_000)), topic=SMALL)),
    ask(ApiKey.PRODUCE, "records without keys to compact", produce(batch(b"v", key=None), topic=COMPACTED)),
    ask(ApiKey.PRODUCE, "records with keys to compact", produce(batch(b"v"), topic=COMPACTED)),
    ask(ApiKey.PRODUCE, "records that get the broker's time", produce(batch(b"v"), topic=APPENDED)),
    ask(ApiKey.PRODUCE, "records from the future", produce(batch(b"v", timestamp=_FUTURE))),
    ask(ApiKey.PRODUCE, "records of an unknown producer", produce(next_of_producer)),
    ask(ApiKey.PRODUCE, "two batches", produce(batch(b"v") + batch(b"w"))),
    ask(ApiKey.PRODUCE, "no records", produce(b"")),
    ask(ApiKey.PRODUCE, "garbage", produce(b"these are no records, not even with the best of will, whatever one does")),
    ask(ApiKey.PRODUCE, "a part of a batch", produce(batch(b"v")[:-3])),
    ask(ApiKey.PRODUCE, "a foreign transactional id", {**produce(batch(b"v")), "transactional_id": "nobody's"}),
    ask(ApiKey.PRODUCE, "no topics", {"acks": -1, "timeout_ms": 5000, "topic_data": []}),
    ask(ApiKey.PRODUCE, "an internal topic", produce(batch(b"v"), topic="__consumer_offsets")),
]

FETCH: list[Case] = [
    ask(ApiKey.FETCH, "records from the start", fetch(), varied=True),
    ask(ApiKey.FETCH, "records of another partition", fetch(partition=1)),
    ask(ApiKey.FETCH, "records of an empty partition", fetch(topic=EMPTY)),
    ask(ApiKey.FETCH, "records beyond the end", fetch(offset=1_000_000)),
    ask(ApiKey.FETCH, "records before the start", fetch(offset=-5)),
    ask(ApiKey.FETCH, "records of a missing topic", fetch(topic=MISSING)),
    ask(ApiKey.FETCH, "records of a missing partition", fetch(partition=9)),
    ask(ApiKey.FETCH, "records of a later leader", fetch(epoch=7)),
    ask(ApiKey.FETCH, "committed records", fetch(isolation_level=1)),
    ask(ApiKey.FETCH, "committed records where some were aborted", fetch(partition=1, isolation_level=1)),
    ask(ApiKey.FETCH, "an unknown session", fetch(session_id=123, session_epoch=1)),
    ask(ApiKey.FETCH, "a new session", fetch(session_epoch=0)),
    ask(ApiKey.FETCH, "few bytes", fetch(max_bytes=10)),
    ask(ApiKey.FETCH, "from the middle", fetch(offset=2)),
    script(
        ApiKey.FETCH,
        "a session of several requests",
        step(ApiKey.FETCH, fetch(session_epoch=0, topic=EMPTY), keep={"session": "session_id"}),
        step(ApiKey.FETCH, {**fetch(session_epoch=1), "session_id": lambda version: 0, "topics": []}),
        versions=(7, 18),
    ),
]

_KINDS = (-1, -2, -3, -4, -5, -6, -7, -42, 0, NOW, NOW + 500, 1 << 43)

OFFSETS: list[Case] = [
    *[ask(ApiKey.LIST_OFFSETS, f"the offset of {kind}", list_offsets(kind)) for kind in _KINDS],
    *[
        ask(ApiKey.LIST_OFFSETS, f"the committed offset of {kind}", list_offsets(kind, partition=1, isolation_level=1))
        for kind in _KINDS[:6]
    ],
    ask(ApiKey.LIST_OFFSETS, "the latest offset", list_offsets(-1), varied=True),
    *[
        ask(ApiKey.LIST_OFFSETS, f"asked by replica {replica}", list_offsets(kind, replica_id=replica))
        for replica in (0, 1, 2, 99, -2, -3)
        for kind in (-1, -2)
    ],
    ask(ApiKey.LIST_OFFSETS, "an offset of a missing topic", list_offsets(-1, topic=MISSING)),
    ask(ApiKey.LIST_OFFSETS, "an offset of a missing partition", list_offsets(-1, partition=9)),
    ask(ApiKey.LIST_OFFSETS, "an offset of a later leader", list_offsets(-1, epoch=7)),
    ask(ApiKey.LIST_OFFSETS, "an offset of an empty partition", list_offsets(-3, topic=EMPTY)),
    ask(
        ApiKey.LIST_OFFSETS,
        "the same partition twice",
        list_offsets(-1, topics=[{"name": PLAIN, "partitions": [{"partition_index": 0, "timestamp": -1}] * 2}]),
    ),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "the end of an epoch", leader_epoch(0), varied=True),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "the end of a future epoch", leader_epoch(5)),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "the end of no epoch", leader_epoch(-1)),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "an epoch of a later leader", leader_epoch(0, current=7)),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "an epoch of a missing topic", leader_epoch(0, topic=MISSING)),
    ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, "an epoch of an empty partition", leader_epoch(0, topic=EMPTY)),
    *[
        ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, f"asked by replica {replica}", leader_epoch(0, replica_id=replica))
        for replica in (-1, 0, 1, 99)
    ],
    *[
        ask(ApiKey.DELETE_RECORDS, f"up to {offset} in {name}-{partition}", delete_records(name, partition, offset))
        for name, partition, offset in (
            (EMPTY, 0, 0),
            (EMPTY, 0, 5),
            (PLAIN, 9, 0),
            (MISSING, 0, 0),
            (EMPTY, 0, -1),
            (EMPTY, 0, -2),
            (COMPACTED, 0, 0),
            ("__consumer_offsets", 0, 0),
        )
    ],
    script(
        ApiKey.DELETE_RECORDS,
        "records that are there",
        step(ApiKey.PRODUCE, produce(batch(b"a", b"b", b"c"), topic=SMALL), version=9),
        step(ApiKey.DELETE_RECORDS, delete_records(SMALL, 0, 1)),
        step(ApiKey.FETCH, fetch(topic=SMALL, offset=0), version=11),
        step(ApiKey.LIST_OFFSETS, list_offsets(-2, topic=SMALL), version=7),
        step(ApiKey.DELETE_RECORDS, delete_records(SMALL, 0, -1)),
        step(ApiKey.LIST_OFFSETS, list_offsets(-2, topic=SMALL), version=7),
    ),
    *[
        ask(
            ApiKey.DESCRIBE_PRODUCERS,
            f"of {topic}",
            {"topics": [{"name": topic, "partition_indexes": partitions}]},
            varied=topic == PLAIN,
        )
        for topic, partitions in (
            (PLAIN, [0, 1, 9]),
            (EMPTY, [0]),
            (MISSING, [0]),
            ("", [0]),
            ("a b", [0]),
            (PLAIN, []),
        )
    ],
]

CASES = [*PRODUCE, *FETCH, *OFFSETS]
