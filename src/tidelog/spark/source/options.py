"""The options of the source: the names, defaults and rules of Spark's own Kafka connector. No I/O.

The options of the sink live with the sink. Spark gives names in lower case; people see them as the table here has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from tidelog.client.config import consumer_config
from tidelog.client.options import ConsumerConfig
from tidelog.config.definitions import InvalidConfig, nearest_name
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.spark.source.offsets import (
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Earliest,
    Latest,
    Place,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
)

T = TypeVar("T")
D = TypeVar("D", bound=int | None)

KAFKA_PREFIX = "kafka."
DEFAULT_GROUP_ID_PREFIX = "tidelog-spark-source"
DEFAULT_MAX_TRIGGER_DELAY_MS = 15 * 60 * 1000
DEFAULT_POLL_TIMEOUT_MS = 120_000
DEFAULT_FETCH_OFFSET_RETRIES = 3
DEFAULT_FETCH_OFFSET_RETRY_INTERVAL_MS = 1_000

_LARGEST_INT = 2**31 - 1
_LARGEST_LONG = 2**63 - 1

_SELECTIONS = ("subscribe", "subscribePattern", "assign")
_ENDINGS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")

SOURCE_OPTIONS = (
    *_SELECTIONS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    *_ENDINGS,
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)

# Options of Kafka's consumer that would do harm here, with what to do instead.
_REFUSED: Mapping[str, str] = {
    "auto.offset.reset": "Spark itself keeps the offsets of a query. Set startingOffsets to where a new one begins",
    "key.deserializer": "keys come as bytes. Decode them with DataFrame operations, such as CAST(key AS STRING)",
    "value.deserializer": "values come as bytes. Decode them with DataFrame operations, such as CAST(value AS STRING)",
    "enable.auto.commit": "Spark itself keeps the offsets of a query, in its checkpoint",
    "interceptor.classes": "interceptors could change records unseen. Use DataFrame operations",
}

# Where this source reads otherwise than a plain consumer would. A task reads one partition from one offset to another,
# so it wants much at once; and what is not committed is nobody's business unless it is asked for.
_DEFAULTS: Mapping[str, str] = {
    "isolation.level": "read_committed",
    "max.partition.fetch.bytes": str(4 * 1024 * 1024),
}

_UNITS_MS: Mapping[str, float] = {
    "us": 0.001,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTopics:
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPattern:
    """A regular expression that has to match the whole name."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    partitions: frozenset[TopicPartition]


