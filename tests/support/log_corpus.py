"""Records of every kind, written to a broker so that its files have everything that a dump can show."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from support.clients.contract import ALL_CODECS, OPERATION_TIMEOUT_SECONDS

# The smallest segment that Kafka allows.
SEGMENT_BYTES = 1 << 20

# A topic whose files must come out the same, byte for byte, whoever writes them.
SAME_BYTES_TOPIC = "same-bytes"
_START_MS = int(time.time() * 1000) - 3_600_000

DUMPED_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")


def write_corpus(bootstrap_servers: str) -> None:
    """Topics with all codecs, several segments, producers with ids, append time, transactions, a group's offsets."""
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers}
    many_entries = {"index.interval.bytes": "256", "segment.bytes": str(SEGMENT_BYTES)}
    topics = [
        NewTopic("codecs", 1, 1, config=many_entries),
        NewTopic("segments", 2, 1, config=many_entries),
        NewTopic("append-time", 1, 1, config={"message.timestamp.type": "LogAppendTime"}),
        NewTopic("empty", 1, 1),
        NewTopic("transactions", 1, 1, config=many_entries),
        NewTopic(SAME_BYTES_TOPIC, 1, 1, config=many_entries),
    ]
    admin = AdminClient(settings)
    for created in admin.create_topics(topics).values():
        created.result(OPERATION_TIMEOUT_SECONDS)

    for codec in ALL_CODECS:
        _write_all_kinds({**settings, "compression.type": codec})
    _write_segments({**settings, "enable.idempotence": True})
    _write_same_bytes(settings)
    _produce(settings, "append-time", [{"value": b"v%d" % number} for number in range(3)])
    for number in range(3):
        _write_transactions({**settings, "transactional.id": f"writer-{number}"}, f"writer-{number}")
    _read_in_group({**settings, "group.id": "classic-group"})


def dumpable_files(log_directory: Path) -> list[str]:
    """Relative names of the files that both tools can show, in an order that is the same for both."""
    return sorted(
        str(path.relative_to(log_directory))
        for path in log_directory.glob("*-[0-9]/*")
        if path.suffix in DUMPED_SUFFIXES
    )


def _write_all_kinds(settings: dict[str, Any]) -> None:
    start = int(time.time() * 1000) - 60_000
    records: list[dict[str, Any]] = [
        {"key": b"key", "value": "조류".encode()},
        {"value": b"no key"},
        {"key": b"tombstone", "value": None},
        {"key": b"", "value": b""},
        {"key": b"headers", "value": b"v", "headers": [("one", b"1"), ("이름", "값".encode()), ("nothing", None)]},
        {"key": b"\xff\x00\xed\xa0\x80", "value": bytes(range(256))},
        {"key": b"compressible", "value": b"0123456789" * 300},
    ]
    _produce(
        settings, "codecs", [{**record, "timestamp": start + number * 7} for number, record in enumerate(records * 3)]
    )


def _write_segments(settings: dict[str, Any]) -> None:
    """Single-record batches of incompressible bytes in two partitions, until each has a second segment."""
    source = random.Random(1)
    producer = Producer(settings)
    for number in range(2 * (SEGMENT_BYTES // 50_000 + 3)):
        producer.produce("segments", value=source.randbytes(50_000), key=b"%d" % number, partition=number % 2)
        if number % 2:
            _flush(producer)
    _flush(producer)


def _write_same_bytes(settings: dict[str, Any]) -> None:
    """Batches of fixed sizes with fixed timestamps, some of them out of order, over several segments."""
    source = random.Random(2)
    producer = Producer({**settings, "linger.ms": 1000, "batch.size": 4 << 20, "message.max.bytes": 1 << 20})
    timestamp = _START_MS
    for _ in range(60):
        for _ in range(source.randint(1, 5)):
            timestamp += source.randint(-50, 200)
            producer.produce(
                SAME_BYTES_TOPIC,
                key=source.randbytes(source.randint(0, 20)),
                value=source.randbytes(source.choice((10, 300, 2_000, 40_000))),
                timestamp=timestamp,
            )
        # Flushing ends the linger: what was produced since the last time becomes one batch.
        _flush(producer)


def _write_transactions(settings: dict[str, Any], name: str) -> None:
    producer = Producer(settings)
    producer.init_transactions(OPERATION_TIMEOUT_SECONDS)
    for number, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        producer.produce("transactions", key=name, value=f"{name}: {number}")
        producer.produce("transactions", key=name, value=f"{name}: {number} again")
        _flush(producer)
        if commit:
            producer.commit_transaction(OPERATION_TIMEOUT_SECONDS)
        else:
            producer.abort_transaction(OPERATION_TIMEOUT_SECONDS)


def _read_in_group(settings: dict[str, Any]) -> None:
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    try:
        consumer.subscribe(["codecs"])
        deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
        count = 0
        while count < 20:
            assert time.monotonic() < deadline, f"only {count} records came"
            count += len(consumer.consume(20 - count, timeout=0.5))
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def _produce(settings: dict[str, Any], topic: str, records: list[dict[str, Any]]) -> None:
    producer = Producer({**settings, "linger.ms": 5})
    for record in records:
        producer.produce(topic, on_delivery=_raise_failure, **record)
    _flush(producer)


def _flush(producer: Producer) -> None:
    assert producer.flush(OPERATION_TIMEOUT_SECONDS) == 0, "records were not acknowledged in time"


def _raise_failure(error: Any, _message: Any) -> None:
    if error is not None:
        raise KafkaException(error)
