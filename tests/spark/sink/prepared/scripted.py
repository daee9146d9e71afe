"""The model of atomicity=prepared (`support.spark_models.prepared_model`), through which a script leads one way.

What a driver completes and aborts is decided by the code of the sink. The invariants hold after every step.
"""

from __future__ import annotations

import re

from support.spark_models.prepared_model import PreparedModel, PreparedWorld
from support.transcripts import Scripted

from tidelog.testing.exhaustive import Step

# What nobody wants to happen: only when the script says so.
_MISFORTUNES = re.compile(r"dies|times out|is started")
_BEGUN = re.compile(r"Begun\(slot=Slot\(task=(\d+).*?\).*?\)")


class ScriptedPrepared(Scripted):
    def __init__(self) -> None:
        super().__init__()
        self._model = PreparedModel(batches=10, tasks=2, starts=20, retries=0)
        (self._world,) = self._model.initial()

    def do_run(self, *words: str) -> None:
        """Let drivers and tasks go on until a step has been taken that is called so."""
        wanted = " ".join(words)
        while True:
            step = next(each for each in self._steps() if not _MISFORTUNES.search(each.what))
            self._take(step)
            if step.what.endswith(wanted):
                break

    def do_take(self, *words: str) -> None:
        """Take the one step that is called so."""
        (step,) = [each for each in self._steps() if each.what.endswith(" ".join(words))]
        self._take(step)

    def do_dies(self) -> None:
        self.do_take("dies")

    def do_restart(self) -> None:
        self.do_take("a driver is started")

    def do_show(self) -> None:
        world = self._world
        decided = "nothing" if world.decided is None else f"micro-batch {world.decided[0]}"
        newest = max(one.fence for one in world.transactions)
        states = ", ".join(f"task {one.task} {one.state}" for one in world.transactions if one.fence == newest)
        self.lines.append(f"decided is {decided}; with fence {newest}: {states}; Spark has logged {world.logged}")

    def _steps(self) -> list[Step[PreparedWorld]]:
        return [Step(_BEGUN.sub(r"task \1", what), world) for what, world in self._model.steps(self._world)]

    def _take(self, step: Step[PreparedWorld]) -> None:
        self._world = step.state
        assert self._model.problem(self._world) is None
        self.lines.append(step.what)
