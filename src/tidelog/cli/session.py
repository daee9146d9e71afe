"""What commands share: the options that lead to a cluster, properties of clients, and running asynchronous code."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.client.config import OptionValue
from tidelog.client.config_files import read_config
from tidelog.client.errors import ClientError
from tidelog.client.options import CLIENT_OPTIONS, CONSUMER_OPTIONS, PRODUCER_OPTIONS
from tidelog.config.definitions import ConfigDefinition, InvalidConfig
from tidelog.model.errors import ApiError
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.codec import ProtocolError

logger = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_SERVERS = "127.0.0.1:9092"
_OF_ALL_CLIENTS = CLIENT_OPTIONS.keys() | PRODUCER_OPTIONS.keys() | CONSUMER_OPTIONS.keys()


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
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        "--broker-list",
        envvar="TIDELOG_BOOTSTRAP_SERVERS",
        metavar="HOST:PORT,...",
        show_default=f"bootstrap.servers in the file, or {DEFAULT_SERVERS}",
        help="One or more brokers of the cluster.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="A file with properties of the client, such as security.protocol; the client.properties of Java work.",
    ),
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


def client_properties(
    file: Path | None, bootstrap_server: str | None, known: Mapping[str, ConfigDefinition] = CLIENT_OPTIONS
) -> dict[str, OptionValue]:
    """What a client of this kind needs of a file that may have been written for others, and where its cluster is.

    As with Kafka's tools, properties of another kind of client are left out: one file serves all commands. Those that
    no client has are refused when the client is made.
    """
    try:
        given = {} if file is None else read_config(file)
    except InvalidConfig as error:
        raise CommandFailure(f"{file}: {error}") from error
    except OSError as error:
        raise CommandFailure(f"cannot read {file}: {error.strerror}") from error
    named = {name.replace("_", "."): value for name, value in given.items()}
    unused = [name for name in named if name in _OF_ALL_CLIENTS and name not in known]
    for name in unused:
        logger.info("%s in %s has no effect on this command", name, file)
        del named[name]
    servers = bootstrap_server or named.get("bootstrap.servers") or DEFAULT_SERVERS
    return {**named, "bootstrap.servers": servers}
