"""Large batches are compacted to the same bytes' worth of records as small ones, without being held in memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import decode_batch, encode_batch
from tidelog.storage.cleaner import batch_filter
from tidelog.storage.cleaner.batch_filter import BatchFilter, RetentionRules
from tidelog.storage.cleaner.key_map import KeyMap
from tidelog.storage.cleaner.large_batch import iterate_records
from tidelog.storage.cleaner.transactions import PassedTransactions

NOW = 1_700_000_000_000


def finish(work: Generator[int, None, Any]) -> Any:
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value


def filtered(batch: bytes, later: dict[bytes, int]) -> batch_filter.FilteredBatch:
    keys = KeyMap(1 << 16, 0.9)
    for key, offset in later.items():
        keys.put(key, offset)
    header = parse_header(batch)
    rules = RetentionRules(
        now_ms=NOW + 500,
        delete_retention_ms=1000,
        mapped_up_to=10_000,
        last_records={},
        end_offset=header.next_offset,
    )
    result: batch_filter.FilteredBatch = finish(BatchFilter(keys, PassedTransactions(()), rules).filter(header, batch))
    return result


@given(
    codec=st.sampled_from(list(Compression)),
    values=st.lists(st.tuples(st.integers(0, 5), st.none() | st.binary(max_size=200)), min_size=1, max_size=40),
    gone=st.sets(st.integers(0, 5)),
)
def test_large_batches_are_filtered_as_small_ones_are(
    codec: Compression, values: list[tuple[int, bytes | None]], gone: set[int]
) -> None:
    batch = encode_batch(
        [(NOW + at, b"key %d" % key, value, (("h", b"x"),)) for at, (key, value) in enumerate(values)],
        compression=codec,
        base_offset=100,
    )
    later = {b"key %d" % key: 100 + at for at, (key, _) in enumerate(values)}
    later |= {b"key %d" % key: 9000 for key in gone}

    small = filtered(batch, later)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_filter, "small_payload", lambda header, batch: None)
        large = filtered(batch, later)

    assert (large.records_read, large.records_kept) == (small.records_read, small.records_kept)
    assert small.data is not None
    assert large.data is not None
    assert decode_batch(large.data) == decode_batch(small.data)
    fields = [parse_header(each)._replace(crc=0, batch_length=0) for each in (small.data, large.data)]
    assert fields[0] == fields[1]


@pytest.mark.parametrize("codec", list(Compression))
def test_records_of_any_size_are_found_in_pieces(codec: Compression) -> None:
    sizes = [0, 10, 200_000, 3, 65_536, 1, 500_000, 70]
    batch = encode_batch([(NOW, b"k%d" % size, bytes(size), ()) for size in sizes], compression=codec)

    found = [
        (span[4], len(record) > size)
        for (record, span), size in zip(iterate_records(parse_header(batch), batch), sizes, strict=True)
    ]

    assert found == [(b"k%d" % size, True) for size in sizes]


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_compaction_of_a_bomb_takes_little_memory(codec: Compression) -> None:
    """Ten thousand records of a few bytes and one of 30 MB, in a batch of a few kilobytes."""
    program = textwrap.dedent(f"""
        import resource
        from tidelog.records.batch import BatchHeader, parse_header
        from tidelog.records.compression import Compression, Packer
        from tidelog.records.record import assemble_batch, encode_batch
        from tidelog.records.varint import encode_varint
        from tidelog.storage.cleaner.batch_filter import BatchFilter, RetentionRules
        from tidelog.storage.cleaner.key_map import KeyMap
        from tidelog.storage.cleaner.transactions import PassedTransactions

        codec = Compression({int(codec)})
        packer = Packer(codec)
        packed = []
        def add(offset, value_length):
            body = b"\\0\\0" + encode_varint(offset) + b"\\2k" + encode_varint(value_length)
            packed.append(packer.add(encode_varint(len(body) + value_length + 1) + body))
        count = 10_000
        for offset in range(count):
            add(offset, 0)
            packed.append(packer.add(b"\\0"))
        add(count, 30 << 20)
        for _ in range(30):
            packed.append(packer.add(bytes(1 << 20)))
        packed.append(packer.add(b"\\0"))
        packed.append(packer.finish())
        header = BatchHeader(0, 0, 0, 2, 0, codec, count, 0, 0, -1, -1, -1, count + 1)
        batch = assemble_batch(header, b"".join(packed))
        keys = KeyMap(1 << 16, 0.9)
        keys.put(b"k", count)
        rules = RetentionRules(now_ms=5, delete_retention_ms=5, mapped_up_to=count + 1, last_records={{}}, end_offset=0)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        work = BatchFilter(keys, PassedTransactions(()), rules).filter(parse_header(batch), batch)
        try:
            while True:
                next(work)
        except StopIteration as end:
            result = end.value
        assert result.records_kept == 1, result
        print(len(batch), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    # The record itself is in memory up to four times: in the buffer, whole, as a value and on its way to the packer.
    assert int(done.stdout.split()[1]) < 140, done.stdout
