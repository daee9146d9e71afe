"""The settings of each pipeline, from TOML or from the command line: values, defaults and what they must fulfil.

How text becomes these values is in `reading`. Names are those that users write, with `_` for `-`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tidelog.config.definitions import InvalidConfig
from tidelog.model.pipeline_status import checkpoint_directory
from tidelog.spark.pipelines.durations import Duration

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SLOT = re.compile(r"[a-z0-9_]{1,63}")
_WATERMARK = re.compile(r"\S+\s+\d+\s+\w+")

NO_PORT = -1
TEN_MINUTES = Duration(600.0)


class InvalidSettings(InvalidConfig):
    """Settings that cannot work; `problems` holds all of them, each with a remedy."""

    def __str__(self) -> str:
        return "; ".join(self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`name` identifies the pipeline for ever: what it has done is remembered under it, here and at its target."""

    name: str
    checkpoint: str = ""
    # Stop when everything that is there now has been processed.
    once: bool = False
    interval: str = "1 second"
    # How long to wait for a broker or database that is away, since the last progress. 0 is not at all.
    retry_for: Duration = TEN_MINUTES

    def problems(self) -> Iterator[str]:
        if not _NAME.fullmatch(self.name):
            yield f"name = {self.name!r} must be up to 100 letters, digits, '.', '_' and '-'"

    @property
    def checkpoint_location(self) -> str:
        """Where Spark remembers; a directory of the user unless another is given."""
        if self.checkpoint:
            return self.checkpoint
        return str(Path(checkpoint_directory(os.environ, str(Path.home()))) / self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Topics of a cluster. `starting_offsets` counts only for a pipeline that has not run yet."""

    bootstrap_servers: str
    topics: tuple[str, ...] = ()
    topic_pattern: str = ""
    starting_offsets: str = "earliest"
    max_records_per_batch: int = 1_000_000
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def problems(self) -> Iterator[str]:
        if bool(self.topics) == bool(self.topic_pattern):
            yield "set either topics or topic_pattern"
        if self.max_records_per_batch < 1:
            yield f"max_records_per_batch = {self.max_records_per_batch} must be above 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`topic` may be left out where the rows say themselves where they go."""

    bootstrap_servers: str
    topic: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """How record values are read: as JSON with a schema, or not at all."""

    format: Literal["raw", "json"] = "raw"
    schema: str = ""
    malformed: Literal["fail", "skip"] = "fail"

    def problems(self) -> Iterator[str]:
        if self.format == "json" and not self.schema:
            yield 'format = "json" needs a schema, such as "id BIGINT, amount DECIMAL(10,2), at TIMESTAMP"'
        if self.format == "raw" and self.schema:
            yield 'a schema has no effect with format = "raw"; did you mean format = "json"?'


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Exactly one of: SQL over the view `records`, or `module:function` that takes and gives a DataFrame."""

    sql: str = ""
    function: str = ""
    # Where modules are looked for besides the current directory.
    path: str = ""
    output_mode: Literal["append", "update", "complete"] = "append"
    # `column delay`, such as "at 10 minutes": how late records may be. Windows end by it, and state is dropped.
    watermark: str = ""
    # Where the state of aggregations is kept while the query runs; Spark's default is memory.
    state_store: Literal["memory", "rocksdb"] = "memory"

    def problems(self) -> Iterator[str]:
        if self.watermark and not _WATERMARK.fullmatch(self.watermark):
            yield f'watermark = {self.watermark!r} is not a column and a delay, such as "at 10 minutes"'
        if bool(self.sql) == bool(self.function):
            yield 'give either sql ("SELECT key, value FROM records") or function ("module:function")'
        elif self.function and not re.fullmatch(r"[\w.]+:[\w.]+", self.function):
            yield f"function = {self.function!r} is not module:function"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTable:
    """A table that rows go to. `columns` are SQL expressions over the records, all columns unless given."""

    url: str
    table: str
    mode: Literal["append", "upsert"] = "append"
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    where: str = ""
    # Rows for which this holds delete the row with their key.
    delete_when: str = ""
    # An expression that gives the id of an event; each id is written once.
    deduplicate: str = ""
    # Add columns that the rows have and the table has not.
    evolve_table: bool = False

    def problems(self) -> Iterator[str]:
        if self.mode == "upsert" and not self.keys:
            yield 'mode = "upsert" needs keys: the columns that identify the row to replace'
        if self.mode == "append" and self.keys:
            yield 'keys have no effect with mode = "append"; did you mean mode = "upsert"?'
        if self.delete_when and self.mode != "upsert":
            yield 'delete_when needs mode = "upsert" and keys'


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSection:
    """`options` are those of Debezium's outbox event router, under their own names."""

    url: str
    table: str = "outbox"
    # By queries, or from PostgreSQL's write-ahead log.
    mode: Literal["poll", "log"] = "poll"
    # Of mode "log": the replication slot (by the pipeline's name unless given) and the publication (as the slot).
    slot: str = ""
    publication: str = ""
    # With mode "log" also the publication and the slot.
    create_table: bool = False
    delete_relayed: bool = False
    max_events_per_batch: int = 100_000
    # Of topics that the first event makes; -1 is what the broker does by itself.
    topic_partitions: int = -1
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def problems(self) -> Iterator[str]:
        if self.mode == "poll" and (self.slot or self.publication):
            yield 'slot and publication have no effect with mode = "poll"; did you mean mode = "log"?'
        if self.mode == "log" and self.delete_relayed:
            yield (
                'delete_relayed has no effect with mode = "log": rows may be deleted at any time, even in the '
                "transaction that inserts them"
            )
        if self.slot and not _SLOT.fullmatch(self.slot):
            yield f"slot = {self.slot!r} must be up to 63 lower case letters, digits and '_'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """`master` is what Spark runs on; spark-submit decides it where it starts the pipeline."""

    master: str = ""
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where probes and Prometheus find the pipeline: /healthz and /metrics. 0 takes any free port."""

    port: int = NO_PORT
    host: str = "127.0.0.1"
    # Without a finished batch for longer than this, /healthz says so.
    stalled_after: Duration = TEN_MINUTES

    def problems(self) -> Iterator[str]:
        if not NO_PORT <= self.port <= 65535:
            yield f"port = {self.port} must be a port from 1 to 65535, or 0 for any free one"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorRules:
    """Which consumer groups are translated, and how topics are called on the other side."""

    groups: str = ".*"
    translate_groups: bool = True
    topic_prefix: str = ""
    # How often groups are translated and new topics are looked for.
    every_seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What each pipeline has."""

    run: Run
    spark: Spark = Spark()
    service: Service = Service()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform(_Settings):
    source: Source
    query: Query
    target: Target
    value: Value = Value()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror(_Settings):
    source: Source
    target: Target
    mirror: MirrorRules = MirrorRules()

    def problems(self) -> Iterator[str]:
        if self.target.topic:
            yield "target.topic: a mirror keeps the names of topics; use mirror.topic_prefix to tell them apart"
        if self.target.bootstrap_servers == self.source.bootstrap_servers and not self.mirror.topic_prefix:
            yield "source and target are the same cluster: records would be mirrored endlessly. Set mirror.topic_prefix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox(_Settings):
    """The slot of a pipeline is its own: what one reader has relayed, another one does not get any more."""

    outbox: OutboxSection
    target: Target

    def problems(self) -> Iterator[str]:
        if self.target.topic:
            yield "target.topic: events say where they go; set route.topic.replacement to change it"

    @property
    def slot(self) -> str:
        """Names of slots are narrower than those of pipelines: what is not possible becomes `_`."""
        return self.outbox.slot or re.sub(r"[^a-z0-9_]", "_", f"tidelog_{self.run.name.lower()}")[:63]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkDatabase(_Settings):
    source: Source
    database: TargetTable
    value: Value = Value()


Pipeline = Transform | Mirror | Outbox | SinkDatabase

PIPELINES: Mapping[str, type[Transform] | type[Mirror] | type[Outbox] | type[SinkDatabase]] = {
    "transform": Transform,
    "mirror": Mirror,
    "outbox": Outbox,
    "sink-db": SinkDatabase,
}
