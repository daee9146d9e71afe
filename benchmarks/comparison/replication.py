"""Three nodes on one machine: bytes per second, transactions, and the pause after kill -9 of a leader."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient

from benchmarks.comparison import transactions
from benchmarks.comparison.contestants import NODES_IN_A_CLUSTER
from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import create_topic, produce
from benchmarks.comparison.scenario import Measured, Scenario, Turn
from benchmarks.comparison.throughput import TOUCHED_MEGABYTES
from benchmarks.fail_over import longest_silence

RECORDS = 200_000
RECORD = 1024
PARTITIONS = 3
TRANSACTION_SIZES = {1: 100, 100: 100}
# Two of three, what most clusters run with.
CONFIGS = {"min.insync.replicas": "2"}

_PRODUCE = Figure(name="produce, 3 nodes, replication factor 3", unit="MB/s", goal=1.5)
_CPU = Figure(name="CPU of 3 nodes per GB in", unit="s", more_is_better=False)
_PAUSE = Figure(name="pause after kill -9 of a leader, 3 nodes", unit="s", more_is_better=False)


def scenarios() -> Iterator[Scenario]:
    yield Scenario(
        name="replicated",
        figures=(_PRODUCE, _CPU),
        measure=_produce,
        nodes=NODES_IN_A_CLUSTER,
        touched_megabytes=TOUCHED_MEGABYTES,
    )
    title = f", {NODES_IN_A_CLUSTER} nodes"
    yield transactions.scenario(TRANSACTION_SIZES, nodes=NODES_IN_A_CLUSTER, title=title, quick=False)
    yield Scenario(name="fail-over", figures=(_PAUSE,), measure=_fail_over, nodes=0, warm_up_rounds=0)


def _produce(turn: Turn) -> Measured:
    count = turn.scaled(RECORDS)
    create_topic(turn.server, turn.label, partitions=PARTITIONS, configs=CONFIGS)
    spent = produce(turn.server, turn.label, size=RECORD, count=count)
    size = count * RECORD
    return {_PRODUCE.name: size / 1e6 / spent.seconds, _CPU.name: spent.cpu_seconds / (size / 1e9)}


def _fail_over(turn: Turn) -> Measured:
    """The longest time without an acknowledgement, of records that are sent every 20 ms."""
    with turn.contestant.running(nodes=NODES_IN_A_CLUSTER) as server:
        create_topic(server, "fail-over", configs=CONFIGS)
        admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
        leader = admin.list_topics("fail-over", timeout=30).topics["fail-over"].partitions[0].leader
        silence = longest_silence(server.bootstrap_servers, "fail-over", lambda: server.kill(leader))
    return {_PAUSE.name: silence}
