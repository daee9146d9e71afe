"""Codecs: every client's framing, and bounds that hold against hostile input."""

from __future__ import annotations

import gzip
import subprocess
import sys
import textwrap
from contextlib import suppress

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import CorruptBatch
from tidelog.records.compression import COMPRESSION_NAMES, Compression, Packer, compress, decompress
from tidelog.records.unpacking import PIECE_BYTES, UnpacksTooLarge, unpack

CODECS = list(Compression)
PACKING = CODECS[1:]

# Empty, tiny, incompressible, very compressible, and larger than any codec's block.
SAMPLES = [
    b"",
    b"a",
    bytes(range(256)) * 3,
    b"tidelog " * 40_000,
    bytes(300_000) + bytes(range(256)) * 1_000,
]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_data_survives_a_round_trip(codec: Compression, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(bytearray(compress(codec, memoryview(data))))) == data


@given(st.sampled_from(CODECS), st.binary(max_size=2_000), st.integers(1, 200))
def test_any_bytes_survive_a_round_trip_under_an_exact_bound(codec: Compression, seed: bytes, times: int) -> None:
    data = seed * times

    assert decompress(codec, compress(codec, data), max_bytes=len(data)) == data


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Compression.GZIP, (1, 6, 9)), (Compression.LZ4, (1, 9, 17)), (Compression.ZSTD, (-131_072, -5, 1, 3, 19, 22))],
)
def test_every_level_that_kafka_allows_works(codec: Compression, levels: tuple[int, ...]) -> None:
    data = b"".join(b"%d," % (number * number) for number in range(20_000))
    sizes = []
    for level in levels:
        packed = compress(codec, data, level)
        sizes.append(len(packed))
        assert decompress(codec, packed) == data
    assert codec is Compression.LZ4 or sizes[-1] < sizes[0]


def test_names_are_those_of_compression_type() -> None:
    assert {name: codec.value for name, codec in COMPRESSION_NAMES.items()} == {
        "none": 0,
        "gzip": 1,
        "snappy": 2,
        "lz4": 3,
        "zstd": 4,
    }


def test_snappy_is_read_bare_and_in_the_java_framing() -> None:
    data = b"tidelog " * 20_000
    framed = compress(Compression.SNAPPY, data)

    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert decompress(Compression.SNAPPY, framed) == data
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_lz4_frames_have_independent_blocks_as_the_java_client_demands() -> None:
    frame = compress(Compression.LZ4, b"tidelog " * 20_000)

    # Magic, version 1 with independent blocks and no checksums, blocks of 64 KB, checksum of these two bytes.
    assert frame[:7].hex() == "04224d18604082"
    assert bytes(cramjam.lz4.decompress(frame)) == b"tidelog " * 20_000


def test_lz4_frames_of_other_writers_are_read() -> None:
    data = b"tidelog " * 20_000

    assert decompress(Compression.LZ4, bytes(cramjam.lz4.compress(data))) == data


def test_gzip_of_several_members_is_read_whole() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 1_000, 300_000, 5_000_000])
def test_one_byte_more_than_the_bound_is_refused(codec: Compression, size: int) -> None:
    packed = compress(codec, bytes(size))

    assert len(decompress(codec, packed, max_bytes=size)) == size
    with pytest.raises(CorruptBatch):
        decompress(codec, packed, max_bytes=size - 1)


def test_snappy_blocks_share_one_bound() -> None:
    block = bytes(cramjam.snappy.compress_raw(bytes(1_000)))
    framed = compress(Compression.SNAPPY, b"") + (len(block).to_bytes(4, "big") + block) * 3

    assert len(decompress(Compression.SNAPPY, framed, max_bytes=3_000)) == 3_000
    with pytest.raises(CorruptBatch):
        decompress(Compression.SNAPPY, framed, max_bytes=2_999)


