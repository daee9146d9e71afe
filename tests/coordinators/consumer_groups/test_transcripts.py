"""Single flows of consumer groups as text (`support.transcripts`)."""

from __future__ import annotations

from pathlib import Path

from coordinators.consumer_groups.scripted import ScriptedGroup
from support.transcripts import Replay, each_in


@each_in(Path(__file__).parent / "transcripts")
def test_flow_is_as_written(path: Path, replay: Replay) -> None:
    replay(path, ScriptedGroup())
