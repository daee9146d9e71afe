"""Scenario 34 with real processes: every node of a cluster gets a new disk, one after another, under load."""

from __future__ import annotations

import pytest
from support.acknowledged import SteadyProducer, check_nothing_lost, read_values
from support.cluster_processes import NUMBERS, ClusterProcesses, log_bytes
from support.processes import wait_until

from tidelog.client.admin import ElectionType

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


def test_every_disk_is_replaced_one_after_another_and_every_node_leads_again(
    cluster: ClusterProcesses, topic: str
) -> None:
    topics = {number: f"{topic}-{number}" for number in NUMBERS}
    for number, name in topics.items():
        cluster.create_topic(name, (number, *(each for each in NUMBERS if each != number)), min_insync_replicas="2")
    with SteadyProducer(cluster.bootstrap_servers, topics[1]) as producer:
        for number in NUMBERS:
            wanted = len(producer.acknowledged) + 50
            wait_for_records(producer, wanted)
            cluster.kill(number)
            cluster.replace_disk(number)
            cluster.heal()
        wait_for_records(producer, len(producer.acknowledged) + 50)
    assert not producer.failures
    # All disks are new ones, and everybody is a full member.
    cluster.ask(lambda admin: admin.elect_leaders(ElectionType.PREFERRED))
    for number, name in topics.items():
        cluster.wait_for(name, lambda partition, leader=number: partition.leader == leader, at=number)  # type: ignore[misc]
    check_nothing_lost(producer, read_values(cluster.bootstrap_servers, topics[1], at_least=producer.sent))
    wait_until(
        lambda: len({log_bytes(cluster.log_directory(number), topics[1]) for number in NUMBERS}) == 1,
        what="that all replicas are equal",
    )


def wait_for_records(producer: SteadyProducer, count: int) -> None:
    wait_until(lambda: len(producer.acknowledged) > count, what=f"{count} records")
