"""ElectLeaders, and the elections that the controller holds by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.controller.leader_election import PREFERRED, UNCLEAN, balance_leaders, elect_leaders, elect_uncleanly
from tidelog.metadata.image import NO_LEADER, ClusterImage, LeaderRecovery
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions


def leaders(image: ClusterImage) -> list[int]:
    return [partition.leader for partition in image.topics["t"].partitions.values()]


def elect(
    image: ClusterImage, election_type: int, partitions: list[int] | None, topic: str = "t"
) -> tuple[dict[int, int], ClusterImage]:
    wanted = None if partitions is None else [TopicPartitions(topic=topic, partitions=partitions)]
    decision = elect_leaders(image, ElectLeadersRequest(election_type=election_type, topic_partitions=wanted))
    assert not decision.reply.error_code
    codes = {
        result.partition_id: result.error_code
        for topic_results in decision.reply.replica_election_results
        for result in topic_results.partition_result
    }
    return codes, apply(image, decision.records)[0]


@pytest.fixture
def cluster(make_cluster: Callable[..., ClusterImage]) -> ClusterImage:
    return make_cluster(
        1,
        2,
        3,
        fenced=(3,),
        partitions=(
            {"replicas": (1, 2), "isr": (1, 2), "leader": 2},
            {"replicas": (1, 2), "isr": (1, 2), "leader": 1},
            {"replicas": (1, 2), "isr": (2,), "leader": 2},
            {"replicas": (3, 2), "isr": (2, 3), "leader": 2},
            {"replicas": (3, 2), "isr": (3,), "leader": NO_LEADER},
            {"replicas": (3,), "isr": (3,), "leader": NO_LEADER},
        ),
    )


def test_preferred_leaders_take_over_where_they_can(cluster: ClusterImage) -> None:
    codes, after = elect(cluster, PREFERRED, [0, 1, 2, 3, 4, 9])
    assert codes == {
        0: ErrorCode.NONE,
        1: ErrorCode.ELECTION_NOT_NEEDED,
        2: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        3: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        4: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert leaders(after) == [1, 1, 2, 2, NO_LEADER, NO_LEADER]
    assert after.topics["t"].partitions[0].leader_epoch == 6


def test_an_unclean_election_is_for_partitions_without_a_leader(cluster: ClusterImage) -> None:
    codes, after = elect(cluster, UNCLEAN, [0, 4, 5])
    assert codes == {
        0: ErrorCode.ELECTION_NOT_NEEDED,
        4: ErrorCode.NONE,
        5: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    }
    chosen = after.topics["t"].partitions[4]
    assert (chosen.leader, chosen.isr, chosen.leader_recovery) == (2, (2,), LeaderRecovery.RECOVERING)


def test_without_a_list_all_partitions_are_meant_and_only_news_is_told(cluster: ClusterImage) -> None:
    codes, after = elect(cluster, PREFERRED, None)
    assert 1 not in codes
    assert codes[0] == ErrorCode.NONE
    assert leaders(after)[0] == 1


def test_an_unknown_topic_and_an_unknown_kind_of_election_are_refused(cluster: ClusterImage) -> None:
    codes, _ = elect(cluster, PREFERRED, [0], topic="u")
    assert codes == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    decision = elect_leaders(cluster, ElectLeadersRequest(election_type=2, topic_partitions=None))
    assert (decision.records, decision.reply.error_code) == ((), ErrorCode.INVALID_REQUEST)


def test_a_partition_that_is_named_twice_is_elected_once(cluster: ClusterImage) -> None:
    _, after = elect(cluster, PREFERRED, [0, 0])
    assert after.topics["t"].partitions[0].leader_epoch == 6


def test_balancing_moves_what_preferred_elections_would_up_to_a_limit(
    make_cluster: Callable[..., ClusterImage],
) -> None:
    image = make_cluster(1, 2, partitions=({"replicas": (1, 2), "isr": (1, 2), "leader": 2},) * 3)
    decision = balance_leaders(image, limit=2)
    assert decision.reply
    image, _ = apply(image, decision.records)
    assert leaders(image) == [1, 1, 2]
    decision = balance_leaders(image, limit=2)
    assert not decision.reply
    image, _ = apply(image, decision.records)
    assert leaders(image) == [1, 1, 1]
    assert balance_leaders(image).records == ()


def test_balancing_leaves_alone_what_cannot_be_balanced(cluster: ClusterImage) -> None:
    after, _ = apply(cluster, balance_leaders(cluster).records)
    assert leaders(after) == [1, 1, 2, 2, NO_LEADER, NO_LEADER]


def test_unclean_elections_by_itself_only_where_topics_allow_them(cluster: ClusterImage) -> None:
    assert elect_uncleanly(cluster, unclean=lambda topic: False).records == ()
    after, _ = apply(cluster, elect_uncleanly(cluster, unclean=lambda topic: True).records)
    assert leaders(after) == [2, 1, 2, 2, 2, NO_LEADER]
