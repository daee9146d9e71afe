"""Replies whose bytes are still in their files, on real sockets: what arrives is what was promised, in order, or the
connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import uvloop
from support.processes import HANG_SECONDS

from tidelog.model.unread import UnreadBytes
from tidelog.network.frame_receiver import Frame, StagingArea
from tidelog.network.later import Later
from tidelog.network.request_memory import RequestMemory
from tidelog.network.server_connection import Reply, ServerConnection
from tidelog.protocol.frames import Piece
from tidelog.storage.files.local_filesystem import LocalFile, LocalFileSystem

MEGABYTE = 1 << 20
# More than the sockets of a connection hold, whatever the system makes of their buffers.
MUCH = 16 * MEGABYTE

Answer = list[Piece]


class Service:
    """Answers the n-th request with the n-th of the prepared replies, sometimes a little later."""

    def __init__(self, replies: list[Callable[[], Answer]], *, later: Random | None = None) -> None:
        self.replies = replies
        self.begun = 0
        self.connection: ServerConnection | None = None
        self.is_lost = asyncio.Event()
        self._later = later

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        reply = self.replies[self.begun]()
        self.begun += 1
        if self._later is not None and self._later.random() < 0.3:
            return Later.run(_after_a_turn(reply))
        return reply

    def may_pipeline(self, frame: Frame) -> bool:
        return self._later is not None

    def frame_limit(self, first_bytes: memoryview) -> int:
        return 1000

    def connected(self, connection: ServerConnection) -> bool:
        self.connection = connection
        return True

    def disconnected(self, connection: ServerConnection) -> None:
        self.is_lost.set()


async def _after_a_turn(reply: Answer) -> Reply:
    await asyncio.sleep(0)
    return reply


class Peer:
    """A client that reads when it is told to."""

    def __init__(self, service: Service, listening: asyncio.Server, connection: socket.socket) -> None:
        self.service = service
        self._listening = listening
        self.socket = connection

    def ask(self, count: int = 1) -> None:
        """Requests, which are empty: what is answered is prepared."""
        self.socket.send(b"\0\0\0\x01?" * count)

    async def receive(self, size: int, at_a_time: int = MEGABYTE) -> bytes:
        """Up to `size` bytes; fewer only at the end of the connection."""
        received = bytearray()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(HANG_SECONDS):
            while len(received) < size:
                try:
                    data = await loop.sock_recv(self.socket, min(at_a_time, size - len(received)))
                except ConnectionResetError:
                    break
                if not data:
                    break
                received += data
        return bytes(received)

    async def close(self) -> None:
        self.socket.close()
        self._listening.close()
        await asyncio.wait_for(self.service.is_lost.wait(), HANG_SECONDS)


async def connect(service: Service, *, receive_buffer: int | None = 64 * 1024) -> Peer:
    loop = asyncio.get_running_loop()
    staging, memory = StagingArea(), RequestMemory(MUCH)
    listening = await loop.create_server(
        lambda: ServerConnection(service, staging, memory, "PLAINTEXT"), "127.0.0.1", 0
    )
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.setblocking(False)
    await loop.sock_connect(connection, listening.sockets[0].getsockname())
    await until(lambda: service.connection is not None)
    return Peer(service, listening, connection)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.001)


async def half_sent(unread: UnreadBytes) -> None:
    """The socket has taken what it can, and the rest waits for the peer to read."""
    size = len(unread)
    await until(lambda: 0 < len(unread) < size)


Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a test on one of the event loops, and sees that no descriptor is left over."""

    def run_on(test: Coroutine[Any, Any, None]) -> None:
        async def test_and_look() -> None:
            before = descriptors()
            await test
            # A loop closes its sockets a turn after it has said so.
            await until(lambda: descriptors() == before)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop if request.param == "uvloop" else None) as runner:
            runner.run(test_and_look())

    return run_on


