"""Scenario 24: batches of a few kilobytes that unpack to tens of megabytes, in every codec, on every kind of topic.

They are accepted up to a limit, because they are valid. Nobody else waits for them: what the event loop's own thread
unpacks is counted here, and so is the largest piece that is in memory at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.eventually import eventually
from support.present import present
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, produce_request, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.records import produce_rules, produced_records, timestamp_search, unpacking
from tidelog.records.batch import Buffer
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch
from tidelog.records.validation import PROMPT_BYTES
from tidelog.server.replicas.registry import Replicas
from tidelog.storage.log.appending import roll

NOW = 1_700_000_000_000
UNPACKED = 24 << 20
PACKING = list(Compression)[1:]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "stamped": {"message_timestamp_type": "LogAppendTime"},
    "recompressed": {"compression_type": "zstd"},
}


class Unpacked:
    def __init__(self) -> None:
        self.on_the_loop = 0
        self.elsewhere = 0
        self.largest_piece = 0
        self.loop_thread = threading.get_ident()

    def unpack(self, codec: int, data: Buffer, max_bytes: int) -> Iterator[Buffer]:
        for piece in unpacking.unpack(codec, data, max_bytes):
            if threading.get_ident() == self.loop_thread:
                self.on_the_loop += len(piece)
            else:
                self.elsewhere += len(piece)
            self.largest_piece = max(self.largest_piece, len(piece))
            yield piece


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> Unpacked:
    counted = Unpacked()
    for module in (produced_records, timestamp_search):
        monkeypatch.setattr(module, "unpack", counted.unpack)
    return counted


def bomb(codec: Compression) -> bytes:
    """One record that is small, then a huge one, then the one that is sought."""
    value = bytes(UNPACKED)
    return encode_batch([(NOW, b"a", b"", ()), (NOW + 1, b"b", value, ()), (NOW + 2, b"c", b"", ())], compression=codec)


async def offset_for(client: RawClient, topic: str, timestamp: int) -> Any:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic, partitions=[partition])]
    return (await client.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 7)).topics[0].partitions[0]


@pytest.mark.plain_python
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codec", PACKING, ids=lambda codec: codec.name)
async def test_a_bomb_is_unpacked_in_small_pieces_and_off_the_event_loop(
    client: RawClient, unpacked: Unpacked, codec: Compression, kind: str
) -> None:
    await create_topic(client, "t", max_message_bytes="4000000", **KINDS[kind])

    answer = await client.produce_batch("t", bomb(codec))

    assert answer.error_code == 0, answer
    assert unpacked.elsewhere > UNPACKED - PROMPT_BYTES - unpacking.PIECE_BYTES
    assert unpacked.on_the_loop <= PROMPT_BYTES + unpacking.PIECE_BYTES
    assert unpacked.largest_piece <= unpacking.PIECE_BYTES

    unpacked.on_the_loop = 0
    found = await offset_for(client, "t", NOW + 2)
    assert found.error_code == 0
    assert found.offset == (0 if kind == "stamped" else 2)
    assert unpacked.on_the_loop <= PROMPT_BYTES + unpacking.PIECE_BYTES


@pytest.mark.plain_python
async def test_what_unpacks_beyond_the_limit_is_too_large_and_the_connection_stays(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce_rules, "SMALLEST_UNPACKED_LIMIT", UNPACKED)
    monkeypatch.setattr(produce_rules, "UNPACKED_RATIO", 1)
    await create_topic(client, "t")

    answer = await client.produce_batch("t", bomb(Compression.ZSTD))

    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "when decompressed" in answer.error_message
    assert (await client.produce("t", b"x")).error_code == 0


async def test_batches_behind_a_bomb_on_the_same_connection_keep_their_order(client: RawClient) -> None:
    await create_topic(client, "t", max_message_bytes="4000000")
    asked = []
    for sequence in range(8):
        codec = Compression.ZSTD if sequence % 4 == 0 else Compression.NONE
        value = bytes(3 << 20) if codec else b"small"
        batch = encode_batch(
            [(NOW, b"k", value, ())], compression=codec, producer_id=9, producer_epoch=0, base_sequence=sequence
        )
        asked.append(client.send(produce_request("t", batch), 11))
    answers = [(await client.receive(each)).responses[0].partition_responses[0] for each in asked]

    assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, number) for number in range(8)]


class Held:
    """Unpacking off the event loop stops until it may go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self._loop_thread = threading.get_ident()

    def unpack(self, codec: int, data: Buffer, max_bytes: int) -> Iterator[Buffer]:
        for piece in unpacking.unpack(codec, data, max_bytes):
            if threading.get_ident() != self._loop_thread:
                self.reached.set()
                assert self.go_on.wait(HANG_SECONDS)
            yield piece

    @asynccontextmanager
    async def search(self, client: RawClient, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Task[Any]]:
        """One that is under way in a thread, and goes on at the end."""
        monkeypatch.setattr(timestamp_search, "unpack", self.unpack)
        searching = asyncio.create_task(offset_for(client, "t", NOW + 2))
        try:
            assert await asyncio.to_thread(self.reached.wait, HANG_SECONDS)
            yield searching
        finally:
            self.go_on.set()


