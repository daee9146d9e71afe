"""atomicity=prepared on three nodes, one of which dies between each prepare and its decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cluster_processes import NUMBERS, ClusterProcesses
from support.prepared_query import PreparedQuery
from support.transaction_workload import read_committed

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(600)]

TOPIC = "prepared"
BATCHES = 2 * len(NUMBERS)


def test_what_was_prepared_is_there_once_whichever_node_dies_before_the_decision(tmp_path: Path) -> None:
    cluster = ClusterProcesses(tmp_path, {"transaction.two.phase.commit.enable": "true", "min.insync.replicas": "2"})
    try:
        cluster.start()
        cluster.heal()
        cluster.create_topic(TOPIC, NUMBERS, min_insync_replicas="2")
        query = PreparedQuery(cluster.bootstrap_servers, TOPIC, tmp_path / "checkpoint")
        for batch in range(BATCHES):
            prepared = query.tasks(batch, [f"{batch}-0"], [f"{batch}-1", f"{batch}-2"])
            killed = NUMBERS[batch % len(NUMBERS)]
            cluster.kill(killed)
            if batch == BATCHES - 1:
                # The driver dies as well. Its successor finds the transactions open, and nothing decided.
                query = PreparedQuery(cluster.bootstrap_servers, TOPIC, tmp_path / "checkpoint")
                prepared = query.tasks(batch, [f"{batch}-0", f"{batch}-1"], [f"{batch}-2"])
            query.commit(batch, prepared)
            cluster.heal()

        (values,) = read_committed(cluster.bootstrap_servers, TOPIC, 1)
        assert sorted(values) == [f"{batch}-{row}" for batch in range(BATCHES) for row in range(3)]
        assert query.open_transactions() == []
    finally:
        cluster.close()
