"""Scenario 24: whatever arrives, the broker answers with an error or closes the connection, stays within its memory,
and serves its other clients.

Fuzzed frames (`support.fuzzing`) are sent over real sockets to a real process. The seed makes a failure repeatable.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from soak.fuzz import fuzz
from soak.siege import besiege
from support.served_versions import versions_on
from support.tidelog_process import TidelogBroker, running_tidelog

from tidelog.records.batch import parse_header, restamp_crc
from tidelog.records.compression import Compression, compress
from tidelog.records.record import assemble_batch, encode_batch
from tidelog.server.declaration import ListenerKind

SERVED = versions_on(ListenerKind.BROKER)

FRAMES = 25_000
SEED = int(os.environ.get("TIDELOG_FUZZ_SEED", "20261115"))

Address = tuple[str, int]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("bad-input")) as running:
        yield running


def address(broker: TidelogBroker) -> Address:
    host, _, port = broker.bootstrap_servers.partition(":")
    return host, int(port)


def process_of(broker: TidelogBroker) -> psutil.Process:
    port = address(broker)[1]
    for each in psutil.process_iter(["pid", "cmdline"]):
        command = each.info["cmdline"] or []
        if "up" in command and str(port) in command:
            return each
    raise AssertionError("the broker's process is gone")


def assert_serves(broker: TidelogBroker, topic: str) -> None:
    """Another client produces and consumes as if nothing had happened."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 20_000})
    outcomes: list[object] = []
    for number in range(20):
        producer.produce(topic, f"good-{number}".encode(), on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(30) == 0
    assert outcomes == [None] * 20
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
    consumer.assign([TopicPartition(topic, 0, end - 20)])
    values: list[bytes | None] = []
    deadline = time.monotonic() + 30
    while len(values) < 20 and time.monotonic() < deadline:
        values += [message.value() for message in consumer.consume(20, timeout=1) if message.error() is None]
    consumer.close()
    assert values == [f"good-{number}".encode() for number in range(20)]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_scenario_24_fuzzed_frames_on_both_listeners_cost_nobody_else_anything(tmp_path: Path) -> None:
    """The long form is `python -m soak.fuzz`, which also judges how long others wait."""
    report = fuzz(tmp_path, frames=FRAMES, seed=SEED)
    print(report)
    assert report.problems() == [], f"TIDELOG_FUZZ_SEED={SEED} repeats it"
    assert report.bystander_rounds > 10
    assert report.answered > FRAMES // 5
    assert report.closed_by_broker > FRAMES // 5


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_strangers_at_the_gate_cost_nobody_else_anything(tmp_path: Path) -> None:
    """The long form is `python -m soak.siege`."""
    report = besiege(tmp_path, frames=FRAMES, handshakes=FRAMES // 10, seed=SEED)
    print(report)
    assert report.problems() == [], f"TIDELOG_FUZZ_SEED={SEED} repeats it"
    assert report.bystander_rounds > 10
    assert report.answered > FRAMES // 10
    assert report.closed_by_broker > FRAMES // 5


@pytest.mark.parametrize("length", [-1, 0, 2**31 - 1, 101 << 20])
def test_scenario_24_impossible_frame_lengths_close_the_connection(broker: TidelogBroker, length: int) -> None:
    with socket.create_connection(address(broker), timeout=20) as raw:
        raw.sendall(struct.pack(">i", length) + b"\x00\x12\x00\x00")
        raw.settimeout(10)
        assert raw.recv(100) == b""


def test_scenario_24_an_unknown_api_key_closes_the_connection(broker: TidelogBroker) -> None:
    with socket.create_connection(address(broker), timeout=20) as raw:
        raw.sendall(struct.pack(">ihhih", 10, 999, 0, 1, -1))
        raw.settimeout(10)
        assert raw.recv(100) == b""


def test_a_newer_api_versions_request_is_answered_in_version_0(broker: TidelogBroker) -> None:
    with socket.create_connection(address(broker), timeout=20) as raw:
        raw.sendall(struct.pack(">ihhih", 10, 18, 99, 7, -1))
        raw.settimeout(10)
        size, correlation, error, count = struct.unpack(">iihi", raw.recv(14, socket.MSG_WAITALL))
        assert (correlation, error) == (7, 35)
        assert count == len(SERVED)
        assert size == 4 + 2 + 4 + 6 * count


def test_scenario_24_clients_that_send_a_byte_now_and_then_do_not_disturb_others(broker: TidelogBroker) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(address(broker), timeout=20)) for _ in range(100)]
        for each in slow:
            each.sendall(struct.pack(">i", 90 << 20) + b"\x00\x00")
        before = process_of(broker).memory_info().rss
        for _ in range(5):
            for each in slow:
                each.sendall(b"\x00")
        assert_serves(broker, "beside-slow-clients")
        assert process_of(broker).memory_info().rss - before < 60 << 20


