"""Apache Kafka's own classes, for the tests that compare with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.apache_kafka import kafka_jars
from support.authentication_verdicts import AuthenticationVerdicts, running_verdicts
from support.download_cache import Unavailable


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthenticationVerdicts]:
    """Answers about authentication, from one process of Java for each module."""
    try:
        jars = kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")
    with running_verdicts(jars, tmp_path_factory.mktemp("verdicts")) as verdicts:
        yield verdicts
