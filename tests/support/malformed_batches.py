"""Record batches that are damaged on purpose, the same ones for every broker: valid batches with one thing changed.

Three kinds, all from one seed: every field of a batch's header, with a right checksum behind it; every field of a
record, in each codec; and what a codec's own framing can have wrong. The rest are bytes changed at random. What a
broker says to them is a `Verdict`; `tests/support/verdicts.py` sends them and reads what was accepted.
"""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from struct import pack
from typing import Any

import cramjam

from tidelog.records.batch import BATCH_LENGTH_AT, CRC_AT, HEADER_SIZE, BatchHeader, parse_header
from tidelog.records.compression import Compression, compress
from tidelog.records.record import assemble_batch
from tidelog.records.unpacking import XERIAL_HEADER

SEED = 20_240_817
RANDOM_CASES = 4600
# All batches were "written" at this time, so that their bytes are the same in every run.
WRITTEN_MS = 1_700_000_000_000
YEAR_MS = 365 * 24 * 3_600_000

# The topics that the batches go to, with their properties.
TOPICS: dict[str, dict[str, str]] = {
    "malformed-plain": {},
    # Checked as a compacted topic, and never compacted while somebody reads it.
    "malformed-compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"},
    "malformed-stamped": {"message.timestamp.type": "LogAppendTime"},
    "malformed-recompressed": {"compression.type": "gzip"},
    "malformed-uncompressed": {"compression.type": "uncompressed"},
    "malformed-recent": {"message.timestamp.before.max.ms": str(20 * YEAR_MS)},
}
PLAIN = "malformed-plain"

Pieces = dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    topic: str
    data: bytes
    version: int = 11
    # Whether the bytes are the same whatever versions of the codecs are installed.
    portable: bool = True


@dataclass(slots=True, kw_only=True)
class Draft:
    """A batch that is being put together: the records as named pieces, then what the header says about them."""

    records: list[Pieces]
    codec: Compression
    fields: dict[str, int] = field(default_factory=dict)
    # What is done to the records' bytes before they are packed, and to the packed bytes.
    change_plain: Callable[[bytes], bytes] = bytes
    # Unless told otherwise, in the codec's framing but not smaller: these bytes depend on no library.
    pack_as: Callable[[bytes], bytes] | None = None
    change_packed: Callable[[bytes], bytes] = bytes
    change_batch: Callable[[bytes], bytes] = bytes

    def batch(self) -> bytes:
        plain = self.change_plain(b"".join(join_record(each) for each in self.records))
        packed = self.pack_as(plain) if self.pack_as is not None else STORED[self.codec](plain)
        count = len(self.records)
        header = BatchHeader(
            0, 0, -1, 2, 0, self.codec, count - 1, WRITTEN_MS, WRITTEN_MS + count - 1, -1, -1, -1, count
        )
        return self.change_batch(assemble_batch(header._replace(**self.fields), self.change_packed(packed)))


# The codecs' framings around bytes that are stored as they are


def _stored_gzip(plain: bytes) -> bytes:
    block = b"\x01" + pack("<HH", len(plain), len(plain) ^ 0xFFFF) + plain
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + block + pack("<II", zlib.crc32(plain), len(plain))


def _stored_snappy(plain: bytes) -> bytes:
    literals = b"".join(
        bytes([(len(part) - 1) << 2]) + part for part in (plain[at : at + 60] for at in range(0, len(plain), 60))
    )
    block = unsigned(len(plain)) + literals
    return XERIAL_HEADER + pack(">i", len(block)) + block


def _stored_lz4(plain: bytes) -> bytes:
    block = pack("<I", len(plain) | 0x80000000) + plain if plain else b""
    return b"\x04\x22\x4d\x18\x60\x40\x82" + block + bytes(4)


def _stored_zstd(plain: bytes) -> bytes:
    """One raw block in a frame that tells its size in four bytes."""
    return b"\x28\xb5\x2f\xfd\xa0" + pack("<I", len(plain)) + pack("<I", len(plain) << 3 | 1)[:3] + plain


STORED: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: _stored_gzip,
    Compression.SNAPPY: _stored_snappy,
    Compression.LZ4: _stored_lz4,
    Compression.ZSTD: _stored_zstd,
}


# Numbers


def unsigned(folded: int) -> bytes:
    out = bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    return bytes([*out, folded])


def varint(number: int) -> bytes:
    return unsigned(number * 2 if number >= 0 else -number * 2 - 1)


