"""Frames out of a stream: whatever way the bytes are cut, and however large the lengths claim to be."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tidelog.network.frame_receiver import FIRST_ALLOCATION_BYTES, FrameReceiver, StagingArea
from tidelog.network.request_memory import RequestMemory
from tidelog.protocol.codec import ProtocolError


def framed(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def receive(receiver: FrameReceiver, data: bytes, sizes: list[int]) -> list[bytes]:
    """Feed `data` in pieces of at most these sizes, as a socket would."""
    got: list[bytes] = []
    position = 0
    turn = 0
    while position < len(data):
        buffer = receiver.buffer()
        count = min(len(buffer), sizes[turn % len(sizes)], len(data) - position)
        buffer[:count] = data[position : position + count]
        receiver.advance(count, lambda frame: got.append(bytes(frame)))
        position += count
        turn += 1
    return got


def receiver(limit: int = 1 << 30, staging: int = 4096) -> FrameReceiver:
    return FrameReceiver(StagingArea(staging), lambda _: limit)


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7, 64, 1000, 100_000])
def test_frames_survive_every_way_of_cutting_the_stream(piece: int) -> None:
    random = Random(piece)
    frames = [random.randbytes(random.choice([0, 1, 3, 10, 500, 5000])) for _ in range(40)]
    assert receive(receiver(), framed(*frames), [piece]) == frames


def test_random_cuts_give_the_same_frames() -> None:
    random = Random(5)
    for _ in range(50):
        frames = [random.randbytes(random.randrange(3000)) for _ in range(20)]
        sizes = [random.randrange(1, 2000) for _ in range(17)]
        assert receive(receiver(), framed(*frames), sizes) == frames


def test_a_frame_that_has_come_whole_does_not_change_when_the_next_one_arrives() -> None:
    area = StagingArea(4096)
    first, second = FrameReceiver(area, lambda _: 1000), FrameReceiver(area, lambda _: 1000)
    kept: list[Any] = []
    for each, content in ((first, b"a" * 100), (second, b"b" * 100)):
        data = framed(content)
        each.buffer()[: len(data)] = data
        each.advance(len(data), kept.append)
    assert kept == [b"a" * 100, b"b" * 100]


@pytest.mark.parametrize("length", [-1, -(2**31)])
def test_negative_lengths_are_refused(length: int) -> None:
    with pytest.raises(ProtocolError, match=str(length)):
        receive(receiver(), length.to_bytes(4, "big", signed=True), [4])


def test_lengths_above_the_limit_are_refused_when_the_length_has_arrived() -> None:
    with pytest.raises(ProtocolError, match="2147483647 bytes, more than the limit of 1000"):
        receive(receiver(limit=1000), (2**31 - 1).to_bytes(4, "big"), [4])


def test_the_limit_may_depend_on_the_first_bytes_of_the_frame() -> None:
    limited = FrameReceiver(StagingArea(4096), lambda first: 10 if bytes(first) == b"\x00\x03" else 1000)
    assert receive(limited, framed(b"\x00\x00" + bytes(500)), [4096]) == [b"\x00\x00" + bytes(500)]
    with pytest.raises(ProtocolError):
        receive(limited, framed(b"\x00\x03" + bytes(500)), [4096])


def test_memory_grows_with_the_bytes_that_arrive_and_not_with_the_declared_length() -> None:
    each = receiver(limit=100 << 20)
    receive(each, (100 << 20).to_bytes(4, "big") + bytes(10), [14])
    assert len(each.buffer()) == FIRST_ALLOCATION_BYTES - 10
    receive(each, bytes(FIRST_ALLOCATION_BYTES), [4096])
    assert len(each.buffer()) <= 4 * FIRST_ALLOCATION_BYTES


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1, 1 << 21, (1 << 21) + 1, 5 << 20])
@pytest.mark.parametrize("of_a_server", [False, True])
def test_frames_of_every_size_come_as_they_were_sent(size: int, of_a_server: bool) -> None:
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    claim = RequestMemory(100 << 20).claim(lambda: None, lambda _: None) if of_a_server else None
    each = FrameReceiver(StagingArea(1 << 18), lambda _: 100 << 20, claim)
    frames = receive(each, framed(content) + framed(b"next"), [1 << 18])
    assert [bytes(frame) for frame in frames] == [content, b"next"]


# -- memory that is used again ---------------------------------------------------------------------------------------


def reusing(reused_bytes: int = 1 << 20) -> FrameReceiver:
    return FrameReceiver(StagingArea(4096), lambda _: 1 << 30, reused_bytes=reused_bytes)


def receive_one(receiver: FrameReceiver, frame: bytes) -> Any:
    """The frame as it was delivered."""
    got: list[Any] = []
    data = framed(frame)
    position = 0
    while position < len(data):
        buffer = receiver.buffer()
        count = min(len(buffer), len(data) - position)
        buffer[:count] = data[position : position + count]
        del buffer
        receiver.advance(count, got.append)
        position += count
    (delivered,) = got
    return delivered


@pytest.mark.parametrize("piece", [1, 7, 1000, 100_000])
def test_frames_in_memory_that_is_used_again_survive_every_way_of_cutting_the_stream(piece: int) -> None:
    random = Random(piece)
    frames = [random.randbytes(random.choice([0, 3, 500, 5000, 70_000, 300_000])) for _ in range(12)]
    assert receive(reusing(100_000), framed(*frames), [piece]) == frames


def test_the_memory_of_a_frame_that_nobody_uses_any_more_holds_the_next_one() -> None:
    under_test = reusing()
    first = receive_one(under_test, b"a" * 200_000)
    memory = first.obj
    del first
    smaller = receive_one(under_test, b"b" * 150_000)
    assert smaller.obj is memory
    assert smaller == b"b" * 150_000


def test_a_frame_does_not_change_as_long_as_somebody_has_a_view_of_a_part_of_it() -> None:
    under_test = reusing()
    first = receive_one(under_test, b"a" * 200_000)
    part = first[100_000:100_010]
    del first
    second = receive_one(under_test, b"b" * 200_000)
    assert part == b"a" * 10
    assert second == b"b" * 200_000
    assert second.obj is not part.obj


def test_no_more_memory_is_kept_than_was_agreed() -> None:
    under_test = reusing(100_000)
    large = receive_one(under_test, b"a" * 200_000)
    assert isinstance(large, bytearray)
    assert under_test._spares == []


def test_the_memory_of_several_frames_is_kept_while_the_others_are_read() -> None:
    under_test = reusing(500_000)
    memories = []
    unread = receive_one(under_test, b"a" * 200_000)
    for letter in (b"b", b"c", b"d", b"e"):
        read, unread = unread, receive_one(under_test, letter * 200_000)
        memories.append(id(read.obj))
        assert unread == letter * 200_000
        del read
    assert len(set(memories)) == 2
    # The third would be too much: the oldest is let go.
    kept = [receive_one(under_test, b"f" * 200_000) for _ in range(3)]
    assert [sum(map(len, under_test._spares)), bytes(kept[0])] == [400_000, b"f" * 200_000]


def test_a_frame_within_what_is_kept_is_never_copied_while_it_grows() -> None:
    under_test = reusing(300_000)
    data = framed(b"a" * 300_000)
    buffer = under_test.buffer()
    buffer[:] = data[: len(buffer)]
    under_test.advance(len(buffer), lambda frame: None)
    assert len(under_test.buffer()) == len(data) - len(buffer)
