"""Compacted topics: other people's clients read them through the gaps, and Apache Kafka's tool reads their files.

The same topic is compacted by tidelog and by Apache Kafka: what readers find in the end is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from interop.test_dump_log import LogDirectory, run_ours, run_theirs
from support.apache_kafka import running_apache_kafka
from support.clients.confluent import ConfluentClient
from support.clients.contract import ForeignClient, Message
from support.processes import wait_until
from support.tidelog_process import running_tidelog

from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.verification.directory import verify
from tidelog.storage.verification.findings import Report

ON_JVM = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

TOPIC = "table"
KEYS = 12
ROUNDS = 40
PROPERTIES = {"log.cleaner.backoff.ms": "100", "log.index.interval.bytes": "256"}
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    # Apache Kafka refuses smaller segments, but both roll by time.
    "segment.ms": "400",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "600000",
    "file.delete.delay.ms": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    bootstrap_servers: str
    log_directory: Path
    # Offset, key and value of what has to be there at last.
    expected: list[tuple[int, bytes, bytes | None]]


def fill(bootstrap_servers: str) -> list[tuple[int, bytes, bytes | None]]:
    """Rounds of all keys, some of them in transactions that are committed or aborted, and tombstones at the end."""
    assert ConfluentClient(bootstrap_servers).create_topic(TOPIC, configs=CONFIGS) == 0
    delivered: dict[int, tuple[bytes, bytes | None]] = {}

    def keep(error: object, message: object) -> None:
        assert error is None
        delivered[message.offset()] = (message.key(), message.value())  # type: ignore[attr-defined]

    plain = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 2, "compression.type": "lz4"})
    transactional = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "compaction", "linger.ms": 2})
    transactional.init_transactions(30)
    for number in range(ROUNDS):
        for key in range(KEYS):
            value = b"%d-%d" % (key, number) * 10
            deleted = number == ROUNDS - 1 and key < 2
            plain.produce(TOPIC, key=b"key-%d" % key, value=None if deleted else value, on_delivery=keep)
        plain.flush(30)
        if number % 10 == 5:
            aborted = number % 20 == 5
            transactional.begin_transaction()
            for key in range(KEYS, KEYS + 3):
                on_delivery = (lambda error, _: None) if aborted else keep
                transactional.produce(TOPIC, key=b"key-%d" % key, value=b"%d" % number, on_delivery=on_delivery)
            transactional.flush(30)
            if aborted:
                transactional.abort_transaction(30)
            else:
                transactional.commit_transaction(30)
        # Segments are rolled by the timestamps of records.
        time.sleep(0.05)
    last = {key: offset for offset, (key, _) in sorted(delivered.items())}
    return sorted((offset, key, delivered[offset][1]) for key, offset in last.items())


@contextmanager
def compacted(target: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Compacted]:
    if target == "tidelog":
        running = running_tidelog(folder, PROPERTIES)
    else:
        running = running_apache_kafka(request.getfixturevalue("jars"), folder, PROPERTIES)  # type: ignore[assignment]
    with running as broker:
        expected = fill(broker.bootstrap_servers)
        # What is being written is never compacted: one more record rolls the segment.
        time.sleep(0.5)
        closing = Message(key=b"closing", value=b"1", timestamp_ms=int(time.time() * 1000))
        (end,) = ConfluentClient(broker.bootstrap_servers).produce(TOPIC, [closing])
        checkpoint = broker.log_directory / "cleaner-offset-checkpoint"
        wait_until(
            lambda: checkpoint.exists() and f"{TOPIC} 0 {end}" in checkpoint.read_text().splitlines(),
            what=f"the cleaner to reach offset {end}",
        )
        yield Compacted(
            bootstrap_servers=broker.bootstrap_servers,
            log_directory=broker.log_directory,
            expected=[*expected, (end, b"closing", b"1")],
        )


@pytest.fixture(scope="module", params=["tidelog", pytest.param("apache", marks=ON_JVM)])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compacted]:
    with compacted(request.param, tmp_path_factory.mktemp(f"compacted-{request.param}"), request) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("name", ["confluent-kafka", "kafka-python", "aiokafka", pytest.param("java", marks=ON_JVM)])
def test_clients_read_through_the_gaps(
    table: Compacted, open_client: Callable[[str, str], ForeignClient], name: str
) -> None:
    client = open_client(name, table.bootstrap_servers)
    found = client.read(TOPIC, count=len(table.expected))
    assert [(message.offset, message.key, message.value) for message in found] == table.expected
    # Also from an offset that is not there any more.
    gap = table.expected[3][0] - 1
    assert gap not in [offset for offset, _, _ in table.expected]
    found = client.read(TOPIC, start=gap, count=len(table.expected) - 3)
    assert [message.offset for message in found] == [offset for offset, _, _ in table.expected[3:]]


@pytest.mark.slow
@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("target", ["tidelog", "apache"])
def test_both_tools_read_compacted_segments(
    request: pytest.FixtureRequest,
    jars: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
) -> None:
    with compacted(target, tmp_path, request) as broker:
        pass
    monkeypatch.chdir(broker.log_directory)
    files = sorted(
        f"{TOPIC}-0/{path.name}"
        for path in (broker.log_directory / f"{TOPIC}-0").iterdir()
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    )
    assert len([name for name in files if name.endswith(".log")]) >= 2
    directory = LogDirectory(path=broker.log_directory, files=files)
    theirs, their_complaints = run_theirs(jars, directory, files, "--print-data-log")
    ours, our_complaints = run_ours(files, {"print_data_log": True})
    assert ours.split(b"\n") == theirs.split(b"\n")
    # Every gap is non-consecutive to the tools; beside that neither has anything to say.
    gaps = [line for line in their_complaints if "is followed by" in line]
    assert len(gaps) > 1
    assert [line for line in our_complaints if "is followed by" in line] == gaps
    others = [line for line in (*our_complaints, *their_complaints) if line not in gaps]
    assert [line for line in others if not line.startswith("Non-consecutive offsets in ")] == []
    assert theirs.count(b"isvalid: true") >= 5
    assert b"isvalid: false" not in theirs
    report = Report()
    verify(LocalFileSystem(), str(broker.log_directory), report)
    assert report.damage == []
    assert report.partitions > 1