@pytest.mark.parametrize("codec", PACKING)
@given(data=st.data())
def test_damaged_data_is_corrupt_or_within_the_bound(codec: Compression, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, b"some text that repeats, some text that repeats " * 30))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(packed) - 1))
        packed[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packed)))
    tail = data.draw(st.binary(max_size=8))
    with suppress(CorruptBatch):
        assert len(decompress(codec, bytes(packed[:cut]) + tail, max_bytes=50_000)) <= 50_000


@pytest.mark.parametrize("codec", PACKING)
@given(data=st.binary(max_size=200))
def test_random_bytes_are_corrupt_or_within_the_bound(codec: Compression, data: bytes) -> None:
    with suppress(CorruptBatch):
        assert len(decompress(codec, data, max_bytes=10_000)) <= 10_000


@pytest.mark.parametrize("codec", [codec for codec in PACKING if codec != Compression.GZIP])
def test_trailing_garbage_is_corrupt(codec: Compression) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, compress(codec, b"records") + b"garbage that is no frame")


def test_bytes_behind_a_gzip_stream_are_ignored_as_every_client_does() -> None:
    packed = compress(Compression.GZIP, b"records")

    assert decompress(Compression.GZIP, packed + b"garbage that is no stream") == b"records"
    assert b"".join(unpack(Compression.GZIP, packed + compress(Compression.GZIP, b""), 100)) == b"records"


def test_a_second_gzip_stream_is_damage_because_not_all_clients_read_it() -> None:
    packed = compress(Compression.GZIP, b"records")
    with pytest.raises(CorruptBatch, match="second gzip stream"):
        list(unpack(Compression.GZIP, packed + packed, 100))


@given(st.sampled_from(CODECS), st.lists(st.binary(max_size=90_000), max_size=5))
def test_packing_piece_by_piece_unpacks_to_the_same(codec: Compression, pieces: list[bytes]) -> None:
    packer = Packer(codec)
    packed = b"".join([*map(packer.add, pieces), packer.finish()])

    assert decompress(codec, packed) == b"".join(pieces)


@pytest.mark.parametrize("codec", PACKING)
def test_pieces_stay_small_whatever_a_batch_claims(codec: Compression) -> None:
    """No codec makes more at a time than its block, though all of it would be 64 MB."""
    packer = Packer(codec)
    packed = b"".join([*(packer.add(bytes(1 << 20)) for _ in range(64)), packer.finish()])

    sizes = [len(piece) for piece in unpack(codec, packed, 1 << 26)]

    assert sum(sizes) == 1 << 26
    assert max(sizes) <= PIECE_BYTES
    with pytest.raises(UnpacksTooLarge):
        list(unpack(codec, packed, (1 << 26) - 1))


def test_checksums_of_lz4_are_those_of_the_reference() -> None:
    frame = pytest.importorskip("lz4.frame")
    data = bytes(range(256)) * 700
    packed = frame.compress(data, block_linked=False, block_checksum=True, content_checksum=True, store_size=True)

    assert decompress(Compression.LZ4, packed) == data
    assert b"".join(bytes(piece) for piece in unpack(Compression.LZ4, packed, 1 << 20)) == data
    with pytest.raises(CorruptBatch, match="checksum of an lz4 block"):
        list(unpack(Compression.LZ4, packed[:40] + b"!" + packed[41:], 1 << 20))


@pytest.mark.parametrize("codec", PACKING)
def test_decompression_bomb_takes_no_memory_beyond_the_bound(codec: Compression) -> None:
    """Scenario 24: a gigabyte in a small message. Measured in a process of its own, as only it knows its peak."""
    program = textwrap.dedent(f"""
        import resource
        from tidelog.records.batch import CorruptBatch
        from tidelog.records.compression import Compression, compress, decompress

        codec = Compression({int(codec)})
        piece = compress(codec, bytes(16 << 20))
        if codec is Compression.SNAPPY:
            bomb = piece + piece[16:] * 63
        else:
            bomb = piece * 64
        limit = 1 << 20
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            decompress(codec, bomb, max_bytes=limit)
        except CorruptBatch:
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert grown < 16 << 10, f"{{grown}} KiB for a bound of 1024"
        else:
            raise AssertionError("the bomb went off")
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
