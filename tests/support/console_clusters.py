"""The clusters that the console is tested with: tidelog with one and with three nodes, and Apache Kafka.

What is in them is in `support.console_content`, consoles of them in `support.console_process`, and the fixtures in
`tests/console/conftest.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from support.apache_kafka import kafka_jars, running_apache_kafka
from support.cluster_processes import ClusterProcesses, running_cluster
from support.tidelog_process import running_tidelog


class ClusterKind(StrEnum):
    TIDELOG = "tidelog"
    APACHE_KAFKA = "Apache Kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """`processes` are those of three nodes, for tests that stop one and heal the cluster at their end."""

    name: str
    kind: ClusterKind
    bootstrap_servers: str
    processes: ClusterProcesses | None = None


# Internal topics of few partitions are made quickly; transactions may stay open for as long as all tests take; and the
# cleaner does not wait 15 s between two looks.
_ANY = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.max.timeout.ms": str(2 * 3_600_000),
    "log.cleaner.backoff.ms": "500",
}
# Those of tests that break a cluster are shorter: here a busy machine must not look like a broken cluster.
_CALM = {
    "broker.session.timeout.ms": "9000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "4000",
    "replica.lag.time.max.ms": "10000",
}


@contextmanager
def one_tidelog_node(directory: Path) -> Iterator[Cluster]:
    with running_tidelog(directory, _ANY) as broker:
        yield Cluster(name="one node", kind=ClusterKind.TIDELOG, bootstrap_servers=broker.bootstrap_servers)


@contextmanager
def three_tidelog_nodes(directory: Path) -> Iterator[Cluster]:
    with running_cluster(directory, {**_ANY, **_CALM}) as nodes:
        yield Cluster(
            name="three nodes",
            kind=ClusterKind.TIDELOG,
            bootstrap_servers=nodes.bootstrap_servers,
            processes=nodes,
        )


@contextmanager
def one_apache_node(directory: Path) -> Iterator[Cluster]:
    """Raises Unavailable without Java, Maven or a way to Maven Central."""
    with running_apache_kafka(kafka_jars(), directory, _ANY) as broker:
        yield Cluster(name="Apache Kafka", kind=ClusterKind.APACHE_KAFKA, bootstrap_servers=broker.bootstrap_servers)
