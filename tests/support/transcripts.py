"""Flows as text: commands, a line of dashes, and what happened. A blank line ends a block, `#` begins a comment.

`pytest --rewrite-transcripts` writes down what happens now, to be read before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Replay = Callable[[Path, "Scripted"], None]


class Scripted:
    """A world that a script drives: the command `append 1 x` calls `do_append("1", "x")`, which adds to `lines`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def play(self, script: str) -> str:
        """The script again, with what its commands lead to now."""
        blocks = []
        for block in script.strip().split("\n\n"):
            commands = block.split("\n----", 1)[0].splitlines()
            told = [line for command in commands if not command.startswith("#") for line in self._run(command)]
            blocks.append("\n".join([*commands, "----", *told]))
        return "\n\n".join(blocks) + "\n"

    def _run(self, command: str) -> list[str]:
        self.lines = []
        name, *arguments = command.split()
        getattr(self, f"do_{name}")(*arguments)
        return self.lines


def each_in(folder: Path) -> pytest.MarkDecorator:
    """For a test that takes the `path` of each transcript in the folder."""
    return pytest.mark.parametrize("path", sorted(folder.glob("*.txt")), ids=lambda path: path.stem)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-transcripts", action="store_true", help="write down what the transcripts' commands lead to now"
    )


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Replay:
    def replay_in(path: Path, world: Scripted) -> None:
        script = path.read_text()
        played = world.play(script)
        if request.config.getoption("--rewrite-transcripts"):
            path.write_text(played)
        else:
            assert played == script

    return replay_in
