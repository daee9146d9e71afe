"""The pipeline `sink-db`: topics into a table, each record once.

The database remembers the offsets of its rows, so that even a pipeline whose checkpoint is gone goes on where the table
ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.spark.databases.options import BESIDE, DELETE, EVENT, OFFSET, PARTITION, TOPIC, parse_sink_options
from tidelog.spark.databases.sink import FORMAT, DatabaseSink
from tidelog.spark.databases.store import Column, database_errors, open_database
from tidelog.spark.pipelines.records import RECORD, header, parse_values, read_topics, starting_from
from tidelog.spark.pipelines.run import Job, start_query
from tidelog.spark.pipelines.settings import SinkDatabase, TargetTable
from tidelog.spark.sink.checkpoint import NoCheckpoint, checkpoint_owner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEADER = "header:"
_NESTED = ("array", "map", "struct")


def plan_sink_db(session: SparkSession, pipeline: SinkDatabase) -> Job:
    options = sink_options(pipeline)
    database = open_database(parse_sink_options(options))
    with database_errors("the progress in the database cannot be read"):
        stored = database.stored_state()
    starting: str | None = None
    if stored.progress is not None:
        options["takesOver"] = stored.progress.query_id
        if stored.progress.batch == 0 and _query_of(pipeline.run.checkpoint_location) == stored.progress.query_id:
            # Spark may have to repeat the first batch, and then asks where it began: not where it has ended.
            starting = stored.progress.starting
        else:
            starting = starting_from(pipeline.source, stored.next_offsets)
    if starting is not None:
        options["startingFrom"] = starting
    records = parse_values(read_topics(session, pipeline.source, starting), pipeline.value)
    chosen = choose_columns(records, pipeline.database)
    fields = [field for field in chosen.schema if field.name not in BESIDE]
    columns = [Column(name=field.name, type=field.dataType.simpleString()) for field in fields]
    with database_errors(f"table {pipeline.database.table} cannot be prepared"):
        database.prepare(columns, evolve=pipeline.database.evolve_table)
    session.dataSource.register(DatabaseSink)
    return Job(start=lambda: start_query(_flattened(chosen), FORMAT, pipeline.run, options))


def _query_of(checkpoint: str) -> str | None:
    try:
        return checkpoint_owner(checkpoint)
    except NoCheckpoint:
        return None


def sink_options(pipeline: SinkDatabase) -> dict[str, str]:
    table = pipeline.database
    options = {"url": table.url, "table": table.table, "pipeline": pipeline.run.name, "mode": table.mode}
    if table.keys:
        options["keys"] = ",".join(table.keys)
    return options


def choose_columns(records: DataFrame, table: TargetTable) -> DataFrame:
    """The columns of the table, and beside them where each row is from."""
    rows = records.where(table.where) if table.where else records
    columns = list(table.columns) or [f"`{name}`" for name in rows.columns if name != RECORD]
    beside = [
        f"{RECORD}.topic AS {TOPIC}",
        f"{RECORD}.partition AS {PARTITION}",
        f"{RECORD}.offset AS {OFFSET}",
    ]
    if table.deduplicate:
        event = table.deduplicate
        event = header(event.removeprefix(_HEADER)) if event.startswith(_HEADER) else f"CAST({event} AS STRING)"
        beside.append(f"{event} AS {EVENT}")
    if table.delete_when:
        beside.append(f"({table.delete_when}) AS {DELETE}")
    return rows.selectExpr(*columns, *beside)


def _flattened(rows: DataFrame) -> DataFrame:
    """Databases get nested values as JSON."""
    return rows.selectExpr(
        *(
            f"to_json(`{field.name}`) AS `{field.name}`"
            if field.dataType.simpleString().startswith(_NESTED)
            else f"`{field.name}`"
            for field in rows.schema
        )
    )
