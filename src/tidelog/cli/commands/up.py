"""`tidelog up` and `tidelog server`: start a node in this process, until a signal ends it.

`up --nodes` and `up --cores` start processes of their own, with `tidelog server`: see `tidelog.cli.local_cluster`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.announcement import ANNOUNCEMENT
from tidelog.cli.properties import read_properties, split_properties

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tidelog.cli.local_cluster.attached_console import AttachedConsole
    from tidelog.cli.local_cluster.start_security import StartSecurity
    from tidelog.server.startup import RunningNode

_CONSOLE_PORT = 8080


def up(
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 9092,
    data_dir: Annotated[Path, typer.Option("--data-dir", help="Where the data is stored; created if missing.")] = Path(
        "tidelog-data"
    ),
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes",
            min=1,
            max=9,
            help="To try out replication and fail-over: so many nodes with up to three copies of everything, each a "
            "process, on ports from --port up.",
        ),
    ] = 1,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores",
            min=1,
            max=64,
            help="For throughput: so many broker processes, with partitions spread over them. One copy of each "
            "partition, no redundancy: while a process is down (it is started again), its partitions are unavailable.",
        ),
    ] = None,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure",
            help="Only with TLS and a password: makes certificates and an administrator in DATA_DIR/security, with "
            "files that tell clients how to connect.",
        ),
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="Also start the console: a page that shows what the cluster does.")
    ] = False,
    console_port: Annotated[
        int | None,
        typer.Option(
            "--console-port", min=0, max=65535, show_default="8080", help="The port of the console; 0 takes a free one."
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--override", metavar="NAME=VALUE", help="Set a property of server.properties. Repeatable."),
    ] = None,
) -> None:
    """Start a broker on this machine, a faster one with --cores, or a cluster with --nodes. Ctrl-C ends it cleanly.

    \b
    Examples:
      tidelog up
      tidelog up --port 19092 --data-dir /var/lib/tidelog
      tidelog up --cores 4
      tidelog up --nodes 3
      tidelog up --secure
      tidelog up --console
      tidelog up --override num.partitions=3 --override log.retention.hours=1
    """
    overrides = split_properties("--override", override or ())
    if nodes > 1 and cores is not None:
        raise typer.BadParameter("--nodes is for trying out fail-over, --cores for throughput: use one of them")
    if console_port is not None and not console:
        raise typer.BadParameter("--console-port has no effect without --console")
    page_port = _CONSOLE_PORT if console_port is None else console_port
    if console and port and port <= page_port < port + nodes:
        raise typer.BadParameter(f"port {page_port} is needed twice: choose another --port or --console-port")
    with _attached_console(page_port) if console else nullcontext() as attached:
        if nodes > 1:
            from tidelog.cli.local_cluster.nodes import run_nodes

            run_nodes(
                host=host,
                port=port,
                nodes=nodes,
                data_dir=data_dir,
                secure=secure,
                properties=overrides,
                console=attached,
            )
        elif cores is not None:
            from tidelog.cli.local_cluster.cores import run_cores

            run_cores(
                host=host,
                port=port,
                cores=cores,
                data_dir=data_dir,
                secure=secure,
                properties=overrides,
                console=attached,
            )
        else:
            _run_alone(host=host, port=port, data_dir=data_dir, secure=secure, overrides=overrides, console=attached)


def _attached_console(port: int) -> AbstractContextManager[AttachedConsole]:
    from tidelog.cli.local_cluster.attached_console import attached_console

    return attached_console(port)


def _run_alone(
    *,
    host: str,
    port: int,
    data_dir: Path,
    secure: bool,
    overrides: Mapping[str, str],
    console: AttachedConsole | None,
) -> None:
    from tidelog.cli.local_cluster.data_directory import StartKind, require_kind
    from tidelog.cli.local_cluster.node_files import format_directories
    from tidelog.cli.local_cluster.ports import bracketed
    from tidelog.cli.local_cluster.start_security import start_security

    require_kind(data_dir, StartKind.SINGLE)
    security = start_security(data_dir, host, secure=secure, alone=True)
    if security.users:
        format_directories({1: data_dir}, security.users)
    _load_server()
    from tidelog.server.broker import single_node_properties

    listener = {"listeners": f"{security.listener}://{bracketed(host)}:{port}"}
    properties = single_node_properties(
        host=host, port=port, data_dir=str(data_dir), properties={**listener, **security.properties, **overrides}
    )
    _run(properties, lambda node: _announce(node, str(data_dir), security, console), quiet=True)


def server(
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="A server.properties file, as Kafka has it.")
    ],
    override: Annotated[
        list[str] | None,
        typer.Option("--override", metavar="NAME=VALUE", help="Set a property on top of the file's. Repeatable."),
    ] = None,
    stop_with_input: Annotated[
        bool,
        typer.Option("--stop-with-input", hidden=True, help="Stop when standard input ends, as by a starter's death."),
    ] = False,
) -> None:
    """Start one node from Kafka's own property names. An unknown name or a wrong value is named, and nothing starts.

    \b
    Examples:
      tidelog server --config server.properties
      tidelog server --config server.properties --override node.id=2
    """
    _load_server()
    properties = {**read_properties(config), **split_properties("--override", override or ())}
    _run(
        properties,
        lambda node: _announce(node, properties.get("log.dirs", properties.get("log.dir", ""))),
        lifeline=sys.stdin.fileno() if stop_with_input else None,
    )


def _load_server() -> None:
    """Import what a node needs. All of it stays, so the collections of garbage leave it out, now and later."""
    gc.disable()
    import_module("tidelog.server.startup")
    gc.freeze()
    gc.enable()


def _run(
    properties: Mapping[str, str],
    announce: Callable[[RunningNode], None],
    *,
    quiet: bool = False,
    lifeline: int | None = None,
) -> None:
    from tidelog.config.broker import BrokerConfig
    from tidelog.config.definitions import InvalidConfig
    from tidelog.server import startup
    from tidelog.server.failures import NodeFailure, StartFailure
    from tidelog.server.observability import logs
    from tidelog.storage.directories.checkpoints import CorruptCheckpoint
    from tidelog.storage.directories.log_directory import DirectoryInUse
    from tidelog.storage.files.filesystem import StorageFailure

    try:
        config = BrokerConfig.from_properties(properties)
        # Who types `tidelog up` wants to see where it listens, not what a broker does all day.
        level = "warning" if quiet and "tidelog.log.level" not in properties else config.tidelog_log_level
        logs.configure(level, config.tidelog_log_format)
        startup.run(properties, announce, lifeline=lifeline)
    except InvalidConfig as error:
        raise CommandFailure("; ".join(error.problems)) from error
    except (StartFailure, NodeFailure, DirectoryInUse, StorageFailure, CorruptCheckpoint) as error:
        raise CommandFailure(str(error)) from error


def _announce(
    node: RunningNode,
    data_dir: str,
    security: StartSecurity | None = None,
    console: AttachedConsole | None = None,
) -> None:
    servers = ",".join(f"{host}:{port}" for host, port in node.addresses)
    option = "" if servers == "127.0.0.1:9092" else f" -b {servers}"
    how_to_connect: list[str] = []
    if security is not None:
        option, how_to_connect = security.options(servers), security.listening(servers)
        if console is not None:
            how_to_connect = [*_console_lines(node, console, security), *how_to_connect]
    lines = [
        f"{ANNOUNCEMENT} {servers}, data in {data_dir}",
        *how_to_connect,
        f"  tidelog topics{option} --create --topic first",
        f"  tidelog produce{option} --topic first",
        f"  tidelog consume{option} --topic first --from-beginning",
        "Press Ctrl-C to stop.",
    ]
    if node.metrics_address is not None:
        host, port = node.metrics_address
        lines.insert(1, f"metrics: http://{host}:{port}/metrics")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _console_lines(node: RunningNode, console: AttachedConsole, security: StartSecurity) -> list[str]:
    from tidelog.cli.local_cluster.attached_console import announced
    from tidelog.cli.local_cluster.ports import bracketed, reachable

    return announced(
        console, ",".join(f"{bracketed(reachable(host))}:{port}" for host, port in node.addresses), security
    )
