"""A writer is planned where Spark asks for a plan, and nowhere else; pickling does nothing but copy."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tidelog.spark.workers.planning import PLANNER, planned


@dataclass
class Writer:
    plans: int = 0

    def plan(self) -> None:
        self.plans += 1


@pytest.mark.parametrize(
    ("main", "arguments", "plans"),
    [
        ("pyspark.daemon", [PLANNER], 1),
        (PLANNER, [], 1),
        ("pyspark.daemon", ["pyspark.sql.worker.python_streaming_sink_runner"], 0),
        ("pyspark.sql.worker.commit_data_source_write", [], 0),
        ("tidelog.spark.session.daemon", ["pyspark.worker"], 0),
        (None, ["job.py"], 0),
    ],
)
def test_only_the_process_that_plans_writes_makes_a_plan(
    monkeypatch: pytest.MonkeyPatch, main: str | None, arguments: list[str], plans: int
) -> None:
    spec = None if main is None else SimpleNamespace(name=main)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))
    monkeypatch.setattr(sys, "argv", ["started", *arguments])
    writer = planned(Writer())
    assert writer.plans == plans
    assert pickle.loads(pickle.dumps(writer)).plans == plans


def test_spark_has_that_module() -> None:
    pytest.importorskip(PLANNER)