def produce_error(broker: TidelogBroker, topic: str, records: bytes) -> int:
    """The error code that a Produce request (version 7, acks=1) with these bytes gets."""
    body = struct.pack(">hhi", -1, 1, 5000)[0:0] + struct.pack(">h", -1) + struct.pack(">hi", 1, 5000)
    body += struct.pack(">i", 1) + struct.pack(">h", len(topic)) + topic.encode()
    body += struct.pack(">ii", 1, 0) + struct.pack(">i", len(records)) + records
    frame = struct.pack(">hhih", 0, 7, 1, -1) + body
    with socket.create_connection(address(broker), timeout=20) as raw:
        raw.settimeout(20)
        raw.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", raw.recv(4, socket.MSG_WAITALL))
        reply = raw.recv(size, socket.MSG_WAITALL)
    at = 4 + 4 + 2 + len(topic) + 4 + 4
    (code,) = struct.unpack_from(">h", reply, at)
    return int(code)


@pytest.fixture(scope="module")
def topic(broker: TidelogBroker) -> str:
    assert_serves(broker, "bad-batches")
    return "bad-batches"


GOOD = encode_batch([(1_700_000_000_000, b"k", b"v", ())])
CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE = 2, 87, 10


def flipped(at: int) -> bytes:
    changed = bytearray(GOOD)
    changed[at] ^= 0xFF
    return bytes(changed)


def with_count(count: int, last_offset_delta: int) -> bytes:
    changed = bytearray(GOOD)
    struct.pack_into(">i", changed, 57, count)
    struct.pack_into(">i", changed, 23, last_offset_delta)
    restamp_crc(changed, 0, len(changed))
    return bytes(changed)


def with_garbage() -> bytes:
    changed = bytearray(GOOD + b"garbage")
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    restamp_crc(changed, 0, len(changed))
    return bytes(changed)


BAD_BATCHES = {
    "a good batch": (GOOD, {0}),
    "a wrong checksum": (flipped(17), {CORRUPT_MESSAGE}),
    "a changed record": (flipped(len(GOOD) - 1), {CORRUPT_MESSAGE}),
    # Apache Kafka cuts off an incomplete batch, too.
    "garbage behind a batch": (GOOD + b"garbage", {0}),
    "trailing garbage in a batch": (with_garbage(), {INVALID_RECORD}),
    "two batches": (GOOD + GOOD, {INVALID_RECORD}),
    "half a batch": (GOOD[: len(GOOD) // 2], {CORRUPT_MESSAGE, INVALID_RECORD}),
    "magic 1": (flipped(16)[:16] + b"\x01" + GOOD[17:], {CORRUPT_MESSAGE, INVALID_RECORD, 43}),
    "more records than offsets": (with_count(5, 0), {INVALID_RECORD}),
    "more offsets than records": (with_count(1, 7), {INVALID_RECORD}),
    "nothing": (b"", {INVALID_RECORD, CORRUPT_MESSAGE}),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_scenario_24_bad_batches_get_the_right_error(broker: TidelogBroker, topic: str, name: str) -> None:
    records, codes = BAD_BATCHES[name]
    assert produce_error(broker, topic, records) in codes


def test_scenario_24_a_decompression_bomb_does_not_grow_the_broker(broker: TidelogBroker, tmp_path: Path) -> None:
    """A topic that needs keys makes the broker look into the batch: 512 MB of zeros in a few hundred kilobytes."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    created = admin.create_topics([NewTopic("bombs", 1, 1, config={"cleanup.policy": "compact"})])
    created["bombs"].result(20)
    header = parse_header(GOOD)
    bomb = compress(Compression.ZSTD, bytes(512 << 20))
    batch = assemble_batch(header._replace(attributes=Compression.ZSTD), bomb)
    process = process_of(broker)
    before = process.memory_info().rss
    assert produce_error(broker, "bombs", batch) in {CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE}
    assert process.memory_info().rss - before < 150 << 20
    assert_serves(broker, "after-the-bomb")
