"""The options of the sink, checked before anything is written.

They have the names of Spark's own Kafka sink where it has them (`topic`, `kafka.*`), so that one word has to be
changed. What cannot work is refused by name; what is not known at all is taken for a slip of the pen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tidelog.client.config import options_of_any_client, producer_config
from tidelog.client.options import ProducerConfig
from tidelog.config.definitions import InvalidConfig, unknown_name_problem
from tidelog.model.topics import SPARK_NOTE_TOPIC
from tidelog.records.compression import COMPRESSION_NAMES
from tidelog.spark.sink.errors import InvalidSinkOptions

KAFKA_PREFIX = "kafka."

# Large enough that the cost of a batch does not matter, and well below message.max.bytes (1 MiB).
DEFAULT_BATCH_BYTES = 256 * 1024
# What a task hands to the driver through Spark itself; more goes through a file.
DEFAULT_INLINE_BYTES = 256 * 1024
DEFAULT_PREFIX = "tidelog-spark"

_MOST_PARTITIONS = 2**31 - 1

_Choice = TypeVar("_Choice", bound=StrEnum)
_Default = TypeVar("_Default", str, int, None)


class DeliveryGuarantee(StrEnum):
    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"


class Atomicity(StrEnum):
    BATCH = "batch"
    TASK = "task"
    PREPARED = "prepared"


class ChangedBatch(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class MissingNote(StrEnum):
    FAIL = "fail"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """`client` holds what was given as kafka.*, without that prefix; some of it is secret."""

    client: Mapping[str, str] = field(repr=False)
    batch_bytes: int
    max_record_bytes: int
    compression: str
    compression_level: int | None
    transaction_timeout_ms: int
    topic: str | None = None
    delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE
    atomicity: Atomicity = Atomicity.BATCH
    missing_note: MissingNote = MissingNote.FAIL
    changed_batch: ChangedBatch = ChangedBatch.FAIL
    transactional_id_prefix: str = DEFAULT_PREFIX
    note_topic: str = SPARK_NOTE_TOPIC
    job_id: str | None = None
    inline_bytes: int = DEFAULT_INLINE_BYTES
    staging_location: str | None = None
    checkpoint_location: str | None = None
    include_timestamp: bool = False
    # Whether topics that are missing are created: with so many partitions, or (None) as the broker does by itself.
    create_topics: bool = True
    topic_partitions: int | None = None

    def query_name(self, query_id: str) -> str:
        """The transactional id of a query, which is also the group of its notes."""
        return f"{self.transactional_id_prefix}-{query_id}"

    def without_transactions(self) -> dict[str, str]:
        return {name: value for name, value in self.client.items() if name != "transaction.timeout.ms"}

    def connection(self) -> dict[str, str]:
        """What every client needs, and only that: an admin or a look at metadata knows no producer's options."""
        return options_of_any_client(self.client)


@dataclass(slots=True)
class _Given:
    """Options as they are taken out one by one; what is left at the end was not known."""

    values: dict[str, str]
    problems: list[str] = field(default_factory=list)
    # Those that are known, as users write them. These two are taken out by other means.
    names: list[str] = field(default_factory=lambda: ["compression", "kafka.bootstrap.servers"])

    def text(self, name: str, default: _Default) -> str | _Default:
        self.names.append(name)
        return self.values.pop(name.lower(), default)

    def boolean(self, name: str) -> bool:
        given = self.text(name, "false")
        if given.lower() not in ("true", "false"):
            self.problems.append(f"{name}={given} must be true or false")
        return given.lower() == "true"

    def number(
        self, name: str, default: _Default, what: str, *, least: int = 0, most: float = math.inf
    ) -> int | _Default:
        given = self.text(name, None)
        if given is None:
            return default
        if not (given.isascii() and given.isdigit() and least <= int(given) <= most):
            self.problems.append(f"{name}={given} must be a number of {what}")
            return default
        return int(given)

    def choice(self, name: str, default: _Choice) -> _Choice:
        given, kind = self.text(name, default), type(default)
        try:
            return kind(given.lower())
        except ValueError:
            allowed = " or ".join(kind)
            self.problems.append(f"{name}={given} is not possible: {name} is {allowed}")
            return default


