"""Passwords for commands: asked for without echo, or from a file, standard input or the environment.

Never from the command line, which every user of a machine can read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordOptions:
    password_file: Annotated[
        Path | None,
        typer.Option("--password-file", metavar="FILE", help="Read the password from this file: its first line."),
    ] = None
    password_env: Annotated[
        str | None,
        typer.Option("--password-env", metavar="NAME", help="Take it from this environment variable."),
    ] = None
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read it from standard input: one line.")] = (
        False
    )

    def read(self) -> str:
        """Asks for it if no option says where it is."""
        if sum((self.password_file is not None, self.password_env is not None, self.password_stdin)) > 1:
            raise typer.BadParameter("only one of --password-file, --password-env and --password-stdin can be given")
        password = self._given()
        if not password:
            raise CommandFailure("the password is empty")
        return password

    def _given(self) -> str:
        if self.password_file is not None:
            try:
                return _first_line(self.password_file.read_text())
            except (OSError, UnicodeDecodeError) as error:
                raise CommandFailure(f"cannot read the password from {self.password_file}") from error
        if self.password_env is not None:
            value = os.environ.get(self.password_env)
            if value is None:
                raise CommandFailure(f"there is no environment variable {self.password_env}")
            return value
        if self.password_stdin:
            return _first_line(sys.stdin.readline())
        if not sys.stdin.isatty():
            raise CommandFailure(
                "no terminal to ask for a password; give it by --password-file, --password-env or --password-stdin"
            )
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt="Once more", err=True))


def _first_line(text: str) -> str:
    return text.partition("\n")[0].removesuffix("\r")
