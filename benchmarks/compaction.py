"""Compaction of a gigabyte with a million keys: how long, how much memory, and what producers notice of it.

The latency is that of single records with acks=all to another topic, one after the other, before the compaction and
while it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks.broker_process import MeasuredBroker, broker

TOPIC = "table"
KEYS = 1_000_000
RECORDS = 2_250_000
VALUE = b"v" * 480
IDLE_SECONDS = 10
MOST_SECONDS = 600

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    with broker(None, "--override", "log.cleaner.backoff.ms=500") as target:
        size, end = _fill(target)
        yield ("to be compacted", f"{size / 1e9:.2f} GB, {KEYS:,} keys", "")
        time.sleep(3)
        idle = _latencies(target, until=_after(IDLE_SECONDS))
        memory_before = target.memory_megabytes()
        started, cpu_before = time.perf_counter(), target.cpu_seconds()
        _let_the_cleaner_begin(target)
        watched = _Watched(target, end)
        busy = _latencies(target, until=watched.is_done)
        seconds = time.perf_counter() - started
        cpu_seconds = target.cpu_seconds() - cpu_before
        yield ("compaction", f"{seconds:.1f} s, {size / 1e6 / seconds:,.0f} MB/s", "")
        yield ("broker CPU, latency test included", f"{cpu_seconds:.1f} s", "")
        yield ("left after it", f"{_size(target) / 1e9:.2f} GB", "")
        yield ("more memory", f"{watched.most_megabytes - memory_before:.0f} MB", "under 512 MB")
        yield ("produce latency when idle", _described(idle), "")
        yield ("produce latency meanwhile", _described(busy), "")
        yield ("p99 meanwhile / idle", f"{_percentile(busy, 99) / _percentile(idle, 99):.2f}", "under 3")


def _fill(target: MeasuredBroker) -> tuple[int, int]:
    """(bytes, end offset) of the sealed segments."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    config = {
        "cleanup.policy": "compact",
        "segment.bytes": str(128 << 20),
        # Nothing is compacted before we say so.
        "min.compaction.lag.ms": str(24 * 3600 * 1000),
    }
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    topics = [NewTopic(TOPIC, 1, 1, config=config), NewTopic("latency", 1, 1)]
    for created in admin.create_topics(topics).values():
        created.result(30)
    producer = Producer(
        {
            "bootstrap.servers": target.bootstrap_servers,
            "linger.ms": 20,
            "batch.size": 64_000,
            "queue.buffering.max.messages": 200_000,
        }
    )
    failed: list[str] = []

    def report(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    for number in range(RECORDS):
        # Spread over the log, as updates of a table are.
        key = b"key-%012d" % (number * 7919 % KEYS)
        while True:
            try:
                producer.produce(TOPIC, VALUE, key, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 100 == 0:
            producer.poll(0)
    producer.flush(120)
    if failed:
        raise RuntimeError(f"{len(failed)} records were not stored: {failed[0]}")
    logs = sorted((target.data_dir / f"{TOPIC}-0").glob("*.log"))
    return sum(path.stat().st_size for path in logs[:-1]), int(logs[-1].stem)


def _let_the_cleaner_begin(target: MeasuredBroker) -> None:
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    changes = [("min.compaction.lag.ms", "0"), ("min.cleanable.dirty.ratio", "0.01")]
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in changes]
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(30)


class _Watched:
    """The compaction, seen from outside: its memory, and whether its checkpoint has reached the end."""

    def __init__(self, target: MeasuredBroker, end: int) -> None:
        self.most_megabytes = 0.0
        self._target = target
        self._checkpoint = target.data_dir / "cleaner-offset-checkpoint"
        self._end = end
        self._give_up_at = time.monotonic() + MOST_SECONDS

    def is_done(self) -> bool:
        if time.monotonic() > self._give_up_at:
            raise TimeoutError(f"the compaction takes longer than {MOST_SECONDS} s")
        self.most_megabytes = max(self.most_megabytes, self._target.memory_megabytes())
        for line in self._checkpoint.read_text().splitlines() if self._checkpoint.exists() else ():
            if line.startswith(f"{TOPIC} 0 "):
                return int(line.split()[2]) >= self._end
        return False


def _size(target: MeasuredBroker) -> int:
    return sum(path.stat().st_size for path in (target.data_dir / f"{TOPIC}-0").glob("*.log"))


def _latencies(target: MeasuredBroker, *, until: Callable[[], bool]) -> list[float]:
    """In milliseconds, sorted."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": target.bootstrap_servers, "acks": "all", "linger.ms": 0})
    producer.produce("latency", b"x" * 1000)
    producer.flush(30)
    found: list[float] = []
    checked_at = 0.0
    while True:
        now = time.perf_counter()
        if now - checked_at > 0.2:
            if until():
                return sorted(found)
            checked_at = now
        started = time.perf_counter()
        producer.produce("latency", b"x" * 1000)
        producer.flush(30)
        found.append((time.perf_counter() - started) * 1000)
        time.sleep(0.002)


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _percentile(found: list[float], percent: int) -> float:
    return found[min(len(found) * percent // 100, len(found) - 1)]


def _described(found: list[float]) -> str:
    numbers = ", ".join(f"p{percent} {_percentile(found, percent):.2f}" for percent in (50, 95, 99))
    return f"{numbers} ms of {len(found)} records"
