"""The loops of compaction, compiled and in plain Python: the same records, the same hashes, the same choice."""

from __future__ import annotations

from array import array
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records import filtering, implementation
from tidelog.records.batch import CorruptBatch, parse_header
from tidelog.records.record import NewRecord, encode_batch, read_payload
from tidelog.records.spans import iterate_spans

MOST = 40
SECRETS = memoryview(bytes(range(16))).cast("Q")


def variants() -> list[ModuleType]:
    """In plain Python only the plain one."""
    compiled = [import_module("tidelog.records.native.filtering")] if implementation.COMPILED else []
    return [filtering, *compiled]


def numbers(count: int) -> memoryview:
    return memoryview(array("q", bytes(8 * count)))


def words(count: int) -> memoryview:
    return memoryview(array("Q", bytes(8 * count)))


def found_by(module: ModuleType, payload: bytes, count: int) -> list[tuple[int, ...]] | str:
    """What `iterate_spans` would yield."""
    spans = numbers(filtering.FIELDS * MOST)
    position = module.find_records(payload, 0, count, spans)
    if position != len(payload):
        return "corrupt"
    rows = [spans[at : at + filtering.FIELDS].tolist() for at in range(0, filtering.FIELDS * count, filtering.FIELDS)]
    return [tuple(row) for row in rows]


def found_by_iteration(payload: bytes, count: int) -> list[tuple[int, ...]] | str:
    header = parse_header(encode_batch([(0, b"k", b"v", ())]))._replace(record_count=count)
    try:
        spans = list(iterate_spans(header, payload))
    except CorruptBatch:
        return "corrupt"
    return [
        (start, end, offset, timestamp, payload.index(key or b"", start), -1 if key is None else len(key), has_value)
        for start, end, offset, timestamp, key, has_value in spans
    ]


def without_key_places(found: list[tuple[int, ...]] | str) -> list[tuple[int, ...]] | str:
    return found if isinstance(found, str) else [(*row[:4], *row[5:]) for row in found]


fields = st.none() | st.binary(max_size=70) | st.integers(60, 20_000).map(bytes)
records = st.lists(st.tuples(st.integers(0, 2**60), fields, fields, st.just(())), min_size=1, max_size=MOST)


@given(records=records, data=st.data())
def test_records_are_found_where_iteration_finds_them(records: list[NewRecord], data: st.DataObject) -> None:
    batch = encode_batch(records)
    payload = bytearray(read_payload(parse_header(batch), batch))
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)) | st.just(len(payload)))
    for module in variants():
        found = found_by(module, bytes(payload[:cut]), len(records))
        assert without_key_places(found) == without_key_places(found_by_iteration(bytes(payload[:cut]), len(records)))


@given(payload=st.binary(max_size=60), count=st.integers(0, 5))
def test_any_bytes_are_taken_as_iteration_takes_them(payload: bytes, count: int) -> None:
    expected = without_key_places(found_by_iteration(payload, count))
    for module in variants():
        assert without_key_places(found_by(module, payload, count)) == expected


@pytest.mark.parametrize("size", range(1, 12))
def test_numbers_without_an_end_are_not_read_beyond_the_payload(size: int) -> None:
    body = b"\x00" + b"\xff" * size
    for payload in (bytes([2 * len(body)]) + body, b"\x0c" + bytes(6) + b"\xff" * size, b"\xff" * size):
        for module in variants():
            assert found_by(module, payload, 2) == "corrupt" == found_by_iteration(payload, 2)


def hashed(module: ModuleType, keys: list[bytes | None]) -> list[int]:
    data = b"".join(key or b"" for key in keys)
    spans, hashes = numbers(filtering.FIELDS * len(keys)), words(2 * len(keys))
    start = 0
    for number, key in enumerate(keys):
        spans[number * filtering.FIELDS + 4] = start
        spans[number * filtering.FIELDS + 5] = -1 if key is None else len(key)
        start += len(key or b"")
    module.hash_keys(data, len(keys), spans, SECRETS, hashes)
    return hashes.tolist()


def test_keys_are_hashed_as_the_authors_of_siphash_do_it() -> None:
    """The first two of their vectors for 128 bits: no byte, and one that is 0; the secrets are the bytes 0 to 15."""
    expected = bytes.fromhex("a3817f04ba25a8e66df67214c7550293da87c1d86b99af44347659119b22fc45")
    for module in variants():
        assert array("Q", hashed(module, [b"", b"\x00"])).tobytes() == expected


@given(st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=20))
def test_both_hash_keys_alike(keys: list[bytes | None]) -> None:
    first, *others = [hashed(module, keys) for module in variants()]
    assert all(other == first for other in others)


@given(
    pairs=st.lists(st.tuples(st.none() | st.integers(0, 12), st.booleans(), st.booleans()), min_size=1, max_size=MOST),
    base_offset=st.sampled_from([0, 100, 2**63 - 20]),
    first_offset=st.integers(0, 130),
    capacity=st.integers(0, 22),
    mapped_up_to=st.integers(-1, 150) | st.just(2**63 - 2),
    keeps_tombstones=st.booleans(),
)
def test_both_put_and_keep_the_same(
    pairs: list[tuple[int | None, bool, bool]],
    base_offset: int,
    first_offset: int,
    capacity: int,
    mapped_up_to: int,
    keeps_tombstones: bool,
) -> None:
    """Hashes of few bits: the slots of many keys collide."""
    data = bytes(range(3 * len(pairs)))
    outcomes = []
    for module in variants():
        spans, hashes, table = numbers(filtering.FIELDS * len(pairs)), words(2 * len(pairs)), words(23 * 3)
        for number, (key, has_value, _) in enumerate(pairs):
            row = (3 * number, 3 * number + 3, number, number % 7, 0, -1 if key is None else 1, has_value)
            spans[number * filtering.FIELDS : (number + 1) * filtering.FIELDS] = memoryview(array("q", row))
            hashes[2 * number], hashes[2 * number + 1] = (0 if key is None else key % 3), 2**63 + (key or 0)
        state, totals, output = numbers(2), numbers(4), bytearray(len(data))
        had_room = module.put_offsets(len(pairs), spans, hashes, table, capacity, base_offset, first_offset, state)
        module.keep_records(
            data, len(pairs), spans, hashes, table, base_offset, mapped_up_to, keeps_tombstones, output, totals
        )
        asked = [module.last_offset(hashes[2 * number :], table) for number in range(len(pairs))]
        outcomes.append((had_room, state.tolist(), totals.tolist(), bytes(output), asked, table.tolist()))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    kept, _, _, written = outcomes[0][2]
    assert written == 3 * kept
    assert outcomes[0][1][filtering.SIZE] <= capacity
