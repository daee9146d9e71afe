"""Records found as stretches of bytes are the records that decoding finds, and can be copied as such."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import LOG_APPEND_TIME, CorruptBatch, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import NewRecord, decode_batch, encode_batch, read_payload
from tidelog.records.spans import encode_remaining, iterate_spans

sizes = st.one_of(st.binary(max_size=8), st.integers(60, 200).map(bytes), st.integers(16_000, 17_000).map(bytes))
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2).map(tuple)
new_records = st.lists(
    st.tuples(st.integers(0, 1 << 42), st.none() | sizes, st.none() | sizes, headers), min_size=1, max_size=20
)


@given(records=new_records, base_offset=st.integers(0, 1 << 40))
def test_spans_say_what_decoding_says(records: list[NewRecord], base_offset: int) -> None:
    batch = encode_batch(records, base_offset=base_offset)
    header = parse_header(batch)
    payload = read_payload(header, batch)
    spans = list(iterate_spans(header, payload))
    assert [
        (header.base_offset + offset_delta, header.base_timestamp + timestamp_delta, key, has_value)
        for _, _, offset_delta, timestamp_delta, key, has_value in spans
    ] == [(record.offset, record.timestamp, record.key, record.value is not None) for record in decode_batch(batch)]
    assert [start for start, *_ in spans] == [0, *(end for _, end, *_ in spans[:-1])]
    assert spans[-1][1] == len(payload)


@given(
    records=new_records,
    codec=st.sampled_from(list(Compression)),
    timestamp_type=st.sampled_from([0, LOG_APPEND_TIME]),
    chosen=st.data(),
)
def test_copying_some_spans_keeps_those_records_and_the_offset_range(
    records: list[NewRecord], codec: Compression, timestamp_type: int, chosen: st.DataObject
) -> None:
    batch = encode_batch(
        records,
        base_offset=70,
        compression=codec,
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        leader_epoch=6,
        transactional=True,
        timestamp_type=timestamp_type,
    )
    header = parse_header(batch)
    payload = read_payload(header, batch)
    spans = list(iterate_spans(header, payload))
    kept = sorted(chosen.draw(st.sets(st.sampled_from(range(len(spans))), min_size=1)))
    rewritten = encode_remaining(
        header,
        b"".join(payload[spans[number][0] : spans[number][1]] for number in kept),
        len(kept),
        max(spans[number][3] for number in kept),
    )
    original = decode_batch(batch)
    assert decode_batch(rewritten) == [original[number] for number in kept]
    after = parse_header(rewritten)
    assert after.record_count == len(kept)
    assert after.last_offset == header.last_offset
    if timestamp_type == 0:
        assert after.max_timestamp == max(original[number].timestamp for number in kept)
    changed = dict.fromkeys(("batch_length", "crc", "max_timestamp", "record_count"), 0)
    assert after._replace(**changed) == header._replace(**changed)


@given(records=new_records, cut=st.integers(1, 50))
def test_payload_that_is_cut_short_is_refused(records: list[NewRecord], cut: int) -> None:
    batch = encode_batch(records)
    header = parse_header(batch)
    payload = read_payload(header, batch)
    with pytest.raises(CorruptBatch):
        list(iterate_spans(header, payload[:-cut] if cut < len(payload) else b""))


@given(payload=st.binary(max_size=100), count=st.integers(0, 5))
def test_garbage_is_refused_or_lies_within_the_payload(payload: bytes, count: int) -> None:
    header = parse_header(encode_batch([(0, None, None, ())]))._replace(record_count=count)
    try:
        spans = list(iterate_spans(header, payload))
    except CorruptBatch:
        return
    assert all(0 <= start < end <= len(payload) for start, end, *_ in spans)
