"""Which offsets of a log are records, control records or nothing: from bytes, and of real brokers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin
from tidelog.client.browsing import LogBrowser, OutlineRun, RunKind
from tidelog.client.browsing.batch_records import LARGEST_BATCH_BYTES
from tidelog.client.browsing.outline import runs_of
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import decode_batch, encode_batch, encode_retained

RECORDS, COMMIT, ABORT, GAP = RunKind.RECORDS, RunKind.COMMIT, RunKind.ABORT, RunKind.GAP


def batch(offset: int, count: int = 1, *, producer: int = -1) -> bytes:
    return encode_batch(
        [(1_000 + number, b"k%d" % number, b"v", ()) for number in range(count)],
        base_offset=offset,
        compression=Compression.GZIP,
        producer_id=producer,
        producer_epoch=3 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
        transactional=producer >= 0,
    )


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    end = EndTransactionMarker(commit=commit, coordinator_epoch=9)
    return encode_end_transaction_marker(
        end, producer_id=producer, producer_epoch=3, timestamp=2_000, base_offset=offset
    )


def holed(whole: bytes, *kept: int) -> bytes:
    """What compaction leaves of a batch."""
    records = [record for record in decode_batch(whole) if record.offset in kept]
    return encode_retained(parse_header(whole), records)


def kinds(*batches: bytes, offset: int = 0) -> tuple[list[OutlineRun], int]:
    runs, following = runs_of(b"".join(batches), offset)
    return list(runs), following


def test_records_in_a_row_are_one_run() -> None:
    assert kinds(batch(0, 3), batch(3, 2)) == ([OutlineRun(0, 4, RECORDS)], 5)


def test_transactions_are_told_by_their_producer() -> None:
    runs, following = kinds(
        batch(0, 2, producer=7), batch(2, producer=8), marker(3, 7, commit=True), marker(4, 8, commit=False)
    )
    assert runs == [
        OutlineRun(0, 1, RECORDS, 7),
        OutlineRun(2, 2, RECORDS, 8),
        OutlineRun(3, 3, COMMIT, 7),
        OutlineRun(4, 4, ABORT, 8),
    ]
    assert following == 5


def test_what_lies_before_the_offset_does_not_count() -> None:
    assert kinds(batch(0, 10), offset=4) == ([OutlineRun(4, 9, RECORDS)], 10)


def test_holes_of_compaction_are_gaps() -> None:
    runs, following = kinds(holed(batch(0, 10), 3, 4, 7), batch(15, 2), offset=1)
    assert runs == [
        OutlineRun(1, 2, GAP),
        OutlineRun(3, 4, RECORDS),
        OutlineRun(5, 6, GAP),
        OutlineRun(7, 7, RECORDS),
        OutlineRun(8, 14, GAP),
        OutlineRun(15, 16, RECORDS),
    ]
    assert following == 17


def test_a_batch_without_records_is_a_gap() -> None:
    assert kinds(holed(batch(0, 3)), batch(3)) == ([OutlineRun(0, 2, GAP), OutlineRun(3, 3, RECORDS)], 4)


def test_a_batch_that_is_cut_short_is_left_for_the_next_time() -> None:
    assert kinds(batch(0, 2), batch(2, 2)[:-1]) == ([OutlineRun(0, 1, RECORDS)], 2)


def test_damage_ends_the_outline() -> None:
    damaged = bytearray(batch(2))
    damaged[8:12] = b"\0\0\0\1"
    assert kinds(batch(0, 2), bytes(damaged), batch(3)) == ([OutlineRun(0, 1, RECORDS)], 2)


def test_another_format_ends_the_outline() -> None:
    older = bytearray(batch(2))
    older[16] = 1
    assert kinds(batch(0, 2), bytes(older)) == ([OutlineRun(0, 1, RECORDS)], 2)


def test_a_holed_batch_that_cannot_be_read_counts_as_records() -> None:
    damaged = bytearray(holed(batch(0, 5), 2))
    damaged[-1] ^= 1
    assert kinds(bytes(damaged)) == ([OutlineRun(0, 4, RECORDS)], 5)


@given(data=st.binary(max_size=300), offset=st.integers(0, 10))
def test_no_bytes_break_it(data: bytes, offset: int) -> None:
    runs, following = runs_of(batch(0, 2) + data, offset)
    assert following >= offset
    position = offset
    for run in runs:
        assert run.offset == position
        position = run.last_offset + 1
    assert position == following


@pytest.mark.parametrize("max_bytes", [1, 1 << 20])
async def test_outlines_of_several_partitions(admin: Admin, servers: str, unique: str, max_bytes: int) -> None:
    await admin.create_topic(unique, partitions=2)
    first, second = TopicPartition(unique, 0), TopicPartition(unique, 1)
    async with tidelog.Producer(bootstrap_servers=servers, transactional_id=unique) as producer:
        await producer.init_transactions()
        for number in range(3):
            async with producer.transaction():
                await producer.send(unique, b"value", partition=number % 2)
    browser = LogBrowser(admin)

    async def check() -> None:
        # One byte is one batch: the outlines are put together from several.
        whole: dict[TopicPartition, list[RunKind]] = {first: [], second: []}
        offsets = {first: 0, second: 0}
        while offsets != {first: 4, second: 2}:
            outlines = await browser.outline(offsets, max_bytes=max_bytes, max_partition_bytes=max_bytes)
            for partition, outline in Admin.raise_any(outlines).items():
                assert outline.offset == offsets[partition]
                assert outline.high_watermark == outline.last_stable_offset == (4 if partition == first else 2)
                whole[partition] += [run.kind for run in outline.runs]
                offsets[partition] = outline.next_offset
        assert whole == {first: [RECORDS, COMMIT, RECORDS, COMMIT], second: [RECORDS, COMMIT]}

    await eventually(check)


async def test_an_offset_that_is_not_there_and_a_topic_that_is_not_there(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    here, gone = TopicPartition(unique, 0), TopicPartition(f"{unique}-gone", 0)
    found = await LogBrowser(admin).outline({here: 5, gone: 0})
    codes = {partition: one.code for partition, one in found.items() if isinstance(one, ApiError)}
    assert codes == {here: ErrorCode.OFFSET_OUT_OF_RANGE, gone: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_batches_with_holes_are_unpacked_within_bounds() -> None:
    """Too large ones count as records, as damaged ones do, and an outline ends when enough was unpacked."""

    def with_hole(offset: int, size: int) -> bytes:
        whole = encode_batch(
            [(0, None, bytes(size), ()), (0, None, b"", ()), (0, None, b"", ())],
            base_offset=offset,
            compression=Compression.ZSTD,
        )
        records = decode_batch(whole)
        return encode_retained(parse_header(whole), [records[0], records[2]])

    data = with_hole(0, LARGEST_BATCH_BYTES) + with_hole(3, 100)
    assert runs_of(data, 0) == ((OutlineRun(0, 2, RunKind.RECORDS),), 3)
    data = b"".join(with_hole(3 * number, 5 << 20) for number in range(10))
    runs, following = runs_of(data, 0)
    assert following == 21
    assert [run.kind for run in runs[:3]] == [RunKind.RECORDS, RunKind.GAP, RunKind.RECORDS]


async def test_a_topic_that_was_recreated_is_found_by_its_new_id(admin: Admin, unique: str) -> None:
    """Whoever brings metadata may have read it before."""
    await admin.create_topic(unique, partitions=1)
    place = TopicPartition(unique, 0)
    metadata = await admin.cluster.fetch_metadata([unique])
    Admin.raise_any(await admin.delete_topics([unique]))
    await admin.create_topic(unique, partitions=1)
    found = await LogBrowser(admin).outline({place: 0}, metadata=metadata)
    assert not isinstance(found[place], ApiError), found
    assert (await LogBrowser(admin).page(place, 0)).entries == ()
