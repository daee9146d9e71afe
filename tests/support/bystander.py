"""A client that works quietly beside the others, in a process of its own, and notes how long each request takes.

Run as a program: `python -m support.bystander ADDRESS REPORT`. It ends when its standard input is closed, and writes
its report as JSON: the milliseconds of each request, and what went wrong.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from pathlib import Path

from support.raw_client import RawClient, produce_request, raw_client

from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.records.record import encode_batch
from tidelog.server.observability.metrics import error_codes

TOPIC = "bystander"
PAUSE_SECONDS = 0.005


def commit(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    return OffsetCommitRequest(group_id="bystanders", topics=[topic])


def fetch(offset: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 16)
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=1 << 16, topics=[FetchTopic(topic=TOPIC, partitions=[partition])]
    )


async def work(client: RawClient, stopped: threading.Event, took_ms: list[float]) -> int:
    """The number of rounds. Raises whatever a client should not see."""
    await client.ask(
        CreateTopicsRequest(
            topics=[CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)], timeout_ms=30_000
        )
    )
    # Makes the topic of the groups, which takes its time to be ready.
    await client.ask(FindCoordinatorRequest(key="bystanders"), 3)
    while next(iter(error_codes(await client.ask(commit(0), 9))), 0) and not stopped.is_set():
        await asyncio.sleep(PAUSE_SECONDS)
    rounds = 0
    while not stopped.is_set():
        metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        for request, version in (
            (produce_request(TOPIC, encode_batch([(0, None, b"%d" % rounds, ())])), 11),
            (fetch(rounds), 11),
            (commit(rounds), 9),
            (metadata, 9),
        ):
            began = time.perf_counter()
            reply = await client.ask(request, version)
            code = next(iter(error_codes(reply)), 0)
            if rounds:
                # The first round loads modules.
                took_ms.append((time.perf_counter() - began) * 1000)
                if code:
                    raise RuntimeError(f"round {rounds}: error {code} in {type(reply).__name__}")
        rounds += 1
        await asyncio.sleep(PAUSE_SECONDS)
    return rounds


async def main(address: str, report: Path) -> None:
    stopped = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    took_ms: list[float] = []
    problem, rounds = "", 0
    try:
        async with raw_client(address) as client:
            rounds = await work(client, stopped, took_ms)
    except Exception as error:
        problem = repr(error)
    report.write_text(json.dumps({"took_ms": took_ms, "rounds": rounds, "problem": problem}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
