"""The pipeline `outbox`: events of a database table into topics, each event once and in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.spark.databases.store import database_errors
from tidelog.spark.outbox.source import (
    DELETE_RELAYED,
    FORMAT,
    MAX_EVENTS,
    MODE,
    PUBLICATION,
    SLOT,
    TABLE,
    TOPIC_PARTITIONS,
    URL,
    OutboxSource,
    parse_outbox_options,
)
from tidelog.spark.outbox.tables import open_outbox
from tidelog.spark.pipelines.records import client_options
from tidelog.spark.pipelines.run import Job, start_query
from tidelog.spark.pipelines.settings import Outbox
from tidelog.spark.pipelines.transform import target_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_outbox(session: SparkSession, pipeline: Outbox) -> Job:
    options = source_options(pipeline)
    parsed = parse_outbox_options(options)
    table = open_outbox(parsed.settings)
    with database_errors(f"table {pipeline.outbox.table} cannot be used as an outbox"):
        if pipeline.outbox.create_table:
            table.create()
        table.check()
    session.dataSource.register(OutboxSource)
    events = session.readStream.format(FORMAT).options(**options).load()
    target = target_options(pipeline.target, pipeline.run.name)
    if parsed.routing.timestamp is not None:
        target["includeTimestamp"] = "true"
    return Job(start=lambda: start_query(events, "tidelog", pipeline.run, target))


def source_options(pipeline: Outbox) -> dict[str, str]:
    outbox = pipeline.outbox
    connection = client_options(pipeline.target.bootstrap_servers, pipeline.target.options)
    return {
        **{f"kafka.{name}": text for name, text in connection.items()},
        URL: outbox.url,
        TABLE: outbox.table,
        MAX_EVENTS: str(outbox.max_events_per_batch),
        DELETE_RELAYED: "true" if outbox.delete_relayed else "false",
        TOPIC_PARTITIONS: str(outbox.topic_partitions),
        MODE: outbox.mode,
        SLOT: pipeline.slot,
        PUBLICATION: outbox.publication or pipeline.slot,
        **dict(outbox.options),
    }