def overlong(encoded: bytes, size: int) -> bytes:
    """The same number in `size` bytes."""
    return bytes(byte | 0x80 for byte in encoded) + b"\x80" * (size - len(encoded) - 1) + b"\x00"


def strange_numbers(encoded: bytes) -> Iterator[tuple[str, bytes]]:
    """What else could stand in the place of a number."""
    folded = sum((byte & 0x7F) << 7 * at for at, byte in enumerate(encoded))
    number = (folded >> 1) ^ -(folded & 1)
    for name, other in (
        ("one more", number + 1),
        ("one less", number - 1),
        ("-1", -1),
        ("-2", -2),
        ("-1000", -1000),
        ("0", 0),
        ("5", 5),
        ("1000", 1000),
        ("2^31-1", (1 << 31) - 1),
        ("-2^31", -(1 << 31)),
        ("2^31", 1 << 31),
        ("2^62", 1 << 62),
    ):
        yield name, varint(other)
    for size in (2, 5, 6, 10, 11):
        if size > len(encoded):
            yield f"in {size} bytes", overlong(encoded, size)
    yield "endless", b"\xff" * 12
    yield "bits above the 32nd", overlong(encoded, 5)[:-1] + b"\x10"
    yield "bits above the 64th", overlong(encoded, 10)[:-1] + b"\x02"
    yield "nothing", b""


# Records


def make_record(index: int, *, key: bytes | None = b"key", value: bytes | None = b"value", headers: int = 0) -> Pieces:
    pieces = {
        "attributes": b"\x00",
        "timestamp delta": varint(index),
        "offset delta": varint(index),
        "key length": varint(-1 if key is None else len(key)),
        "key": key or b"",
        "value length": varint(-1 if value is None else len(value)),
        "value": value or b"",
        "header count": varint(headers),
    }
    for number in range(headers):
        pieces[f"header {number} key length"] = varint(1)
        pieces[f"header {number} key"] = b"%d" % (number % 10)
        pieces[f"header {number} value length"] = varint(-1 if number % 2 else 3)
        pieces[f"header {number} value"] = b"" if number % 2 else b"abc"
    return pieces


def join_record(pieces: Pieces) -> bytes:
    body = b"".join(each for name, each in pieces.items() if name not in ("length", "behind"))
    return pieces.get("length", varint(len(body))) + body + pieces.get("behind", b"")


def three_records() -> list[Pieces]:
    return [
        make_record(0, headers=2),
        make_record(1, value=b"v" * 200),
        make_record(2, value=None),
    ]


def record_cases(codec: Compression) -> Iterator[tuple[str, Draft]]:
    first = three_records()[0]
    numbers = [name for name in first if name.endswith(("length", "delta", "count"))]
    for name in ["length", *numbers]:
        plain = varint(len(join_record(first)) - 1) if name == "length" else first[name]
        for what, encoded in strange_numbers(plain):
            records = three_records()
            records[0][name] = encoded
            yield f"{name}: {what}", Draft(records=records, codec=codec)
    for at in range(3):
        for delta in (-1, 0, 1, 2, 3, 7):
            records = three_records()
            records[at]["offset delta"] = varint(delta)
            yield f"offset delta {delta} at {at}", Draft(records=records, codec=codec)
    for name, value in (("attributes", b"\xff"), ("behind", b"\x00"), ("behind", b"\x02\x00"), ("key", b"")):
        records = three_records()
        records[1][name] = value
        yield f"{name} {value.hex()}", Draft(records=records, codec=codec)
    for name in ("header 0 key", "header 0 value"):
        records = three_records()
        records[0][name] = b"\xff" * len(records[0][name])
        yield f"{name} is not UTF-8", Draft(records=records, codec=codec)
    for key in (None, b""):
        yield f"key {key!r}", Draft(records=[make_record(0, key=key), make_record(1)], codec=codec)
        yield f"every key {key!r}", Draft(records=[make_record(at, key=key) for at in range(4)], codec=codec)


def payload_cases(codec: Compression) -> Iterator[tuple[str, Draft]]:
    """The records' bytes as a whole."""

    def draft(change: Callable[[bytes], bytes]) -> Draft:
        return Draft(records=three_records(), codec=codec, change_plain=change)

    yield "valid", draft(bytes)
    yield "one byte behind", draft(lambda plain: plain + b"\x00")
    yield "a record too many", draft(lambda plain: plain + join_record(make_record(3)))
    yield "a record behind that is cut short", draft(lambda plain: plain + join_record(make_record(3))[:-3])
    yield "a record missing", draft(lambda plain: plain[: -len(join_record(three_records()[2]))])
    yield "no bytes", draft(lambda plain: b"")
    for cut in (1, 2, 5, 9, 40, 200):
        yield f"{cut} bytes cut off", draft(partial(_without_last, cut))
    for size in (1, 7, 50, 1000):
        noise = random.Random(size).randbytes(size)
        yield f"{size} random bytes", draft(partial(_instead, noise))
    yield "zeros", draft(lambda plain: bytes(len(plain)))
    yield "all ones", draft(lambda plain: b"\xff" * len(plain))


