"""Brokers for the client's tests: a tidelog broker, a cluster of three, and Apache Kafka where its jars can be had.

A test that takes `bootstrap_servers` (or `servers`, which is the same) runs against all of them in turn. Each is
started once in a run; `TIDELOG_CLIENT_TEST_SERVERS=host:port` runs the tests against a cluster that is already there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.apache_kafka import ApacheKafka, kafka_jars, running_apache_kafka
from support.cluster_processes import ClusterProcesses, running_cluster
from support.download_cache import Unavailable
from support.tidelog_process import TidelogBroker, running_tidelog

from tidelog.client.admin import Admin

_GIVEN_SERVERS = os.environ.get("TIDELOG_CLIENT_TEST_SERVERS")
_ON_JVM = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]
_ON_CLUSTER = [pytest.mark.xdist_group("client-cluster")]
# Members of groups of the new protocol hear of changes with their heartbeats, every five seconds by default.
QUICK_HEARTBEATS = {
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
}
_numbers = itertools.count()


def _targets() -> list[object]:
    if _GIVEN_SERVERS:
        return [pytest.param("given", id="given")]
    # A single broker starts so quickly that each worker may have its own.
    return [
        pytest.param("tidelog", id="tidelog"),
        pytest.param("cluster", id="cluster", marks=_ON_CLUSTER),
        pytest.param("apache", id="apache", marks=_ON_JVM),
    ]


@pytest.fixture(scope="session")
def tidelog_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("tidelog"), QUICK_HEARTBEATS) as broker:
        yield broker


@pytest.fixture(scope="session")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    """Whoever kills a node of it heals it."""
    with running_cluster(tmp_path_factory.mktemp("three-nodes"), QUICK_HEARTBEATS) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


@pytest.fixture(scope="session")
def apache_kafka(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    # It looks for transactions whose time is up every ten seconds only.
    quick = {**QUICK_HEARTBEATS, "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    with running_apache_kafka(jars, tmp_path_factory.mktemp("apache-kafka"), quick) as broker:
        yield broker


@pytest.fixture(scope="session", params=_targets())
def bootstrap_servers(request: pytest.FixtureRequest) -> str:
    """bootstrap.servers of each kind of cluster in turn."""
    match request.param:
        case "given":
            assert _GIVEN_SERVERS is not None
            return _GIVEN_SERVERS
        case "tidelog":
            return str(request.getfixturevalue("tidelog_process").bootstrap_servers)
        case "cluster":
            return str(request.getfixturevalue("three_nodes").bootstrap_servers)
        case _:
            return str(request.getfixturevalue("apache_kafka").bootstrap_servers)


@pytest.fixture(scope="session")
def servers(bootstrap_servers: str) -> str:
    return bootstrap_servers


@pytest.fixture
def unique() -> str:
    """A name for a topic or a group that no other test uses."""
    return f"client-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
async def admin(servers: str) -> AsyncIterator[Admin]:
    async with Admin(servers) as an_admin:
        yield an_admin
