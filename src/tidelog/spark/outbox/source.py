"""The outbox as a streaming source of Spark: `spark.readStream.format("tidelog-outbox")`, after registering it.

Rows come as the sink takes them: key, value, headers, topic, and partition or timestamp where options ask for them.
One task reads a batch, in the order of the table, so that events of an aggregate stay in order.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from tidelog.client.admin import Admin, NewTopic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.spark.databases.options import Engine, InvalidDatabaseOption, parse_url
from tidelog.spark.outbox.log_changes import OnUpdate
from tidelog.spark.outbox.routing import (
    DEFAULTS,
    INVALID_BEHAVIOR,
    WITHOUT_EFFECT,
    OutboxMessage,
    Placement,
    Routing,
    parse_routing,
    route,
)
from tidelog.spark.outbox.routing import topic_of as topic_of_route
from tidelog.spark.outbox.tables import LogSettings, Offset, OutboxSettings, OutboxTable, open_outbox
from tidelog.spark.source.self_limited import for_this_spark
from tidelog.spark.versions.data_sources import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "tidelog-outbox"
ROWS_PER_ARROW_BATCH = 10_000
KAFKA_PREFIX = "kafka."
BROKER_DEFAULT = -1

URL = "url"
TABLE = "table"
MAX_EVENTS = "maxEventsPerTrigger"
DELETE_RELAYED = "deleteRelayed"
TOPIC_PARTITIONS = "topicPartitions"
MODE = "mode"
POLL = "poll"
LOG = "log"
DEFAULT_SLOT = "tidelog_outbox"
SLOT = "slot"
PUBLICATION = "publication"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxOptions:
    """`client` leads to the cluster where missing topics are made; without it none are."""

    settings: OutboxSettings
    routing: Routing
    client: Mapping[str, str] = field(repr=False)
    max_events: int | None
    topic_partitions: int


def parse_outbox_options(options: Mapping[str, str]) -> OutboxOptions:
    given = {name.lower(): value for name, value in options.items()}
    routing = parse_routing({name: text for name, text in given.items() if name in DEFAULTS or name in WITHOUT_EFFECT})
    for name in (URL, TABLE):
        if not given.get(name):
            raise InvalidDatabaseOption(f"the outbox needs the option {name}")
    limit = given.get(MAX_EVENTS.lower())
    if limit is not None and not (limit.isdigit() and int(limit) > 0):
        raise InvalidDatabaseOption(f"{MAX_EVENTS}={limit} must be a number above 0")
    delete_relayed = given.get(DELETE_RELAYED.lower(), "false").lower() == "true"
    return OutboxOptions(
        settings=OutboxSettings(
            url=parse_url(given[URL]),
            table=given[TABLE],
            columns=routing.columns,
            route_by=routing.route_by,
            event_id=routing.event_id,
            delete_relayed=delete_relayed,
            log=_log_settings(given, delete_relayed=delete_relayed),
        ),
        routing=routing,
        client={name.removeprefix(KAFKA_PREFIX): text for name, text in given.items() if name.startswith(KAFKA_PREFIX)},
        max_events=int(limit) if limit else None,
        topic_partitions=int(given.get(TOPIC_PARTITIONS.lower(), BROKER_DEFAULT)),
    )


def _log_settings(given: Mapping[str, str], *, delete_relayed: bool) -> LogSettings | None:
    mode = given.get(MODE, POLL).lower()
    if mode not in (POLL, LOG):
        raise InvalidDatabaseOption(f"{MODE}={mode} must be {POLL} or {LOG}")
    behavior = given.get(INVALID_BEHAVIOR, OnUpdate.WARN.value).lower()
    if behavior not in {one.value for one in OnUpdate}:
        raise InvalidDatabaseOption(f"{INVALID_BEHAVIOR}={behavior} must be warn, error or fatal")
    if mode == POLL:
        return None
    if parse_url(given[URL]).engine is not Engine.POSTGRESQL:
        raise InvalidDatabaseOption(f"{MODE}={LOG} needs PostgreSQL; other databases are read with {MODE}={POLL}")
    if delete_relayed:
        raise InvalidDatabaseOption(
            f"{DELETE_RELAYED} has no effect with {MODE}={LOG}: rows may be deleted at any time, even in the "
            "transaction that inserts them"
        )
    slot = given.get(SLOT, DEFAULT_SLOT)
    if not re.fullmatch(r"[a-z0-9_]{1,63}", slot):
        raise InvalidDatabaseOption(f"{SLOT}={slot}: a slot's name has up to 63 lower case letters, digits and '_'")
    return LogSettings(slot=slot, publication=given.get(PUBLICATION) or slot, on_update=OnUpdate(behavior))


@spoken
class OutboxSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        routing = parse_outbox_options(self.options).routing
        fields = ["key binary", "value binary", "headers array<struct<key: string, value: binary>>", "topic string"]
        if _has_partition(routing):
            fields.append("partition int")
        if routing.timestamp is not None:
            fields.append("timestamp timestamp")
        return ", ".join(fields)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        del schema
        return for_this_spark(OutboxReader(parse_outbox_options(self.options)))


class OutboxSlice(InputPartition):
    def __init__(self, start: Offset, end: Offset) -> None:
        super().__init__(None)
        self.start = start
        self.end = end


@spoken
class OutboxReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: OutboxOptions) -> None:
        self._options = options
        self._target: int | None = None
        self._known_topics: set[str] = set()
        self._opened: OutboxTable | None = None

    def initialOffset(self) -> Offset:
        return self._table.initial()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self._options.max_events is None else ReadMaxRows(self._options.max_events)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._table.target()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = self._table.latest(start, rows, self._target)
        # Before the batch is planned: the sink counts the partitions of topics then, and makes none itself.
        self._make_topics(self._table.routes(start, end) if end != start else [])
        return end

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [] if start == end else [OutboxSlice(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OutboxSlice):
            # Where there is nothing to read, Spark makes up a partition of its own.
            return
        messages = (route(self._options.routing, row) for row in self._table.rows(partition.start, partition.end))
        present = (message for message in messages if message is not None)
        while batch := list(islice(present, ROWS_PER_ARROW_BATCH)):
            yield _as_arrow(batch, self._options.routing)

    def commit(self, end: Offset) -> None:
        self._table.relayed(end)

    def __getstate__(self) -> dict[str, Any]:
        # Tasks open the table for themselves.
        return {**self.__dict__, "_opened": None}

    @property
    def _table(self) -> OutboxTable:
        if self._opened is None:
            self._opened = open_outbox(self._options.settings)
        return self._opened

    def _make_topics(self, routes: Sequence[Any]) -> None:
        topics = {topic_of_route(self._options.routing, value) for value in routes if value} - self._known_topics
        if topics and self._options.client:
            asyncio.run(_create_topics(self._options.client, topics, self._options.topic_partitions))
        self._known_topics |= topics


async def _create_topics(client: Mapping[str, str], names: set[str], partitions: int) -> None:
    async with Admin(config=dict(client)) as admin:
        present = {topic.name for topic in await admin.list_topics()}
        missing = [NewTopic(name=name, partitions=partitions) for name in sorted(names - present)]
        for result in (await admin.create_topics(missing)).values() if missing else ():
            if isinstance(result, ApiError) and result.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise result


def _has_partition(routing: Routing) -> bool:
    return any(field.placement is Placement.PARTITION for field in routing.additional)


def _as_arrow(messages: Sequence[OutboxMessage], routing: Routing) -> pa.RecordBatch:
    import pyarrow as pa

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    types = {
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.field("element", header)),
        "topic": pa.string(),
    }
    if _has_partition(routing):
        types["partition"] = pa.int32()
    if routing.timestamp is not None:
        types["timestamp"] = pa.timestamp("us", tz="UTC")
    columns = {name: [getattr(message, name) for message in messages] for name in types}
    return pa.RecordBatch.from_pydict(columns, pa.schema(list(types.items())))
