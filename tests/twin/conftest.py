"""The two sides of the twin: one node each, and three nodes each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from support.apache_kafka import kafka_jars, running_apache_kafka, running_apache_kafka_nodes
from support.cluster_processes import NUMBERS, running_cluster
from support.download_cache import Unavailable
from support.tidelog_process import running_tidelog
from twin.runner import Twin
from twin.side import Side
from twin.state import COORDINATOR_PARTITIONS, preparation

Addresses = Mapping[int, str]

# What both are started with: the coordinators decide at once, and are where the preparation puts them.
PROPERTIES = {
    "offsets.topic.num.partitions": str(COORDINATOR_PARTITIONS),
    "transaction.state.log.num.partitions": str(COORDINATOR_PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.assignment.interval.ms": "0",
}
# Everybody may do everything: what is compared is what there is, not who may see it.
GUARDED_PROPERTIES = {
    **PROPERTIES,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
REPLICATED = {
    **PROPERTIES,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
}


@pytest.fixture(scope="session")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_node(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Twin]:
    async with single_nodes(jars, tmp_path_factory, PROPERTIES) as twin:
        yield twin


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded_node(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Twin]:
    async with single_nodes(jars, tmp_path_factory, GUARDED_PROPERTIES) as twin:
        yield twin


@asynccontextmanager
async def single_nodes(
    jars: Path, directories: pytest.TempPathFactory, properties: Mapping[str, str]
) -> AsyncIterator[Twin]:
    with (
        running_tidelog(directories.mktemp("tidelog"), properties) as ours,
        running_apache_kafka(jars, directories.mktemp("apache-kafka"), properties) as theirs,
    ):
        async with prepared({1: ours.bootstrap_servers}, {1: theirs.bootstrap_servers}) as twin:
            yield twin


@pytest.fixture(scope="module")
def two_clusters(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Addresses, Addresses]]:
    with (
        running_apache_kafka_nodes(jars, tmp_path_factory.mktemp("apache-kafka"), REPLICATED) as theirs,
        running_cluster(tmp_path_factory.mktemp("tidelog"), REPLICATED) as ours,
    ):
        yield {number: ours.address(number) for number in NUMBERS}, theirs


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three_nodes(two_clusters: tuple[Addresses, Addresses]) -> AsyncIterator[Twin]:
    async with prepared(*two_clusters) as twin:
        yield twin


@asynccontextmanager
async def prepared(ours: Addresses, theirs: Addresses) -> AsyncIterator[Twin]:
    twin = Twin(Side("tidelog", _addresses(ours)), Side("Apache Kafka", _addresses(theirs)))
    try:
        for side in (twin.ours, twin.theirs):
            await side.open()
        await twin.run(preparation(list(ours)), 7)
        yield twin
    finally:
        for side in (twin.ours, twin.theirs):
            await side.close()


def _addresses(servers: Addresses) -> dict[int, tuple[str, int]]:
    split = {number: server.rpartition(":") for number, server in servers.items()}
    return {number: (host, int(port)) for number, (host, _, port) in split.items()}
