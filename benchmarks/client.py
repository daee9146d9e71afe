"""The Python client: its codec, compiled and plain, and what sticky partitioning and idempotence change.

It is compared with other libraries in `benchmarks.comparison.clients`.

Rates are the best of several runs in processes of their own, with those that are compared taking turns, because a busy
machine makes single runs worthless. The broker is a process beside them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

from benchmarks.broker_process import broker, wait_for_nodes
from benchmarks.comparison.client_work import PARTITIONS as TOPIC_PARTITIONS

Row = tuple[str, str, str]

ROUNDS = 2
PRODUCED = 200_000
VALUE = bytes(100)
TIMEOUT_SECONDS = 300

# The codec, per core.
BATCH = 1_000
ENCODE_BOUND = 1_000_000
DECODE_BOUND = 2_000_000

# Paced records without key, for the latencies, to three nodes. Sticky partitioning fills a batch in half of the time
# for which it may linger, and has one node to ask; dealt out, six batches linger to the end, on all nodes. The times
# are long, because on a busy machine each answer may take tens of milliseconds.
NODES = 3
PARTITIONS = 6
PACED_PER_SECOND = 10_000
PACED_SECONDS = 8.0
PACED_LINGER_MS = 220
PACED_BATCH_SIZE = 128 * 1024
# Latencies of every tenth record are measured: measuring costs as well.
SAMPLED = 10
LATENCY_BOUND = 0.30
IDEMPOTENCE_BOUND = 0.20


def run() -> Iterator[Row]:
    yield from _codec()
    with broker(None, "--nodes", str(NODES)) as target:
        wait_for_nodes(target, NODES)
        yield from _sticky(target.bootstrap_servers)
    with broker() as target:
        yield from _idempotence(target.bootstrap_servers)


# The codec


def _codec() -> Iterator[Row]:
    for what, switch in (("compiled", "0"), ("plain Python", "1")):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.client", "codec"],
            env={**os.environ, "TIDELOG_PURE_PYTHON": switch},
            capture_output=True,
            text=True,
            check=True,
            timeout=TIMEOUT_SECONDS,
        )
        active, *rates = done.stdout.split()
        if what == "compiled" and active != "compiled":
            yield ("record codec, compiled", "not built here: see tidelog doctor", "")
            continue
        encode, decode, to_columns, from_columns = map(float, rates)
        bounds = (f"at least {ENCODE_BOUND:,}", f"at least {DECODE_BOUND:,}") if what == "compiled" else ("", "")
        yield (f"encode 100-byte records, {what}", f"{encode:,.0f} /s", bounds[0])
        yield (f"decode 100-byte records, {what}", f"{decode:,.0f} /s", bounds[1])
        yield (f"records to columns, {what}", f"{to_columns:,.0f} /s", "")
        yield (f"columns to records, {what}", f"{from_columns:,.0f} /s", "")


def _codec_rates() -> str:
    from tidelog.records.batch import parse_header
    from tidelog.records.columns import BinaryColumn, RowEncoder, RowSource, decode_columns
    from tidelog.records.implementation import COMPILED
    from tidelog.records.record import NewRecord, decode_batch, encode_batch

    records: list[NewRecord] = [(1_000 + index, b"key-%d" % index, VALUE, ()) for index in range(BATCH)]
    batch = encode_batch(records)
    header = parse_header(batch)
    columns = decode_columns([(header, batch)])
    rows = b"".join(row.to_bytes(4, sys.byteorder) for row in range(BATCH))
    source = RowSource(
        BATCH,
        BinaryColumn(None, columns.keys.offsets, columns.keys.data),
        BinaryColumn(None, columns.values.offsets, columns.values.data),
        None,
        columns.timestamps,
        0,
    )
    rates = (
        _rate(lambda: encode_batch(records)),
        _rate(lambda: decode_batch(batch)),
        _rate(lambda: decode_columns([(header, batch)])),
        _rate(lambda: list(RowEncoder(source).encode(rows, batch_size=1 << 20))),
    )
    return " ".join(["compiled" if COMPILED else "plain", *map(str, rates)])


def _rate(work: object) -> float:
    """Records per second of processor time, the best of several tries."""
    assert callable(work)
    best = 0.0
    for _ in range(7):
        started, done = time.process_time(), 0
        while time.process_time() - started < 0.15:
            work()
            done += 1
        best = max(best, done * BATCH / (time.process_time() - started))
    return best


# Sticky partitioning and idempotence


def _sticky(servers: str) -> Iterator[Row]:
    import uvloop

    found: dict[str, list[tuple[float, float]]] = {"uniform-sticky": [], "round-robin": []}
    for _ in range(ROUNDS):
        for partitioner, results in found.items():
            results.append(uvloop.run(_paced(servers, partitioner)))
    best = {partitioner: min(results) for partitioner, results in found.items()}
    for partitioner, (latency_ms, requests) in best.items():
        yield (f"p99 of produce, {partitioner}, {PARTITIONS} partitions", f"{latency_ms:.1f} ms", "")
        yield (f"requests, {partitioner}", f"{requests:,.0f}", "")
    sticky, dealt = best["uniform-sticky"], best["round-robin"]
    saved = 1 - sticky[0] / dealt[0]
    yield ("sticky: p99 of produce is lower by", f"{saved:.0%}", f"at least {LATENCY_BOUND:.0%}")
    yield ("sticky: requests per request of round-robin", f"{sticky[1] / dealt[1]:.2f}", "below 1")


async def _paced(servers: str, partitioner: str) -> tuple[float, float]:
    """(99th percentile of the time to delivery in ms, requests) of small records without key at a steady pace."""
    import tidelog
    from tidelog.client.producer.delivery import Delivery

    topic = f"paced-{uuid.uuid4().hex[:8]}"
    async with tidelog.Admin(servers) as admin:
        await admin.create_topic(topic, partitions=PARTITIONS)
    latencies: list[float] = []

    async def measured(started: float, delivery: Delivery) -> None:
        await delivery
        latencies.append(time.perf_counter() - started)

    async with tidelog.Producer(
        servers, partitioner=partitioner, linger_ms=PACED_LINGER_MS, batch_size=PACED_BATCH_SIZE
    ) as producer:
        await producer.partitions_for(topic)
        count = int(PACED_PER_SECOND * PACED_SECONDS)
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as waiting:
            for number in range(count):
                due = begun + number / PACED_PER_SECOND
                if (early := due - time.perf_counter()) > 0.001:
                    await asyncio.sleep(early)
                started = time.perf_counter()
                delivery = await producer.send(topic, VALUE)
                if number % SAMPLED == 0:
                    waiting.create_task(measured(started, delivery))
            await producer.flush()
        requests = producer.metrics()["request-total"]
    latencies.sort()
    return latencies[len(latencies) * 99 // 100] * 1000, requests


def _idempotence(servers: str) -> Iterator[Row]:
    rates = {"tidelog asyncio": 0.0, "tidelog without idempotence": 0.0}
    for _ in range(ROUNDS):
        for library in rates:
            rates[library] = max(rates[library], _produce(library, servers))
    for library, rate in rates.items():
        yield (f"produce 100-byte records, {library}", f"{rate:,.0f} /s", "")
    cost = 1 - rates["tidelog asyncio"] / rates["tidelog without idempotence"]
    yield ("idempotence costs of the throughput", f"{max(cost, 0):.0%}", f"at most {IDEMPOTENCE_BOUND:.0%}")


def _produce(library: str, servers: str) -> float:
    work = [sys.executable, "-m", "benchmarks.comparison.client_work", "produce", library]
    done = subprocess.run(
        [*work, servers, _new_topic(servers), str(PRODUCED), str(len(VALUE))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    return float(done.stdout.split()[0])


def _new_topic(servers: str) -> str:
    from tidelog.sync import Admin

    topic = f"bench-{uuid.uuid4().hex[:8]}"
    with Admin(servers) as admin:
        admin.create_topic(topic, partitions=TOPIC_PARTITIONS)
    return topic


if __name__ == "__main__":
    print(_codec_rates())
