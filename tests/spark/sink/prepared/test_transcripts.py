"""What becomes of prepared transactions wherever the driver dies, as text (`support.transcripts`)."""

from __future__ import annotations

from pathlib import Path

from spark.sink.prepared.scripted import ScriptedPrepared
from support.transcripts import Replay, each_in


@each_in(Path(__file__).parent / "transcripts")
def test_flow_is_as_written(path: Path, replay: Replay) -> None:
    replay(path, ScriptedPrepared())
