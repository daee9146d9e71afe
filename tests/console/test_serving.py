"""`tidelog console` as a process: how it starts, what it says, and that it ends when it is asked to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from support.processes import HANG_SECONDS, free_port
from support.tidelog_command import run_tidelog
from support.tidelog_process import TidelogBroker, running_tidelog, tidelog_command

from tidelog.console.browser_connections import ConnectionBounds, peer_of
from tidelog.console.serving import serve
from tidelog.console.settings import ConsoleSettings

TOKEN = "planted-token-of-the-console"
# What is under way has three seconds; a machine that is busy has more.
END_SECONDS = 30.0


class ServedConsole:
    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None, **more: Any) -> None:
        self.process = subprocess.Popen(
            (tidelog_command(), "console", "--port", "0", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            **more,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        found = re.search(r"http://(\S+):(\d+)/(?:\?token=(\S+))?", self.first_line)
        assert found is not None, self.process.communicate()
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def ask(self, path: str, token: str | None = None, host: str | None = None) -> HTTPResponse:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://{host or self.host}:{self.port}/{path}", headers=headers)
        reply = urllib.request.urlopen(request, timeout=HANG_SECONDS)
        assert isinstance(reply, HTTPResponse)
        return reply

    def opened_as_announced(self) -> str:
        """By a browser, which keeps cookies: where that leads to."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(f"http://{self.host}:{self.port}/?token={self.token}", timeout=HANG_SECONDS) as page:
            assert page.status == 200
            return str(page.url)

    def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(by)
        self.expect_end()

    def expect_end(self) -> None:
        _, errors = self.process.communicate(timeout=END_SECONDS)
        assert (self.process.returncode, errors) == (0, "")


Start = Callable[..., ServedConsole]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[ServedConsole] = []

    def begin(*arguments: str, **more: Any) -> ServedConsole:
        started.append(ServedConsole(*arguments, **more))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.communicate()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("broker")) as running:
        yield running


def test_its_options_are_explained() -> None:
    said = run_tidelog("console", "--help").stdout
    for option in (
        "--bootstrap-server",
        "--command-config",
        "--host",
        "--port",
        "--token",
        "--read-only",
        "--pipeline",
    ):
        assert option in said
    assert "TIDELOG_CONSOLE_TOKEN" in said
    assert "--stop-with-input" not in said
    assert "--listening-socket" not in said


def test_it_says_where_it_is_and_starts_without_a_cluster(start: Start) -> None:
    running = start("--bootstrap-server", "127.0.0.1:1")
    assert running.first_line == f"tidelog console of 127.0.0.1:1: http://127.0.0.1:{running.port}/\n"
    assert running.ask("").status == 200
    assert json.load(running.ask("api/session"))["servers"] == "127.0.0.1:1"
    stream = running.ask("api/overview/live")
    assert stream.readline() == b"event: problem\n"
    assert b"127.0.0.1:1" in stream.readline()
    running.end()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_pages_are_open(start: Start, broker: TidelogBroker, by: signal.Signals) -> None:
    running = start("--bootstrap-server", broker.bootstrap_servers)
    streams = [running.ask(f"api/{page}/live") for page in ("overview", "overview", "topics", "brokers")]
    for stream in streams:
        assert stream.readline() == b"event: reading\n"
    idle = socket.create_connection(("127.0.0.1", running.port))
    half = socket.create_connection(("127.0.0.1", running.port))
    half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
    running.end(by)
    for stream in streams:
        # It raises IncompleteRead if the reply was cut.
        stream.read()
    idle.close()
    half.close()


def test_who_does_not_read_cannot_keep_it_from_ending(start: Start, broker: TidelogBroker) -> None:
    running = start("--bootstrap-server", broker.bootstrap_servers)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            # Many replies, none of which is taken.
            request = b"GET /static/css/console.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(200):
                    connection.send(request)
        # The server has seen them: it answers in order of arrival.
        assert running.ask("api/session").status == 200
        running.end()


