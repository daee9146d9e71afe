"""What each entrance into the sink begins with: the kind of delivery, and what tasks of a micro-batch are given.

The kinds are `tidelog.spark.sink_batch` (exactly once, the default), `tidelog.spark.sink_task` (exactly once, a
transaction for each task) and `tidelog.spark.sink_sending` (at least once). The entrances are `tidelog.spark.sink` and
`tidelog.spark.foreach_batch`.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.spark.checkpoint import Overtaken, PlannedBatch, planned_batch, planned_in
from tidelog.spark.sink_batch import BatchMode
from tidelog.spark.sink_columns import SinkColumns
from tidelog.spark.sink_errors import PublishFenced
from tidelog.spark.sink_modes import SinkMode, run
from tidelog.spark.sink_options import Atomicity, Delivery, SinkOptions
from tidelog.spark.sink_plan import SinkPlan
from tidelog.spark.sink_sending import AtLeastOnceMode
from tidelog.spark.sink_task import TaskMode
from tidelog.spark.sink_topics import partition_counts
from tidelog.spark.staging import plan_folder


def delivery_mode(options: SinkOptions) -> SinkMode:
    if options.delivery is Delivery.AT_LEAST_ONCE:
        return AtLeastOnceMode()
    return BatchMode() if options.atomicity is Atomicity.BATCH else TaskMode()


def plan_micro_batch(options: SinkOptions, columns: SinkColumns) -> SinkPlan:
    """For the driver: looks at the topics, and makes the folder for large outputs."""
    staged = options.delivery is Delivery.EXACTLY_ONCE and options.atomicity is Atomicity.BATCH
    return SinkPlan(
        options=options,
        columns=columns,
        partition_counts=run(partition_counts(options)),
        folder=plan_folder(options) if staged else None,
        planned=planned_batch(options.checkpoint_location),
    )


def planned_for(
    plan: SinkPlan, query_id: str, batch: int, property_of: Callable[[str], str | None]
) -> PlannedBatch | None:
    """For a task: what its micro-batch reads, as it was when the driver planned it. None where nobody knows.

    `property_of` gives the local properties of Spark's jobs: they say where the checkpoint is if no option does.
    """
    try:
        return planned_in(plan.planned, query_id, batch, property_of)
    except Overtaken as problem:
        raise PublishFenced(str(problem)) from None
