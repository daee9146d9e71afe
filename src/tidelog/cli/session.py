"""What commands share: the options that lead to a cluster, files with properties, and running asynchronous code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from tidelog.client.errors import ClientError
from tidelog.config.definitions import InvalidConfig
from tidelog.config.properties import parse_properties
from tidelog.model.errors import ApiError
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.codec import ProtocolError

T = TypeVar("T")

DEFAULT_SERVERS = "127.0.0.1:9092"


class CommandFailure(Exception):
    """A command cannot do what it was asked for; the message says why and what to do."""


# What is shown in one line instead of with a traceback.
EXPECTED_FAILURES = (
    ApiError,
    ClientError,
    CommandFailure,
    ConnectionProblem,
    InvalidConfig,
    OSError,
    ProtocolError,
    UnsupportedByBroker,
)

BootstrapServer = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        "--broker-list",
        envvar="TIDELOG_BOOTSTRAP_SERVERS",
        metavar="HOST:PORT,...",
        help="One or more brokers of the cluster.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="A file with properties of the client, such as client.id."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous code to its end. SIGINT and SIGTERM cancel it, so that it can close what it has opened."""
    import uvloop

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await main

    try:
        return uvloop.run(cancellable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def read_properties(path: Path | None) -> dict[str, str]:
    """The properties of a file; none for no file."""
    if path is None:
        return {}
    try:
        return parse_properties(path.read_text())
    except InvalidConfig as error:
        raise CommandFailure(f"{path}: {error}") from error
    except OSError as error:
        raise CommandFailure(f"cannot read {path}: {error.strerror}") from error


def split_properties(option: str, pairs: Iterable[str]) -> dict[str, str]:
    """`name=value` pairs from an option that may be given several times."""
    properties: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{pair!r} is not of the form name=value", param_hint=option)
        properties[name.strip()] = value
    return properties
