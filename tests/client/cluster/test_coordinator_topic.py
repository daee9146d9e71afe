"""Which groups and transactional ids nobody coordinates now, and what is said of transactions that may be theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.scripted_brokers import TOPIC, ScriptedCluster, scripted_brokers

from tidelog.client.admin import Admin
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.cluster.coordinator_topic import CoordinatorTopic, coordinator_topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest
from tidelog.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

PARTITION = TopicPartition(TOPIC, 0)


class CoordinatedCluster:
    """Two brokers, and a log of transaction coordinators with these leaders and replicas."""

    def __init__(self, scripted: ScriptedCluster) -> None:
        self.scripted = scripted
        self.error = ErrorCode.NONE
        self.partitions: list[tuple[int, list[int]]] = [(0, [0]), (1, [1])]
        # Other leaders, after the next look at them.
        self.soon: list[tuple[int, list[int]]] | None = None
        for broker in scripted.brokers:
            broker.answer(MetadataRequest, self.metadata)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        reply = self.scripted.metadata(request)
        topics = [self._log() if topic.name == TRANSACTION_STATE_TOPIC else topic for topic in reply.topics]
        if any(topic.name == TRANSACTION_STATE_TOPIC for topic in topics) and self.soon is not None:
            self.partitions, self.soon = self.soon, None
        return MetadataResponse(
            cluster_id=reply.cluster_id, controller_id=reply.controller_id, brokers=reply.brokers, topics=topics
        )

    def _log(self) -> MetadataResponseTopic:
        if self.error:
            return MetadataResponseTopic(name=TRANSACTION_STATE_TOPIC, error_code=self.error)
        return MetadataResponseTopic(
            name=TRANSACTION_STATE_TOPIC,
            topic_id=b"s" * 16,
            is_internal=True,
            partitions=[
                MetadataResponsePartition(
                    partition_index=number, leader_id=leader, leader_epoch=4, replica_nodes=replicas, isr_nodes=[]
                )
                for number, (leader, replicas) in enumerate(self.partitions)
            ],
        )


@pytest.fixture
async def cluster() -> AsyncIterator[CoordinatedCluster]:
    """A transaction is open, of which no broker says that it knows its producer."""
    async with scripted_brokers(2) as scripted:
        opened = PartitionResponse(
            partition_index=0,
            active_producers=[
                ProducerState(
                    producer_id=5,
                    producer_epoch=0,
                    last_sequence=0,
                    last_timestamp=0,
                    coordinator_epoch=-1,
                    current_txn_start_offset=3,
                )
            ],
        )
        producers = DescribeProducersResponse(topics=[TopicResponse(name=TOPIC, partitions=[opened])])
        for broker in scripted.brokers:
            broker.always(DescribeProducersRequest, producers)
            broker.always(ListTransactionsRequest, ListTransactionsResponse())
        yield CoordinatedCluster(scripted)


async def log_of(cluster: CoordinatedCluster, kind: CoordinatorKind = CoordinatorKind.TRANSACTION) -> CoordinatorTopic:
    async with Admin(cluster.scripted.bootstrap_servers) as admin:
        found = await coordinator_topic(admin.cluster, kind)
    assert not any(broker.seen[FindCoordinatorRequest] for broker in cluster.scripted.brokers), "it creates nothing"
    return found


async def test_a_log_with_all_its_leaders_misses_nothing(cluster: CoordinatedCluster) -> None:
    found = await log_of(cluster)
    assert (found.name, found.exists) == (TRANSACTION_STATE_TOPIC, True)
    assert (found.leaders, found.leaderless, found.words()) == ({0: (0, 4), 1: (1, 4)}, {}, "")


@pytest.mark.parametrize(
    ("partitions", "leaderless", "words"),
    [
        (
            [(0, [0]), (-1, [7])],
            {1: (7,)},
            "partition 1 of __transaction_state has no leader. Bring back broker 7",
        ),
        # The metadata may still name a leader that has gone.
        (
            [(7, [7, 0]), (0, [0]), (-1, [8, 7])],
            {0: (7,), 2: (8, 7)},
            "2 partitions of __transaction_state have no leader. Bring back brokers 7, 8",
        ),
        (
            [(-1, [0, 1])],
            {0: ()},
            "partition 0 of __transaction_state has no leader. Wait for an election",
        ),
    ],
)
async def test_partitions_without_leader_and_who_could_lead_them(
    cluster: CoordinatedCluster,
    partitions: list[tuple[int, list[int]]],
    leaderless: dict[int, tuple[int, ...]],
    words: str,
) -> None:
    cluster.partitions = partitions
    found = await log_of(cluster)
    assert (found.leaderless, found.words()) == (leaderless, words)


async def test_a_log_that_is_not_there_or_may_not_be_seen(cluster: CoordinatedCluster) -> None:
    absent = await log_of(cluster, CoordinatorKind.GROUP)
    assert (absent.name, absent.exists, absent.words()) == (CONSUMER_OFFSETS_TOPIC, False, "")
    cluster.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (await log_of(cluster)).exists is None


async def hanging(cluster: CoordinatedCluster) -> list[int]:
    async with Admin(cluster.scripted.bootstrap_servers, config={"retry.backoff.ms": 1}) as admin:
        found = await admin.find_hanging_transactions([PARTITION], silent_since_ms=1_000)
    return [each.producer.producer_id for each in found]


async def test_what_no_coordinator_knows_hangs_if_all_are_there(cluster: CoordinatedCluster) -> None:
    assert await hanging(cluster) == [5]


async def test_what_no_coordinator_knows_is_not_said_to_hang_while_one_is_away(cluster: CoordinatedCluster) -> None:
    """It may come back and commit."""
    cluster.partitions = [(0, [0]), (-1, [7])]
    with pytest.raises(ApiError) as refused:
        await hanging(cluster)
    assert refused.value.message == (
        "nobody can tell whether the transaction of producer 5 in orders-0 hangs: partition 1 of __transaction_state "
        "has no leader. Bring back broker 7 and look again"
    )


async def test_who_may_not_see_the_coordinators_is_not_told_that_something_hangs(cluster: CoordinatedCluster) -> None:
    """One of them may be away, and come back and commit."""
    cluster.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(ApiError) as refused:
        await hanging(cluster)
    assert refused.value.message == (
        "nobody can tell whether the transaction of producer 5 in orders-0 hangs: this client may not see whether all "
        "partitions of __transaction_state have leaders. Give it Describe on that topic and look again"
    )


async def test_a_coordinator_that_moves_while_ids_are_listed_is_asked_again(cluster: CoordinatedCluster) -> None:
    """The one may have lost the id before it was asked, the other one may have got it after it was asked."""
    cluster.soon = [(1, [0, 1]), (1, [1])]
    assert await hanging(cluster) == [5]
    assert cluster.scripted.brokers[0].seen[ListTransactionsRequest] == 2
