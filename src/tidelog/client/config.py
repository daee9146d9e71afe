"""The configuration of producers, consumers and admins: what users give, checked and typed.

Options have Kafka's names, with dots (`{"linger.ms": 5}`) or with underscores (`linger_ms=5`). An unknown name, a wrong
value, or values that cannot work together raise InvalidConfig before anything is sent. The options themselves are
listed in `tidelog.client.options`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from tidelog.client.offset_reset import parse_offset_reset
from tidelog.client.options import (
    CLIENT_OPTIONS,
    CONSUMER,
    CONSUMER_OPTIONS,
    HASH,
    JAVA_ASSIGNORS,
    JAVA_PARTITIONERS,
    PRODUCER_OPTIONS,
    READ_COMMITTED,
    WITHOUT_EFFECT,
    Address,
    ClientConfig,
    ConsumerConfig,
    ProducerConfig,
)
from tidelog.client.security_options import ALIASES, REFUSED, SECURITY_OPTIONS, read_security
from tidelog.config.definitions import ConfigDefinition, InvalidConfig, unknown_name_problem
from tidelog.network.tokens import TokenProvider
from tidelog.records.batch import HEADER_SIZE
from tidelog.records.compression import Compression
from tidelog.records.record import SMALLEST_RECORD
from tidelog.security.client_login import TOKEN_PROVIDER

logger = logging.getLogger(__name__)

DEFAULT_PORT = 9092
MAX_IN_FLIGHT_IDEMPOTENT = 5
# The header of a batch, and a record without key and value.
SMALLEST_BATCH = HEADER_SIZE + SMALLEST_RECORD

V = TypeVar("V")

_OF_SOME_CLIENTS = (PRODUCER_OPTIONS.keys() | CONSUMER_OPTIONS.keys()) - CLIENT_OPTIONS.keys()

OptionValue = str | int | float | bool | Iterable[str] | TokenProvider | None
Options = Mapping[str, OptionValue]


def given_options(bootstrap_servers: OptionValue, config: Options | None, options: Options) -> dict[str, OptionValue]:
    """All that a client was created with, in one mapping."""
    servers = {} if bootstrap_servers is None else {"bootstrap.servers": bootstrap_servers}
    return {**(config or {}), **options, **servers}


def options_of_any_client(options: Mapping[str, V]) -> dict[str, V]:
    """Without those that only producers or consumers have: for an admin with the options of one of these."""
    return {name: value for name, value in options.items() if name.replace("_", ".") not in _OF_SOME_CLIENTS}


def client_config(options: Options) -> ClientConfig:
    """For `Admin`, and for whoever only needs to find the cluster."""
    values, _ = _read("clients", CLIENT_OPTIONS, options)
    return ClientConfig(**values)


def producer_config(options: Options) -> ProducerConfig:
    values, given = _read("producers", PRODUCER_OPTIONS, options)
    values["acks"] = -1 if values["acks"] in ("all", "-1") else int(values["acks"])
    values["compression"] = Compression[values.pop("compression_type").upper()]
    levels = {codec: values.pop(f"compression_{codec.name.lower()}_level") for codec in _LEVELLED}
    # Only a level that was asked for is passed on: -1 and the defaults mean "what the codec does by itself".
    chosen = values["compression"]
    asked = chosen in levels and f"compression.{chosen.name.lower()}.level" in given and levels[chosen] != -1
    values["compression_level"] = levels[chosen] if asked else None
    _choose_partitioner(values, given)
    _check_idempotence(values, given)
    _check_transactions(values, given)
    _check_sizes_and_times(values, given)
    return ProducerConfig(**values)


def consumer_config(options: Options) -> ConsumerConfig:
    values, given = _read("consumers", CONSUMER_OPTIONS, options)
    values["read_committed"] = values.pop("isolation_level") == READ_COMMITTED
    strategies = (JAVA_ASSIGNORS.get(name, name) for name in values["partition_assignment_strategy"])
    values["partition_assignment_strategy"] = tuple(dict.fromkeys(strategies))
    problems = _group_problems(values, given)
    try:
        values["auto_offset_reset"] = parse_offset_reset(values["auto_offset_reset"])
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise InvalidConfig(*problems)
    values["enable_auto_commit"] = values["enable_auto_commit"] and values["group_id"] is not None
    return ConsumerConfig(**values)


def _group_problems(values: dict[str, Any], given: frozenset[str]) -> list[str]:
    problems = []
    if values["group_id"] is None:
        if "enable.auto.commit" in given and values["enable_auto_commit"]:
            problems.append(
                "enable.auto.commit=true needs a group.id: offsets are committed for a group, and none is set"
            )
        for name in ("group.instance.id", "group.remote.assignor"):
            if name in given:
                problems.append(f"{name} has no effect without group.id: it concerns members of a group")
    if values["group_protocol"] == CONSUMER:
        # The broker decides about these, for the group as a whole (KIP-848).
        for name, instead in _DECIDED_BY_BROKER.items():
            if name in given:
                problems.append(
                    f"{name} cannot be set with group.protocol=consumer, where the broker decides: {instead}"
                )
    else:
        if "group.remote.assignor" in given:
            problems.append(
                "group.remote.assignor needs group.protocol=consumer: members of a classic group divide the partitions "
                "themselves, as partition.assignment.strategy says"
            )
        if values["heartbeat_interval_ms"] >= values["session_timeout_ms"]:
            problems.append(
                f"heartbeat.interval.ms={values['heartbeat_interval_ms']} must be less than session.timeout.ms="
                f"{values['session_timeout_ms']}: the member would be removed between two heartbeats"
            )
    return problems


_DECIDED_BY_BROKER = {
    "heartbeat.interval.ms": "use the group's consumer.heartbeat.interval.ms",
    "partition.assignment.strategy": "use group.remote.assignor",
    "session.timeout.ms": "use the group's consumer.session.timeout.ms",
}


_LEVELLED = (Compression.GZIP, Compression.LZ4, Compression.ZSTD)


def _choose_partitioner(values: dict[str, Any], given: frozenset[str]) -> None:
    java_class = values.pop("partitioner_class")
    if java_class is not None:
        if "partitioner" in given:
            raise InvalidConfig("partitioner and partitioner.class are two names of one setting: set only one of them")
        values["partitioner"] = JAVA_PARTITIONERS[java_class]
    if values["partitioner"] == HASH and values["partitioner_ignore_keys"]:
        raise InvalidConfig(
            "partitioner.ignore.keys=true cannot be combined with partitioner=hash, which uses keys. Remove one of them"
        )


def _check_idempotence(values: dict[str, Any], given: frozenset[str]) -> None:
    """Idempotence is on by default. Options that rule it out switch it off, unless it was asked for by name."""
    conflicts = []
    if values["acks"] != -1:
        conflicts.append(
            f"enable.idempotence=true needs acks=all, but acks={values['acks']}: an acknowledgement that does not wait "
            "for all in-sync replicas cannot promise that a record is stored exactly once. Set acks=all, or "
            "enable.idempotence=false"
        )
    if values["retries"] == 0:
        conflicts.append(
            "enable.idempotence=true needs retries above 0, but retries=0: a record whose acknowledgement got lost "
            "could not be sent again. Remove retries, or set enable.idempotence=false"
        )
    in_flight = values["max_in_flight_requests_per_connection"]
    if in_flight > MAX_IN_FLIGHT_IDEMPOTENT:
        conflicts.append(
            f"enable.idempotence=true allows at most {MAX_IN_FLIGHT_IDEMPOTENT} requests in flight, but "
            f"max.in.flight.requests.per.connection={in_flight}: a broker remembers the last "
            f"{MAX_IN_FLIGHT_IDEMPOTENT} batches of a producer. Lower it, or set enable.idempotence=false"
        )
    if not conflicts or not values["enable_idempotence"]:
        return
    if "enable.idempotence" in given or values["transactional_id"] is not None:
        raise InvalidConfig(*conflicts)
    values["enable_idempotence"] = False


def _check_transactions(values: dict[str, Any], given: frozenset[str]) -> None:
    transactional_id = values["transactional_id"]
    two_phase = values["transaction_two_phase_commit_enable"]
    problems = []
    if transactional_id is not None and not values["enable_idempotence"]:
        problems.append(
            f"transactional.id={transactional_id!r} needs enable.idempotence=true: a record that is stored twice would "
            "be committed twice. Remove enable.idempotence"
        )
    if transactional_id is None:
        names = ("transaction.timeout.ms", "transaction.two.phase.commit.enable")
        problems += [f"{name} has no effect without transactional.id" for name in names if name in given]
    elif two_phase and "transaction.timeout.ms" in given:
        problems.append(
            "transaction.timeout.ms cannot be set together with transaction.two.phase.commit.enable=true: a prepared "
            "transaction waits for its decision as long as it takes (KIP-939). Remove transaction.timeout.ms"
        )
    if problems:
        raise InvalidConfig(*problems)


def _check_sizes_and_times(values: dict[str, Any], given: frozenset[str]) -> None:
    problems = []
    for name in ("max_request_size", "buffer_memory"):
        if values[name] < SMALLEST_BATCH:
            problems.append(
                f"{name.replace('_', '.')}={values[name]} is too small for any record: a batch with one empty record "
                f"takes {SMALLEST_BATCH} bytes"
            )
    if values["batch_size"] > values["buffer_memory"]:
        problems.append(
            f"batch.size={values['batch_size']} is larger than buffer.memory={values['buffer_memory']}: not even one "
            "batch would fit into the buffer"
        )
    least = min(values["linger_ms"] + values["request_timeout_ms"], 2**31 - 1)
    if values["delivery_timeout_ms"] < least:
        if "delivery.timeout.ms" in given:
            problems.append(
                f"delivery.timeout.ms={values['delivery_timeout_ms']} must be at least linger.ms + request.timeout.ms "
                f"= {values['linger_ms']} + {values['request_timeout_ms']}: a record would expire before its first "
                "request does"
            )
        values["delivery_timeout_ms"] = least
    if problems:
        raise InvalidConfig(*problems)


def _read(
    kind: str, definitions: Mapping[str, ConfigDefinition], options: Options
) -> tuple[dict[str, Any], frozenset[str]]:
    """(values by name with underscores, the names with dots that were given). All problems are reported at once."""
    problems: list[str] = []
    given: dict[str, str] = {}
    provider: TokenProvider | None = None
    for name, value in options.items():
        canonical = name.replace("_", ".")
        canonical = ALIASES.get(canonical, canonical)
        if value is None:
            continue
        if canonical in WITHOUT_EFFECT:
            logger.info("%s has no effect: %s", canonical, WITHOUT_EFFECT[canonical])
            continue
        if canonical in REFUSED:
            problems.append(f"{canonical} is not supported: {REFUSED[canonical]}")
        elif canonical not in definitions:
            problems.append(unknown_name_problem(kind, canonical, definitions))
        elif canonical in given:
            problems.append(f"{canonical} is set twice, with dots and with underscores")
        elif callable(value):
            if canonical == TOKEN_PROVIDER:
                provider = value
            else:
                problems.append(f"{canonical} cannot be a function")
        else:
            given[canonical] = _as_text(value)
    values: dict[str, Any] = {}
    for name, definition in definitions.items():
        try:
            value_of = definition.parse(given[name]) if name in given else definition.default
            if name not in SECURITY_OPTIONS:
                values[name.replace(".", "_")] = value_of
        except InvalidConfig as error:
            problems.extend(error.problems)
    if "bootstrap.servers" not in given:
        problems.append("bootstrap.servers is missing: set it to the address of a broker, such as 127.0.0.1:9092")
    if not problems:
        # It needs values that can be read.
        try:
            values["security"] = read_security(given, provider)
        except InvalidConfig as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidConfig(*problems)
    values["bootstrap_servers"] = tuple(parse_address(text) for text in values["bootstrap_servers"])
    return values, frozenset(given)


def _as_text(value: OptionValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    assert value is not None
    assert not callable(value)
    return ",".join(str(part) for part in value)


def parse_address(text: str) -> Address:
    """`host:port`, `host` alone (port 9092), or an IPv6 address in brackets."""
    problem = f"bootstrap.servers: {text!r} is not an address; use host:port, such as 127.0.0.1:9092"
    host, colon, port = text.strip().rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text.strip(), str(DEFAULT_PORT)
    if "://" in text or not host or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise InvalidConfig(problem)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise InvalidConfig(problem)
    return host.strip("[]"), int(port)
