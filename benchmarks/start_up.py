"""How long a broker takes to its first accepted connection, and what it needs while nobody uses it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.broker_process import broker

SEGMENTS = 10
BATCHES_PER_SEGMENT = 1024
TOPICS = 1000

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    seconds = []
    for _ in range(3):
        with broker() as target:
            seconds.append(target.start_seconds)
            time.sleep(1)
            memory = target.memory_megabytes()
    yield ("start with an empty directory", f"{min(seconds):.2f} s", "under 1 s")
    yield ("memory when idle", f"{memory:.0f} MB", "under 80 MB")
    yield from _thousand_topics()
    yield from _ten_gigabytes()


def _thousand_topics() -> Iterator[Row]:
    from confluent_kafka.admin import AdminClient, NewTopic

    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        with broker(Path(name)) as target:
            admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
            started = time.perf_counter()
            created = admin.create_topics([NewTopic(f"topic-{number}", 1, 1) for number in range(TOPICS)])
            for each in created.values():
                each.result(60)
            yield (f"create {TOPICS} topics", f"{time.perf_counter() - started:.2f} s", "")
            started = time.perf_counter()
            assert len(admin.list_topics(timeout=30).topics) >= TOPICS
            yield (f"list {TOPICS} topics", f"{(time.perf_counter() - started) * 1000:.0f} ms", "")
            yield (f"memory with {TOPICS} topics", f"{target.memory_megabytes():.0f} MB", "")
        with broker(Path(name)) as target:
            yield (f"start with {TOPICS} topics", f"{target.start_seconds:.2f} s", "")


def _ten_gigabytes() -> Iterator[Row]:
    """Cleanly closed segments of 1 GB. They are written through a broker, so that all files beside them are right."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 14e9:
        yield ("start with 10 GB of closed segments", "not measured", f"only {free / 1e9:.0f} GB of disk are free")
        return
    from confluent_kafka import Producer

    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        with broker(Path(name)) as target:
            producer = Producer(
                {
                    "bootstrap.servers": target.bootstrap_servers,
                    "linger.ms": 50,
                    "batch.size": 1_000_000,
                    "message.max.bytes": 1_000_000,
                    "queue.buffering.max.messages": 10_000,
                }
            )
            value = b"y" * 100_000
            for _ in range(SEGMENTS * BATCHES_PER_SEGMENT * 10):
                while True:
                    try:
                        producer.produce("large", value)
                        break
                    except BufferError:
                        producer.poll(0.05)
            if producer.flush(300):
                raise RuntimeError("the data could not be written")
        size = sum(file.stat().st_size for file in Path(name).glob("large-0/*.log"))
        with broker(Path(name)) as target:
            yield (f"start with {size / 1e9:.1f} GB of closed segments", f"{target.start_seconds:.2f} s", "under 5 s")