def header_cases() -> Iterator[tuple[str, Draft]]:
    changes: list[dict[str, int]] = []
    for offset in (1, -1, 1 << 62, -(1 << 63)):
        changes.append({"base_offset": offset})
    for epoch in (0, 5, -2, (1 << 31) - 1):
        changes.append({"partition_leader_epoch": epoch})
    for count in (-(1 << 31), -1, 0, 1, 2, 4, 1000, (1 << 31) - 1):
        changes += [{"record_count": count}, {"last_offset_delta": count}]
        changes.append({"record_count": count, "last_offset_delta": count - 1 if count > -(1 << 31) else count})
    for attributes in (5, 6, 7, 0x08, 0x10, 0x20, 0x30, 0x40, 0x80, 0x100, 0x7F00, -0x8000, 0x48, 0x0D):
        changes.append({"attributes": attributes})
    stamps = (
        -1,
        -2,
        0,
        1,
        WRITTEN_MS,
        WRITTEN_MS - 30 * YEAR_MS,
        WRITTEN_MS + 100 * YEAR_MS,
        (1 << 63) - 1,
        -(1 << 63),
    )
    for stamp in stamps:
        changes += [{"base_timestamp": stamp}, {"max_timestamp": stamp}]
        changes.append({"base_timestamp": stamp, "attributes": 0x08})
        changes.append({"max_timestamp": stamp, "attributes": 0x08})
    for producer_id in (-2, -(1 << 63), 0, 7, (1 << 63) - 1):
        changes.append({"producer_id": producer_id})
        changes.append({"producer_id": producer_id, "producer_epoch": 0})
        changes.append({"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0})
        changes.append({"producer_id": producer_id, "producer_epoch": -1, "base_sequence": 0})
        changes.append({"producer_id": producer_id, "producer_epoch": 0, "base_sequence": -2})
    changes.append({"producer_id": 8, "producer_epoch": 0, "base_sequence": (1 << 31) - 2})
    changes += [{"producer_epoch": 3}, {"base_sequence": 3}, {"producer_epoch": -2}, {"base_sequence": -2}]
    for change in changes:
        name = ", ".join(f"{field} {value}" for field, value in change.items())
        yield name, Draft(records=three_records(), codec=Compression.NONE, fields=change)


def frame_cases() -> Iterator[tuple[str, Draft]]:
    """Length, magic, checksum, and what is around the batch."""

    def draft(change: Callable[[bytes], bytes], codec: Compression = Compression.NONE) -> Draft:
        return Draft(records=three_records(), codec=codec, change_batch=change)

    def at(position: int, value: bytes) -> Callable[[bytes], bytes]:
        return lambda batch: batch[:position] + value + batch[position + len(value) :]

    for magic in (0, 1, 3, 127, 128, 255):
        yield f"magic {magic}", draft(at(16, bytes([magic])))
    for length in (-(1 << 31), -1, 0, 13, 14, 22, 48, 49, 50, 100, 1000, 1 << 20, (1 << 31) - 1):
        yield f"length {length}", draft(at(BATCH_LENGTH_AT, pack(">i", length)))
    yield "a wrong checksum", draft(at(CRC_AT, bytes(4)))
    for size in (0, 1, 8, 12, 16, 17, 18, 60, 61, 70):
        yield f"only {size} bytes", draft(partial(_first, size))
    for codec in Compression:
        yield f"twice, {codec.name}", draft(lambda batch: batch + batch, codec)
        yield f"bytes behind, {codec.name}", draft(lambda batch: batch + b"\x00" * 5, codec)
        yield f"half of one behind, {codec.name}", draft(lambda batch: batch + batch[:70], codec)


def codec_cases() -> Iterator[tuple[str, Draft]]:
    """What a codec's own framing can have wrong, and one codec's bytes under another's name."""
    for real in Compression:
        for claimed in Compression:
            if real != claimed:
                yield (
                    f"{real.name} called {claimed.name}",
                    Draft(records=three_records(), codec=real, fields={"attributes": claimed}),
                )
    for codec in (Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD):
        yield from _framings(codec)


def _framings(codec: Compression) -> Iterator[tuple[str, Draft]]:
    def draft(change: Callable[[bytes], bytes]) -> tuple[str, Draft]:
        return f"{codec.name}: {change.__name__}", Draft(records=three_records(), codec=codec, change_packed=change)

    def nothing(_: bytes) -> bytes:
        return b""

    def byte_behind(packed: bytes) -> bytes:
        return packed + b"\x00"

    def garbage_behind(packed: bytes) -> bytes:
        return packed + b"garbage behind the stream"

    def doubled(packed: bytes) -> bytes:
        return packed + packed

    def followed_by_nothing(packed: bytes) -> bytes:
        return packed + STORED[codec](b"")

    for change in (nothing, byte_behind, garbage_behind, doubled, followed_by_nothing):
        yield draft(change)
    for cut in (1, 2, 4, 8, 12):

        def shortened(packed: bytes, cut: int = cut) -> bytes:
            return packed[:-cut]

        shortened.__name__ = f"{cut} bytes shorter"
        yield draft(shortened)
    for position in range(24):

        def flipped(packed: bytes, position: int = position) -> bytes:
            return packed[:position] + bytes([packed[position] ^ 0x55]) + packed[position + 1 :]

        flipped.__name__ = f"byte {position} flipped"
        yield draft(flipped)
    for name, pack_as in _OTHER_FRAMINGS[codec].items():
        yield f"{codec.name}: {name}", Draft(records=three_records(), codec=codec, pack_as=pack_as)


def _without_last(count: int, data: bytes) -> bytes:
    return data[:-count]


def _first(count: int, data: bytes) -> bytes:
    return data[:count]


def _instead(other: bytes, data: bytes) -> bytes:
    return other


def _gzip(plain: bytes, **options: Any) -> bytes:
    packer = zlib.compressobj(wbits=31, **options)
    return packer.compress(plain) + packer.flush()


def _lz4_frame(plain: bytes, flags: int, block: int = 0x40, *, sized: bool = False) -> bytes:
    """A frame of one stored block with these flags. The checksum of the descriptor is right for the usual ones only."""
    from lz4 import frame

    packed: bytes = frame.compress(
        plain,
        block_linked=not flags & 0x20,
        block_checksum=bool(flags & 0x10),
        content_checksum=bool(flags & 0x04),
        store_size=sized,
        block_size=block >> 4,
    )
    return packed


_OTHER_FRAMINGS: dict[Compression, dict[str, Callable[[bytes], bytes]]] = {
    Compression.GZIP: {
        "stored": lambda plain: _gzip(plain, level=0),
        "two members": lambda plain: _gzip(plain[:20]) + _gzip(plain[20:]),
        "raw deflate": lambda plain: zlib.compress(plain)[2:-4],
        "zlib": zlib.compress,
    },
    Compression.SNAPPY: {
        "one bare block": lambda plain: bytes(cramjam.snappy.compress_raw(plain)),
        "the framing format": lambda plain: bytes(cramjam.snappy.compress(plain)),
        "two blocks": lambda plain: b"".join(
            (compress(Compression.SNAPPY, plain[:20]), compress(Compression.SNAPPY, plain[20:])[16:])
        ),
        "a claim of 4 GB": lambda plain: b"\xff\xff\xff\xff\x0f" + bytes(cramjam.snappy.compress_raw(plain))[2:],
        "an empty block first": lambda plain: (
            XERIAL_HEADER + pack(">i", 1) + b"\x00" + compress(Compression.SNAPPY, plain)[16:]
        ),
        "header only": lambda plain: compress(Compression.SNAPPY, plain)[:16],
        "half a header": lambda plain: compress(Compression.SNAPPY, plain)[:11],
    },
    Compression.LZ4: {
        "linked blocks": lambda plain: _lz4_frame(plain, 0x40),
        "block checksums": lambda plain: _lz4_frame(plain, 0x70),
        "content checksum": lambda plain: _lz4_frame(plain, 0x64),
        "content size": lambda plain: _lz4_frame(plain, 0x60, sized=True),
        "large blocks": lambda plain: _lz4_frame(plain, 0x60, 0x70),
        "a bare block": lambda plain: bytes(cramjam.lz4.compress_block(plain, store_size=False)),
        "no end mark": lambda plain: compress(Compression.LZ4, plain)[:-4],
    },
    Compression.ZSTD: {
        "two frames": lambda plain: compress(Compression.ZSTD, plain[:20]) + compress(Compression.ZSTD, plain[20:]),
        "a skippable frame first": lambda plain: (
            b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + compress(Compression.ZSTD, plain)
        ),
        "level 19": lambda plain: compress(Compression.ZSTD, plain, 19),
    },
}


# At random


def random_case(rng: random.Random) -> Draft:
    """A valid batch of a few records, with one to three bytes changed somewhere, or a field."""
    codec = rng.choice(list(Compression))
    records = [
        make_record(
            at,
            key=rng.choice((None, b"", b"k", b"key %d" % at)),
            value=rng.choice((None, b"", b"v" * rng.randrange(300), rng.randbytes(20))),
            headers=rng.choice((0, 0, 0, 1, 3)),
        )
        for at in range(rng.choice((1, 2, 3, 8, 40)))
    ]
    draft = Draft(records=records, codec=codec)
    if codec != Compression.NONE and rng.randrange(2):
        draft.pack_as = partial(compress, codec)
    kind = rng.randrange(10)
    if kind < 5:
        draft.change_plain = _byte_changes(rng)
    elif kind < 7:
        record = rng.choice(records)
        name = rng.choice([each for each in record if each.endswith(("length", "delta", "count"))])
        record[name] = rng.choice(list(strange_numbers(record[name])))[1]
    elif kind == 7:
        draft.change_packed = _byte_changes(rng)
    elif kind == 8:
        # From the attributes on, under a right checksum.
        position = rng.randrange(21, HEADER_SIZE)
        draft.change_batch = _header_byte(position, rng.randrange(256))
    else:
        draft.change_batch = _byte_changes(rng)
    return draft


def _byte_changes(rng: random.Random) -> Callable[[bytes], bytes]:
    seed = rng.randrange(1 << 30)

    def change(data: bytes) -> bytes:
        dice = random.Random(seed)
        changed = bytearray(data)
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            if not changed:
                break
            at = dice.randrange(len(changed))
            match dice.randrange(4):
                case 0:
                    changed[at] = dice.randrange(256)
                case 1:
                    changed[at] ^= 1 << dice.randrange(8)
                case 2:
                    del changed[at : at + dice.choice((1, 2, 10))]
                case _:
                    changed[at:at] = dice.randbytes(dice.choice((1, 2, 10)))
        return bytes(changed)

    return change


def _header_byte(position: int, value: int) -> Callable[[bytes], bytes]:
    def change(batch: bytes) -> bytes:
        changed = batch[:position] + bytes([value]) + batch[position + 1 :]
        return assemble_batch(parse_header(changed), changed[HEADER_SIZE:])

    return change


# All of them


def every_field() -> list[Case]:
    """The catalogue: each field and each framing in turn, on the plain topic, and once more on one of the others."""
    # Null is left out: Apache Kafka 4.3 never answers it.
    cases: list[Case] = [Case(name="empty", topic=PLAIN, data=b"")]
    others = cycle([topic for topic in TOPICS if topic != PLAIN])
    drafts: list[tuple[str, Draft]] = [*header_cases(), *frame_cases(), *codec_cases()]
    for codec in Compression:
        for name, draft in (*record_cases(codec), *payload_cases(codec)):
            drafts.append((f"{codec.name}, {name}", draft))
    for name, draft in drafts:
        data = draft.batch()
        portable = draft.pack_as is None
        cases.append(Case(name=name, topic=PLAIN, data=data, portable=portable))
        for topic in islice(others, 2):
            cases.append(Case(name=f"{name} to {topic}", topic=topic, data=data, portable=portable))
    for version in (3, 6, 7, 9):
        for codec in Compression:
            data = Draft(records=three_records(), codec=codec).batch()
            cases.append(Case(name=f"{codec.name} in version {version}", topic=PLAIN, data=data, version=version))
    return cases


def at_random(count: int = RANDOM_CASES) -> list[Case]:
    rng = random.Random(SEED)
    topics = list(TOPICS)
    cases = []
    for number in range(count):
        topic = rng.choice((PLAIN, rng.choice(topics)))
        draft = random_case(rng)
        portable = draft.pack_as is None
        cases.append(Case(name=f"random {number}", topic=topic, data=draft.batch(), portable=portable))
    return cases


def all_cases() -> list[Case]:
    return every_field() + at_random()


def digest(cases: Sequence[Case]) -> str:
    """Whether a list of verdicts was recorded for these very bytes."""
    hashed = hashlib.sha256()
    for case in cases:
        hashed.update(f"{case.name}|{case.topic}|{case.version}|{len(case.data)}|".encode() + case.data)
    return hashed.hexdigest()
