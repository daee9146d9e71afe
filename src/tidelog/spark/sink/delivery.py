"""What each entrance into the sink begins with: the kind of delivery, and what tasks of a micro-batch are given.

The kinds are `batch.py` (exactly once, the default), `task.py` (exactly once, a transaction for each task), `prepared/`
(the same, decided in one transaction) and `sending.py` (at least once). The entrances are `writers.py` and
`foreach_batch.py`.
"""

from __future__ import annotations

from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.checkpoint import NoCheckpoint, PlannedBatch, checkpoint_owner, planned_batch
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.errors import InvalidSinkOptions
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.modes import SinkMode
from tidelog.spark.sink.options import Atomicity, DeliveryGuarantee, SinkOptions
from tidelog.spark.sink.plan import SinkPlan
from tidelog.spark.sink.prepared.decision import PreparedPlan
from tidelog.spark.sink.sending import AtLeastOnceMode
from tidelog.spark.sink.staging import plan_folder
from tidelog.spark.sink.task import TaskMode
from tidelog.spark.sink.topics import partition_counts


def delivery_mode(options: SinkOptions) -> SinkMode:
    if options.delivery is DeliveryGuarantee.AT_LEAST_ONCE:
        return AtLeastOnceMode()
    match options.atomicity:
        case Atomicity.BATCH:
            return BatchMode()
        case Atomicity.TASK:
            return TaskMode()
        case Atomicity.PREPARED:
            # Only here and below: it needs the admin client, which takes as long to load as the rest of the sink.
            from tidelog.spark.sink.prepared.sink import PreparedMode

            return PreparedMode()


def plan_micro_batch(options: SinkOptions, columns: SinkColumns, *, job: str | None = None) -> SinkPlan:
    """For the driver: looks at the topics, and makes the folder for large outputs. `job` is the name of a job."""
    staged = options.delivery is DeliveryGuarantee.EXACTLY_ONCE and options.atomicity is Atomicity.BATCH
    planned = planned_batch(options.checkpoint_location)
    return SinkPlan(
        options=options,
        columns=columns,
        partition_counts=run(partition_counts(options)),
        folder=plan_folder(options) if staged else None,
        planned=planned,
        prepared=_plan_prepared(options, job, planned) if options.atomicity is Atomicity.PREPARED else None,
    )


def _plan_prepared(options: SinkOptions, job: str | None, planned: PlannedBatch | None) -> PreparedPlan:
    from tidelog.spark.sink.prepared.sink import plan_prepared

    if job is not None:
        return run(plan_prepared(options, job, batch=0))
    try:
        query_id = checkpoint_owner(options.checkpoint_location or "")
    except NoCheckpoint as error:
        raise InvalidSinkOptions(
            "atomicity=prepared needs the option checkpointLocation, in a way that the driver's Python can read (a "
            "path, s3://, hdfs://, gs://): transactions that were prepared are found again by the id of the query, "
            f"which is in there ({error})"
        ) from error
    return run(plan_prepared(options, query_id, batch=None if planned is None else planned.batch))
