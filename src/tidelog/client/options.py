"""The options of clients: Kafka's names, types, defaults and allowed values, as tables.

How options are read, and which of them cannot go together, is in `tidelog.client.config`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.config.definitions import (
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
LARGEST_LONG = 2**63 - 1

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
    name: str, kind: ConfigType, default: ConfigValue, allowed: Constraint | None = None, *, required: bool = False
) -> ConfigDefinition:
    return ConfigDefinition(name=name, type=kind, default=default, allowed=allowed, required=required)


_BOOLEAN = ConfigType.BOOLEAN
_INT = ConfigType.INT
_LONG = ConfigType.LONG
_STRING = ConfigType.STRING
_LIST = ConfigType.LIST

_NOT_NEGATIVE = Between(0)
_POSITIVE = Between(1)

_CLIENT = (
    _option("bootstrap.servers", _LIST, None, NotEmpty(), required=True),
    _option("client.id", _STRING, "tidelog"),
    _option("request.timeout.ms", _INT, 30_000, _POSITIVE),
    _option("default.api.timeout.ms", _INT, 60_000, _POSITIVE),
    _option("socket.connection.setup.timeout.ms", _LONG, 10_000, _POSITIVE),
    _option("reconnect.backoff.ms", _LONG, 50, _NOT_NEGATIVE),
    _option("reconnect.backoff.max.ms", _LONG, 1_000, _NOT_NEGATIVE),
    _option("retry.backoff.ms", _LONG, 100, _NOT_NEGATIVE),
    _option("retry.backoff.max.ms", _LONG, 1_000, _NOT_NEGATIVE),
    _option("metadata.max.age.ms", _LONG, 300_000, _POSITIVE),
    _option(
        "security.protocol", _STRING, "PLAINTEXT", Only("PLAINTEXT", "TLS and SASL are not built into the client yet")
    ),
)

_PRODUCER = (
    _option("acks", _STRING, "all", OneOf(("all", "-1", "0", "1"))),
    _option("batch.size", _INT, 16_384, _NOT_NEGATIVE),
    _option("buffer.memory", _LONG, 32 * 1024 * 1024, _POSITIVE),
    _option("compression.type", _STRING, "none", OneOf(("none", "gzip", "snappy", "lz4", "zstd"))),
    _option("compression.gzip.level", _INT, -1, Between(1, 9, extra=(-1,))),
    _option("compression.lz4.level", _INT, 9, Between(1, 17)),
    _option("compression.zstd.level", _INT, 3, Between(-131_072, 22)),
    _option("delivery.timeout.ms", _INT, 120_000, _NOT_NEGATIVE),
    _option("enable.idempotence", _BOOLEAN, True),
    _option("linger.ms", _LONG, 5, _NOT_NEGATIVE),
    _option("max.block.ms", _LONG, 60_000, _NOT_NEGATIVE),
    _option("max.in.flight.requests.per.connection", _INT, 5, _POSITIVE),
    _option("max.request.size", _INT, 1_048_576, _POSITIVE),
    _option("partitioner", _STRING, UNIFORM_STICKY, OneOf(PARTITIONERS)),
    _option("partitioner.class", _STRING, None, OneOf(tuple(JAVA_PARTITIONERS))),
    _option("partitioner.ignore.keys", _BOOLEAN, False),
    _option("retries", _INT, LARGEST_INT, _NOT_NEGATIVE),
    _option("transaction.timeout.ms", _INT, 60_000, _POSITIVE),
    _option("transaction.two.phase.commit.enable", _BOOLEAN, False),
    _option("transactional.id", _STRING, None, NotEmpty()),
)

_CONSUMER = (
    _option("allow.auto.create.topics", _BOOLEAN, True),
    _option("auto.commit.interval.ms", _INT, 5_000, _NOT_NEGATIVE),
    _option("auto.offset.reset", _STRING, "latest"),
    _option("check.crcs", _BOOLEAN, True),
    _option("client.rack", _STRING, ""),
    _option("enable.auto.commit", _BOOLEAN, True),
    _option("exclude.internal.topics", _BOOLEAN, True),
    _option("fetch.max.bytes", _INT, 50 * 1024 * 1024, _POSITIVE),
    _option("fetch.max.wait.ms", _INT, 500, _NOT_NEGATIVE),
    _option("fetch.min.bytes", _INT, 1, _NOT_NEGATIVE),
    _option("group.id", _STRING, None, NotEmpty()),
    _option("group.instance.id", _STRING, None, NotEmpty()),
    _option("group.protocol", _STRING, CLASSIC, OneOf((CLASSIC, CONSUMER))),
    _option("group.remote.assignor", _STRING, None, NotEmpty()),
    _option("heartbeat.interval.ms", _INT, 3_000, _POSITIVE),
    _option("isolation.level", _STRING, READ_UNCOMMITTED, OneOf((READ_UNCOMMITTED, READ_COMMITTED))),
    _option("max.partition.fetch.bytes", _INT, 1_048_576, _POSITIVE),
    _option("max.poll.interval.ms", _INT, 300_000, _POSITIVE),
    _option("max.poll.records", _INT, 500, _POSITIVE),
    # The second is not used while the first is offered by all: a group can be moved to it one member after the other.
    _option(
        "partition.assignment.strategy",
        _LIST,
        ("range", "cooperative-sticky"),
        OneOf((*ASSIGNOR_NAMES, *JAVA_ASSIGNORS), may_be_empty=False),
    ),
    _option("session.timeout.ms", _INT, 45_000, _POSITIVE),
)

CLIENT_OPTIONS: Mapping[str, ConfigDefinition] = by_name(_CLIENT)
PRODUCER_OPTIONS: Mapping[str, ConfigDefinition] = by_name((*_CLIENT, *_PRODUCER))
CONSUMER_OPTIONS: Mapping[str, ConfigDefinition] = by_name((*_CLIENT, *_CONSUMER))

# Options of Kafka's Java client that steer nothing here. They are accepted, so that files written for it can be used.
WITHOUT_EFFECT = frozenset(
    {
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "metadata.max.idle.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "receive.buffer.bytes",
        "security.providers",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "value.deserializer",
        "value.serializer",
    }
)
