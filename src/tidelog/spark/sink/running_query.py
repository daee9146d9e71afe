"""Which query a `foreachBatch` function works for, and where its checkpoint is. For the driver.

A query's id is in its checkpoint, so that it is the same after a restart. Spark does not pass it to the function:

- In a classic session it is a property of the thread in which Spark calls the function, as long as Python's threads are
  tied to Java's (which they are, unless PYSPARK_PIN_THREAD=false). Spark's table of running queries has the checkpoint.
- With Spark Connect the function runs in a process of its own, with neither. The id is read from the checkpoint, which
  has to be named.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.spark.sink.checkpoint import NoCheckpoint, checkpoint_owner
from tidelog.spark.sink.errors import InvalidSinkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
# Spark makes the start of a query the group of its jobs.
RUN_ID = "spark.jobGroup.id"

# Spark Connect starts a process for the function whenever it starts a query.
_THIS_PROCESS = str(uuid.uuid4())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningQuery:
    """`run` is this start of the query."""

    query_id: str
    run: str
    checkpoint: str


def running_query(session: SparkSession, checkpoint: str | None) -> RunningQuery:
    """The query for which Spark calls us now; `checkpoint` is what the user says about it."""
    found = None if _is_remote(session) else _query_of_this_thread(session)
    if checkpoint is None:
        if found is None:
            raise InvalidSinkOptions(_unknown(session))
        return found
    try:
        query_id = checkpoint_owner(checkpoint)
    except NoCheckpoint as error:
        raise InvalidSinkOptions(
            f"checkpointLocation={checkpoint} in exactly_once_batch must be the checkpoint of the query that calls it, "
            f"as it is given to writeStream, but {error}"
        ) from error
    if found is not None and found.query_id != query_id:
        raise InvalidSinkOptions(
            f"checkpointLocation={checkpoint} is that of query {query_id}, but query {found.query_id} is running, and "
            f"its checkpoint is {found.checkpoint}. Leave out checkpointLocation in exactly_once_batch"
        )
    return RunningQuery(query_id=query_id, run=_THIS_PROCESS if found is None else found.run, checkpoint=checkpoint)


def _is_remote(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _query_of_this_thread(session: SparkSession) -> RunningQuery | None:
    query_id = session.sparkContext.getLocalProperty(QUERY_ID)
    run = session.sparkContext.getLocalProperty(RUN_ID)
    if query_id is None:
        return None
    # Untyped: these are Spark's own objects in the JVM. The table is shared by all sessions; the function's session is
    # a copy of the one that has started the query.
    java: Any = session
    identity = java._jvm.java.util.UUID.fromString(query_id)
    execution = java._jsparkSession.sharedState().activeStreamingQueries().get(identity)
    if execution is None:
        return None
    return RunningQuery(query_id=query_id, run=run or "", checkpoint=str(execution.resolvedCheckpointRoot()))


def _unknown(session: SparkSession) -> str:
    if _is_remote(session):
        return (
            "with Spark Connect, exactly_once_batch needs the option checkpointLocation, with the same value as in "
            ".option('checkpointLocation', ...): Spark does not tell a foreachBatch function which query it works for"
        )
    return (
        "exactly_once_batch cannot tell which query it works for: either it was called outside of foreachBatch, or "
        "PYSPARK_PIN_THREAD=false hides it. For the latter, give it the option checkpointLocation, with the same value "
        "as in .option('checkpointLocation', ...)"
    )