def test_the_end_of_its_input_ends_it(start: Start, broker: TidelogBroker) -> None:
    running = start("--bootstrap-server", broker.bootstrap_servers, "--stop-with-input")
    stream = running.ask("api/overview/live")
    assert stream.readline() == b"event: reading\n"
    assert running.process.stdin is not None
    running.process.stdin.write("what is said here changes nothing\n")
    running.process.stdin.flush()
    assert running.ask("api/session").status == 200
    running.process.stdin.close()
    running.process.stdin = None
    running.expect_end()
    stream.read()


def test_without_that_option_its_input_may_end(start: Start) -> None:
    running = start("-b", "127.0.0.1:1")
    assert running.process.stdin is not None
    running.process.stdin.close()
    running.process.stdin = None
    for _ in range(3):
        assert running.ask("api/session").status == 200
    running.end()


def test_a_signal_right_after_its_start_ends_it() -> None:
    """Before it listens there is nothing to end; what counts is that it does not hang."""
    for moment in (0.1, 0.3, 0.5, 0.7):
        command = (tidelog_command(), "console", "--port", "0", "-b", "127.0.0.1:1")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            timer = threading.Timer(moment, process.terminate)
            timer.start()
            _, errors = process.communicate(timeout=END_SECONDS)
            assert process.returncode in (0, 130, -signal.SIGTERM)
            assert "Traceback" not in errors


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        port = taken.getsockname()[1]
        said = run_tidelog("console", "-b", "127.0.0.1:1", "--port", str(port), code=1).stderr
    assert said == (
        f"tidelog: the console cannot listen on 127.0.0.1:{port}: Address already in use; choose another port with "
        "--port, 0 takes a free one\n"
    )


def test_an_address_of_another_machine_is_named() -> None:
    said = run_tidelog("console", "-b", "127.0.0.1:1", "--host", "192.0.2.1", "--port", "0", code=1).stderr
    assert said.startswith("tidelog: the console cannot listen on 192.0.2.1:0: ")
    assert said.count("\n") == 1


