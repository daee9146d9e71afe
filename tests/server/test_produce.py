"""Produce over a real socket: acknowledgements, idempotence, the topic's rules, and refusals."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.raw_client import RawClient, produce_request, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.batch import LOG_APPEND_TIME, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import Record, encode_batch


async def read(client: RawClient, topic_id: bytes, partition: int = 0) -> tuple[bytes, list[Record]]:
    """All bytes and all records of a partition."""
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=10 << 20)
    topics = [FetchTopic(topic_id=topic_id, partitions=[wanted])]
    response = await client.ask(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics))
    data = bytes(response.responses[0].partitions[0].records)
    return data, decode_all(data)


async def test_each_batch_gets_the_next_offsets(client: RawClient) -> None:
    await create_topic(client, "t")
    assert [(await client.produce("t", b"a", b"b", acks=acks)).base_offset for acks in (-1, 1)] == [0, 2]


async def test_records_go_to_disk_and_back_untouched(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    batch = encode_batch([(5, b"k", b"v", (("h", b"1"), ("n", None)))], compression=Compression.ZSTD)
    assert (await client.produce_batch("t", batch)).error_code == 0
    data, _ = await read(client, topic_id)
    # Only the base offset and the leader epoch are the broker's; both lie before the CRC.
    assert data[16:] == batch[16:]


async def test_acks_0_gets_no_reply_and_is_stored(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    client.send(produce_request("t", encode_batch([(1, None, b"silent", ())]), acks=0), 11)
    _, records = await read(client, topic_id)
    assert [record.value for record in records] == [b"silent"]


async def test_acks_0_to_an_unknown_topic_closes_the_connection(client: RawClient) -> None:
    client.send(produce_request("nowhere", encode_batch([(1, None, b"lost", ())]), acks=0), 11)
    assert await client.closed_by_broker()


async def test_unknown_acks_are_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    answer = await client.produce("t", b"a", acks=2)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS


async def test_topic_ids_replace_names_in_version_13(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    data = [PartitionProduceData(index=0, records=encode_batch([(1, None, b"a", ())]))]
    for given, code in ((topic_id, ErrorCode.NONE), (b"\x07" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        request = ProduceRequest(
            acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(topic_id=given, partition_data=data)]
        )
        response = await client.ask(request, 13)
        assert response.responses[0].topic_id == given
        assert response.responses[0].partition_responses[0].error_code == code


async def producer_id(client: RawClient) -> int:
    response = await client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 5)
    assert (response.error_code, response.producer_epoch) == (0, 0)
    given: int = response.producer_id
    return given


async def test_producer_ids_are_given_out_once_also_after_a_restart(tmp_path: Any) -> None:
    seen = []
    for _ in range(3):
        async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
            seen += [await producer_id(client) for _ in range(5)]
    assert len(set(seen)) == len(seen)


async def test_scenario_11_a_retried_batch_is_stored_once_and_answered_as_the_first_time(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    given = {"producer_id": await producer_id(client), "producer_epoch": 0}
    first = [await client.produce("t", b"%d" % number, base_sequence=number, **given) for number in range(6)]
    # The fifth-last batch is still known.
    again = await client.produce("t", b"1", base_sequence=1, **given)
    assert (again.error_code, again.base_offset) == (0, first[1].base_offset)
    _, records = await read(client, topic_id)
    assert [record.value for record in records] == [b"%d" % number for number in range(6)]


async def test_a_gap_in_the_sequence_is_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    given = {"producer_id": await producer_id(client), "producer_epoch": 0}
    await client.produce("t", b"0", base_sequence=0, **given)
    ahead = await client.produce("t", b"2", base_sequence=2, **given)
    assert ahead.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_a_stale_producer_epoch_is_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    given = {"producer_id": await producer_id(client)}
    await client.produce("t", b"new", base_sequence=0, producer_epoch=3, **given)
    stale = await client.produce("t", b"old", base_sequence=0, producer_epoch=2, **given)
    assert stale.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_scenario_12_producer_state_survives_a_restart(tmp_path: Any) -> None:
    """After an orderly end; kills are in the tests of storage and of clusters."""
    # Producers are forgotten by the age of their records, so these are of today.
    given = {"producer_id": 4000, "producer_epoch": 0, "timestamp": int(time.time() * 1000)}
    for sequence in range(4):
        async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
            if sequence == 0:
                await create_topic(client, "t")
            else:
                repeated = await client.produce("t", b"x", base_sequence=sequence - 1, **given)
                assert (repeated.error_code, repeated.base_offset) == (0, sequence - 1)
            fresh = await client.produce("t", b"x", base_sequence=sequence, **given)
            assert (fresh.error_code, fresh.base_offset) == (0, sequence)


async def test_log_append_time_is_stamped_into_the_batch(client: RawClient) -> None:
    topic_id = await create_topic(client, "t", message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    answer = await client.produce("t", b"a", timestamp=1)
    assert before <= answer.log_append_time_ms <= before + 20_000
    data, records = await read(client, topic_id)
    assert parse_header(data).timestamp_type == LOG_APPEND_TIME
    assert [record.timestamp for record in records] == [answer.log_append_time_ms]


async def test_a_topic_with_a_codec_of_its_own_compresses_anew(client: RawClient) -> None:
    topic_id = await create_topic(client, "t", compression_type="lz4")
    await client.produce("t", b"a" * 500, compression=Compression.GZIP)
    data, records = await read(client, topic_id)
    assert parse_header(data).compression == Compression.LZ4
    assert [record.value for record in records] == [b"a" * 500]


async def test_a_compacted_topic_wants_keys(client: RawClient) -> None:
    await create_topic(client, "t", cleanup_policy="compact")
    answer = await client.produce("t", b"a", b"b")
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [0, 1]
    keyed = await client.produce_batch("t", encode_batch([(1, b"k", b"v", ())]))
    assert keyed.error_code == 0


async def test_too_large_batches_are_refused(client: RawClient) -> None:
    await create_topic(client, "t", max_message_bytes="1000")
    assert (await client.produce("t", b"x" * 2000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert (await client.produce("t", b"x" * 500)).error_code == 0


async def test_timestamps_too_far_ahead_are_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    tomorrow = int(time.time() * 1000) + 24 * 3600 * 1000
    assert (await client.produce("t", b"x", timestamp=tomorrow)).error_code == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
async def test_the_coordinators_topics_are_not_for_clients(client: RawClient, topic: str) -> None:
    await create_topic(client, topic)
    answer = await client.produce_batch(topic, encode_batch([(1, b"k", b"v", ())]))
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_old_versions_are_refused_in_their_own_words(client: RawClient) -> None:
    """librdkafka before 2.10 needs to see version 0 advertised; whoever uses it is told that it is not supported."""
    import struct

    body = struct.pack(">hii", 1, 1000, 1) + struct.pack(">h", 1) + b"t" + struct.pack(">iii", 1, 0, 0)
    for version in (0, 1, 2):
        frame = struct.pack(">hhih", 0, version, 9, -1) + body
        client._writer.write(struct.pack(">i", len(frame)) + frame)
        size = int.from_bytes(await client._reader.readexactly(4), "big")
        reply = await client._reader.readexactly(size)
        assert struct.unpack_from(">iih", reply, 0) == (9, 1, 1)
        assert struct.unpack_from(">iih", reply, 11) == (1, 0, ErrorCode.UNSUPPORTED_VERSION)


async def test_flush_messages_brings_records_to_the_device_before_the_reply(
    broker: tidelog.Broker, client: RawClient
) -> None:
    await create_topic(client, "t", flush_messages="1")
    for number in range(3):
        answer = await client.produce("t", b"x")
        assert answer.base_offset == number
        replica = broker.running.node.replicas.get("t", 0)
        assert replica is not None
        assert replica.log.recovery_point == number + 1


async def test_pipelined_batches_are_answered_in_order(client: RawClient) -> None:
    await create_topic(client, "t", flush_messages="1")
    asked = [client.send(produce_request("t", encode_batch([(1, None, b"x", ())])), 11) for _ in range(20)]
    offsets = [(await client.receive(each)).responses[0].partition_responses[0].base_offset for each in asked]
    assert offsets == list(range(20))


async def test_many_connections_produce_at_once(broker: tidelog.Broker, client: RawClient) -> None:
    topic_id = await create_topic(client, "t")

    async def one(name: int) -> None:
        async with raw_client(broker.bootstrap_servers) as mine:
            for number in range(10):
                assert (await mine.produce("t", f"{name}-{number}".encode())).error_code == 0

    await asyncio.gather(*(one(name) for name in range(20)))
    _, records = await read(client, topic_id)
    values = [(record.value or b"").decode() for record in records]
    assert len(values) == len(set(values)) == 200
    for name in range(20):
        mine = [value for value in values if value.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(10)]
