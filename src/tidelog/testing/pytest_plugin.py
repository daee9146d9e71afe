"""The fixture `tidelog_broker`: a real broker for other people's tests, started in milliseconds.

    def test_orders_arrive(tidelog_broker):
        producer = confluent_kafka.Producer({"bootstrap.servers": tidelog_broker.bootstrap_servers})

Installed with tidelog, so nothing has to be imported. The broker runs on a thread of its own in a temporary
directory, serves one test, and is gone after it. `tidelog_session_broker` is shared by all tests of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker_thread import BrokerThread


@pytest.fixture
def tidelog_broker() -> Iterator[BrokerThread]:
    """A broker for this test alone."""
    # Imported here: a run that does not use the fixture does not pay for it.
    from tidelog.testing.broker_thread import BrokerThread

    with BrokerThread() as broker:
        yield broker


@pytest.fixture(scope="session")
def tidelog_session_broker() -> Iterator[BrokerThread]:
    """A broker for the whole run; tests must use topics of their own."""
    from tidelog.testing.broker_thread import BrokerThread

    with BrokerThread() as broker:
        yield broker