def test_properties_that_are_wrong_are_named_before_anything_listens(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.pasword=planted-password\n")
    done = run_tidelog("console", "-b", "127.0.0.1:1", "--port", "0", "--command-config", str(config), code=1)
    assert "sasl.pasword" in done.stderr
    assert "planted" not in done.stderr
    assert done.stdout == ""


def test_a_console_for_other_machines_makes_up_a_token(start: Start) -> None:
    running = start("-b", "127.0.0.1:1", "--host", "0.0.0.0")
    assert running.host == "127.0.0.1"
    assert len(running.token) >= 32
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == "From elsewhere: with the name of this machine.\n"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        running.ask("api/session")
    assert running.ask("api/session", running.token).status == 200
    assert running.opened_as_announced() == f"http://127.0.0.1:{running.port}/"
    other = start("-b", "127.0.0.1:1", "--host", "0.0.0.0")
    assert other.token != running.token


@pytest.mark.parametrize("given", [("--token", TOKEN), ()])
def test_a_token_can_be_chosen(start: Start, given: tuple[str, ...]) -> None:
    environment = {} if given else {"TIDELOG_CONSOLE_TOKEN": TOKEN}
    running = start("-b", "127.0.0.1:1", *given, environment=environment)
    assert running.token == TOKEN
    assert running.ask("api/session", TOKEN).status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        running.ask("api/session", TOKEN + "x")


def test_a_token_with_odd_characters_is_announced_as_an_address(start: Start) -> None:
    running = start("-b", "127.0.0.1:1", "--token", "planted a&b#c%é")
    assert running.token == "planted%20a%26b%23c%25%C3%A9"
    assert running.opened_as_announced() == f"http://127.0.0.1:{running.port}/"


def test_an_empty_token_is_a_mistake() -> None:
    assert "the token is empty" in run_tidelog("console", "--token", "", code=2).stderr


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_addresses_of_version_six_are_written_in_brackets(start: Start) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("the loopback interface has no IPv6 address")
    running = start("-b", "127.0.0.1:1", "--host", "::1")
    assert running.host == "[::1]"
    assert running.ask("api/session").status == 200


def test_it_serves_on_a_socket_that_its_starter_has_opened(start: Start) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        number = listening.fileno()
        early = socket.create_connection(listening.getsockname())
        early.sendall(b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        running = start("-b", "127.0.0.1:1", "--listening-socket", str(number), pass_fds=(number,))
        assert running.port == listening.getsockname()[1]
    with early, early.makefile("rb") as reply:
        assert reply.readline() == b"HTTP/1.1 200 OK\r\n", "of who was there before it"
    running.end()


# -- connections that keep it waiting ----------------------------------------------------------------------------------

# Far apart, so that a test sees which of them has counted.
IMPATIENT = ConnectionBounds(connections=6, connections_of_one_peer=4, request_seconds=0.3, stalled_seconds=0.3)
PATIENT = ConnectionBounds(
    connections=6, connections_of_one_peer=4, request_seconds=HANG_SECONDS * 2, stalled_seconds=HANG_SECONDS * 2
)
ASKING = b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@asynccontextmanager
async def served_in_process(bounds: ConnectionBounds, **more: Any) -> AsyncIterator[int]:
    """The port of a console that has these bounds."""
    reading, writing = os.pipe()
    announced: asyncio.Queue[str] = asyncio.Queue()
    given = {"client": {"bootstrap.servers": "127.0.0.1:1"}, "host": "127.0.0.1", "token": None, **more}
    settings = ConsoleSettings(port=0, read_only=False, **given)
    running = asyncio.create_task(serve(settings, announced.put_nowait, lifeline=reading, bounds=bounds))
    try:
        async with asyncio.timeout(HANG_SECONDS):
            yield int((await announced.get()).rstrip("/").rpartition(":")[2])
    finally:
        os.close(writing)
        async with asyncio.timeout(HANG_SECONDS):
            await running
        os.close(reading)


class Peer:
    """A connection that does what a test says, and no more."""

    def __init__(self, port: int, host: str) -> None:
        self._port = port
        self._host = host

    async def __aenter__(self) -> Peer:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._host, 0))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def answer(self) -> bytes:
        """The first line of the next reply, whose rest is taken; nothing if the connection ends instead."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            await self.reader.readexactly(int(length[1]) if length is not None else 0)
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        return head.partition(b"\r\n")[0]

    async def ended(self) -> bytes:
        """When the console has closed it: what had come until then."""
        came = b""
        with contextlib.suppress(ConnectionError):
            while part := await self.reader.read(1 << 16):
                came += part
        return came


async def peers(stack: contextlib.AsyncExitStack, port: int, count: int, host: str = "127.0.0.1") -> list[Peer]:
    return [await stack.enter_async_context(Peer(port, host)) for _ in range(count)]


async def test_connections_that_say_nothing_are_closed() -> None:
    async with served_in_process(IMPATIENT) as port, contextlib.AsyncExitStack() as stack:
        silent = await peers(stack, port, 4)
        assert [await each.ended() for each in silent] == [b""] * 4
        (later,) = await peers(stack, port, 1)
        await later.say(ASKING)
        assert await later.answer() == b"HTTP/1.1 200 OK"


async def test_a_head_that_comes_byte_by_byte_has_no_more_time() -> None:
    async with served_in_process(IMPATIENT) as port, Peer(port, "127.0.0.1") as slow:
        ended = asyncio.create_task(slow.ended())
        while not ended.done():
            await slow.say(b"G")
            await asyncio.wait({ended}, timeout=IMPATIENT.request_seconds / 8)


async def test_who_says_one_byte_after_a_reply_is_not_waited_for_either() -> None:
    async with served_in_process(IMPATIENT) as port, Peer(port, "127.0.0.1") as slow:
        await slow.say(ASKING)
        assert await slow.answer() == b"HTTP/1.1 200 OK"
        await slow.say(b"G")
        assert await slow.ended() == b""


@pytest.mark.parametrize("path", [b"/login", b"/api/topics/create"])
async def test_a_body_that_does_not_come_is_not_waited_for(path: bytes) -> None:
    """Of the form with the token, and of a change that is refused before its body is there."""
    async with served_in_process(IMPATIENT, token=TOKEN) as port, Peer(port, "127.0.0.1") as slow:
        await slow.say(b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\ntok")
        came = await slow.ended()
        assert not came or came.startswith(b"HTTP/1.1 401")


async def test_a_body_that_goes_on_coming_has_its_time() -> None:
    async with served_in_process(IMPATIENT, token=TOKEN) as port, Peer(port, "127.0.0.1") as slow:
        body = b"token=" + b"x" * 10
        await slow.say(b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body))
        for byte in body:
            await slow.say(bytes([byte]))
            # All of it takes longer than a request that stands still may take.
            await asyncio.sleep(IMPATIENT.request_seconds / 8)
        assert await slow.answer() == b"HTTP/1.1 401 Unauthorized"


async def test_live_data_goes_on_although_nothing_more_is_asked() -> None:
    async with served_in_process(IMPATIENT) as port, Peer(port, "127.0.0.1") as page:
        await page.say(b"GET /api/overview/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while loop.time() - begun < 3 * IMPATIENT.request_seconds:
            # A reading that failed is followed by another one after three seconds at most.
            assert b"event: problem" in await page.reader.readuntil(b"event: problem")


async def test_surplus_connections_are_closed_at_once_and_others_still_come_in() -> None:
    async with served_in_process(PATIENT) as port, contextlib.AsyncExitStack() as stack:
        # The first four count, and say nothing.
        silent = await peers(stack, port, 4)
        surplus = await peers(stack, port, 3)
        assert [await each.ended() for each in surplus] == [b""] * 3
        others = await peers(stack, port, 2, host="127.0.0.2")
        for other in others:
            await other.say(ASKING)
            assert await other.answer() == b"HTTP/1.1 200 OK"
        # Now there are as many as there may be of all together.
        (one_more,) = await peers(stack, port, 1, host="127.0.0.3")
        assert await one_more.ended() == b""
        await silent[0].say(ASKING)
        assert await silent[0].answer() == b"HTTP/1.1 200 OK"


async def test_there_is_room_again_when_connections_have_ended() -> None:
    async with served_in_process(PATIENT) as port:
        for _ in range(3):
            async with contextlib.AsyncExitStack() as stack:
                for each in await peers(stack, port, 4):
                    await each.say(ASKING.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                    assert (await each.ended()).startswith(b"HTTP/1.1 200 OK")


async def test_who_takes_nothing_of_what_is_sent_is_cut_off() -> None:
    """The replies fill the buffers of both machines, and then that of the console."""
    async with served_in_process(IMPATIENT) as port:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(connection, ("127.0.0.1", port))
            asking = b"GET /static/css/console.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            with contextlib.suppress(ConnectionError):
                while True:
                    # Until the console does not read any more, and then has closed.
                    await loop.sock_sendall(connection, asking * 100)


def test_networks_count_as_one_peer() -> None:
    assert peer_of("192.0.2.7") == peer_of("::ffff:192.0.2.7") != peer_of("192.0.2.8")
    assert peer_of("2001:db8:1:2:3:4:5:6") == peer_of("2001:db8:1:2::1") != peer_of("2001:db8:1:3::1")
    assert peer_of("fe80::1%eth0") == peer_of("fe80::2")
    assert peer_of("") == ""


def test_clients_that_talk_nonsense_do_no_harm(start: Start) -> None:
    running = start("-b", "127.0.0.1:1")
    for nonsense in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET " + b"/x" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ):
        with socket.create_connection(("127.0.0.1", running.port), timeout=HANG_SECONDS) as connection:
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                answer = connection.recv(1 << 16)
                assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
    assert running.ask("api/session").status == 200
