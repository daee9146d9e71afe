"""How commands print: JSON for programs, lines with Kafka's columns for everybody else."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_lines(lines: Iterable[str]) -> None:
    """Text as UTF-8, whatever the terminal's locale says."""
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    print_lines([json.dumps(value, ensure_ascii=False, indent=2)])


def json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def json_bytes(data: bytes | None) -> Any:
    """Text where the bytes are text, else an object that says how they are written."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def columns(header: Sequence[str], rows: Iterable[Sequence[object]], *, least: Sequence[int] = ()) -> list[str]:
    """A header and rows, each column as wide as its widest cell and at least as wide as asked for."""
    table = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[number]) for row in table) for number in range(len(header))]
    for number, width in enumerate(least):
        widths[number] = max(widths[number], width)
    # The last column ends where its text does.
    widths[-1] = 0
    return [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
