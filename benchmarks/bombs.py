"""Other clients' latency and the broker's memory while clients send batches that unpack to a thousand times their size.

Eight clients send bombs of every codec to every kind of topic, and look for timestamps in them; compaction goes over
them meanwhile. One more client produces a small record at a time. It should not notice: p99 under 200 ms, and the
broker stays below 256 MB.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.broker_process import MeasuredBroker, broker

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.raw_client import RawClient, raw_client

from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch

SECONDS = 20
CLIENTS = 8
UNPACKED_BYTES = 60 << 20
NOW = 1_700_000_000_000
Row = tuple[str, str, str]
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {
        "cleanup.policy": "compact",
        "segment.bytes": "2097152",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
    },
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "recompressed": {"compression.type": "zstd"},
}


def run() -> Iterator[Row]:
    with broker(None, "--override", "log.cleaner.backoff.ms=100") as target:
        highest = _Highest(target)
        quiet, _ = asyncio.run(_measure(target.bootstrap_servers, 0))
        busy, bombs = asyncio.run(_measure(target.bootstrap_servers, CLIENTS))
        memory = highest.stop()
    yield "bombs: p99 of others, before", f"{quiet * 1000:.1f} ms", ""
    yield f"bombs: p99 of others, during {bombs} of them", f"{busy * 1000:.1f} ms", "< 200 ms"
    yield "bombs: most memory of the broker", f"{memory:.0f} MB", "< 256 MB"


class _Highest(threading.Thread):
    def __init__(self, target: MeasuredBroker) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._done = threading.Event()
        self._megabytes = 0.0
        self.start()

    def run(self) -> None:
        while not self._done.wait(0.02):
            self._megabytes = max(self._megabytes, self._target.memory_megabytes())

    def stop(self) -> float:
        self._done.set()
        self.join()
        return self._megabytes


async def _measure(servers: str, clients: int) -> tuple[float, int]:
    """(p99 of small appends, how many bombs were answered meanwhile)."""
    suffix = f"-{clients}"
    async with raw_client(servers) as client:
        topics = [
            CreatableTopic(
                name=name + suffix,
                num_partitions=1,
                replication_factor=1,
                configs=[
                    CreatableTopicConfig(name=key, value=value)
                    for key, value in {"max.message.bytes": "4000000", **configs}.items()
                ],
            )
            for name, configs in {**TOPICS, "others": {}}.items()
        ]
        await client.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        batches = _bombs() if clients else []
        until = time.monotonic() + SECONDS
        senders = [asyncio.create_task(_send(servers, batches, number, suffix, until)) for number in range(clients)]
        waits = []
        while time.monotonic() < until:
            started = time.perf_counter()
            answer = await client.produce("others" + suffix, b"x" * 100)
            assert answer.error_code == 0
            waits.append(time.perf_counter() - started)
            await asyncio.sleep(0.005)
        sent = sum(await asyncio.gather(*senders))
    return sorted(waits)[int(len(waits) * 0.99)], sent


def _bombs() -> list[bytes]:
    """One huge record, and very many tiny ones."""
    huge = [(NOW, b"k", bytes(UNPACKED_BYTES), ())]
    tiny = [(NOW + at % 7, b"%d" % (at % 10), b"", ()) for at in range(300_000)]
    codecs = (Compression.GZIP, Compression.LZ4, Compression.ZSTD)
    batches = [encode_batch(records, compression=codec) for codec in codecs for records in (huge, tiny)]
    return [batch for batch in batches if len(batch) < 4_000_000]


async def _send(servers: str, batches: list[bytes], number: int, suffix: str, until: float) -> int:
    sent = 0
    names = list(TOPICS)
    async with raw_client(servers) as client:
        while time.monotonic() < until:
            topic = names[(number + sent) % len(names)] + suffix
            answer = await client.produce_batch(topic, batches[(number * 5 + sent) % len(batches)])
            assert answer.error_code == 0, answer
            await _look_for(client, topic)
            sent += 1
    return sent


async def _look_for(client: RawClient, topic: str) -> None:
    partition = ListOffsetsPartition(partition_index=0, timestamp=NOW + 6)
    topics = [ListOffsetsTopic(name=topic, partitions=[partition])]
    response = await client.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    assert response.topics[0].partitions[0].error_code == 0
