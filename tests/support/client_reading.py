"""Reading with our own client, for tests of what producers have written."""

from __future__ import annotations

import asyncio
from typing import Any

from support.processes import HANG_SECONDS

from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord


async def read_all(servers: str, topic: str, **options: Any) -> list[ConsumerRecord]:
    """Everything that the topic holds now (up to the last stable offset for isolation_level="read_committed")."""
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest", **options) as consumer:
        partitions = await consumer.partitions_for(topic)
        ends = await consumer.end_offsets(*partitions)
        consumer.assign(partitions)
        records: list[ConsumerRecord] = []
        async with asyncio.timeout(HANG_SECONDS):
            while any([await consumer.position(partition) < ends[partition] for partition in partitions]):
                records += await consumer.poll(timeout_ms=100)
        return records


async def read_committed(servers: str, topic: str) -> list[bytes]:
    """The values of all committed records, partition by partition, once no transaction is open any more.

    A commit is answered when it is decided; its markers may be written a moment later.
    """
    async with asyncio.timeout(HANG_SECONDS):
        while not await _is_stable(servers, topic):
            await asyncio.sleep(0.05)
    records = await read_all(servers, topic, isolation_level="read_committed")
    return [record.value or b"" for record in sorted(records, key=lambda record: (record.partition, record.offset))]


async def _is_stable(servers: str, topic: str) -> bool:
    """Whether the last stable offset is the high watermark, in every partition."""
    ends = []
    for isolation in ("read_committed", "read_uncommitted"):
        async with Consumer(bootstrap_servers=servers, isolation_level=isolation) as consumer:
            partitions = await consumer.partitions_for(topic)
            ends.append(await consumer.end_offsets(*partitions))
    return ends[0] == ends[1]
