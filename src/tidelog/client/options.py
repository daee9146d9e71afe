"""The options of clients: Kafka's names, types, defaults and allowed values, as fields of typed configurations.

How options are read, and which of them cannot go together, is in `tidelog.client.config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from tidelog.client.offset_reset import OffsetReset
from tidelog.client.security_options import SECURITY_WITHOUT_EFFECT, SecurityOptions
from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Between, NotEmpty, OneOf, by_name
from tidelog.config.fields import boolean, definitions_of, integer, long, section, string, words
from tidelog.config.listeners import SecurityProtocol
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_security import ClientSecurity
from tidelog.records.compression import Compression

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


Address = tuple[str, int]

_PLAINTEXT = ClientSecurity(protocol=SecurityProtocol.PLAINTEXT)
_ACKS = OneOf(("all", "-1", "0", "1"))
_CODECS = OneOf(("none", "gzip", "snappy", "lz4", "zstd"))
_ASSIGNORS = OneOf((*ASSIGNOR_NAMES, *JAVA_ASSIGNORS), may_be_empty=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What every client needs."""

    bootstrap_servers: tuple[Address, ...] = words(
        None, "Addresses of brokers to start from.", NotEmpty(), required=True
    )
    client_id: str = string("tidelog", "The name of this client in the logs and metrics of brokers.")
    request_timeout_ms: int = integer(30_000, "How long the client waits for the reply to a request.", POSITIVE)
    default_api_timeout_ms: int = integer(60_000, "How long a call waits that has no timeout of its own.", POSITIVE)
    socket_connection_setup_timeout_ms: int = long(10_000, "How long the client waits for a connection.", POSITIVE)
    reconnect_backoff_ms: int = long(50, "The first wait before the client connects again.", NOT_NEGATIVE)
    reconnect_backoff_max_ms: int = long(1_000, "The longest wait before it connects again.", NOT_NEGATIVE)
    retry_backoff_ms: int = long(100, "The first wait before the client repeats a request.", NOT_NEGATIVE)
    retry_backoff_max_ms: int = long(1_000, "The longest wait before it repeats a request.", NOT_NEGATIVE)
    metadata_max_age_ms: int = long(300_000, "After how long the client refreshes its metadata.", POSITIVE)
    # Read from the options for TLS and SASL.
    security: ClientSecurity = field(default=_PLAINTEXT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    acks: Literal[-1, 0, 1] = string(
        "all", "Which acknowledgement counts: all in-sync replicas, the leader (1), none (0).", _ACKS
    )
    batch_size: int = integer(16_384, "The size at which a batch is sent without waiting for more.", NOT_NEGATIVE)
    buffer_memory: int = long(32 << 20, "How many bytes of records may wait to be sent.", POSITIVE)
    delivery_timeout_ms: int = integer(
        120_000, "How long a record may take from send to acknowledgement.", NOT_NEGATIVE
    )
    enable_idempotence: bool = boolean(True, "Whether retries store each record once and keep the order.")
    linger_ms: int = long(5, "How long a batch waits for more records.", NOT_NEGATIVE)
    max_block_ms: int = long(60_000, "How long send waits for metadata and for memory.", NOT_NEGATIVE)
    max_in_flight_requests_per_connection: int = integer(5, "How many requests may wait for replies.", POSITIVE)
    max_request_size: int = integer(1_048_576, "The size of the largest request.", POSITIVE)
    partitioner: str = string(UNIFORM_STICKY, "How records without a partition are spread.", OneOf(PARTITIONERS))
    partitioner_ignore_keys: bool = boolean(False, "Whether keys play no part in choosing the partition.")
    retries: int = integer(LARGEST_INT, "How often a batch is sent again, within delivery.timeout.ms.", NOT_NEGATIVE)
    transaction_timeout_ms: int = integer(60_000, "After how long the broker aborts a transaction.", POSITIVE)
    transaction_two_phase_commit_enable: bool = boolean(False, "Whether transactions can be prepared (KIP-939).")
    transactional_id: str | None = string(None, "The identity of a transactional producer over restarts.", NotEmpty())
    # Read from options that are not fields.
    compression: Compression
    compression_level: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    allow_auto_create_topics: bool = boolean(True, "Whether asking for a topic may create it.")
    auto_commit_interval_ms: int = integer(5_000, "How often offsets are committed automatically.", NOT_NEGATIVE)
    check_crcs: bool = boolean(True, "Whether the checksums of batches are verified.")
    client_rack: str = string("", "The rack of this client; it may read from replicas there.")
    enable_auto_commit: bool = boolean(True, "Whether offsets are committed automatically.")
    exclude_internal_topics: bool = boolean(True, "Whether patterns match no internal topics.")
    fetch_max_bytes: int = integer(50 << 20, "The most bytes that one fetch returns.", POSITIVE)
    fetch_max_wait_ms: int = integer(500, "How long a fetch waits for fetch.min.bytes.", NOT_NEGATIVE)
    fetch_min_bytes: int = integer(1, "How many bytes a fetch waits for.", NOT_NEGATIVE)
    group_id: str | None = string(None, "The consumer group.", NotEmpty())
    group_instance_id: str | None = string(None, "The identity of a static member of the group.", NotEmpty())
    group_protocol: Literal["classic", "consumer"] = string(
        CLASSIC, "The rebalance protocol.", OneOf((CLASSIC, CONSUMER))
    )
    group_remote_assignor: str | None = string(None, "The broker's assignor, with group.protocol=consumer.", NotEmpty())
    heartbeat_interval_ms: int = integer(3_000, "How often a classic member sends heartbeats.", POSITIVE)
    max_partition_fetch_bytes: int = integer(1_048_576, "The most bytes of one partition in a fetch.", POSITIVE)
    max_poll_interval_ms: int = integer(300_000, "After how long without a poll a member leaves its group.", POSITIVE)
    max_poll_records: int = integer(500, "The most records that one poll returns.", POSITIVE)
    # The second is not used while the first is offered by all: a group can be moved to it one member after the other.
    partition_assignment_strategy: tuple[str, ...] = words(
        ("range", "cooperative-sticky"),
        "The assignors of a classic group, by name or Java class; the first that all members have is used.",
        _ASSIGNORS,
    )
    session_timeout_ms: int = integer(45_000, "After how long without a heartbeat a member is removed.", POSITIVE)
    # Read from options that are not fields.
    auto_offset_reset: OffsetReset
    read_committed: bool


@section
class _OtherProducerOptions(SecurityOptions):
    """Options that are not fields as they are: fields are read from them."""

    compression_type: str = string("none", "The codec of batches.", _CODECS)
    compression_gzip_level: int = integer(-1, "The level of gzip; -1 is the codec's own.", Between(1, 9, (-1,)))
    compression_lz4_level: int = integer(9, "The level of lz4.", Between(1, 17))
    compression_zstd_level: int = integer(3, "The level of zstd.", Between(-131_072, 22))
    partitioner_class: str | None = string(
        None, "The partitioner by the name of its Java class.", OneOf(tuple(JAVA_PARTITIONERS))
    )


@section
class _OtherConsumerOptions(SecurityOptions):
    auto_offset_reset: str = string(
        "latest",
        "Where to begin without a committed offset: earliest, latest, none (raise), or by_duration:<duration>.",
    )
    isolation_level: str = string(
        READ_UNCOMMITTED,
        "Whether records of open and aborted transactions are returned.",
        OneOf((READ_UNCOMMITTED, READ_COMMITTED)),
    )


CLIENT_OPTIONS = by_name((*definitions_of(ClientConfig), *definitions_of(SecurityOptions)))
PRODUCER_OPTIONS = by_name((*definitions_of(ProducerConfig), *definitions_of(_OtherProducerOptions)))
CONSUMER_OPTIONS = by_name((*definitions_of(ConsumerConfig), *definitions_of(_OtherConsumerOptions)))

# Options of Kafka's Java client that steer nothing here, and why. They are accepted, so that files written for it work;
# the client logs those that are set.
_OTHER_METRICS = "metrics() returns the client's metrics"
_IN_PYTHON = "keys and values are bytes, and Java classes cannot be loaded"
_ONE_BOOTSTRAP = "the client goes back to bootstrap.servers whenever no known broker answers"
_SYSTEM = "the operating system decides"
WITHOUT_EFFECT: Mapping[str, str] = {
    **SECURITY_WITHOUT_EFFECT,
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
