"""The code blocks of README.md, so that what it shows is also run."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
# The address that every example of the README uses.
DEFAULT_SERVERS = "127.0.0.1:9092"


def block_with(text: str, *, language: str = "") -> str:
    """The one block in this language that contains the text."""
    blocks: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.M | re.S)
    found = [body for kind, body in blocks if kind == language and text in body]
    assert len(found) == 1, f"README.md has {len(found)} blocks with {text!r}"
    return found[0]


def as_coroutine(block: str, *arguments: str) -> str:
    """A module whose `main` awaits what the block awaits."""
    body = "".join(f"    {line}" if line.strip() else line for line in block.splitlines(keepends=True))
    return f"async def main({', '.join(arguments)}):\n{body}"