Selection = NamedTopics | TopicPattern | Partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What was asked for, checked. Picklable: it travels to the workers."""

    # Options for the consumer, with Kafka's names; some are secret.
    consumer: Mapping[str, str] = field(repr=False)
    selection: Selection
    starting: Place
    # What to do where no record is as young as the time that was asked for.
    when_no_match: Literal["error", "latest"]
    ending: Place
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    poll_timeout_ms: int
    fetch_offset_retries: int
    fetch_offset_retry_interval_ms: int

    @property
    def consumer_config(self) -> ConsumerConfig:
        return consumer_config(self.consumer)


class InvalidSourceOptions(InvalidConfig):
    """Options that do not exist, have wrong values, or contradict each other."""

    def __str__(self) -> str:
        # In one line: Spark shows it among lines of its own.
        return "; ".join(self.problems)


def check_options(given: Mapping[str, str]) -> SourceOptions:
    """All that is wrong for batches and streams alike: at `load()` nobody knows yet which of them it will be."""
    return _OptionReading(given).finish(default_start=Latest())


def stream_options(given: Mapping[str, str]) -> SourceOptions:
    """For `readStream`. Raises InvalidSourceOptions with all problems at once."""
    reading = _OptionReading(given)
    for name in _ENDINGS:
        if reading.text(name) is not None:
            reading.problems.append(f"{name} is for batch reads: a streaming query has no end")
    return reading.finish(default_start=Latest())


def batch_options(given: Mapping[str, str]) -> SourceOptions:
    """For `read`. Raises InvalidSourceOptions with all problems at once."""
    reading = _OptionReading(given)
    options = reading.finish(default_start=Earliest())
    problems = _batch_problems(options)
    if problems:
        raise InvalidSourceOptions(*problems)
    return options


def parse_duration_ms(text: str) -> int:
    """`15m`, `500ms`, `10s`; a number alone is milliseconds. Raises ValueError."""
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or (found[2] or "ms") not in _UNITS_MS:
        raise ValueError("it is not a duration, such as 500ms, 10s, 15m or 1h")
    return int(int(found[1]) * _UNITS_MS[found[2] or "ms"])


def unknown_options(given: Iterable[str], known: Iterable[str], where: str) -> list[str]:
    """One sentence for each name in lower case that is not among the known ones, with the nearest of them."""
    by_lower = {name.lower(): name for name in known}
    problems = []
    for name in given:
        if name not in by_lower:
            nearest = nearest_name(name, by_lower)
            suggestion = f"; did you mean {by_lower[nearest]}?" if nearest is not None else ""
            problems.append(f"{name} is not an option of {where}{suggestion}")
    return problems


def _batch_problems(options: SourceOptions) -> list[str]:
    problems = []
    if isinstance(options.starting, Latest):
        problems.append("startingOffsets=latest: a batch read that begins at the end has nothing to read")
    if isinstance(options.ending, Earliest):
        problems.append("endingOffsets=earliest: a batch read that ends at the beginning has nothing to read")
    if isinstance(options.starting, AtOffsets):
        problems += [
            f"startingOffsets has -1 (latest) for partition {partition}: a batch read has nothing to read there"
            for partition, offset in options.starting.offsets.items()
            if offset == LATEST
        ]
    if isinstance(options.ending, AtOffsets):
        problems += [
            f"endingOffsets has -2 (earliest) for partition {partition}: a batch read has nothing to read there"
            for partition, offset in options.ending.offsets.items()
            if offset == EARLIEST
        ]
    match options.starting, options.ending:
        case (AtOffsets(offsets=start), AtOffsets(offsets=end)) | (
            AtTimestamps(timestamps=start),
            AtTimestamps(timestamps=end),
        ):
            problems += _order_problems(start, end)
        case (AtTimestamp(timestamp=first), AtTimestamp(timestamp=last)) if first > last:
            problems.append(f"startingTimestamp={first} is after endingTimestamp={last}")
        case _:
            pass
    return problems


def _order_problems(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[str]:
    if start.keys() != end.keys():
        named = ", ".join(str(partition) for partition in sorted(start.keys() ^ end.keys()))
        return [f"the start and the end must name the same partitions, but only one of them names {named}"]
    return [
        f"partition {partition} starts at {start[partition]}, which is after its end {end[partition]}"
        for partition in sorted(start)
        if start[partition] > end[partition] >= 0
    ]


class _OptionReading:
    """Options on their way to values; keeps all problems, so that they are reported together."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        self._given = {name.lower(): value for name, value in given.items()}

    def text(self, name: str) -> str | None:
        value = self._given.get(name.lower())
        return None if value is None else value.strip()

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.text(name)
        if value is None or value.lower() in ("true", "false"):
            return default if value is None else value.lower() == "true"
        self.problems.append(f"{name}={value} must be true or false")
        return default

    def integer(self, name: str, default: D, *, least: int = 1, largest: int = _LARGEST_LONG) -> int | D:
        value = self.text(name)
        if value is None:
            return default
        if re.fullmatch(r"[+-]?\d+", value) is None or not least <= int(value) <= largest:
            self.problems.append(f"{name}={value} must be a whole number from {least} to {largest}")
            return default
        return int(value)

    def finish(self, *, default_start: Place) -> SourceOptions:
        own = [name for name in self._given if not name.startswith(KAFKA_PREFIX)]
        self.problems += unknown_options(own, SOURCE_OPTIONS, "the tidelog source")
        lowest, highest = self.integer("minOffsetsPerTrigger", None), self.integer("maxOffsetsPerTrigger", None)
        if lowest is not None and highest is not None and lowest > highest:
            self.problems.append(
                f"minOffsetsPerTrigger={lowest} is higher than maxOffsetsPerTrigger={highest}: no batch could be both"
            )
        options = SourceOptions(
            consumer=self._consumer(),
            selection=self._selection(),
            starting=self._place("starting", default_start),
            when_no_match=self._when_no_match(),
            ending=self._place("ending", Latest()),
            max_offsets_per_trigger=highest,
            min_offsets_per_trigger=lowest,
            max_trigger_delay_ms=self._parsed("maxTriggerDelay", parse_duration_ms, DEFAULT_MAX_TRIGGER_DELAY_MS),
            min_partitions=self.integer("minPartitions", None, largest=_LARGEST_INT),
            max_records_per_partition=self.integer("maxRecordsPerPartition", None),
            fail_on_data_loss=self.boolean("failOnDataLoss", default=True),
            include_headers=self.boolean("includeHeaders", default=False),
            poll_timeout_ms=self.integer("kafkaConsumer.pollTimeoutMs", DEFAULT_POLL_TIMEOUT_MS),
            fetch_offset_retries=self.integer(
                "fetchOffset.numRetries", DEFAULT_FETCH_OFFSET_RETRIES, least=0, largest=_LARGEST_INT
            ),
            fetch_offset_retry_interval_ms=self.integer(
                "fetchOffset.retryIntervalMs", DEFAULT_FETCH_OFFSET_RETRY_INTERVAL_MS, least=0
            ),
        )
        if self.problems:
            raise InvalidSourceOptions(*self.problems)
        return options

    def _consumer(self) -> dict[str, str]:
        chosen = {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in self._given.items()
            if name.startswith(KAFKA_PREFIX)
        }
        refused = [name for name in _REFUSED if name in chosen]
        for name in refused:
            self.problems.append(f"{KAFKA_PREFIX}{name} is not supported: {_REFUSED[name]}")
            del chosen[name]
        if "bootstrap.servers" not in chosen:
            self.problems.append(
                f"{KAFKA_PREFIX}bootstrap.servers is missing: set it to the address of a broker, such as 127.0.0.1:9092"
            )
            return chosen
        prefix = self.text("groupIdPrefix") or DEFAULT_GROUP_ID_PREFIX
        options = {**_DEFAULTS, "client.id": chosen.get("group.id", prefix), **chosen}
        try:
            consumer_config(options)
        except InvalidConfig as error:
            self.problems += [f"{KAFKA_PREFIX}{problem}" for problem in error.problems]
        return options

    def _selection(self) -> Selection:
        chosen = [name for name in _SELECTIONS if self.text(name) is not None]
        if len(chosen) != 1:
            given = f"given are {' and '.join(chosen)}" if chosen else "none is given"
            self.problems.append(f"exactly one of {', '.join(_SELECTIONS)} must say what to read; {given}")
            return NamedTopics(names=frozenset())
        name = chosen[0]
        value = self.text(name) or ""
        if name == "assign":
            return Partitions(partitions=self._parsed(name, parse_partitions, frozenset()))
        if name == "subscribePattern":
            if not value:
                self.problems.append("subscribePattern is empty: no topic has such a name")
            try:
                re.compile(value)
            except re.error as error:
                self.problems.append(f"subscribePattern={value} is not a regular expression: {error}")
            return TopicPattern(pattern=value)
        names = frozenset(part.strip() for part in value.split(",") if part.strip())
        if not names:
            self.problems.append(f"subscribe={value} names no topic")
        return NamedTopics(names=names)

    def _place(self, which: Literal["starting", "ending"], default: Place) -> Place:
        """A time for all partitions counts more than times for each, and those more than offsets, as in Spark."""
        timestamp = self.integer(f"{which}Timestamp", None, least=0)
        if timestamp is not None:
            return AtTimestamp(timestamp=timestamp)
        name = f"{which}OffsetsByTimestamp"
        if self.text(name) is not None:
            return AtTimestamps(timestamps=self._parsed(name, parse_timestamps, {}))
        name = f"{which}Offsets"
        value = self.text(name)
        if value is None:
            return default
        match value.lower():
            case "earliest":
                return Earliest()
            case "latest":
                return Latest()
            case _:
                return AtOffsets(offsets=self._parsed(name, parse_offsets, {}))

    def _when_no_match(self) -> Literal["error", "latest"]:
        value = (self.text("startingOffsetsByTimestampStrategy") or "error").lower()
        if value == "latest":
            return "latest"
        if value != "error":
            self.problems.append(f"startingOffsetsByTimestampStrategy={value} must be error or latest")
        return "error"

    def _parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        value = self.text(name)
        if value is None:
            return default
        try:
            return parse(value)
        except ValueError as error:
            self.problems.append(f"{name}={value}: {error}")
            return default
