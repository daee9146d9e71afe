"""What needs attention, in words: numbers that fit, few names, and links to what shows more."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tidelog.client.admin import ClusterDescription, QuorumInfo, TransactionListing
from tidelog.client.admin.nodes import NodeDescription
from tidelog.client.admin.quorum import QuorumReplicaInfo
from tidelog.client.cluster.metadata import BrokerAddress, ClusterMetadata, PartitionMetadata, TopicMetadata
from tidelog.client.errors import ApiTimeout
from tidelog.console.findings import attention

NOW_MS = 1_000_000


def metadata(*partitions: tuple[str, int, tuple[int, ...], tuple[int, ...]]) -> ClusterMetadata:
    """Topic, leader, replicas and in-sync replicas of each; brokers 1 and 2 are there."""
    topics: dict[str, list[PartitionMetadata]] = {}
    for topic, leader, replicas, in_sync in partitions:
        found = topics.setdefault(topic, [])
        found.append(
            PartitionMetadata(
                partition=len(found), leader=leader, leader_epoch=0, replicas=replicas, in_sync=in_sync, offline=()
            )
        )
    return ClusterMetadata(
        brokers={number: BrokerAddress(node_id=number, host="h", port=1) for number in (1, 2)},
        topics={
            name: TopicMetadata(name=name, topic_id=b"", internal=False, partitions=tuple(each))  # type: ignore[arg-type]
            for name, each in topics.items()
        },
    )


def texts(found: Any) -> list[tuple[str, str, str]]:
    return [(each.severity.value, each.text, each.link) for each in found]


def test_partitions_that_are_well_need_none() -> None:
    assert texts(attention.of_partitions(metadata(("a", 1, (1, 2), (2, 1)), ("a", 2, (2,), (2,))))) == []


def test_partitions_without_leader_or_copies() -> None:
    found = attention.of_partitions(
        metadata(("a", -1, (1, 2), (1,)), ("a", 7, (7,), (7,)), ("b", 1, (1, 2), (1,)), ("b", 1, (1, 2), (1, 2)))
    )
    assert texts(found) == [
        (
            "broken",
            "2 partitions have no leader, so nobody can write or read: a-0, a-1.",
            "/topics?show=offline",
        ),
        (
            "at risk",
            "1 partition is under-replicated, not all replicas are in sync: b-0.",
            "/topics?show=under-replicated",
        ),
    ]


def test_many_names_are_counted() -> None:
    (found,) = attention.of_partitions(metadata(*((f"t{number}", -1, (1,), (1,)) for number in range(1_500))))
    assert (
        found.text == "1,500 partitions have no leader, so nobody can write or read: t0-0, t1-0, t2-0 and 1,497 more."
    )


def described(*fenced: int) -> ClusterDescription:
    nodes = [
        NodeDescription(node_id=number, host="h", port=1, rack=None, fenced=number in fenced) for number in (1, 2, 3)
    ]
    return ClusterDescription(cluster_id="c", controller=1, nodes=tuple(nodes))


def test_brokers_that_are_fenced_or_silent() -> None:
    assert texts(attention.of_brokers(described(), [])) == []
    assert [text for _, text, _ in texts(attention.of_brokers(described(3), [2, 3]))] == [
        "Broker 3 is registered but fenced: stopped, or without contact to the controller.",
        "Broker 2 is in the metadata, but it does not answer this console.",
    ]
    assert [text for _, text, _ in texts(attention.of_brokers(described(2, 3), []))] == [
        "Brokers 2, 3 are registered but fenced: stopped, or without contact to the controller."
    ]


def quorum(leader: int | None, *lags: int, silent: tuple[int, ...] = ()) -> QuorumInfo:
    """As the leader tells it, who gives itself the present time."""
    voters = [
        QuorumReplicaInfo(
            node_id=number,
            log_end_offset=10_000 - lag,
            lag=lag,
            last_fetch_ms=NOW_MS - (0 if number == leader else 60_000 if number in silent else 100),
            last_caught_up_ms=None,
        )
        for number, lag in enumerate(lags, 1)
    ]
    return QuorumInfo(leader=leader, leader_epoch=3, high_watermark=9_000, voters=tuple(voters), observers=())


@pytest.mark.parametrize(
    ("info", "said"),
    [
        (None, []),
        (quorum(1, 0, 0, 5), []),
        (quorum(1, 0), []),
        (
            quorum(None, 0, 0, 0),
            ["The metadata quorum has no leader: topics, leaders and configurations cannot change."],
        ),
        (
            quorum(1, 0, 5_000, 0),
            ["Voter 2 of the metadata quorum does not keep up: 2 of 3 voters do, and 2 are needed."],
        ),
        (
            quorum(1, 0, 0, 9_000, silent=(2,)),
            ["Voters 2, 3 of the metadata quorum do not keep up: 1 of 3 voters do, and 2 are needed."],
        ),
        (
            ApiTimeout("nobody has answered"),
            [
                "No controller has answered within 3 s: if there is none, topics, leaders and configurations cannot "
                "change."
            ],
        ),
    ],
)
def test_the_quorum(info: QuorumInfo | ApiTimeout | None, said: list[str]) -> None:
    """Whatever the clock of the console shows: only the leader's counts."""
    assert [found.text for found in attention.of_quorum(info, 3_000)] == said


def test_transactions_that_are_open_for_long() -> None:
    def listing(name: str) -> TransactionListing:
        return TransactionListing(transactional_id=name, coordinator=1, producer_id=1, state="Ongoing")

    assert texts(attention.of_transactions([], 10_000)) == []
    odd = "pay/ments?<script>#"
    (one,) = attention.of_transactions([listing(odd)], 10_000)
    assert one.text == (
        f"1 transaction has been open for more than 10 s; read_committed consumers wait behind it: {odd}."
    )
    assert one.link.startswith("/transactions/")
    assert unquote(one.link.removeprefix("/transactions/")) == odd
    assert not set(one.link.removeprefix("/transactions/")) & set("/?#<>")
    (many,) = attention.of_transactions([listing(name) for name in "dcba"], 10_000)
    assert many.text.endswith("wait behind them: a, b, c and 1 more.")
    assert many.link == "/transactions"
