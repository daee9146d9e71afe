"""What a broker refuses, changes and leaves alone in a Produce request."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.default_settings import rules_of_topic
from support.whole_checks import check_produced

from tidelog.model.errors import ErrorCode
from tidelog.records import produce_rules
from tidelog.records.batch import (
    CREATE_TIME,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchHeader,
    Buffer,
    compute_crc,
    parse_header,
    restamp_crc,
)
from tidelog.records.compression import Compression
from tidelog.records.produce_rules import MAX_RECORD_ERRORS, CheckedBatches, ProduceRejection, ProduceRules
from tidelog.records.produced_records import RecordsWork
from tidelog.records.record import NewRecord, assemble_batch, decode_batch, encode_batch
from tidelog.records.validation import begin_check

NOW = 1_700_000_000_000
HOUR = 3_600_000
CODECS = list(Compression)
RULES = rules_of_topic()


def records(count: int = 3, *, timestamp: int = NOW, key: bytes | None = b"key") -> list[NewRecord]:
    return [(timestamp, key, b"value %d" % index * 10, ()) for index in range(count)]


def changed(batch: bytes, **fields: int) -> bytes:
    """The batch with some fields of its header replaced, and a right checksum."""
    return assemble_batch(parse_header(batch)._replace(**fields), batch[HEADER_SIZE:])


def refused(data: Buffer | None, rules: ProduceRules = RULES, produce_version: int = 12) -> ProduceRejection:
    result = check_produced(data, rules, NOW, produce_version=produce_version)
    assert isinstance(result, ProduceRejection), result
    assert result.reason
    return result


def accepted(data: Buffer, rules: ProduceRules = RULES, produce_version: int = 12) -> CheckedBatches:
    result = check_produced(data, rules, NOW, produce_version=produce_version)
    assert isinstance(result, CheckedBatches), result
    (header,) = result.headers
    assert header == parse_header(result.data)
    assert header.size == len(result.data)
    assert header.crc == compute_crc(result.data)
    return result


BATCH = encode_batch(records())
IDEMPOTENT = encode_batch(records(), producer_id=5, producer_epoch=0, base_sequence=0)
TRANSACTIONAL = encode_batch(records(), producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)


@pytest.mark.parametrize("batch", [BATCH, IDEMPOTENT, TRANSACTIONAL])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_good_batch_is_passed_on_untouched(batch: bytes, kind: type) -> None:
    data = kind(batch)

    result = accepted(data)

    assert result.data is data
    assert bytes(data) == batch
    assert result.log_append_time_ms == -1


@pytest.mark.parametrize("codec", CODECS)
def test_records_that_cannot_be_unpacked_are_invalid(codec: Compression) -> None:
    header = parse_header(encode_batch(records(), compression=codec))

    assert refused(assemble_batch(header, b"\xff" * 40)).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_large_batch_is_finished_in_parts(codec: Compression) -> None:
    batch = encode_batch([(NOW, b"key", bytes(1000), ()) for _ in range(3000)], compression=codec)

    work = begin_check(batch, rules_of_topic(max_message_bytes=1 << 22), NOW)

    assert isinstance(work, RecordsWork)
    parts = 1
    while (outcome := work.run(300_000)) is None:
        parts += 1
    assert parts > 5
    assert isinstance(outcome, CheckedBatches)
    assert outcome.data is batch


# The request's shape


@pytest.mark.parametrize("data", [None, b"", b"x" * 16], ids=["null", "empty", "too short for any format"])
def test_a_partition_without_a_batch_is_refused(data: bytes | None) -> None:
    assert refused(data).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("cut", [1, 20, len(BATCH) - 17])
def test_a_batch_that_is_cut_short_is_refused(cut: int) -> None:
    assert refused(BATCH[:-cut]).code is ErrorCode.INVALID_RECORD


def test_two_batches_are_refused() -> None:
    rejection = refused(BATCH + BATCH)

    assert rejection.code is ErrorCode.INVALID_RECORD
    assert "exactly one batch" in rejection.reason


@pytest.mark.parametrize("rest", [b"\x00", b"garbage", BATCH[:-1], BATCH[:17]])
def test_what_follows_the_batch_and_is_no_whole_batch_is_cut_off(rest: bytes) -> None:
    """Scenario 24. Apache Kafka does the same."""
    assert bytes(accepted(BATCH + rest).data) == BATCH


@pytest.mark.parametrize("rest", [bytes(12), bytes(100), BATCH[:16] + b"\x03"])
def test_what_follows_the_batch_and_cannot_be_a_batch_is_corrupt(rest: bytes) -> None:
    assert refused(BATCH + rest).code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-1, 0, 13, -(2**31), 14, HEADER_SIZE - 13])
def test_a_length_below_any_batch_is_corrupt(length: int) -> None:
    data = bytearray(BATCH)
    data[8:12] = length.to_bytes(4, "big", signed=True)

    assert refused(data).code is ErrorCode.CORRUPT_MESSAGE


def test_a_length_beyond_the_data_is_refused() -> None:
    data = bytearray(BATCH)
    data[8:12] = (2**31 - 1).to_bytes(4, "big")

    assert refused(data).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1])
def test_the_old_formats_are_refused_as_invalid(magic: int) -> None:
    data = bytearray(BATCH)
    data[16] = magic

    assert refused(data).code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_formats_that_do_not_exist_are_corrupt(magic: int) -> None:
    data = bytearray(BATCH)
    data[16] = magic

    assert refused(data).code is ErrorCode.CORRUPT_MESSAGE


# The header


def test_a_wrong_checksum_is_corrupt() -> None:
    for position in (17, 30, len(BATCH) - 1):
        data = bytearray(BATCH)
        data[position] ^= 0x40
        assert refused(data).code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 0},
        {"record_count": -1},
        {"record_count": 2},
        {"record_count": 4},
        {"last_offset_delta": 1},
        {"last_offset_delta": 3},
        {"last_offset_delta": -1},
        {"last_offset_delta": -1, "record_count": 0},
        {"last_offset_delta": 2**31 - 1, "record_count": -(2**31)},
        {"last_offset_delta": 999_999, "record_count": 1_000_000},
        {"base_offset": 1},
        {"base_offset": -1},
        {"attributes": 0x20},
        {"attributes": 0x30},
        {"attributes": 0x10},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": -1},
    ],
    ids=str,
)
def test_a_header_that_contradicts_itself_or_its_place_is_invalid(fields: dict[str, int]) -> None:
    assert refused(changed(BATCH, **fields)).code is ErrorCode.INVALID_RECORD


def test_a_batch_as_large_as_allowed_is_accepted_and_one_byte_more_is_not() -> None:
    accepted(BATCH, replace(RULES, max_message_bytes=len(BATCH)))

    assert refused(BATCH, replace(RULES, max_message_bytes=len(BATCH) - 1)).code is ErrorCode.MESSAGE_TOO_LARGE


def test_too_large_is_answered_before_the_checksum_is_looked_at() -> None:
    data = bytearray(BATCH)
    data[-1] ^= 1

    assert refused(data, replace(RULES, max_message_bytes=100)).code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(("version", "allowed"), [(3, False), (6, False), (7, True), (12, True)])
def test_zstd_needs_produce_version_7(version: int, allowed: bool) -> None:
    batch = encode_batch(records(), compression=Compression.ZSTD)

    if allowed:
        accepted(batch, produce_version=version)
    else:
        assert refused(batch, produce_version=version).code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist_are_refused(codec: int) -> None:
    assert refused(changed(BATCH, attributes=codec)).code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


# Keys


@pytest.mark.parametrize("codec", CODECS)
def test_compacted_topics_refuse_records_without_key_and_name_them(codec: Compression) -> None:
    mixed = records(2) + records(1, key=None) + records(1) + records(1, key=None)
    batch = encode_batch(mixed, compression=codec)

    rejection = refused(batch, replace(RULES, compacted=True))

    assert rejection.code is ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in rejection.record_errors] == [2, 4]
    assert all("key" in error.message for error in rejection.record_errors)
    accepted(batch)


@pytest.mark.parametrize("codec", CODECS)
def test_compacted_topics_accept_empty_keys_and_null_values(codec: Compression) -> None:
    batch = encode_batch([(NOW, b"", None, ())], compression=codec)

    assert accepted(batch, replace(RULES, compacted=True)).data is batch


def test_the_list_of_refused_records_is_bounded() -> None:
    rejection = refused(encode_batch(records(5_000, key=None)), replace(RULES, compacted=True))

    assert len(rejection.record_errors) == MAX_RECORD_ERRORS
    assert "5000 of 5000" in rejection.reason


# Timestamps


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("timestamp", "good"),
    [
        (NOW, True),
        (NOW + HOUR, True),
        (NOW + HOUR + 1, False),
        (NOW - HOUR, True),
        (NOW - HOUR - 1, False),
        (0, False),
        # Clients that have no timestamp say -1.
        (-1, True),
    ],
)
def test_timestamps_outside_of_the_topics_bounds_are_refused(codec: Compression, timestamp: int, good: bool) -> None:
    rules = replace(RULES, timestamp_before_max_ms=HOUR, timestamp_after_max_ms=HOUR)
    batch = encode_batch([*records(1), *records(1, timestamp=timestamp), *records(1)], compression=codec)

    if good:
        assert accepted(batch, rules).data is batch
    else:
        rejection = refused(batch, rules)
        assert rejection.code is ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in rejection.record_errors] == [1]


def test_the_future_is_bounded_by_default_and_the_past_is_not() -> None:
    accepted(encode_batch(records(timestamp=0)))

    assert refused(encode_batch(records(timestamp=NOW + 2 * HOUR))).code is ErrorCode.INVALID_TIMESTAMP


def test_a_timestamp_error_outweighs_a_missing_key() -> None:
    rules = replace(RULES, compacted=True, timestamp_before_max_ms=HOUR)
    batch = encode_batch([*records(1, key=None), *records(1, timestamp=5)])

    rejection = refused(batch, rules)

    assert rejection.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in rejection.record_errors] == [0, 1]


def test_a_wrong_largest_timestamp_is_put_right_when_records_are_looked_at() -> None:
    batch = changed(BATCH, max_timestamp=NOW + 10 * HOUR)

    result = accepted(batch)

    assert result.headers[0].max_timestamp == NOW
    assert decode_batch(result.data) == decode_batch(BATCH)


# The topic's own time


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_log_append_time_is_stamped_without_touching_the_records(codec: Compression, kind: type) -> None:
    batch = encode_batch(records(timestamp=5), compression=codec)

    result = accepted(kind(batch), replace(RULES, timestamp_type=LOG_APPEND_TIME))

    (header,) = result.headers
    assert (header.timestamp_type, header.max_timestamp) == (LOG_APPEND_TIME, NOW)
    assert result.log_append_time_ms == NOW
    assert bytes(result.data[HEADER_SIZE:]) == batch[HEADER_SIZE:]
    assert header.base_timestamp == 5
    assert {record.timestamp for record in decode_batch(result.data)} == {NOW}


def test_log_append_time_is_stamped_in_place_where_the_bytes_can_be_written() -> None:
    frame = bytearray(b"frame" + BATCH + b"rest")
    view = memoryview(frame)[5:-4]

    result = accepted(view, replace(RULES, timestamp_type=LOG_APPEND_TIME))

    assert result.data is view
    assert bytes(frame[:5]) == b"frame"
    assert bytes(frame[-4:]) == b"rest"
    assert parse_header(frame, 5).max_timestamp == NOW


def test_log_append_time_has_no_bounds_for_the_producers_timestamps() -> None:
    rules = replace(RULES, timestamp_type=LOG_APPEND_TIME, timestamp_before_max_ms=0, timestamp_after_max_ms=0)

    accepted(encode_batch(records(timestamp=NOW + 10 * HOUR)), rules)
    accepted(encode_batch(records(timestamp=0)), rules)


def test_a_producer_may_not_claim_log_append_time() -> None:
    batch = encode_batch(records(), timestamp_type=LOG_APPEND_TIME)

    rejection = refused(batch, replace(RULES, timestamp_type=LOG_APPEND_TIME))
    assert rejection.code is ErrorCode.INVALID_TIMESTAMP
    # In a topic with the producers' time, the claim is dropped.
    assert accepted(batch).headers[0].timestamp_type == CREATE_TIME


# The topic's own codec


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", CODECS)
def test_records_are_packed_anew_only_if_the_topics_codec_is_another(source: Compression, target: Compression) -> None:
    batch = encode_batch(
        records(50),
        compression=source,
        producer_id=5,
        producer_epoch=3,
        base_sequence=2**31 - 7,
        transactional=True,
    )

    result = accepted(batch, replace(RULES, compression=target))

    if source == target:
        assert result.data is batch
        return
    (header,) = result.headers
    assert header.compression == target
    assert decode_batch(result.data) == decode_batch(batch)
    unchanged = BatchHeader._fields[6:]
    assert [getattr(header, name) for name in unchanged] == [getattr(parse_header(batch), name) for name in unchanged]
    assert header.is_transactional


def test_codec_and_time_of_the_topic_are_applied_together() -> None:
    rules = replace(RULES, compression=Compression.LZ4, timestamp_type=LOG_APPEND_TIME, compacted=True)

    result = accepted(encode_batch(records(9, timestamp=3), compression=Compression.GZIP), rules)

    assert result.headers[0].compression == Compression.LZ4
    assert {record.timestamp for record in decode_batch(result.data)} == {NOW}


def test_the_level_of_the_topic_is_used() -> None:
    batch = encode_batch([(NOW, b"k", b"%d" % index**3, ()) for index in range(3_000)])

    sizes = [
        len(accepted(batch, replace(RULES, compression=Compression.ZSTD, compression_level=level)).data)
        for level in (1, 19)
    ]

    assert sizes[1] < sizes[0]


def test_a_batch_that_unpacks_beyond_the_topics_limit_is_too_large() -> None:
    batch = encode_batch([(NOW, b"k", bytes(100_000), ())], compression=Compression.ZSTD)
    rules = replace(RULES, compression=Compression.NONE, max_message_bytes=50_000)

    assert refused(batch, rules).code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.plain_python
@pytest.mark.parametrize(
    "rules",
    [
        rules_of_topic(),
        rules_of_topic(compacted=True),
        rules_of_topic(compression=Compression.SNAPPY),
        rules_of_topic(timestamp_type=LOG_APPEND_TIME),
        rules_of_topic(timestamp_before_max_ms=HOUR),
    ],
)
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_decompression_bomb_is_refused(
    rules: ProduceRules, codec: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scenario 24."""
    monkeypatch.setattr(produce_rules, "SMALLEST_UNPACKED_LIMIT", 1 << 20)
    monkeypatch.setattr(produce_rules, "UNPACKED_RATIO", 1)
    bomb = encode_batch([(NOW, b"k", bytes(20_000_000), ())], compression=codec)

    rejection = refused(bomb, rules)

    assert rejection.code is ErrorCode.MESSAGE_TOO_LARGE
    assert rejection.message is not None
    assert "when decompressed" in rejection.message


# Whatever comes


@given(
    data=st.data(),
    codec=st.sampled_from(CODECS),
    compacted=st.booleans(),
    target=st.none() | st.sampled_from(CODECS),
    recompute=st.booleans(),
)
def test_damaged_batches_are_refused_or_still_whole(
    data: st.DataObject, codec: Compression, compacted: bool, target: Compression | None, recompute: bool
) -> None:
    batch = bytearray(encode_batch(records(20), compression=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        batch = batch[: data.draw(st.integers(0, len(batch)))]
    if recompute and len(batch) > HEADER_SIZE:
        restamp_crc(batch, 0, len(batch))
    rules = rules_of_topic(compacted=compacted, compression=target, timestamp_before_max_ms=HOUR)

    result = check_produced(batch, rules, NOW)

    if isinstance(result, CheckedBatches):
        (header,) = result.headers
        assert header.size == len(result.data)
        assert header.crc == compute_crc(result.data)
        assert header.record_count == header.last_offset_delta + 1 > 0


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert isinstance(check_produced(data, RULES, NOW), ProduceRejection)
