"""What is written of a batch is, byte for byte, what the reference in plain Python writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_filter import reference_filter

from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import CREATE_TIME, HEADER_SIZE, LOG_APPEND_TIME, Buffer, CorruptBatch, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import NewRecord, assemble_batch, decode_batch, encode_batch, encode_retained
from tidelog.storage.cleaner.batch_filter import BatchFilter, FilteredBatch, LastRecord, RetentionRules
from tidelog.storage.cleaner.key_map import RECORDS_PER_STEP, KeyMap
from tidelog.storage.cleaner.transactions import PassedTransactions

NOW = 1_700_000_000_000
BASE = 1000

keys = st.none() | st.integers(0, 9).map(lambda number: b"key %d" % number) | st.binary(max_size=40)
values = st.none() | st.binary(max_size=20) | st.integers(60, 20_000).map(bytes)
record_headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
new_records = st.lists(
    st.tuples(st.integers(-1, NOW), keys, values, record_headers.map(tuple)), min_size=1, max_size=30
)


def run(work: Generator[int, None, Any]) -> FilteredBatch:
    try:
        while True:
            next(work)
    except StopIteration as end:
        result: FilteredBatch = end.value
        return result


def filtered(
    batch: bytes, last_offsets: dict[bytes, int], rules: RetentionRules, aborted: tuple[AbortedTransaction, ...] = ()
) -> FilteredBatch:
    known = KeyMap(1 << 16, 0.9)
    for key, offset in last_offsets.items():
        known.put(key, offset)
    return run(BatchFilter(known, PassedTransactions(aborted), rules).filter(parse_header(batch), batch))


def rules_with(mapped_up_to: int = BASE + 10_000, end_offset: int = 0, now_ms: int = NOW) -> RetentionRules:
    return RetentionRules(
        now_ms=now_ms, delete_retention_ms=500, mapped_up_to=mapped_up_to, last_records={}, end_offset=end_offset
    )


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """Of data, some of them compacted before: with gaps between offsets, or a delete horizon."""
    records = draw(new_records)
    producer_id = draw(st.sampled_from([-1, 7]))
    batch = encode_batch(
        records,
        base_offset=BASE,
        compression=draw(st.sampled_from(list(Compression))),
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=3 if producer_id >= 0 else -1,
        leader_epoch=draw(st.integers(-1, 9)),
        transactional=producer_id >= 0 and draw(st.booleans()),
        timestamp_type=draw(st.sampled_from([CREATE_TIME, LOG_APPEND_TIME])),
    )
    if draw(st.booleans()):
        found = decode_batch(batch)
        left = [record for record in found if draw(st.booleans())]
        horizon = draw(st.none() | st.integers(NOW - 1, NOW + 1))
        batch = encode_retained(parse_header(batch), left, delete_horizon_ms=horizon)
    return batch


last_offsets = st.dictionaries(keys.filter(lambda key: key is not None), st.integers(BASE - 1, BASE + 40), max_size=12)


@given(batch=batches(), last=last_offsets, mapped=st.integers(BASE - 2, BASE + 50), is_last=st.booleans())
def test_what_stays_of_a_batch_is_what_the_reference_keeps(
    batch: bytes, last: dict[bytes, int], mapped: int, is_last: bool
) -> None:
    header = parse_header(batch)
    rules = rules_with(mapped, header.next_offset if is_last else 0)

    result = filtered(batch, last, rules)

    assert result.data == reference_filter(header, batch, last, rules)
    assert result.records_read == header.record_count
    assert result.records_kept == (parse_header(result.data).record_count if result.data is not None else 0)


@given(batch=batches(), last=last_offsets, data=st.data())
def test_damaged_records_are_refused_as_by_the_reference(
    batch: bytes, last: dict[bytes, int], data: st.DataObject
) -> None:
    header = parse_header(batch)
    if header.compression or not header.record_count:
        return
    payload = bytearray(batch[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    damaged = assemble_batch(header._replace(record_count=data.draw(st.integers(0, 31))), bytes(payload))
    rules = rules_with()

    found = outcome(lambda: filtered(damaged, last, rules).data)

    assert found == outcome(lambda: reference_filter(parse_header(damaged), damaged, last, rules))


def outcome(work: Callable[[], Buffer | None]) -> Buffer | str | None:
    """The damage in words, if it is noticed. What fits into no header is noticed when the header is written."""
    try:
        return work()
    except (CorruptBatch, struct.error) as problem:
        return str(problem)


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("count", [RECORDS_PER_STEP - 1, RECORDS_PER_STEP, 2 * RECORDS_PER_STEP + 1])
def test_batches_of_several_steps_are_filtered_like_others(count: int, codec: Compression) -> None:
    keys = [b"%d" % (number % 700) for number in range(count)]
    records: list[NewRecord] = [(NOW - number, key, b"v", ()) for number, key in enumerate(keys)]
    batch = encode_batch(records, base_offset=BASE, compression=codec)
    last = {key: BASE + number for number, key in enumerate(keys)}
    gone = dict.fromkeys(list(last)[::3], BASE + count)

    for known in (last, last | gone, dict.fromkeys(last, BASE + count)):
        result = filtered(batch, known, rules_with())
        assert result.data == reference_filter(parse_header(batch), batch, known, rules_with())


def test_batch_of_which_everything_stays_is_not_copied() -> None:
    for codec in Compression:
        batch = encode_batch([(NOW, b"a", b"1", ()), (NOW, b"b", b"2", ())], base_offset=BASE, compression=codec)
        assert filtered(batch, {b"a": BASE, b"b": BASE + 1}, rules_with()).data is batch


def test_batches_of_aborted_transactions_and_control_batches_are_not_looked_into() -> None:
    records: list[NewRecord] = [(NOW, b"a", b"1", ())]
    batch = encode_batch(
        records, base_offset=BASE, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    aborted = AbortedTransaction(producer_id=7, first_offset=BASE, last_offset=BASE + 1, last_stable_offset=BASE)
    last = LastRecord(0, BASE)
    rules = RetentionRules(
        now_ms=NOW, delete_retention_ms=1, mapped_up_to=BASE, last_records={7: last}, end_offset=BASE + 2
    )
    assert filtered(batch, {}, rules, (aborted,)).data == encode_retained(parse_header(batch), ())

    control = encode_batch(records, base_offset=BASE, control=True)
    assert filtered(control, {b"a": BASE + 1}, rules_with()).data is control
