"""Record batches as bytes that foreign code wrote or reads: Apache Kafka 4.3, kafka-python and aiokafka.

Apache Kafka's bytes are kept here as text, made once with its Java client; the Python libraries run in the test.
"""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords
from kafka.record.memory_records import MemoryRecordsBuilder as KafkaPythonBuilder

from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.control import (
    EndTransactionMarker,
    encode_end_transaction_marker,
    read_end_transaction_marker,
)
from tidelog.records.record import Header, NewRecord, Record, decode_batch, encode_batch

JAVA_BATCHES = {
    Compression.NONE: bytes.fromhex(
        "00000000000000050000008a0000000302dece9ab90010000000020000018bcfe568000000018bcfe5680500000000000023"
        "2800047ffffffe0000000372000000026b6466697273742076616c75652c2066697273742076616c75652c20666972737420"
        "76616c75652c2066697273742076616c7565002e000a020100040a7472616365066162630a656d707479010c000104000100"
    ),
    Compression.GZIP: bytes.fromhex(
        "00000000000000050000007b00000003025c0ff4930011000000020000018bcfe568000000018bcfe5680500000000000023"
        "2800047ffffffe000000031f8b08000000000000ff2b62606060ca4e49cb2c2a2e51284bcc294dd551208ac3a0c7c0c5c4c8"
        "c0c2555294989cca969894cc959a5b5052c9c8c3c0c8c2c0c80000a7a66c0d59000000"
    ),
    Compression.SNAPPY: bytes.fromhex(
        "00000000000000050000007f000000030232678cc70012000000020000018bcfe568000000018bcfe5680500000000000023"
        "2800047ffffffe0000000382534e415050590000000001000000010000003a594c72000000026b6466697273742076616c75"
        "652c20920d007c002e000a020100040a7472616365066162630a656d707479010c000104000100"
    ),
    Compression.LZ4: bytes.fromhex(
        "00000000000000050000007b00000003024a53d5790013000000020000018bcfe568000000018bcfe5680500000000000023"
        "2800047ffffffe0000000304224d186040823b000000ff0572000000026b6466697273742076616c75652c200d0012f01100"
        "2e000a020100040a7472616365066162630a656d707479010c00010400010000000000"
    ),
    Compression.ZSTD: bytes.fromhex(
        "00000000000000050000007800000003023bbd15ac0014000000020000018bcfe568000000018bcfe5680500000000000023"
        "2800047ffffffe0000000328b52ffd0058dc0100440372000000026b6466697273742076616c75652c20002e000a02010004"
        "0a7472616365066162630a656d707479010c0001040001000100c03399010000"
    ),
}

JAVA_MARKERS = {
    True: bytes.fromhex(
        "000000000000000b000000420000000202f112cfef0030000000000000018bcfe568000000018bcfe5680000000000000001"
        "f40006ffffffff000000012000000008000000010c00000000000c00"
    ),
    False: bytes.fromhex(
        "000000000000000b000000420000000202052c19a70030000000000000018bcfe568000000018bcfe5680000000000000001"
        "f40006ffffffff000000012000000008000000000c00000000000c00"
    ),
}

JAVA_RECORDS = [
    Record(5, 1_700_000_000_000, b"k", b"first value, first value, first value, first value"),
    Record(6, 1_700_000_000_005, None, b"", (("trace", b"abc"), ("empty", None))),
    Record(7, 1_699_999_999_999, b"", None),
]

HEADERS: tuple[Header, ...] = (("source", b"\x00\xff"), ("kein Wert", None), ("größe", b""))
RECORDS: list[NewRecord] = [
    (
        1_700_000_000_000 + index * 37 % 5000,
        None if index % 7 == 0 else b"key-%d" % index,
        None if index % 11 == 0 else b"value " * (index % 300),
        HEADERS if index % 3 == 0 else (),
    )
    for index in range(500)
]

CODECS = list(Compression)


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_apache_kafka_are_read_in_every_codec(codec: Compression) -> None:
    batch = JAVA_BATCHES[codec]

    assert decode_batch(batch) == JAVA_RECORDS
    header = parse_header(batch)
    assert header.compression == codec
    assert header.is_transactional
    assert not header.is_control
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9000, 4, 2_147_483_646)
    assert header.last_sequence == 0
    assert header.partition_leader_epoch == 3
    assert header.max_timestamp == 1_700_000_000_005


def test_an_uncompressed_batch_is_encoded_to_the_bytes_of_apache_kafka() -> None:
    encoded = encode_batch(
        [(record.timestamp, record.key, record.value, record.headers) for record in JAVA_RECORDS],
        base_offset=5,
        leader_epoch=3,
        producer_id=9000,
        producer_epoch=4,
        base_sequence=2_147_483_646,
        transactional=True,
    )

    assert encoded == JAVA_BATCHES[Compression.NONE]


@pytest.mark.parametrize("commit", [True, False])
def test_transaction_markers_are_the_bytes_of_apache_kafka(commit: bool) -> None:
    marker = EndTransactionMarker(commit=commit, coordinator_epoch=12)

    encoded = encode_end_transaction_marker(
        marker,
        producer_id=500,
        producer_epoch=6,
        timestamp=1_700_000_000_000,
        base_offset=11,
        leader_epoch=2,
    )

    assert encoded == JAVA_MARKERS[commit]
    assert read_end_transaction_marker(JAVA_MARKERS[commit]) == marker


@pytest.mark.parametrize("codec", CODECS)
def test_our_batches_are_read_by_aiokafka(codec: Compression) -> None:
    batch = AiokafkaBatch(bytearray(encode_batch(RECORDS, base_offset=10, compression=codec)))

    assert batch.validate_crc()
    assert [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch] == RECORDS


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_aiokafka_are_read(codec: Compression) -> None:
    builder = AiokafkaBuilder(2, codec, 0, -1, -1, -1, 1 << 24)
    for index, (timestamp, key, value, headers) in enumerate(RECORDS):
        assert builder.append(index, timestamp, key, value, list(headers)) is not None

    assert _contents(decode_batch(bytes(builder.build()))) == RECORDS


@pytest.mark.parametrize("codec", CODECS)
def test_our_batches_are_read_by_kafka_python(codec: Compression) -> None:
    batches = KafkaPythonRecords(encode_batch(RECORDS, base_offset=10, compression=codec))

    batch = batches.next_batch()
    assert batch.validate_crc()
    assert [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch] == RECORDS
    assert not batches.has_next()


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_kafka_python_are_read(codec: Compression) -> None:
    builder = KafkaPythonBuilder(2, codec, 1 << 24)
    for timestamp, key, value, headers in RECORDS:
        assert builder.append(timestamp, key, value, list(headers)) is not None
    builder.close()

    assert _contents(decode_batch(bytes(builder.buffer()))) == RECORDS


def _contents(records: list[Record]) -> list[NewRecord]:
    return [(record.timestamp, record.key, record.value, record.headers) for record in records]
