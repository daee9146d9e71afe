"""One JVM for all Spark tests: they run one after another in one worker, in one session, on loopback.

Tests that start drivers of their own may be in another group, which runs beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from support.class_archives import small_spark_jvm
from support.filled_topics import FilledTopics

from tidelog.spark.session.java import JavaMissing
from tidelog.spark.session.session import spark_session
from tidelog.testing.broker_thread import BrokerThread

# Small and quickly started: tests move thousands of rows, not millions.
_TEST_SETTINGS = {
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "ERROR",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Here and not when all are collected: by then xdist has looked at the groups already."""
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def state_of_this_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pipelines that tests start and kill leave nothing at the home of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    warehouse = tmp_path_factory.mktemp("warehouse")
    try:
        session = spark_session(
            "tidelog tests",
            master="local[2]",
            settings={
                **_TEST_SETTINGS,
                "spark.driver.extraJavaOptions": small_spark_jvm(),
                "spark.sql.warehouse.dir": str(warehouse),
            },
        )
    except JavaMissing as problem:
        pytest.skip(str(problem))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[BrokerThread]:
    """A broker for all Spark tests, which use topics of their own."""
    with BrokerThread() as running:
        yield running


@pytest.fixture(scope="session")
def two_phase_broker() -> Iterator[BrokerThread]:
    """One that lets transactions wait for a decision, which atomicity=prepared needs."""
    with BrokerThread(properties={"transaction.two.phase.commit.enable": "true"}) as running:
        yield running


@pytest.fixture(scope="session")
def topics(broker: BrokerThread) -> FilledTopics:
    return FilledTopics(broker.bootstrap_servers)
