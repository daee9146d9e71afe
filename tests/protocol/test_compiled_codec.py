"""The compiled codec beside the plain one: the same bytes, messages and refusals. And the right one of them runs."""

from __future__ import annotations

import gc
import os
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.message_extremes import BOUNDS, Bounded, Computed, Everything, Inner, Inverted, extreme
from support.message_samples import all_versions

import tidelog
from tidelog.model.unread import UnreadBytes
from tidelog.protocol import implementation
from tidelog.protocol.codec import Buffer, ProtocolError, encode_uvarint, plain_chunks, plain_decode
from tidelog.protocol.frames import COALESCE_BELOW, LENGTH, coalesce
from tidelog.protocol.implementation import MessageCodec
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.produce_response import ProduceResponse
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.schema import Message, covers, replaced

# What both say in the same words; about bytes that end too early each has its own.
SAME_WORDS = re.compile("claims|is null|longer than five bytes|can't decode|invalid")


@pytest.fixture(scope="module")
def compiled() -> MessageCodec:
    """Not there where no C compiler was."""
    if not implementation.COMPILED:
        pytest.skip(f"runs plain Python: {implementation.REASON}")
    assert implementation.compiled is not None
    return implementation.compiled


def every_version() -> Iterator[tuple[type[Message], int]]:
    yield from all_versions()
    low, high = Everything.SCHEMA.valid
    yield from ((Everything, version) for version in range(low, high + 1))
    yield from ((Computed, version) for version in (0, 1))
    yield from ((Bounded, 0), (Inverted, 0))


def plain_encode(message: Message, version: int) -> bytes:
    return b"".join(plain_chunks(message, version))


def shown(message: Message) -> str:
    """All that can be seen of a message, also of a float that does not equal itself and of a list beside a tuple."""
    return repr({name: _shown(getattr(message, name)) for name in (field.name for field in message.SCHEMA.fields)})


def _shown(value: Any) -> Any:
    if isinstance(value, Message):
        return type(value), shown(value)
    if isinstance(value, list | tuple):
        return type(value), [_shown(each) for each in value]
    if isinstance(value, memoryview):
        return "view", value.readonly, value.tobytes()
    return type(value), value


def answer(decode: Any, kind: type[Message], data: Buffer, version: int, position: int = 0) -> tuple[str, object]:
    try:
        message, end = decode(kind, data, version, position)
    except ProtocolError as error:
        text = str(error)
        return "refused", text if SAME_WORDS.search(text) else ""
    return shown(message), end


# The same bytes and messages


def test_both_write_and_read_every_message_in_every_version_alike(compiled: MessageCodec) -> None:
    random = Random(11)
    for kind, version in every_version():
        for _ in range(10):
            message = extreme(kind, version, random)
            data = plain_encode(message, version)
            assert compiled.encode(message, version) == data, (kind.__name__, version, message)
            # Something before it, and something behind it.
            framed = bytearray(b"before" + data + b"behind")
            there = answer(plain_decode, kind, framed, version, 6)
            assert there[0] != "refused"
            assert answer(compiled.decode, kind, framed, version, 6) == there, (kind.__name__, version)


@given(st.randoms(use_true_random=False), st.sampled_from(list(every_version())))
def test_both_write_and_read_any_message_alike(compiled: MessageCodec, random: Random, which: Any) -> None:
    kind, version = which
    message = extreme(kind, version, random)
    data = plain_encode(message, version)

    assert compiled.encode(message, version) == data
    assert answer(compiled.decode, kind, data, version) == answer(plain_decode, kind, data, version)


def test_fields_that_a_version_lacks_have_their_defaults(compiled: MessageCodec) -> None:
    for kind, version in all_versions():
        decoded, _ = compiled.decode(kind, plain_encode(kind(), version), version, 0)
        for field in kind.SCHEMA.fields:
            if not covers(field.versions, version):
                assert getattr(decoded, field.name) is getattr(kind(), field.name), (kind.__name__, version, field)


