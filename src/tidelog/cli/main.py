"""The `tidelog` command: finds the module of the command that was asked for, and turns failures into one line.

Modules of commands are imported when they run, so that `tidelog --help` is quick. Exit codes: 0 done, 1 failed (with
one line that says why), 2 used wrongly, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

import tidelog

FAILED = 1
INTERRUPTED = 130


class _Command(NamedTuple):
    module: str
    function: str
    summary: str


COMMANDS = {
    "up": _Command("up", "up", "Start a broker on this machine."),
    "server": _Command("up", "server", "Start a node from a server.properties file."),
    "format": _Command("storage_format", "format_storage", "Prepare the directories of a node."),
    "cluster": _Command("cluster", "cluster", "Show nodes, quorum and replicas; move them."),
    "topics": _Command("topics", "topics", "Create, list, describe, alter and delete topics."),
    "produce": _Command("produce", "produce", "Send lines from standard input to a topic."),
    "consume": _Command("consume", "consume", "Print the records of topics."),
    "configs": _Command("configs", "configs", "Describe and alter configurations of topics and brokers."),
    "groups": _Command("groups", "groups", "Show consumer groups, move their offsets, delete them."),
    "users": _Command("users", "users", "Add, list, alter and delete users and their passwords."),
    "acls": _Command("acls", "acls", "Show and change who may do what."),
    "quotas": _Command("quotas", "quotas", "List, set and remove quotas of clients."),
    "transactions": _Command("transactions", "transactions", "Show transactions, abort those that hang."),
    "get-offsets": _Command("get_offsets", "get_offsets", "Show the offsets of partitions at a time."),
    "delete-records": _Command("delete_records", "delete_records", "Delete records up to an offset."),
    "log-dirs": _Command("log_dirs", "log_dirs", "Describe the log directories of brokers."),
    "verify": _Command("verify", "verify", "Check a log directory for damage."),
    "dump-log": _Command("dump_log", "dump_log", "Show what is in the files of a partition."),
    "broker-api-versions": _Command("broker_api_versions", "broker_api_versions", "Show which APIs the brokers serve."),
    "console": _Command("console", "console", "Look inside a cluster with a browser."),
    "pipeline": _Command("pipeline", "pipeline", "Run a ready pipeline on Spark, exactly once."),
    "simulate": _Command("simulate", "simulate", "Run clusters in virtual time and break them by seed."),
    "doctor": _Command("doctor", "doctor", "Show versions, and what works on this machine."),
    "tour": _Command("tour", "tour", "See a broker at work: produce, consume, look inside."),
}


class _Commands(TyperGroup):
    """Shows summaries without importing anything; the real command is loaded when it is resolved."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        return name, load_command(name), rest


def load_command(name: str) -> Any:
    """The command as the module that it lives in describes it."""
    entry = COMMANDS[name]
    function = getattr(import_module(f"tidelog.cli.commands.{entry.module}"), entry.function)
    if isinstance(function, typer.Typer):
        # A command that has commands of its own.
        return typer.main.get_command(function)
    command_app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    command_app.command(name, no_args_is_help=False)(function)
    return typer.main.get_command(command_app)


app = typer.Typer(
    cls=_Commands,
    help="Kafka in Python: a broker, a client, and tools to look inside.",
    epilog="Start with [bold]tidelog up[/bold], then [bold]tidelog topics --create --topic first[/bold]. "
    "Each command has examples in its --help.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tidelog {tidelog.__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    log_level: Annotated[
        str, typer.Option("--log-level", help="The level of messages on standard error: debug, info, warning, error.")
    ] = "warning",
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    import logging

    number = logging.getLevelNamesMapping().get(log_level.upper())
    if number is None:
        raise typer.BadParameter(f"{log_level!r} is not one of debug, info, warning, error")
    logging.basicConfig(level=number, stream=sys.stderr, format="%(levelname)s %(message)s (%(name)s)")


def main() -> None:
    """The entry point of the installed command."""
    try:
        typer.main.get_command(app)(prog_name="tidelog")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain about it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        line = _describe(error)
        if line is None:
            raise
        sys.stderr.write(f"tidelog: {line}\n")
        sys.exit(FAILED)


def _describe(error: Exception) -> str | None:
    """One line for failures that users can do something about; None for what can only be a mistake of ours."""
    from tidelog.cli.session import EXPECTED_FAILURES

    if isinstance(error, EXPECTED_FAILURES):
        return " ".join(str(error).split()) or type(error).__name__
    return None


if __name__ == "__main__":
    main()
