"""Single flows of replication as text (`support.transcripts`)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from server.replication.scripted import ScriptedReplicas
from support.transcripts import Replay, each_in


@each_in(Path(__file__).parent / "transcripts")
def test_flow_is_as_written(path: Path, replay: Replay, tmp_path: Path) -> None:
    with closing(ScriptedReplicas(tmp_path)) as world:
        replay(path, world)