@pytest.mark.parametrize("bits", [0x7FF8_0000_0000_0001, 0x8000_0000_0000_0000, 0xFFF0_0000_0000_0000])
def test_floats_keep_their_bits(compiled: MessageCodec, bits: int) -> None:
    (number,) = struct.unpack(">d", struct.pack(">Q", bits))
    data = compiled.encode(Everything(one_float64=number), 0)

    assert data == plain_encode(Everything(one_float64=number), 0)
    again, _ = compiled.decode(Everything, data, 0, 0)
    assert struct.pack(">d", _field(again, "one_float64")) == struct.pack(">Q", bits)


def test_a_class_that_does_more_than_store_is_called(compiled: MessageCodec) -> None:
    assert compiled.decode(Bounded, b"\0\0\0\xff", 0, 0)[0].number == 100
    assert compiled.decode(Inverted, b"\0\0\0\xff", 0, 0)[0].number == ~255
    assert compiled.decode(Computed, b"\0\0\0\x04\x01\x00\x02\x02a", 1, 0)[0].name == "a"


def test_messages_are_filled_whether_their_classes_are_compiled_or_not(compiled: MessageCodec) -> None:
    generated: list[type[Message]] = [FetchResponse, ProduceResponse, FetchRequest, ProduceRequest]
    for kind in generated:
        assert compiled.is_filled(kind, kind.SCHEMA.valid[1]), kind.__name__
    doing_more: list[type[Message]] = [Bounded, Inverted, Computed]
    for kind in doing_more:
        assert not compiled.is_filled(kind, 0), kind.__name__


# From the second on, a compiled class keeps numbers as objects.
LARGE = (2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**62), -(2**62) - 1, -(2**63))


@pytest.mark.parametrize("number", LARGE)
def test_both_write_and_read_large_numbers_alike(compiled: MessageCodec, number: int) -> None:
    message = with_numbers(number)
    data = plain_encode(message, 17)

    assert compiled.encode(message, 17) == data
    decoded, _ = compiled.decode(FetchResponse, data, 17, 0)
    assert decoded == plain_decode(FetchResponse, data, 17)[0]
    again = decoded.responses[0].partitions[0]
    assert (again.high_watermark, again.log_start_offset) == (number, -1)
    assert compiled.encode(decoded, 17) == data


def with_numbers(*numbers: int) -> FetchResponse:
    partitions = [PartitionData(partition_index=3, high_watermark=number) for number in numbers]
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)])


def test_equal_structs_that_are_not_the_default_itself_are_not_sent(compiled: MessageCodec) -> None:
    for message in (Everything(tagged_one_Inner=Inner()), Everything(tagged_list_Inner=[])):
        assert compiled.encode(message, 3) == plain_encode(Everything(), 3)


def _field(message: Message, name: str) -> Any:
    return getattr(message, name)


# The same refusals


def damaged(data: bytes, random: Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(random.randrange(1, 4)):
        if mutated and random.random() < 0.8:
            at = random.randrange(len(mutated))
            mutated[at] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, mutated[at] ^ 1, random.randrange(256)))
        elif random.random() < 0.5:
            at = random.randrange(len(mutated) + 1)
            mutated[at:at] = random.choice((b"\xff" * 5, b"\xff\xff\xff\xff\x07", b"\x7f\xff", b"\x01\x00\x00"))
        else:
            del mutated[random.randrange(len(mutated) + 1) :]
    return bytes(mutated)


def test_both_say_the_same_about_damaged_bytes(compiled: MessageCodec) -> None:
    random = Random(12)
    refused = accepted = 0
    for kind, version in every_version():
        data = plain_encode(extreme(kind, version, random), version)
        for _ in range(40):
            mutated = damaged(data, random)
            there = answer(plain_decode, kind, mutated, version)
            assert answer(compiled.decode, kind, mutated, version) == there, (kind.__name__, version, mutated)
            refused += there[0] == "refused"
            accepted += there[0] != "refused"
    assert refused > 5000
    assert accepted > 5000


@given(st.sampled_from(list(every_version())), st.binary(max_size=80))
def test_both_say_the_same_about_any_bytes(
    compiled: MessageCodec, which: tuple[type[Message], int], data: bytes
) -> None:
    kind, version = which

    assert answer(compiled.decode, kind, data, version) == answer(plain_decode, kind, data, version)


