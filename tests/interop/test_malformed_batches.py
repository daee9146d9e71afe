"""The same damaged batches to tidelog and to Apache Kafka: the same verdicts, and every client reads what is accepted.

Intended differences are in `support.verdicts`, with their reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from support.apache_kafka import running_apache_kafka
from support.client_reading import read_all
from support.clients.contract import ForeignClient
from support.malformed_batches import TOPICS, all_cases
from support.raw_client import raw_client
from support.tidelog_process import running_tidelog
from support.verdicts import ask_verdicts, unintended

from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

READERS = ("confluent-kafka", "java")


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
            for name in READERS:
                client = open_client(name, servers)
                messages = await asyncio.to_thread(client.read, topic, count=end)
                assert [message.offset for message in messages] == list(range(end)), name


async def end_offset(servers: str, topic: str) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    async with raw_client(servers) as client:
        response = await client.ask(request, 7)
    end: int = response.topics[0].partitions[0].offset
    return end
