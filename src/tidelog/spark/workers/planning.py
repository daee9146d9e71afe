"""Which of Spark's Python processes this is. Spark starts one kind for tasks, one for plans and one for commits.

A data source learns neither. Its `streamWriter` is called in the process that plans a micro-batch, whose writer Spark
copies to the tasks, and again in the one that commits or aborts, which must not depend on a broker or a checkpoint that
cannot be read. So a writer is planned here, as a step of its own, and only where Spark asks for a plan.
"""

from __future__ import annotations

import sys
from typing import Protocol, TypeVar

from tidelog.spark.workers.memory import freeze_loaded

# Spark's module for plans: the first argument of the daemon that forks such processes, or the module that is run.
PLANNER = "pyspark.sql.worker.write_into_data_source"


class PlannedWriter(Protocol):
    def plan(self) -> None: ...


W = TypeVar("W", bound=PlannedWriter)


def planned(writer: W) -> W:
    """The writer, with its plan if this is where Spark asks for one. What goes wrong is raised as it is."""
    if _plans_writes():
        writer.plan()
        freeze_loaded()
    return writer


def _plans_writes() -> bool:
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return PLANNER in (getattr(main, "name", ""), *sys.argv[1:2])
