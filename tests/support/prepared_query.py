"""A query with atomicity=prepared, without Spark between its tasks and its driver."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from support.checkpoint_files import CheckpointFiles

from tidelog.client.admin import Admin
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.delivery import plan_micro_batch
from tidelog.spark.sink.modes import SinkMode
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.prepared import decision
from tidelog.spark.sink.prepared.sink import PreparedMode


class PreparedQuery:
    """One start of a query."""

    def __init__(self, bootstrap_servers: str, topic: str, checkpoint: Path, **given: str) -> None:
        self.options = sink_options(
            {
                "kafka.bootstrap.servers": bootstrap_servers,
                "topic": topic,
                "checkpointLocation": str(checkpoint),
                "atomicity": "prepared",
                "kafka.batch.size": "500",
                **given,
            }
        )
        self.mode: SinkMode = PreparedMode()
        self.query_id = topic
        self.checkpoint = CheckpointFiles(checkpoint, topic)

    @property
    def name(self) -> str:
        return f"{self.options.transactional_id_prefix}-{self.query_id}"

    def plan(self, batch: int) -> SinkPlan:
        self.checkpoint.forget_from(batch)
        for number in range(batch + 1):
            self.checkpoint.begin(number, 100 * number)
        return plan_micro_batch(self.options, SinkColumns(value=0))

    def task(self, plan: SinkPlan, batch: int, number: int, rows: Sequence[str], attempt: int = 0) -> object:
        place = TaskPlace(
            query_id=self.query_id, batch=batch, task=number, attempt=attempt, run="run", planned=plan.planned
        )
        return self.mode.run_task(plan, place, iter([pa.record_batch({"value": pa.array(rows, pa.string())})]))

    def tasks(self, batch: int, *divided: Sequence[str]) -> list[object]:
        plan = self.plan(batch)
        return [self.task(plan, batch, number, rows) for number, rows in enumerate(divided)]

    def commit(self, batch: int, messages: list[object]) -> None:
        self.mode.commit(self.options, messages, batch)  # type: ignore[arg-type]

    def run(self, batch: int, *divided: Sequence[str]) -> None:
        self.commit(batch, self.tasks(batch, *divided))

    def open_transactions(self) -> list[str]:
        async def ask() -> list[str]:
            async with Admin(config=self.options.connection()) as admin:
                found = await admin.list_transactions(pattern=decision.slots_pattern(self.name))
            return [one.transactional_id for one in found if one.state == "Ongoing"]

        return asyncio.run(ask())
