"""What becomes of a micro-batch wherever the driver dies, as text (`support.transcripts`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark.sink.scripted import BEFORE_COMMIT_LOG, ScriptedSink
from support.sink_crash_points import DRIVER_CRASH_POINTS
from support.transcripts import Replay, each_in

FOLDER = Path(__file__).parent / "transcripts"


@each_in(FOLDER)
def test_flow_is_as_written(path: Path, replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(path, ScriptedSink(monkeypatch))


def test_every_crash_point_is_gone_through_in_order() -> None:
    script = (FOLDER / "wherever_the_driver_dies.txt").read_text()
    died = [line.split()[2] for line in script.splitlines() if line.startswith("batch_that_dies ")]

    assert tuple(died) == DRIVER_CRASH_POINTS
    assert died[-1] == BEFORE_COMMIT_LOG