def descriptors() -> int:
    """Of sockets; those of files are counted by their file system."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        # The one by which they are listed is closed by now.
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return found


def stored(path: Path, size: int, seed: int = 1, *, most_open_files: int = 8) -> tuple[LocalFileSystem, LocalFile]:
    path.write_bytes(Random(seed).randbytes(size))
    filesystem = LocalFileSystem(most_open_files)
    file = filesystem.open(str(path))
    assert isinstance(file, LocalFile)
    return filesystem, file


def part(file: LocalFile, position: int, size: int) -> UnreadBytes:
    unread = file.slice(position, size)
    assert unread is not None
    return unread


# -- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("from_files", [True, False], ids=["from files", "read"])
def test_the_stream_is_the_same_however_it_is_sent(run: Run, tmp_path: Path, seed: int, from_files: bool) -> None:
    """Replies of all shapes, pipelined, some of them late, to readers of any speed."""
    random = Random(seed)
    _, file = stored(tmp_path / "log", 8 * MEGABYTE, seed)
    content = (tmp_path / "log").read_bytes()
    expected = bytearray()
    replies: list[Callable[[], Answer]] = []
    for _ in range(random.randrange(5, 40)):
        shape: list[bytes | tuple[int, int]] = []
        for _ in range(random.choice((1, 1, 2, 5, 150))):
            size = random.choice((1, 4096, 50_000, 3 * MEGABYTE if len(expected) < MUCH else 100))
            position = random.randrange(len(content) - size)
            is_small = random.random() < 0.5
            shape.append(random.randbytes(random.choice((0, 1, 20_000))) if is_small else (position, size))
            expected += shape[-1] if isinstance(shape[-1], bytes) else content[position : position + size]
        replies.append(partial(_made, file, shape, from_files))

    async def test() -> None:
        peer = await connect(Service(replies, later=random), receive_buffer=random.choice((None, 32 * 1024)))
        receiving = asyncio.create_task(peer.receive(len(expected), random.choice((20_000, MEGABYTE))))
        left = len(replies)
        while left:
            count = random.randint(1, left)
            peer.ask(count)
            left -= count
            await asyncio.sleep(0)
        assert await receiving == expected
        await peer.close()

    run(test())
    file.close()


def _made(file: LocalFile, shape: list[bytes | tuple[int, int]], from_files: bool) -> Answer:
    parts = [each if isinstance(each, bytes) else part(file, *each) for each in shape]
    return [each.read() if isinstance(each, UnreadBytes) and not from_files else each for each in parts]


def test_replies_wait_behind_one_that_the_peer_does_not_read(run: Run, tmp_path: Path) -> None:
    _, file = stored(tmp_path / "log", MUCH)
    unread = part(file, 0, MUCH)
    replies: list[Callable[[], Answer]] = [lambda: [b"head", unread], lambda: [b"second"], lambda: [b"third"]]

    async def test() -> None:
        peer = await connect(Service(replies))
        peer.ask(3)
        await half_sent(unread)
        # Too much waits for the peer: nothing more is begun for it.
        assert peer.service.begun == 1
        expected = b"head" + (tmp_path / "log").read_bytes() + b"secondthird"
        assert await peer.receive(len(expected)) == expected
        assert peer.service.begun == 3
        await peer.close()

    run(test())
    file.close()


def test_requests_are_begun_while_little_waits(run: Run, tmp_path: Path) -> None:
    """As with a transport: only above its high-water mark does a connection wait for its peer."""
    _, file = stored(tmp_path / "log", MUCH)
    unread = part(file, 0, MUCH)
    replies: list[Callable[[], Answer]] = [lambda: [unread], lambda: [b"second"]]

    async def test() -> None:
        peer = await connect(Service(replies))
        peer.ask(2)
        await half_sent(unread)
        received = 0
        while peer.service.begun == 1:
            received += len(await peer.receive(100_000))
        assert 0 < received < MUCH
        assert (await peer.receive(MUCH + 6 - received))[-6:] == b"second"
        await peer.close()

    run(test())
    file.close()


def test_thousands_of_requests_at_once_are_answered(run: Run, tmp_path: Path) -> None:
    """Each reply is sent whole in one step, and the next one must not begin inside of that step."""
    _, file = stored(tmp_path / "log", 100)
    count = 3000
    replies: list[Callable[[], Answer]] = [partial(_made, file, [(0, 100)], True)] * count

    async def test() -> None:
        peer = await connect(Service(replies))
        peer.ask(count)
        assert await peer.receive(count * 100) == (tmp_path / "log").read_bytes() * count
        await peer.close()

    run(test())
    file.close()


# -- ends ------------------------------------------------------------------------------------------------------------


def test_a_peer_that_goes_away_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    filesystem, file = stored(tmp_path / "log", MUCH)

    async def test() -> None:
        peer = await connect(Service([lambda: [b"head", part(file, 0, MUCH), b"tail"]]))
        peer.ask()
        assert len(await peer.receive(1000)) == 1000
        await peer.close()
        file.close()
        await until(lambda: filesystem.descriptor_count == 0)

    run(test())


@pytest.mark.parametrize("is_read", [True, False], ids=["peer reads", "peer does not read"])
def test_closing_waits_for_what_is_being_sent_but_not_for_ever(run: Run, tmp_path: Path, is_read: bool) -> None:
    _, file = stored(tmp_path / "log", MUCH)
    unread = part(file, 0, MUCH)
    replies: list[Callable[[], Answer]] = [lambda: [unread], lambda: [b"last"]]

    async def test() -> None:
        peer = await connect(Service(replies))
        peer.ask(2)
        await half_sent(unread)
        assert peer.service.connection is not None
        closing = asyncio.create_task(peer.service.connection.drain_and_close(HANG_SECONDS if is_read else 0.01))
        if not is_read:
            await closing
        received = await peer.receive(2 * MUCH)
        await closing
        assert (received == (tmp_path / "log").read_bytes() + b"last") == is_read
        await peer.close()

    run(test())
    file.close()


def test_a_peer_that_sends_no_more_gets_the_reply_that_has_begun(run: Run, tmp_path: Path) -> None:
    _, file = stored(tmp_path / "log", MUCH)
    unread = part(file, 0, MUCH)

    async def test() -> None:
        peer = await connect(Service([lambda: [unread, b"tail"]]))
        peer.ask()
        await half_sent(unread)
        peer.socket.shutdown(socket.SHUT_WR)
        assert await peer.receive(2 * MUCH) == (tmp_path / "log").read_bytes() + b"tail"
        await peer.close()

    run(test())
    file.close()


# -- files that change -----------------------------------------------------------------------------------------------


def _cut(filesystem: LocalFileSystem, path: str) -> None:
    """As a follower does whose log has diverged: others are appended where the old ones were."""
    file = filesystem.open(path)
    file.truncate(1000)
    file.write(1000, bytes(MUCH))
    file.close()


def _cut_by_others(_: LocalFileSystem, path: str) -> None:
    os.truncate(path, 1000)


def _remove(filesystem: LocalFileSystem, path: str) -> None:
    filesystem.rename(path, path + ".deleted")
    filesystem.remove(path + ".deleted")


@pytest.mark.parametrize("change", [_cut, _cut_by_others, _remove])
@pytest.mark.parametrize("is_held", [True, False], ids=["active", "sealed"])
def test_a_file_that_changes_ends_the_connection(
    run: Run, tmp_path: Path, change: Callable[[LocalFileSystem, str], None], is_held: bool
) -> None:
    filesystem, file = stored(tmp_path / "log", MUCH)
    content = (tmp_path / "log").read_bytes()
    unread = part(file, 0, MUCH)
    if not is_held or change is _remove:
        file.close()

    async def test() -> None:
        peer = await connect(Service([lambda: [b"head", unread, b"tail"]]))
        peer.ask()
        await half_sent(unread)
        change(filesystem, str(tmp_path / "log"))
        received = await peer.receive(2 * MUCH)
        # Pages that are under way in the socket are those of the file, so they may change with it.
        assert len(received) < len(content)
        await peer.close()

    run(test())
    file.close()


def test_a_file_that_only_grows_or_gets_another_name_is_sent(run: Run, tmp_path: Path) -> None:
    filesystem, file = stored(tmp_path / "log", MUCH)
    content = (tmp_path / "log").read_bytes()
    unread = part(file, 0, MUCH)
    file.close()

    async def test() -> None:
        peer = await connect(Service([lambda: [unread]]))
        peer.ask()
        await half_sent(unread)
        again = filesystem.open(str(tmp_path / "log"))
        again.write(MUCH, b"more")
        again.truncate(MUCH)
        filesystem.rename(str(tmp_path / "log"), str(tmp_path / "log.deleted"))
        # Its descriptor goes to others meanwhile.
        others = [filesystem.open(str(tmp_path / str(number)), create=True) for number in range(20)]
        assert await peer.receive(MUCH) == content
        await peer.close()
        for other in (again, *others):
            other.close()

    run(test())


# -- the long way ----------------------------------------------------------------------------------------------------


def test_without_descriptors_files_are_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, file = stored(tmp_path / "log", MUCH)

    def refused(_: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def test() -> None:
        peer = await connect(Service([lambda: [b"head", part(file, 0, MUCH), b"tail"]]))
        monkeypatch.setattr(os, "dup", refused)
        peer.ask()
        assert await peer.receive(MUCH + 8) == b"head" + (tmp_path / "log").read_bytes() + b"tail"
        await peer.close()

    run(test())
    file.close()


class BadSector(UnreadBytes):
    """Cannot be sent, and perhaps not be read either."""

    def __init__(self, report: Callable[[OSError], None], data: bytes | None) -> None:
        super().__init__()
        self.report_to(report)
        self._data = data

    def __len__(self) -> int:
        return 5

    def send(self, connection: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def read(self) -> bytes:
        if self._data is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self._data


def test_what_cannot_be_sent_is_read(run: Run) -> None:
    failures: list[OSError] = []

    async def test() -> None:
        peer = await connect(Service([lambda: [b"head", BadSector(failures.append, b"bytes"), b"tail"]]))
        peer.ask()
        assert await peer.receive(13) == b"headbytestail"
        await peer.close()

    run(test())
    assert not failures


def test_what_cannot_be_read_ends_the_connection_and_is_reported(run: Run) -> None:
    failures: list[OSError] = []

    async def test() -> None:
        peer = await connect(Service([lambda: [b"head", BadSector(failures.append, None), b"tail"]]))
        peer.ask()
        assert (await peer.receive(13)) in (b"", b"head")
        await peer.close()

    run(test())
    assert [failure.errno for failure in failures] == [errno.EIO]
