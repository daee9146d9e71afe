"""Which options the sink takes, and what it says about the others."""

from __future__ import annotations

import pytest

from tidelog.spark.sink.errors import InvalidSinkOptions
from tidelog.spark.sink.foreach_batch import exactly_once_batch
from tidelog.spark.sink.options import Atomicity, DeliveryGuarantee, MissingNote, sink_options

SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


def test_defaults_are_exactly_once_with_a_transaction_per_micro_batch() -> None:
    options = sink_options({**SERVERS, "topic": "orders"})

    assert options.topic == "orders"
    assert options.delivery is DeliveryGuarantee.EXACTLY_ONCE
    assert options.atomicity is Atomicity.BATCH
    assert options.missing_note is MissingNote.FAIL
    assert options.compression == "none"
    assert options.transaction_timeout_ms == 60_000
    assert options.client["bootstrap.servers"] == "127.0.0.1:9092"


def test_names_count_whatever_their_case_as_everywhere_in_spark() -> None:
    options = sink_options(
        {
            **SERVERS,
            "TOPIC": "orders",
            "checkpointlocation": "/checkpoints/q",
            "TransactionalIdPrefix": "shop",
            "missingMarker": "Publish",
            "Delivery": "at_least_once",
        }
    )

    assert options.checkpoint_location == "/checkpoints/q"
    assert options.transactional_id_prefix == "shop"
    assert options.missing_note is MissingNote.PUBLISH
    assert options.delivery is DeliveryGuarantee.AT_LEAST_ONCE


def test_options_of_clients_are_passed_through() -> None:
    options = sink_options(
        {**SERVERS, "kafka.transaction.timeout.ms": "120000", "kafka.batch.size": "1000", "kafka.client.id": "me"}
    )

    assert options.transaction_timeout_ms == 120_000
    assert options.batch_bytes == 1000
    assert options.client["client.id"] == "me"
    # An admin knows nothing of batches.
    assert "batch.size" not in options.connection()
    assert options.connection()["client.id"] == "me"


@pytest.mark.parametrize("given", [{"compression": "LZ4"}, {"kafka.compression.type": "lz4"}])
def test_compression_has_a_short_and_a_long_name(given: dict[str, str]) -> None:
    options = sink_options({**SERVERS, **given})

    assert options.compression == "lz4"
    assert options.client["compression.type"] == "lz4"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kafka.transactional.id": "x"}, "kafka.transactional.id cannot be set"),
        ({"kafka.key.serializer": "x"}, "kafka.key.serializer cannot be set"),
        ({"kafka.enable.idempotence": "false"}, "kafka.enable.idempotence cannot be set"),
        ({"kafka.acks": "1"}, "kafka.acks cannot be set"),
        ({"kafka.linger": "1"}, "did you mean linger.ms"),
        ({"kafka.batch.size": "many"}, "batch.size"),
        ({"atomicity": "row"}, "atomicity is batch or task"),
        ({"delivery": "maybe"}, "delivery is exactly_once or at_least_once"),
        ({"atomicity": "task", "delivery": "at_least_once"}, "atomicity=task"),
        ({"inlineBytes": "-1"}, "inlineBytes=-1"),
        ({"includeTimestamp": "yes"}, "includeTimestamp=yes"),
        ({"compression": "rar"}, "compression=rar"),
        ({"compression": "lz4", "kafka.compression.type": "gzip"}, "contradict each other"),
        ({"topik": "orders"}, "did you mean topic?"),
        ({"topic": "tidelog-spark-markers"}, "own note topic"),
        ({"transactionalIdPrefix": ""}, "must not be empty"),
    ],
)
def test_what_cannot_work_is_refused_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidSinkOptions) as refused:
        sink_options({**SERVERS, **given})

    assert problem in str(refused.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidSinkOptions) as refused:
        sink_options({"atomicity": "row", "kafka.acks": "1"})

    for part in ("atomicity", "kafka.acks", "bootstrap.servers is missing"):
        assert part in str(refused.value)


def test_function_for_foreach_batch_can_be_hashed() -> None:
    options = {**SERVERS, "topic": "orders"}

    assert len({exactly_once_batch(options), exactly_once_batch(options)}) == 2
