"""The options of clients: Kafka's names, types, defaults and allowed values, as tables.

How options are read, and which of them cannot go together, is in `tidelog.client.config`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.config.definitions import (
    NOT_NEGATIVE,
    POSITIVE,
    Between,
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Constraint,
    NotEmpty,
    OneOf,
    Only,
    by_name,
)

LARGEST_INT = 2**31 - 1

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"

# What they do is in `tidelog.client.producer.partitioner`.
UNIFORM_STICKY = "uniform-sticky"
STICKY = "sticky"
ROUND_ROBIN = "round-robin"
HASH = "hash"
PARTITIONERS = (UNIFORM_STICKY, STICKY, ROUND_ROBIN, HASH)

# What Java's class names stand for here, so that people's files keep working. The second and third are gone in 4.0.
JAVA_PARTITIONERS = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": ROUND_ROBIN,
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": STICKY,
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": UNIFORM_STICKY,
}

# What Java's class names stand for here, so that people's files keep working.
JAVA_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
ASSIGNOR_NAMES = tuple(JAVA_ASSIGNORS.values())
CLASSIC = "classic"
CONSUMER = "consumer"


def _option(
    name: str,
    kind: ConfigType,
    default: ConfigValue,
    documentation: str,
    allowed: Constraint | None = None,
    *,
    required: bool = False,
) -> ConfigDefinition:
    return ConfigDefinition(
        name=name, type=kind, default=default, allowed=allowed, required=required, documentation=documentation
    )


_BOOLEAN = ConfigType.BOOLEAN
_INT = ConfigType.INT
_LONG = ConfigType.LONG
_STRING = ConfigType.STRING
_LIST = ConfigType.LIST

_PLAINTEXT = Only("PLAINTEXT", "TLS and SASL are not built into the client yet")
_ACKS = OneOf(("all", "-1", "0", "1"))
_CODECS = OneOf(("none", "gzip", "snappy", "lz4", "zstd"))
_ASSIGNORS = OneOf((*ASSIGNOR_NAMES, *JAVA_ASSIGNORS), may_be_empty=False)

_CLIENT = (
    _option("bootstrap.servers", _LIST, None, "Addresses of brokers to start from.", NotEmpty(), required=True),
    _option("client.id", _STRING, "tidelog", "The name of this client in the logs and metrics of brokers."),
    _option("request.timeout.ms", _INT, 30_000, "How long the client waits for the reply to a request.", POSITIVE),
    _option("default.api.timeout.ms", _INT, 60_000, "How long a call waits that has no timeout of its own.", POSITIVE),
    _option(
        "socket.connection.setup.timeout.ms", _LONG, 10_000, "How long the client waits for a connection.", POSITIVE
    ),
    _option("reconnect.backoff.ms", _LONG, 50, "The first wait before the client connects again.", NOT_NEGATIVE),
    _option("reconnect.backoff.max.ms", _LONG, 1_000, "The longest wait before it connects again.", NOT_NEGATIVE),
    _option("retry.backoff.ms", _LONG, 100, "The first wait before the client repeats a request.", NOT_NEGATIVE),
    _option("retry.backoff.max.ms", _LONG, 1_000, "The longest wait before it repeats a request.", NOT_NEGATIVE),
    _option("metadata.max.age.ms", _LONG, 300_000, "After how long the client refreshes its metadata.", POSITIVE),
    _option("security.protocol", _STRING, "PLAINTEXT", "The protocol of connections to brokers.", _PLAINTEXT),
)

_PRODUCER = (
    _option(
        "acks", _STRING, "all", "Which acknowledgement counts: all in-sync replicas, the leader (1), none (0).", _ACKS
    ),
    _option("batch.size", _INT, 16_384, "The size at which a batch is sent without waiting for more.", NOT_NEGATIVE),
    _option("buffer.memory", _LONG, 32 << 20, "How many bytes of records may wait to be sent.", POSITIVE),
    _option("compression.type", _STRING, "none", "The codec of batches.", _CODECS),
    _option("compression.gzip.level", _INT, -1, "The level of gzip; -1 is the codec's own.", Between(1, 9, (-1,))),
    _option("compression.lz4.level", _INT, 9, "The level of lz4.", Between(1, 17)),
    _option("compression.zstd.level", _INT, 3, "The level of zstd.", Between(-131_072, 22)),
    _option(
        "delivery.timeout.ms", _INT, 120_000, "How long a record may take from send to acknowledgement.", NOT_NEGATIVE
    ),
    _option("enable.idempotence", _BOOLEAN, True, "Whether retries store each record once and keep the order."),
    _option("linger.ms", _LONG, 5, "How long a batch waits for more records.", NOT_NEGATIVE),
    _option("max.block.ms", _LONG, 60_000, "How long send waits for metadata and for memory.", NOT_NEGATIVE),
    _option("max.in.flight.requests.per.connection", _INT, 5, "How many requests may wait for replies.", POSITIVE),
    _option("max.request.size", _INT, 1_048_576, "The size of the largest request.", POSITIVE),
    _option("partitioner", _STRING, UNIFORM_STICKY, "How records without a partition are spread.", OneOf(PARTITIONERS)),
    _option(
        "partitioner.class", _STRING, None, "The same by the names of Java classes.", OneOf(tuple(JAVA_PARTITIONERS))
    ),
    _option("partitioner.ignore.keys", _BOOLEAN, False, "Whether keys play no part in choosing the partition."),
    _option("retries", _INT, LARGEST_INT, "How often a batch is sent again, within delivery.timeout.ms.", NOT_NEGATIVE),
    _option("transaction.timeout.ms", _INT, 60_000, "After how long the broker aborts a transaction.", POSITIVE),
    _option("transaction.two.phase.commit.enable", _BOOLEAN, False, "Whether transactions can be prepared (KIP-939)."),
    _option("transactional.id", _STRING, None, "The identity of a transactional producer over restarts.", NotEmpty()),
)

_CONSUMER = (
    _option("allow.auto.create.topics", _BOOLEAN, True, "Whether asking for a topic may create it."),
    _option("auto.commit.interval.ms", _INT, 5_000, "How often offsets are committed automatically.", NOT_NEGATIVE),
    _option(
        "auto.offset.reset",
        _STRING,
        "latest",
        "Where to begin without a committed offset: earliest, latest, none (raise), or by_duration:<duration>.",
    ),
    _option("check.crcs", _BOOLEAN, True, "Whether the checksums of batches are verified."),
    _option("client.rack", _STRING, "", "The rack of this client; it may read from replicas there."),
    _option("enable.auto.commit", _BOOLEAN, True, "Whether offsets are committed automatically."),
    _option("exclude.internal.topics", _BOOLEAN, True, "Whether patterns match no internal topics."),
    _option("fetch.max.bytes", _INT, 50 << 20, "The most bytes that one fetch returns.", POSITIVE),
    _option("fetch.max.wait.ms", _INT, 500, "How long a fetch waits for fetch.min.bytes.", NOT_NEGATIVE),
    _option("fetch.min.bytes", _INT, 1, "How many bytes a fetch waits for.", NOT_NEGATIVE),
    _option("group.id", _STRING, None, "The consumer group.", NotEmpty()),
    _option("group.instance.id", _STRING, None, "The identity of a static member of the group.", NotEmpty()),
    _option("group.protocol", _STRING, CLASSIC, "The rebalance protocol.", OneOf((CLASSIC, CONSUMER))),
    _option("group.remote.assignor", _STRING, None, "The broker's assignor, with group.protocol=consumer.", NotEmpty()),
    _option("heartbeat.interval.ms", _INT, 3_000, "How often a classic member sends heartbeats.", POSITIVE),
    _option(
        "isolation.level",
        _STRING,
        READ_UNCOMMITTED,
        "Whether records of open and aborted transactions are returned.",
        OneOf((READ_UNCOMMITTED, READ_COMMITTED)),
    ),
    _option("max.partition.fetch.bytes", _INT, 1_048_576, "The most bytes of one partition in a fetch.", POSITIVE),
    _option(
        "max.poll.interval.ms", _INT, 300_000, "After how long without a poll a member leaves its group.", POSITIVE
    ),
    _option("max.poll.records", _INT, 500, "The most records that one poll returns.", POSITIVE),
    # The second is not used while the first is offered by all: a group can be moved to it one member after the other.
    _option(
        "partition.assignment.strategy",
        _LIST,
        ("range", "cooperative-sticky"),
        "The assignors of a classic group, by name or Java class; the first that all members have is used.",
        _ASSIGNORS,
    ),
    _option("session.timeout.ms", _INT, 45_000, "After how long without a heartbeat a member is removed.", POSITIVE),
)

CLIENT_OPTIONS: Mapping[str, ConfigDefinition] = by_name(_CLIENT)
PRODUCER_OPTIONS: Mapping[str, ConfigDefinition] = by_name((*_CLIENT, *_PRODUCER))
CONSUMER_OPTIONS: Mapping[str, ConfigDefinition] = by_name((*_CLIENT, *_CONSUMER))

# Options of Kafka's Java client that steer nothing here, and why. They are accepted, so that files written for it work;
# the client logs those that are set.
_OTHER_METRICS = "metrics() returns the client's metrics"
_IN_PYTHON = "keys and values are bytes, and Java classes cannot be loaded"
_ONE_BOOTSTRAP = "the client goes back to bootstrap.servers whenever no known broker answers"
_SYSTEM = "the operating system decides"
WITHOUT_EFFECT: Mapping[str, str] = {
    "auto.include.jmx.reporter": _OTHER_METRICS,
    "client.dns.lookup": "all addresses of a name are tried",
    "connections.max.idle.ms": "brokers close idle connections",
    "enable.metrics.push": _OTHER_METRICS,
    "interceptor.classes": _IN_PYTHON,
    "key.deserializer": _IN_PYTHON,
    "key.serializer": _IN_PYTHON,
    "metadata.max.idle.ms": "metadata of topics is kept while the client runs",
    "metadata.recovery.rebootstrap.trigger.ms": _ONE_BOOTSTRAP,
    "metadata.recovery.strategy": _ONE_BOOTSTRAP,
    "metric.reporters": _OTHER_METRICS,
    "metrics.num.samples": _OTHER_METRICS,
    "metrics.recording.level": _OTHER_METRICS,
    "metrics.sample.window.ms": _OTHER_METRICS,
    "partitioner.adaptive.partitioning.enable": "partitions are chosen regardless of how fast brokers answer",
    "partitioner.availability.timeout.ms": "partitions are chosen regardless of how fast brokers answer",
    "receive.buffer.bytes": _SYSTEM,
    "security.providers": _IN_PYTHON,
    "send.buffer.bytes": _SYSTEM,
    "socket.connection.setup.timeout.max.ms": "each attempt waits for socket.connection.setup.timeout.ms",
    "value.deserializer": _IN_PYTHON,
    "value.serializer": _IN_PYTHON,
}
