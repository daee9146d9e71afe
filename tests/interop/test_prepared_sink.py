"""atomicity=prepared on brokers without prepared transactions (KIP-939): refused before any row is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.apache_kafka import ApacheKafka, running_apache_kafka

from tidelog.spark.sink.errors import InvalidSinkOptions
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.prepared.sink import plan_prepared

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.slow]


@pytest.fixture(params=["false", "true"])
def kafka(jars: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ApacheKafka]:
    settings = {"transaction.two.phase.commit.enable": request.param}
    with running_apache_kafka(jars, tmp_path / "kafka", settings) as broker:
        yield broker


def test_apache_kafka_is_refused_with_what_to_do(kafka: ApacheKafka) -> None:
    options = sink_options(
        {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": "out", "atomicity": "prepared"}
    )
    with pytest.raises(InvalidSinkOptions, match="needs brokers with prepared transactions") as refused:
        run(plan_prepared(options, "query", batch=0))
    assert "Use atomicity=batch" in str(refused.value)