def test_nothing_behind_the_end_is_read(compiled: MessageCodec) -> None:
    """Behind each cut lies what would have made the message whole: whoever reads it there accepts the message."""
    random = Random(13)
    for kind, version in every_version():
        data = memoryview(plain_encode(extreme(kind, version, random), version))
        for cut in range(min(len(data), 400)):
            there = answer(plain_decode, kind, data[:cut], version)
            assert there[0] == "refused", (kind.__name__, version, cut)
            assert answer(compiled.decode, kind, data[:cut], version) == there, (kind.__name__, version, cut)


@pytest.mark.parametrize("field", ["list_string", "list_bytes", "list_records"])
@pytest.mark.parametrize("version", [0, 2, 3])
def test_an_array_that_may_be_null_has_no_null_in_it(compiled: MessageCodec, field: str, version: int) -> None:
    element = "marker" if field == "list_string" else b"marker"
    data = plain_encode(Everything(**{field: [element]}), version)
    width = 1 if version == 3 else 2 if field == "list_string" else 4
    at = data.index(b"marker")
    nulled = data[: at - width] + (b"\0" if version == 3 else b"\xff" * width) + data[at + len("marker") :]

    for decode in (compiled.decode, plain_decode):
        with pytest.raises(ProtocolError, match=f"{field} is null"):
            decode(Everything, nulled, version, 0)


