"""Scenarios 9, 13 and 20 over a real socket: what is stored of a producer that repeats itself, and what is shown."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from server.conftest import create_topic
from server.test_produce import producer_id, read
from support.present import present
from support.raw_client import RawClient, produce_request, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.records.record import encode_batch

LARGEST_SEQUENCE = 2**31 - 1
WAIT_SECONDS = 30

COMPACTED: dict[str, Any] = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "2000",
    "min_cleanable_dirty_ratio": "0.01",
    "file_delete_delay_ms": "0",
    "delete_retention_ms": "86400000",
}
KEYS = 5
TRANSACTIONS = 40


async def test_scenario_9_five_requests_arriving_as_3_5_4_are_stored_once_and_in_order(client: RawClient) -> None:
    """A client with five requests in flight whose first was lost: it sends all of them again, in order."""
    topic_id = await create_topic(client, "t")
    given: dict[str, Any] = {"producer_id": await producer_id(client), "producer_epoch": 0}
    requests = {
        number: produce_request("t", encode_batch([(1, None, b"%d" % number, ())], base_sequence=number, **given))
        for number in range(6)
    }

    async def send(*numbers: int) -> list[ErrorCode]:
        # All are on their way before the first is answered.
        asked = [client.send(requests[number], 11) for number in numbers]
        replies = [await client.receive(each) for each in asked]
        return [ErrorCode(reply.responses[0].partition_responses[0].error_code) for reply in replies]

    assert await send(0, 1, 2) == [ErrorCode.NONE] * 3
    out_of_order = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    # 3 is there, 5 overtakes 4.
    assert await send(3, 5, 4) == [ErrorCode.NONE, out_of_order, ErrorCode.NONE]
    assert await send(1, 2, 3, 4, 5) == [ErrorCode.NONE] * 5
    assert await send(5, 4, 3, 2, 1) == [ErrorCode.NONE] * 5

    _, records = await read(client, topic_id)
    assert [record.value for record in records] == [b"%d" % number for number in range(6)]


async def test_scenario_13_the_sequence_number_goes_on_with_0_after_the_largest(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    given: dict[str, Any] = {"producer_id": await producer_id(client), "producer_epoch": 0}
    near_the_end = LARGEST_SEQUENCE - 3
    first = await client.produce("t", b"0", b"1", base_sequence=near_the_end, **given)
    # Four records, of which the last two have the sequence numbers 0 and 1.
    across = await client.produce("t", b"2", b"3", b"4", b"5", base_sequence=near_the_end + 2, **given)
    after = await client.produce("t", b"6", base_sequence=2, **given)
    assert [each.error_code for each in (first, across, after)] == [0, 0, 0]

    again = await client.produce("t", b"2", b"3", b"4", b"5", base_sequence=near_the_end + 2, **given)
    assert (again.error_code, again.base_offset) == (0, across.base_offset)
    gap = await client.produce("t", b"8", base_sequence=4, **given)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    _, records = await read(client, topic_id)
    assert [record.value for record in records] == [b"%d" % number for number in range(7)]


async def test_scenario_20_aborted_records_stay_hidden_over_segments_restarts_and_compaction(tmp_path: Path) -> None:
    properties = {"log.cleaner.backoff.ms": "20"}
    last: dict[str, str] = {}
    async with tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker:
        async with raw_client(broker.bootstrap_servers) as client:
            await create_topic(client, "t", **COMPACTED)
        last = await asyncio.to_thread(_write_transactions, broker.bootstrap_servers)
        assert len(list((tmp_path / "t-0").glob("*.log"))) > 3, "the transactions are to lie in several segments"
        assert await asyncio.to_thread(_read_committed, broker.bootstrap_servers) == last
        await _compacted(tmp_path / "t-0")
    for _ in range(2):
        async with tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker:
            assert await asyncio.to_thread(_read_committed, broker.bootstrap_servers) == last
            await _compacted(tmp_path / "t-0")
            assert await asyncio.to_thread(_read_committed, broker.bootstrap_servers) == last


def _write_transactions(bootstrap_servers: str) -> dict[str, str]:
    """Commits and aborts by turns, each over all keys; what a reader may see in the end."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "writer", "log_level": 0})
    producer.init_transactions(WAIT_SECONDS)
    last = {}
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        values = {f"key-{key}": f"{number}-{'x' * 40}" for key in range(KEYS)}
        for key, value in values.items():
            producer.produce("t", value, key, partition=0)
        assert producer.flush(WAIT_SECONDS) == 0
        if number % 2 == 0:
            producer.commit_transaction(WAIT_SECONDS)
            last = values
        else:
            producer.abort_transaction(WAIT_SECONDS)
    return last


def _read_committed(bootstrap_servers: str) -> dict[str, str]:
    """The last value of each key; fails if a value of an aborted transaction is shown on the way."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    found: dict[str, str] = {}
    try:
        while True:
            message = consumer.poll(WAIT_SECONDS)
            assert message is not None, "the end was not reached"
            if message.error() is not None:
                return found
            value = present(message.value()).decode()
            assert int(value.partition("-")[0]) % 2 == 0, f"aborted, and shown: {value} at {message.offset()}"
            found[present(message.key()).decode()] = value
    finally:
        consumer.close()


async def _compacted(directory: Path) -> None:
    """Until the cleaner has gone through all segments but the active one."""
    checkpoint = directory.parent / "cleaner-offset-checkpoint"
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            active = max(int(path.stem) for path in directory.glob("*.log"))
            lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
            cleaned = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
            if cleaned.get("t 0", 0) >= active:
                return
            await asyncio.sleep(0.02)
