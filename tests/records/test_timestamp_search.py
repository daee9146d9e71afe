"""A record found by its timestamp: in each codec, in parts, and in batches that compaction has thinned out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import LOG_APPEND_TIME, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import decode_batch, encode_batch, encode_retained
from tidelog.records.timestamp_search import NOT_THERE, TimestampSearch

BASE = 1_700_000_000_000


@given(
    codec=st.sampled_from(list(Compression)),
    stamps=st.lists(st.integers(-2, 30), min_size=1, max_size=20),
    kept=st.sets(st.integers(0, 19)),
    sought=st.integers(-1, 31),
    first_offset=st.integers(95, 121),
)
def test_the_first_record_that_is_not_older(
    codec: Compression, stamps: list[int], kept: set[int], sought: int, first_offset: int
) -> None:
    batch = encode_batch([(BASE + at, b"k", b"v", ()) for at in stamps], compression=codec, base_offset=100)
    records = [record for record in decode_batch(batch) if record.offset - 100 in kept]
    thinned = encode_retained(parse_header(batch), records)

    found = TimestampSearch(parse_header(thinned), thinned, BASE + sought, first_offset).run()

    matching = [
        (record.timestamp, record.offset)
        for record in records
        if record.timestamp >= BASE + sought and record.offset >= first_offset
    ]
    assert found == (matching[0] if matching else NOT_THERE)


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_a_large_batch_is_searched_in_parts(codec: Compression) -> None:
    batch = encode_batch([(BASE + at, b"k", bytes(1000), ()) for at in range(3000)], compression=codec)
    search = TimestampSearch(parse_header(batch), batch, BASE + 2990, 0)

    parts = 1
    while (found := search.run(300_000)) is None:
        parts += 1

    assert parts > 5
    assert found == (BASE + 2990, 2990)


def test_the_time_of_the_append_counts_where_the_broker_has_set_it() -> None:
    batch = encode_batch([(BASE, None, b"", ()), (BASE + 9, None, b"", ())], timestamp_type=LOG_APPEND_TIME)

    assert TimestampSearch(parse_header(batch), batch, BASE + 5, 0).run() == (BASE + 9, 0)


def test_nothing_is_found_in_a_damaged_batch() -> None:
    batch = encode_batch([(BASE, b"key", b"value", ())], compression=Compression.ZSTD)

    assert TimestampSearch(parse_header(batch), batch[:-4] + b"oops", BASE, 0).run() == NOT_THERE