GUARDED = """
import ctypes, mmap, sys
from random import Random
from support.message_extremes import Everything, extreme
from support.message_samples import all_versions
from tidelog.protocol.codec import ProtocolError, plain_chunks
from tidelog.protocol.native.message_codec import decode

pages = mmap.mmap(-1, 64 * mmap.PAGESIZE)
end = 63 * mmap.PAGESIZE
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + end), mmap.PAGESIZE, 0) == 0
view, random, read = memoryview(pages), Random(14), 0
for kind, version in [*all_versions(), *((Everything, version) for version in range(6))]:
    data = b"".join(plain_chunks(extreme(kind, version, random), version))
    for size in range(max(0, len(data) - 200), len(data) + 1):
        view[end - size : end] = data[:size]
        try:
            decode(kind, view[end - size : end], version, 0)
        except ProtocolError:
            pass
        read += 1
print("read", read)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects memory in the way of Linux")
def test_bytes_at_the_end_of_memory_are_read_without_touching_what_lies_behind(compiled: MessageCodec) -> None:
    tests = Path(__file__).parents[1]
    done = run("-c", GUARDED, PYTHONPATH=os.pathsep.join([str(tests), str(Path(tidelog.__file__).parents[1])]))

    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[1]) > 10_000


def test_a_position_outside_of_the_bytes_is_refused(compiled: MessageCodec) -> None:
    # There is a whole message before what is given, and behind it one that needs no bytes.
    data = memoryview(compiled.encode(HeartbeatRequest(group_id="group"), 4))
    compiled.decode(HeartbeatRequest, data, 4, 0)
    with pytest.raises(ProtocolError, match="byte -3 is not one of"):
        compiled.decode(HeartbeatRequest, data[3:], 4, -3)
    compiled.decode(ApiVersionsRequest, b"", 0, 0)
    for position in (1, 2**40):
        with pytest.raises(ProtocolError, match=f"byte {position} is not one of 0"):
            compiled.decode(ApiVersionsRequest, b"", 0, position)


def test_items_that_are_not_bytes_are_refused(compiled: MessageCodec) -> None:
    with pytest.raises(TypeError, match="larger items"):
        compiled.decode(HeartbeatRequest, memoryview(bytes(64)).cast("i"), 4, 0)


def test_a_count_costs_memory_only_for_what_is_there(compiled: MessageCodec) -> None:
    # There would be room for a million topics, but the first one has no name.
    data = encode_uvarint(2**20 + 1) + bytes(2**21)
    compiled.decode(MetadataRequest, compiled.encode(MetadataRequest(), 9), 9, 0)
    tracemalloc.start()
    with pytest.raises(ProtocolError, match="name is null"):
        compiled.decode(MetadataRequest, data, 9, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


class Level(IntEnum):
    LOW = 1


WRONG: list[Any] = [
    *(None, True, -1, 1.5, "x", b"x", bytearray(b"x"), memoryview(b"xy"), object(), Inner(), Level.LOW),
    *([], (), [None], [[]], ["a"], [b"a"], [1, 2**200], [Inner(), None], {"a": 1}, deque([3, 4]), range(3)),
    *("\ud800", ["\ud800"], "x" * 40_000, "ä" * 20_000, b"y" * 40_000, b"z" * 15, b"z" * 17, bytearray(b"z" * 17)),
    *(edge for low, high in BOUNDS.values() for edge in (low - 1, low, high, high + 1)),
    *(2**64, -(2**64), 2**200, float("nan"), iter([1])),
]
# A string that is none has no `encode`, or is of another type: either way it is the caller's mistake.
_NOT_THIS_TYPE = (AttributeError, TypeError)


def written(encode: Any, message: Message, version: int) -> bytes | type[Exception]:
    try:
        data: bytes = encode(message, version)
    except _NOT_THIS_TYPE:
        return TypeError
    except (struct.error, ValueError, BufferError) as error:
        return type(error)
    return data


def test_both_take_and_refuse_the_same_values_in_every_kind_of_field(compiled: MessageCodec) -> None:
    refusals: set[type[Exception]] = set()
    for version in (0, 2, 3):
        for field in Everything.SCHEMA.fields:
            for value in WRONG:
                message = Everything(**{field.name: value})
                there = written(plain_encode, message, version)
                assert written(compiled.encode, message, version) == there, (version, field.name, value)
                if isinstance(there, type):
                    refusals.add(there)
    assert refusals == {TypeError, ValueError, UnicodeEncodeError, struct.error}


def test_both_refuse_none_in_the_same_fields_of_every_message(compiled: MessageCodec) -> None:
    random = Random(15)
    for kind, version in all_versions():
        message = extreme(kind, version, random)
        for field in kind.SCHEMA.fields:
            try:
                nulled = replaced(message, **{field.name: None})
            except TypeError:
                # A class that is compiled itself refuses it before any codec does.
                continue
            there = written(plain_encode, nulled, version)
            assert written(compiled.encode, nulled, version) == there, (kind.__name__, version, field.name)


def test_refusals_name_the_field(compiled: MessageCodec) -> None:
    wrong: tuple[Any, ...] = (2**31, None, "three")
    for value in wrong:
        with pytest.raises(struct.error, match="generation_id"):
            compiled.encode(HeartbeatRequest(generation_id=value), 4)
    with pytest.raises(ValueError, match="group_id is None, which this version cannot carry"):
        compiled.encode(HeartbeatRequest(group_id=None), 4)  # type: ignore[arg-type]


def test_an_exception_of_the_value_itself_comes_through(compiled: MessageCodec) -> None:
    class Broken:
        def __index__(self) -> int:
            raise LookupError("no number today")

    with pytest.raises(LookupError, match="no number today"):
        compiled.encode(Everything(one_int32=Broken()), 0)


def test_a_list_that_shrinks_while_it_is_written_is_not_read_beyond_its_end(compiled: MessageCodec) -> None:
    class Shrinking:
        def __index__(self) -> int:
            numbers.clear()
            return 1

    numbers: list[Any] = [Shrinking(), 2, 3]
    with pytest.raises(RuntimeError, match="became shorter"):
        compiled.encode(Everything(list_int32=numbers), 0)


# What is copied, and what is kept


def produce_request(records: Buffer) -> ProduceRequest:
    partition = PartitionProduceData(index=1, records=records)
    return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])


def test_records_are_writable_views_of_the_frame(compiled: MessageCodec) -> None:
    frame = bytearray(b"head" + plain_encode(produce_request(b"records"), 10))
    for buffer in (frame, memoryview(frame), memoryview(frame)[2:]):
        start = 4 - (len(frame) - len(buffer))
        request, _ = compiled.decode(ProduceRequest, buffer, 10, start)
        view = request.topic_data[0].partition_data[0].records
        assert isinstance(view, memoryview)
        assert view.obj is frame
        view[0] = ord("R")
        assert b"Records" in frame
        view[0] = ord("r")
    assert b"records" in frame


def test_views_of_bytes_cannot_be_written(compiled: MessageCodec) -> None:
    data = plain_encode(produce_request(b"records"), 10)
    request, _ = compiled.decode(ProduceRequest, data, 10, 0)
    view = request.topic_data[0].partition_data[0].records
    assert isinstance(view, memoryview)
    assert view.readonly


def test_bytes_are_copied(compiled: MessageCodec) -> None:
    frame = bytearray(plain_encode(SaslAuthenticateRequest(auth_bytes=b"secret"), 2))
    request, _ = compiled.decode(SaslAuthenticateRequest, frame, 2, 0)
    frame[:] = bytes(len(frame))
    assert request.auth_bytes == b"secret"


def test_nothing_holds_the_frame_once_the_message_is_gone(compiled: MessageCodec) -> None:
    frame = bytearray(plain_encode(produce_request(b"records"), 10))
    request, _ = compiled.decode(ProduceRequest, frame, 10, 0)
    with pytest.raises(BufferError):
        frame.clear()
    del request
    for cut in range(1, len(frame)):
        with pytest.raises(ProtocolError):
            compiled.decode(ProduceRequest, memoryview(frame)[:-cut], 10, 0)
    frame.clear()


def leaky() -> Iterator[tuple[type[Message], int, bytes]]:
    """Bytes that are accepted, and others that are refused when much of them has been read."""
    text = "a text of its own " * 20
    everything = plain_encode(Everything(list_string=[text] * 50, tagged_one_Inner=Inner(number=5)), 3)
    yield Everything, 3, everything
    yield Everything, 3, everything[:-1]
    # Objects of compiled classes, with numbers that are objects.
    fetched = plain_encode(with_numbers(*LARGE * 20), 17)
    yield FetchResponse, 17, fetched
    yield FetchResponse, 17, fetched[:-1]
    computed = plain_encode(Computed(name=text), 1)
    yield Computed, 1, computed
    # Two tagged fields are said to follow, and one does.
    yield Computed, 1, computed[:4] + b"\x02" + computed[5:]


def test_what_is_made_while_reading_is_given_back(compiled: MessageCodec) -> None:
    default = _field(Everything(), "tagged_one_Inner")
    for kind, version, data in leaky():
        references = sys.getrefcount(default)
        tracemalloc.start()
        sizes = []
        for repeat in range(421):
            answer(compiled.decode, kind, data, version)
            if repeat % 100 == 20:
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        # What is not given back is missing each time; other threads allocate something now and then.
        assert min(after - before for before, after in pairwise(sizes)) < 5_000, (kind.__name__, len(data))
        assert sys.getrefcount(default) == references, (kind.__name__, len(data))


def fetch_response(*sizes: int) -> FetchResponse:
    # A tagged field, within which nothing is kept, lies between the records.
    leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    partitions = [
        PartitionData(partition_index=index, records=bytes([index]) * size, current_leader=leader)
        for index, size in enumerate(sizes)
    ]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param((), id="nothing"),
        pytest.param((10, 20), id="small ones"),
        pytest.param((COALESCE_BELOW - 1,) * 3, id="just small enough"),
        pytest.param((COALESCE_BELOW,) * 3, id="just large enough"),
        pytest.param((0, 100_000, 5, 70_000, 0), id="small and large ones"),
    ],
)
@pytest.mark.parametrize("version", [11, 12])
def test_both_make_the_same_pieces_of_a_frame(compiled: MessageCodec, version: int, sizes: tuple[int, ...]) -> None:
    response = fetch_response(*sizes)
    chunks = plain_chunks(response, version)
    size = 5 + sum(map(len, chunks))

    pieces = compiled.encode_frame(response, version, b"\0\0\0\x07h", COALESCE_BELOW)

    assert pieces == coalesce([LENGTH.pack(size) + b"\0\0\0\x07h", *chunks])
    partitions = response.responses[0].partitions
    large = [each.records for each in partitions if len(each.records or b"") >= COALESCE_BELOW]
    assert [piece for piece in pieces if any(piece is each for each in large)] == large


class Unread(UnreadBytes):
    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __len__(self) -> int:
        return self._size


@pytest.mark.parametrize("sizes", [(100_000,), (5, 0, 70_000), (COALESCE_BELOW,) * 20])
@pytest.mark.parametrize("version", [11, 12])
def test_both_leave_unread_bytes_as_they_are(compiled: MessageCodec, version: int, sizes: tuple[int, ...]) -> None:
    unread = [Unread(size) for size in sizes]
    partitions = [PartitionData(partition_index=1, records=cast(bytes, each)) for each in unread]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    chunks = plain_chunks(response, version)
    size = 5 + sum(map(len, chunks))

    pieces = compiled.encode_frame(response, version, b"\0\0\0\x07h", COALESCE_BELOW)

    assert pieces == coalesce([LENGTH.pack(size) + b"\0\0\0\x07h", *chunks])
    assert [piece for piece in pieces if isinstance(piece, UnreadBytes)] == unread


def test_large_bytes_in_a_tagged_field_are_behind_their_length(compiled: MessageCodec) -> None:
    data = b"d" * 3 * COALESCE_BELOW
    message = Everything(tagged_one_bytes=data, tagged_one_records=memoryview(data), list_bytes=[data, b"small"])
    chunks = plain_chunks(message, 3)

    pieces = compiled.encode_frame(message, 3, b"", COALESCE_BELOW)

    assert b"".join(pieces) == LENGTH.pack(sum(map(len, chunks))) + b"".join(chunks)
    assert sum(piece is data for piece in pieces) == 1


# The choice


SHOW = """
from tidelog.protocol import codec, implementation as i
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
assert codec.decode_whole(HeartbeatRequest, codec.encode(HeartbeatRequest(), 4), 4) == HeartbeatRequest()
print(i.COMPILED, i.compiled is not None, i.REASON)
"""


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name != implementation.SWITCH}
    return subprocess.run(
        [sys.executable, *command],
        env={**settings, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    """The part of tidelog that the protocol needs, to be changed freely."""
    source = Path(tidelog.__file__).parent
    target = tmp_path / "tidelog"
    target.mkdir()
    for path in source.glob("*.py"):
        shutil.copy(path, target)
    for name in ("model", "protocol"):
        shutil.copytree(source / name, target / name, ignore=_not_wanted)
    return tmp_path


def _not_wanted(directory: str, names: list[str]) -> list[str]:
    """Only the sources, and the compiled codec."""
    is_native = Path(directory).name == "native"
    return [name for name in names if name == "__pycache__" or (name.endswith(".so") and not is_native)]


def compiled_files(package: Path) -> list[Path]:
    return list((package / "tidelog" / "protocol" / "native").glob("*.so"))


def test_plain_python_can_be_asked_for() -> None:
    assert run("-c", SHOW, TIDELOG_PURE_PYTHON="1").stdout == "False False TIDELOG_PURE_PYTHON is set\n"


def test_a_fresh_codec_is_used(compiled: MessageCodec, copied_package: Path) -> None:
    assert run("-c", SHOW, PYTHONPATH=str(copied_package)).stdout == "True True \n"


def test_a_codec_of_another_source_is_not_used(compiled: MessageCodec, copied_package: Path) -> None:
    with (copied_package / "tidelog" / "protocol" / "native" / "message_codec.pyx").open("a") as file:
        file.write("# changed\n")

    done = run("-c", SHOW, PYTHONPATH=str(copied_package))

    assert done.stdout.startswith("False False the compiled codec was made from another source;")


def test_without_a_compiled_codec_plain_python_is_used(copied_package: Path) -> None:
    for path in compiled_files(copied_package):
        path.unlink()

    done = run("-c", SHOW, PYTHONPATH=str(copied_package))

    assert done.stdout.startswith("False False no compiled codec has been built")


def test_a_codec_that_cannot_be_loaded_is_not_used(compiled: MessageCodec, copied_package: Path) -> None:
    for path in compiled_files(copied_package):
        path.write_bytes(b"not a library")

    done = run("-c", SHOW, PYTHONPATH=str(copied_package))

    assert done.stdout.startswith("False False the compiled codec cannot be loaded")
