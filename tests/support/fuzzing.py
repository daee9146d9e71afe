"""Frames that no client would send: mutations of valid requests over every API and version, and extreme values.

The seed makes every run repeatable. What the frames do to a broker is for the tests to see.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from random import Random

from support.extreme_values import Hostile
from support.message_samples import sample

from tidelog.protocol.api import request_class
from tidelog.protocol.frames import request_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Versions
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch

Address = tuple[str, int]

PATIENCE_SECONDS = 0.1


def mutate(frame: bytearray, random: Random) -> bytearray:
    """Change bytes, insert, cut, or turn numbers into extreme ones; the length stays right most of the time."""
    body = frame[4:]
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        kind = random.random()
        at = random.randrange(len(body)) if body else 0
        if kind < 0.5 and body:
            body[at] = random.randrange(256)
        elif kind < 0.7 and len(body) >= 8:
            extreme = random.choice((0, -1, 2**31 - 1, -(2**31), 65_536))
            at = random.randrange(len(body) - 4)
            body[at : at + 4] = struct.pack(">i", extreme)
        elif kind < 0.8:
            del body[at:]
        elif kind < 0.9:
            body[at:at] = random.randbytes(random.randrange(1, 12))
        elif len(body) >= 4:
            struct.pack_into(">h", body, random.choice((0, 2)), random.randrange(-2, 100))
    length = len(body) if random.random() < 0.97 else random.choice((-1, 0, 2**31 - 1, len(body) + 7, 50))
    return bytearray(struct.pack(">i", length)) + body


def fuzzed_frames(served: Mapping[ApiKey, Versions], random: Random) -> Iterator[bytearray]:
    """Over all APIs and versions, over and over: two of three mutated, the others valid with extreme values."""
    batch = encode_batch([(1, b"k", b"v" * 50, ()), (2, None, b"w", (("h", b"x"),))], compression=Compression.GZIP)
    hostile = Hostile(
        random, names=("fuzzed", "group", "consumer", "range"), numbers=(0, 1, 2, 3, 5, 100), ids=(bytes(15) + b"\x01",)
    )
    while True:
        for key, (low, high) in served.items():
            for version in range(low, high + 1):
                is_hostile = random.random() < 0.5
                kind = request_class(key)
                request = hostile.message(kind, version) if is_hostile else sample(kind, version, random)
                frame = b"".join(request_frame(key, version, random.randrange(1000), "fuzz", request))
                if random.random() < 0.1:
                    frame = frame.replace(b"a", batch[: random.randrange(len(batch))], 1)
                intact = is_hostile and random.random() < 0.66
                yield bytearray(frame) if intact else mutate(bytearray(frame), random)


class FrameSender:
    """Sends one frame at a time on each of some connections, so that the broker gets to see every one of them.

    A frame is done with when something comes back, when the broker closes the connection, or when nothing has happened
    for a while: the frame may be incomplete, or ask to wait.
    """

    def __init__(self, target: Address, connections: int) -> None:
        self._target = target
        self._selector = selectors.DefaultSelector()
        # Connections with a frame that is not done with, and since when.
        self._busy: dict[socket.socket, float] = {}
        self._idle = [self._connect() for _ in range(connections)]
        self.sent = 0
        self.answered = 0
        self.closed_by_broker = 0
        self.unanswered = 0

    def pump(self, frames: Iterator[bytearray]) -> None:
        """Give each idle connection a frame, and look for answers."""
        now = time.monotonic()
        while self._idle:
            connection = self._idle.pop()
            try:
                connection.sendall(next(frames))
            except OSError:
                self.closed_by_broker += 1
                self._idle.append(self._replaced(connection))
                continue
            self.sent += 1
            self._busy[connection] = now
        for key, _ in self._selector.select(timeout=0.002):
            assert isinstance(key.fileobj, socket.socket)
            self._look(key.fileobj)
        for connection, since in list(self._busy.items()):
            if now - since < PATIENCE_SECONDS:
                break
            self.unanswered += 1
            del self._busy[connection]
            self._idle.append(self._replaced(connection))

    def close(self) -> None:
        for each in (*self._idle, *self._busy):
            each.close()
        self._selector.close()

    def _look(self, connection: socket.socket) -> None:
        try:
            received = connection.recv(1 << 18)
        except OSError:
            received = b""
        was_busy = self._busy.pop(connection, None) is not None
        if received:
            if was_busy:
                self.answered += 1
                self._idle.append(connection)
            return
        self.closed_by_broker += 1
        if not was_busy:
            self._idle.remove(connection)
        self._idle.append(self._replaced(connection))

    def _replaced(self, connection: socket.socket) -> socket.socket:
        self._selector.unregister(connection)
        connection.close()
        return self._connect()

    def _connect(self) -> socket.socket:
        fresh = socket.create_connection(self._target, timeout=20)
        fresh.settimeout(5)
        self._selector.register(fresh, selectors.EVENT_READ)
        return fresh
