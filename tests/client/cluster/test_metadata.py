"""The picture that a client has of the cluster."""

from __future__ import annotations

from tidelog.client.cluster.backoff import Backoff
from tidelog.client.cluster.metadata import ClusterMetadata, merge, with_leader
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.network.system import SystemRandomness
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_ID, SECOND_ID = Uuid(b"1" * 16), Uuid(b"2" * 16)


def response(*topics: MetadataResponseTopic, nodes: tuple[int, ...] = (1, 2)) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=f"host-{node}", port=9092) for node in nodes],
        cluster_id="cluster",
        controller_id=nodes[0],
        topics=topics,
    )


def topic(name: str, *leaders: tuple[int, int], topic_id: bytes = FIRST_ID) -> MetadataResponseTopic:
    """Partitions given as (leader, leader epoch)."""
    return MetadataResponseTopic(
        name=name,
        topic_id=topic_id,
        partitions=[
            MetadataResponsePartition(partition_index=number, leader_id=leader, leader_epoch=epoch)
            for number, (leader, epoch) in reversed(list(enumerate(leaders)))
        ],
    )


def leader(metadata: ClusterMetadata, name: str, number: int) -> int | None:
    found = metadata.leader_of(TopicPartition(name, number))
    return None if found is None else found.leader


def test_partitions_are_in_order_whatever_the_reply_does() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (1, 0), (2, 0), (1, 0))), {"t"})
    assert [part.partition for part in metadata.topics["t"].partitions] == [0, 1, 2]
    assert [leader(metadata, "t", number) for number in range(4)] == [1, 2, 1, None]
    assert metadata.topic_names[FIRST_ID] == "t"


def test_leadership_never_goes_back_to_an_older_epoch() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (2, 5))), {"t"})
    assert leader(merge(metadata, response(topic("t", (1, 4))), {"t"}), "t", 0) == 2
    assert leader(merge(metadata, response(topic("t", (1, 6))), {"t"}), "t", 0) == 1


def test_a_recreated_topic_starts_with_its_own_epochs() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (2, 5))), {"t"})
    anew = merge(metadata, response(topic("t", (1, 0), topic_id=SECOND_ID)), {"t"})
    assert leader(anew, "t", 0) == 1
    assert dict(anew.topic_names) == {SECOND_ID: "t"}


def test_topics_that_nobody_wants_any_more_are_dropped() -> None:
    metadata = merge(ClusterMetadata(), response(topic("a", (1, 0)), topic("b", (1, 0))), {"a", "b"})
    assert set(merge(metadata, response(topic("b", (1, 0))), {"b"}).topics) == {"b"}


def test_a_deleted_topic_is_forgotten_and_its_error_kept() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (1, 0))), {"t"})
    gone = MetadataResponseTopic(name="t", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    metadata = merge(metadata, response(gone), {"t"})
    assert "t" not in metadata.topics
    assert metadata.topic_errors["t"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "t" not in merge(metadata, response(topic("t", (1, 0))), {"t"}).topic_errors


def test_a_leader_without_address_is_no_leader() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (7, 0))), {"t"})
    assert leader(metadata, "t", 0) is None


def test_a_newer_leader_is_taken_from_other_replies() -> None:
    metadata = merge(ClusterMetadata(), response(topic("t", (1, 3))), {"t"})
    partition = TopicPartition("t", 0)
    assert leader(with_leader(metadata, partition, 2, 4), "t", 0) == 2
    for unusable in ((2, 3), (2, 2), (9, 5)):
        assert with_leader(metadata, partition, *unusable) is metadata


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(first_ms=100, longest_ms=1000)
    for failures, expected in ((1, 100), (2, 200), (3, 400), (4, 800), (5, 1000), (50, 1000)):
        pauses = [backoff.pause_ms(failures, SystemRandomness()) for _ in range(50)]
        assert all(expected * 0.8 <= pause <= expected * 1.2 for pause in pauses)
        assert len(set(pauses)) > 10, "clients that failed together must not come back together"
