"""Client options: names, values, and what cannot go together."""

from __future__ import annotations

import re

import pytest

from tidelog.client.config import OptionValue, client_config, consumer_config, parse_address, producer_config
from tidelog.config.definitions import InvalidConfig
from tidelog.records.compression import Compression

SERVERS = {"bootstrap.servers": "127.0.0.1:9092"}


def test_dots_and_underscores_mean_the_same() -> None:
    with_dots = producer_config({**SERVERS, "linger.ms": 7, "compression.type": "zstd"})
    assert with_dots == producer_config(
        {"bootstrap_servers": ["127.0.0.1:9092"], "linger_ms": "7", "compression_type": "zstd"}
    )
    assert with_dots.linger_ms == 7
    assert with_dots.compression is Compression.ZSTD


def test_defaults_are_kafkas() -> None:
    config = producer_config(SERVERS)
    assert (config.acks, config.enable_idempotence, config.batch_size, config.linger_ms) == (-1, True, 16384, 5)
    assert config.max_in_flight_requests_per_connection == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"linger.m": 5}, "linger.m is not a property of producers; did you mean linger.ms?"),
        ({"acks": "2"}, "acks must be one of all, -1, 0, 1, but is 2"),
        ({"batch.size": "many"}, "batch.size must be a whole number, but is many"),
        ({"batch.size": -1}, "batch.size must be at least 0, but is -1"),
        ({"compression.type": "rar"}, "compression.type must be one of none, gzip, snappy, lz4, zstd, but is rar"),
        ({"linger.ms": 1, "linger_ms": 2}, "linger.ms is set twice"),
        ({"enable.idempotence": True, "acks": "1"}, "enable.idempotence=true needs acks=all, but acks=1"),
        ({"enable.idempotence": True, "acks": 0}, "enable.idempotence=true needs acks=all, but acks=0"),
        ({"enable.idempotence": True, "retries": 0}, "enable.idempotence=true needs retries above 0"),
        (
            {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6},
            "enable.idempotence=true allows at most 5 requests in flight, but max.in.flight.requests.per.connection=6",
        ),
        ({"batch.size": 2000, "buffer.memory": 1000}, "batch.size=2000 is larger than buffer.memory=1000"),
        (
            {"delivery.timeout.ms": 1000, "request.timeout.ms": 5000},
            "delivery.timeout.ms=1000 must be at least linger.ms + request.timeout.ms = 5 + 5000",
        ),
        ({"security.protocol": "TLS"}, "security.protocol must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"transactional.id": "t", "enable.idempotence": False}, "transactional.id='t' needs enable.idempotence=true"),
        ({"transactional.id": "t", "acks": 1}, "enable.idempotence=true needs acks=all, but acks=1"),
        ({"transactional.id": ""}, "transactional.id"),
        ({"max.request.size": 60}, "max.request.size=60 is too small for any record"),
        ({"batch.size": 0, "buffer.memory": 10}, "buffer.memory=10 is too small for any record"),
        (
            {"partitioner": "random"},
            "partitioner must be one of uniform-sticky, sticky, round-robin, hash, but is random",
        ),
        (
            {"partitioner": "hash", "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"},
            "partitioner and partitioner.class are two names of one setting",
        ),
        ({"partitioner": "hash", "partitioner.ignore.keys": True}, "cannot be combined with partitioner=hash"),
        ({"transaction.timeout.ms": 1000}, "transaction.timeout.ms has no effect without transactional.id"),
        (
            {"transactional.id": "t", "transaction.two.phase.commit.enable": True, "transaction.timeout.ms": 1000},
            "transaction.timeout.ms cannot be set together with transaction.two.phase.commit.enable=true",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(options: dict[str, OptionValue], said: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(said)):
        producer_config({**SERVERS, **options})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidConfig) as refused:
        producer_config({"acks": "x", "nonsense": 1})
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    "options", [{"acks": 1}, {"acks": 0}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}]
)
def test_idempotence_that_nobody_asked_for_gives_way(options: dict[str, OptionValue]) -> None:
    assert not producer_config({**SERVERS, **options}).enable_idempotence


def test_a_delivery_timeout_that_nobody_set_grows_with_the_others() -> None:
    assert producer_config({**SERVERS, "request.timeout.ms": 200_000}).delivery_timeout_ms == 200_005


def test_options_of_the_java_client_that_steer_nothing_are_accepted() -> None:
    consumer_config({**SERVERS, "interceptor.classes": "org.example.Any", "key.deserializer": "org.example.Any"})
    producer_config({**SERVERS, "key.serializer": "org.example.Any", "metric.reporters": ""})


def test_a_level_counts_only_for_its_codec_and_only_when_given() -> None:
    assert producer_config({**SERVERS, "compression.type": "zstd"}).compression_level is None
    asked = producer_config({**SERVERS, "compression.type": "zstd", "compression.zstd.level": 19})
    assert asked.compression_level == 19
    other = producer_config({**SERVERS, "compression.type": "gzip", "compression.zstd.level": 19})
    assert other.compression_level is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("kafka-1:29092", ("kafka-1", 29092)),
        ("localhost", ("localhost", 9092)),
        ("[::1]:9093", ("::1", 9093)),
        ("[fe80::1]", ("fe80::1", 9092)),
        (" 10.0.0.1:1 ", ("10.0.0.1", 1)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":9092", "host:", "host:port", "host:0", "host:65536", "http://host:9092", "::1"])
def test_what_is_not_an_address_is_named(text: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(f"{text!r} is not an address")):
        parse_address(text)


def test_servers_are_needed() -> None:
    with pytest.raises(InvalidConfig, match=r"bootstrap\.servers is missing"):
        client_config({})


def test_java_names_of_partitioners_are_understood() -> None:
    name = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    assert producer_config({**SERVERS, "partitioner.class": name}).partitioner == "round-robin"
    assert producer_config(SERVERS).partitioner == "uniform-sticky"
