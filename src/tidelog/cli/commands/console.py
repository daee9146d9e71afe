"""`tidelog console`: a page in the browser that shows what a cluster does, tidelog or Apache Kafka."""

from __future__ import annotations

import gc
import secrets
import sys
from typing import Annotated
from urllib.parse import quote

import typer

from tidelog.cli.failures import CONSOLE_IS_MISSING, CommandFailure
from tidelog.cli.session import BootstrapServer, CommandConfig, client_properties, run

_EVERY_ADDRESS = ("0.0.0.0", "::", "")


def console(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on. Off loopback a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="TIDELOG_CONSOLE_TOKEN",
            show_envvar=True,
            show_default="none on loopback, else a random one",
            help="Only who has this token may use the console.",
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, change nothing.")] = False,
    pipeline: Annotated[
        list[str] | None,
        typer.Option(
            "--pipeline",
            metavar="URL",
            help="The service port of a `tidelog pipeline`, such as http://127.0.0.1:9464. Repeatable.",
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    listening_socket: Annotated[
        int | None,
        typer.Option(
            "--listening-socket",
            metavar="DESCRIPTOR",
            hidden=True,
            help="Serve on this socket, which the starter has opened; --host says where it listens.",
        ),
    ] = None,
    stop_with_input: Annotated[
        bool,
        typer.Option("--stop-with-input", hidden=True, help="Stop when standard input ends, as by a starter's death."),
    ] = False,
) -> None:
    """Look inside a cluster with a browser: brokers, logs, groups, transactions, metadata. Ctrl-C ends it.

    \b
    Examples:
      tidelog console
      tidelog console --bootstrap-server kafka-1:9092 --command-config client.properties --read-only
      tidelog console --host 0.0.0.0 --port 8443 --token "$(cat token)"
    """
    # All of it stays, so the collections of garbage leave it out, now and later.
    gc.disable()
    try:
        from tidelog.console.pipelines.services import service_address
        from tidelog.console.serving import serve
        from tidelog.console.settings import ConsoleSettings, is_loopback
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tidelog":
            raise
        raise CommandFailure(CONSOLE_IS_MISSING) from error
    gc.freeze()
    gc.enable()
    if token == "":
        raise typer.BadParameter("the token is empty; leave --token out for a random one", param_hint="--token")
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    try:
        for each in pipeline or ():
            service_address(each)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--pipeline") from error
    settings = ConsoleSettings(
        client=client_properties(command_config, bootstrap_server),
        host=host,
        port=port,
        token=token,
        read_only=read_only,
        pipelines=tuple(pipeline or ()),
    )

    def announce(address: str) -> None:
        place = address if token is None else f"{address}?token={quote(token, safe='')}"
        servers = settings.client["bootstrap.servers"]
        elsewhere = "From elsewhere: with the name of this machine.\n" if host in _EVERY_ADDRESS else ""
        sys.stdout.write(f"tidelog console of {servers}: {place}\n{elsewhere}Press Ctrl-C to stop.\n")
        sys.stdout.flush()
        if open_browser:
            import webbrowser

            webbrowser.open(place)

    lifeline = sys.stdin.fileno() if stop_with_input else None
    run(serve(settings, announce, lifeline=lifeline, listening=listening_socket))