# With the reason that the user sees.
_REFUSED = {
    "acks": "exactly once needs acks=all, which is what the sink uses",
    "enable.idempotence": "the sink always sends idempotently",
    "interceptor.classes": "the sink's client is not written in Java",
    "key.serializer": "rows hold their keys as bytes or text already",
    "max.in.flight.requests.per.connection": "the sink always keeps the order",
    "partitioner.class": "name the partition in a column `partition`, or give rows a key",
    "retries": "the sink repeats what is safe to repeat, up to delivery.timeout.ms",
    "transactional.id": "it is derived from the option transactionalIdPrefix and the query's id",
    "transaction.two.phase.commit.enable": "the sink commits its transactions itself",
    "value.serializer": "rows hold their values as bytes or text already",
}

# What Spark or the user may give to any sink.
_NOT_OURS = frozenset({"path", "queryname", "outputmode"})


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """All options, or InvalidSinkOptions with all problems at once."""
    given = _Given(values={name.lower(): value for name, value in options.items() if name.lower() not in _NOT_OURS})
    client = _client_options(given)
    settings, client_problems = _producer_settings(client)
    chosen = SinkOptions(
        client=client,
        batch_bytes=min(max(settings.batch_size, 1), settings.max_request_size),
        max_record_bytes=settings.max_request_size,
        compression=settings.compression.name.lower(),
        compression_level=settings.compression_level,
        transaction_timeout_ms=settings.transaction_timeout_ms,
        topic=given.text("topic", None),
        delivery=given.choice("delivery", DeliveryGuarantee.EXACTLY_ONCE),
        atomicity=given.choice("atomicity", Atomicity.BATCH),
        missing_note=given.choice("missingMarker", MissingNote.FAIL),
        changed_batch=given.choice("changedBatch", ChangedBatch.FAIL),
        transactional_id_prefix=given.text("transactionalIdPrefix", DEFAULT_PREFIX),
        note_topic=given.text("markerTopic", SPARK_NOTE_TOPIC),
        job_id=given.text("jobId", None),
        inline_bytes=given.number("inlineBytes", DEFAULT_INLINE_BYTES, "bytes"),
        staging_location=given.text("stagingLocation", None),
        checkpoint_location=given.text("checkpointLocation", None),
        include_timestamp=given.boolean("includeTimestamp"),
        topic_partitions=given.number(
            "topicPartitions", None, "partitions, at least 1", least=1, most=_MOST_PARTITIONS
        ),
    )
    if chosen.delivery is DeliveryGuarantee.AT_LEAST_ONCE and chosen.atomicity is not Atomicity.BATCH:
        given.problems.append(
            f"atomicity={chosen.atomicity} is a kind of exactly once: leave out delivery=at_least_once, or atomicity"
        )
    if "" in (chosen.topic, chosen.transactional_id_prefix, chosen.note_topic, chosen.job_id):
        given.problems.append("topic, transactionalIdPrefix, markerTopic and jobId must not be empty")
    if chosen.topic == chosen.note_topic:
        given.problems.append(f"topic={chosen.topic} is the sink's own note topic")
    given.problems.extend(unknown_name_problem("the sink", name, given.names) for name in given.values)
    given.problems.extend(client_problems)
    if given.problems:
        raise InvalidSinkOptions("; ".join(given.problems))
    return chosen


def _producer_settings(client: Mapping[str, str]) -> tuple[ProducerConfig, list[str]]:
    """As they will be used; where that cannot be, what is wrong with them, and some that let the rest be checked."""
    try:
        # Which id it is does not matter here.
        return producer_config({**client, "transactional.id": DEFAULT_PREFIX}), []
    except InvalidConfig as error:
        return producer_config({"bootstrap.servers": "unused:9092"}), [
            f"{KAFKA_PREFIX}{problem}" for problem in error.problems
        ]


def _client_options(given: _Given) -> dict[str, str]:
    names = [name for name in given.values if name.startswith(KAFKA_PREFIX)]
    client = {name.removeprefix(KAFKA_PREFIX): given.values.pop(name) for name in names}
    for name in sorted(client.keys() & _REFUSED.keys()):
        given.problems.append(f"{KAFKA_PREFIX}{name} cannot be set: {_REFUSED[name]}")
        del client[name]
    compression = given.values.pop("compression", None)
    if compression is not None:
        if compression.lower() not in COMPRESSION_NAMES:
            given.problems.append(f"compression={compression} is not one of {', '.join(COMPRESSION_NAMES)}")
        elif client.get("compression.type", compression.lower()) != compression.lower():
            given.problems.append("compression and kafka.compression.type contradict each other")
        else:
            client["compression.type"] = compression.lower()
    client.setdefault("batch.size", str(DEFAULT_BATCH_BYTES))
    client.setdefault("client.id", "tidelog-spark")
    return client
