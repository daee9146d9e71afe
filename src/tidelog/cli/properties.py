"""Properties that commands are given: in a file, or as `name=value`. Those of clients are in `session.py`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.config.definitions import InvalidConfig
from tidelog.config.properties import parse_properties


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
