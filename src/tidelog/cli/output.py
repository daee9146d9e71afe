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


def comma_separated(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def columns(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    least: Sequence[int] | None = None,
    separator: str = " ",
) -> list[str]:
    """A header and rows, each column as wide as its widest cell and at least as wide as asked for.

    A column whose least width is 0 ends where its text does; without `least` that is the last one.
    """
    table = [[str(cell) for cell in row] for row in (header, *rows)]
    if least is None:
        least = [*(1 for _ in header[1:]), 0]
    widths = [max(width, *(len(row[number]) for row in table)) if width else 0 for number, width in enumerate(least)]
    return [separator.join(map(str.ljust, row, widths)) for row in table]
