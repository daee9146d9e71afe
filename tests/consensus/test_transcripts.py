"""Single flows of the protocol as text: commands, a line of dashes, and what the replicas did.

`TIDELOG_REWRITE_TRANSCRIPTS=1` writes down what they do now, to be read before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from consensus.scripted import ScriptedQuorum

FOLDER = Path(__file__).parent / "transcripts"
REWRITE = os.environ.get("TIDELOG_REWRITE_TRANSCRIPTS") == "1"


def play(script: str) -> str:
    quorum = ScriptedQuorum()
    blocks = []
    for block in script.strip().split("\n\n"):
        commands = block.split("\n----", 1)[0].splitlines()
        lines = [line for command in commands if not command.startswith("#") for line in quorum.run(command)]
        blocks.append("\n".join([*commands, "----", *lines]))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_flow_is_as_written(path: Path) -> None:
    script = path.read_text()
    played = play(script)
    if REWRITE:
        path.write_text(played)
    assert played == script