async def write_misleading_bomb(client: RawClient) -> None:
    """Its header promises a record of `NOW + 2`; behind the first one, which is deleted, there is none. The batch after
    it has one, at offset 3."""
    records = [(NOW + 2, b"a", b"", ()), (NOW, b"b", bytes(UNPACKED), ()), (NOW, b"c", b"", ())]
    bomb = encode_batch(records, compression=Compression.ZSTD)
    for batch in (bomb, encode_batch([(NOW + 2, b"d", b"", ())])):
        assert (await client.produce_batch("t", batch)).error_code == 0
    first = DeleteRecordsPartition(partition_index=0, offset=1)
    await client.ask(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[first])]))


async def move_away(client: RawClient, replicas: Replicas) -> None:
    replica = present(replicas.get("t", 0))
    (other,) = (each for each in replicas.directories if each is not replicas.directory_of(replica))
    wanted = AlterReplicaLogDir(path=other.path, topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])])
    await client.ask(AlterReplicaLogDirsRequest(dirs=[wanted]))

    async def moved() -> None:
        assert replicas.directory_of(replica) is other

    await eventually(moved)


@pytest.mark.parametrize(
    ("fate", "code", "offset"),
    [
        ("deleted", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        ("recreated", ErrorCode.NONE, -1),
        ("moved", ErrorCode.NONE, 3),
    ],
)
async def test_log_that_goes_away_while_it_is_searched_costs_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str, code: ErrorCode, offset: int
) -> None:
    """The search must not go on in files that are not there any more: that looks like a disk that fails."""
    async with (
        tidelog.Broker(properties={"log.dirs": f"{tmp_path}/a,{tmp_path}/b"}) as running,
        raw_client(running.bootstrap_servers) as asking,
        raw_client(running.bootstrap_servers) as client,
    ):
        replicas = running.running.node.replicas
        await create_topic(client, "t", max_message_bytes="4000000")
        await write_misleading_bomb(client)
        async with Held().search(asking, monkeypatch) as searching:
            if fate == "moved":
                await move_away(client, replicas)
            else:
                await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=20_000))
            if fate == "recreated":
                await create_topic(client, "t")
        found = await searching
        assert (found.error_code, found.offset) == (code, offset)
        assert [directory.failure for directory in replicas.directories] == [None, None]


@pytest.mark.parametrize("codec", PACKING, ids=lambda codec: codec.name)
async def test_compaction_survives_bombs(codec: Compression) -> None:
    """The first bomb is superseded by the second, which stays whole."""
    properties = {"log.cleaner.backoff.ms": "20"}
    config: dict[str, Any] = {
        "cleanup_policy": "compact",
        "min_cleanable_dirty_ratio": "0.01",
        "max_message_bytes": "4000000",
    }
    async with tidelog.Broker(properties=properties) as running, raw_client(running.bootstrap_servers) as client:
        await create_topic(client, "t", **config)
        replica = running.running.node.replicas.get("t", 0)
        assert replica is not None
        log = replica.log
        for _ in range(2):
            assert (await client.produce_batch("t", bomb(codec))).error_code == 0
        roll(log, NOW)
        async with asyncio.timeout(HANG_SECONDS):
            while (log.cleaned_up_to or 0) < 6 or log.exchange.running:
                await asyncio.sleep(0.02)

        counts = [header.record_count for segment in log.segments for _, header in segment.headers(0)]
        assert counts == [3]
        assert (await client.produce_batch("t", bomb(codec))).base_offset == 6
