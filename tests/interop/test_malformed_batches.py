"""The same damaged batches to tidelog and to Apache Kafka: the same verdicts, and every client reads what is accepted.

Intended differences are in `support.verdicts`, with their reasons.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.apache_kafka import running_apache_kafka
from support.client_reading import read_all
from support.clients.contract import ForeignClient
from support.malformed_batches import TOPICS, all_cases
from support.present import present
from support.raw_client import raw_client
from support.tidelog_process import running_tidelog
from support.verdicts import ask_verdicts, unintended

from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic


@pytest.mark.slow
@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
async def test_the_same_verdicts_and_every_client_reads_what_is_accepted(
    jars: Path, tmp_path: Path, open_client: Callable[[str, str], ForeignClient]
) -> None:
    cases = all_cases()
    assert len(cases) > 9000
    with running_apache_kafka(jars, tmp_path / "kafka") as apache:
        theirs = await ask_verdicts(apache.bootstrap_servers, cases)
    with running_tidelog(tmp_path / "tidelog") as broker:
        servers = broker.bootstrap_servers
        ours = await ask_verdicts(servers, cases)

        assert unintended(cases, [each.code for each in theirs], [each.code for each in ours]) == []
        same = [
            [(our_index, our_text) for our_index, our_text in our.record_errors]
            for our, their in zip(ours, theirs, strict=True)
            if our.code == their.code and len(our.record_errors) == len(their.record_errors)
        ]
        assert sum(map(bool, same)) > 50
        for topic in TOPICS:
            end = await end_offset(servers, topic)
            assert [record.offset for record in await read_all(servers, topic)] == list(range(end))
            assert await asyncio.to_thread(offsets_read_by_librdkafka, servers, topic, end) == list(range(end))
            java = open_client("java", servers)
            messages = await asyncio.to_thread(java.read, topic, count=end)
            assert [message.offset for message in messages] == list(range(end))


def offsets_read_by_librdkafka(servers: str, topic: str, count: int) -> list[int]:
    """Without asking for headers: Python's binding cannot show names that are not UTF-8."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False})
    offsets: list[int] = []
    deadline = time.monotonic() + 30
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while len(offsets) < count and time.monotonic() < deadline:
            for message in consumer.consume(1000, 1.0):
                assert message.error() is None, message.error()
                offsets.append(present(message.offset()))
    finally:
        consumer.close()
    return offsets


async def end_offset(servers: str, topic: str) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    async with raw_client(servers) as client:
        response = await client.ask(request, 7)
    end: int = response.topics[0].partitions[0].offset
    return end
