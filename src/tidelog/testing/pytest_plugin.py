"""The fixture `tidelog_broker`: a real broker for other people's tests, started in milliseconds.

    def test_orders_arrive(tidelog_broker):
        producer = confluent_kafka.Producer({"bootstrap.servers": tidelog_broker.bootstrap_servers})

    @pytest.mark.tidelog_broker(security="SASL_SSL", properties={"num.partitions": "3"})
    def test_with_tls_and_a_password(tidelog_broker):
        producer = confluent_kafka.Producer(tidelog_broker.librdkafka_options)

Installed with tidelog, so nothing has to be imported. The broker runs on a thread of its own in a temporary
directory, serves one test, and is gone after it. `tidelog_session_broker` is shared by all tests of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker_thread import BrokerThread


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tidelog_broker(security, properties): what the broker of the fixture tidelog_broker is: security is one of "
        "PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL, properties are those of Kafka's server.properties",
    )


@pytest.fixture
def tidelog_broker(request: pytest.FixtureRequest) -> Iterator[BrokerThread]:
    """A broker for this test alone; the mark `tidelog_broker` says what it has."""
    # Imported here: a run that does not use the fixture does not pay for it.
    from tidelog.testing.broker_thread import BrokerThread

    mark = request.node.get_closest_marker("tidelog_broker")
    if mark is not None and (mark.args or not set(mark.kwargs) <= {"security", "properties"}):
        raise pytest.UsageError(f"{mark.name} takes security=... and properties=..., not {mark.args} {mark.kwargs}")
    with BrokerThread(**({} if mark is None else mark.kwargs)) as broker:
        yield broker


@pytest.fixture(scope="session")
def tidelog_session_broker() -> Iterator[BrokerThread]:
    """A broker for the whole run; tests must use topics of their own."""
    from tidelog.testing.broker_thread import BrokerThread

    with BrokerThread() as broker:
        yield broker
