"""What a broker does beside its clients: compaction, and the rebalance of a large group."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from benchmarks.comparison.contestants import Server
from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import TIMEOUT_SECONDS, create_topic
from benchmarks.comparison.scenario import Measured, Scenario, Turn
from benchmarks.group_members import connections, find_coordinator, form_group

KEYS = 250_000
RECORDS = 1_000_000
VALUE = b"v" * 480
SEGMENTS = 8
MOST_SECONDS = 600
CLEANER = {"log.cleaner.backoff.ms": "500"}
MEMBERS = 500

_COMPACTION = Figure(name="compaction", unit="MB/s")
_REBALANCE = Figure(name=f"rebalance of {MEMBERS} members", unit="ms", more_is_better=False)


def scenarios() -> Iterator[Scenario]:
    yield Scenario(name="rebalance", figures=(_REBALANCE,), measure=_rebalance)
    yield Scenario(
        name="compacting",
        figures=(_COMPACTION,),
        measure=_compaction,
        nodes=0,
        warm_up_rounds=0,
        rounds=2,
    )


def _rebalance(turn: Turn) -> Measured:
    """All members join again with another subscription, get one generation, and then their assignments."""

    async def run() -> float:
        address = turn.server.bootstrap_servers
        await find_coordinator(address, turn.label)
        async with connections(address, turn.scaled(MEMBERS)) as opened:
            members = (await form_group(opened, turn.label)).members
            started = time.perf_counter()
            await form_group(opened, turn.label, members=members, subscription=b"other")
            return (time.perf_counter() - started) * 1000

    return {_REBALANCE.name: asyncio.run(run())}


def _compaction(turn: Turn) -> Measured:
    """From the moment at which the cleaner may begin until its checkpoint says that it is at the active segment."""
    with turn.contestant.running(properties=CLEANER) as server:
        size, end = _fill(server, records=turn.scaled(RECORDS), keys=turn.scaled(KEYS))
        if not end:
            raise RuntimeError("there is no sealed segment to be compacted")
        started = time.perf_counter()
        _let_the_cleaner_begin(server)
        while _cleaned_to(server) < end:
            if time.perf_counter() - started > MOST_SECONDS:
                raise TimeoutError(f"the compaction takes longer than {MOST_SECONDS} s")
            time.sleep(0.05)
        return {_COMPACTION.name: size / 1e6 / (time.perf_counter() - started)}


def _fill(server: Server, *, records: int, keys: int) -> tuple[int, int]:
    """(bytes, end offset) of the sealed segments."""
    # Nothing is compacted before we say so.
    configs = {
        "cleanup.policy": "compact",
        # The least that Apache Kafka takes is 1 MB.
        "segment.bytes": str(max(1 << 20, records * len(VALUE) // SEGMENTS)),
        "min.compaction.lag.ms": str(24 * 3600 * 1000),
    }
    create_topic(server, "table", configs=configs)
    options = {"linger.ms": 20, "queue.buffering.max.messages": 200_000, "log_level": 0}
    producer = Producer({**options, "bootstrap.servers": server.bootstrap_servers})
    for number in range(records):
        # Spread over the log, as updates of a table are.
        key = b"key-%012d" % (number * 7919 % keys)
        while True:
            try:
                producer.produce("table", VALUE, key)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 100 == 0:
            producer.poll(0)
    if producer.flush(TIMEOUT_SECONDS):
        raise RuntimeError("the records to be compacted were not acknowledged")
    logs = sorted((server.directories[0] / "table-0").glob("*.log"))
    return sum(path.stat().st_size for path in logs[:-1]), int(logs[-1].stem)


def _let_the_cleaner_begin(server: Server) -> None:
    changes = (("min.compaction.lag.ms", "0"), ("min.cleanable.dirty.ratio", "0.01"))
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in changes]
    resource = ConfigResource(ResourceType.TOPIC, "table", incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(30)


def _cleaned_to(server: Server) -> int:
    checkpoint = server.directories[0] / "cleaner-offset-checkpoint"
    for line in checkpoint.read_text().splitlines() if checkpoint.exists() else ():
        topic, *numbers = line.split()
        if topic == "table":
            return int(numbers[1])
    return -1
