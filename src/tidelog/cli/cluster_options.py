"""The options that every command of a cluster has: where it is, and whether the answer is for a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.cli.failures import CommandFailure
from tidelog.cli.output import print_json, print_lines
from tidelog.cli.session import BootstrapServer, CommandConfig, Json, client_properties
from tidelog.client.admin import Admin
from tidelog.model.errors import ApiError
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    bootstrap_server: BootstrapServer = None
    command_config: CommandConfig = None
    as_json: Json = False

    def admin(self) -> Admin:
        return Admin(config=client_properties(self.command_config, self.bootstrap_server))

    def show(self, document: object, lines: Iterable[str]) -> None:
        """Print the one as JSON for programs, or the others for everybody else."""
        if self.as_json:
            print_json(document)
        else:
            print_lines(lines)


def raise_failures(results: Mapping[Any, object]) -> None:
    """End the command with all that was refused, if anything was."""
    failed = [f"{what}: {result}" for what, result in results.items() if isinstance(result, ApiError)]
    if failed:
        raise CommandFailure("; ".join(failed))
