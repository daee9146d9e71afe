"""Runs the console until SIGINT or SIGTERM, or until standard input ends if a starter holds it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from tidelog.console.app import Console
from tidelog.console.browser_connections import ConnectionBounds, bounded_connections
from tidelog.console.settings import ConsoleSettings

# For replies that are being sent when the end comes.
_PATIENCE_SECONDS = 3
_BACKLOG = 128


class CannotListen(OSError):
    """The address is taken or not ours. The message names it."""


async def serve(
    settings: ConsoleSettings,
    announce: Callable[[str], None],
    *,
    lifeline: int | None = None,
    listening: int | None = None,
    bounds: ConnectionBounds | None = None,
) -> None:
    """`announce` gets the address when the console answers. `listening` is the descriptor of a socket that the starter
    has opened. Raises InvalidConfig, CannotListen."""
    console = Console(settings)
    listener = _listen(settings.host, settings.port) if listening is None else socket.socket(fileno=listening)
    config = uvicorn.Config(
        console.app,
        # Of the standard installation, which is tested, whatever else is installed.
        http=bounded_connections(bounds or ConnectionBounds()),
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        # A client that does not read keeps at most this many seconds of a shutdown.
        timeout_graceful_shutdown=_PATIENCE_SECONDS,
    )
    server = _ConsoleServer(config)
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    if lifeline is not None:
        _end_with(lifeline, ending, loop)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    started, ended = asyncio.create_task(server.started_event.wait()), asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            announce(_address(listener))
        await asyncio.wait({running, ended}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        started.cancel()
        ended.cancel()
        await console.end_live_data()
        server.should_exit = True
        await running


class _ConsoleServer(uvicorn.Server):
    """Leaves signals to us: replies with live data have to be ended first."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.started_event = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.started_event.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _end_with(lifeline: int, ending: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """When the other end of the descriptor is closed, by whoever has started this process or by its death."""

    def look() -> None:
        if not os.read(lifeline, 1024):
            loop.remove_reader(lifeline)
            ending.set()

    loop.add_reader(lifeline, look)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise CannotListen(
            f"the console cannot listen on {host}:{port}: {error.strerror or error}; choose another port with --port, "
            "0 takes a free one"
        ) from error
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    # Every address of this machine: one by which it reaches itself.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
