"""Decides on ElectLeaders, and on the elections that the controller holds by itself.

Preferred elections bring leaderships back to the first replica of each partition, so that the load is spread as the
placement meant it (KIP-460). Unclean elections take a replica that was not in sync: records may be lost, which is why
a topic must allow it or a person must ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST, Decision, Refusal, error_fields, too_many_records
from tidelog.controller.elections import Election, UncleanAllowed, plan_change
from tidelog.metadata.image import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord

# The values of ElectLeaders' election type.
PREFERRED = 0
UNCLEAN = 1

# How many leaders one round of elections may move: a large cluster must not stand still for it. As in Apache Kafka.
MAX_ELECTIONS_PER_ROUND = 1_000


def elect_leaders(image: ClusterImage, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
    """Hold the elections that are asked for. Without a list of partitions: for all, and then those that need none are
    not mentioned in the reply.
    """
    if request.election_type not in (PREFERRED, UNCLEAN):
        return Decision(records=(), reply=_unknown_type(request))
    everything = request.topic_partitions is None
    records: list[PartitionChangeRecord] = []
    results: list[ReplicaElectionResult] = []
    seen: set[tuple[str, int]] = set()
    for name, numbers in _asked(image, request):
        partitions = []
        for number in numbers:
            outcome = _elect(
                image, name, number, election_type=request.election_type, room=MAX_RECORDS_PER_REQUEST - len(records)
            )
            if isinstance(outcome, PartitionChangeRecord) and (name, number) not in seen:
                records.append(outcome)
            seen.add((name, number))
            refusal = outcome if isinstance(outcome, Refusal) else None
            if refusal is None or not everything or refusal.code is not ErrorCode.ELECTION_NOT_NEEDED:
                partitions.append(PartitionResult(partition_id=number, **error_fields(refusal)))
        results.append(ReplicaElectionResult(topic=name, partition_result=partitions))
    return Decision(records=tuple(records), reply=ElectLeadersResponse(replica_election_results=results))


def _unknown_type(request: ElectLeadersRequest) -> ElectLeadersResponse:
    refusal = Refusal(
        code=ErrorCode.INVALID_REQUEST,
        message=f"election type {request.election_type} is neither {PREFERRED} (preferred) nor {UNCLEAN} (unclean)",
    )
    asked = request.topic_partitions or ()
    return ElectLeadersResponse(
        error_code=refusal.code if asked or request.topic_partitions is None else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[
                    PartitionResult(partition_id=number, **error_fields(refusal)) for number in each.partitions
                ],
            )
            for each in asked
        ],
    )


def _asked(image: ClusterImage, request: ElectLeadersRequest) -> Iterator[tuple[str, list[int]]]:
    if request.topic_partitions is None:
        for topic in image.topics.values():
            yield topic.name, list(topic.partitions)
    else:
        for asked in request.topic_partitions:
            yield asked.topic, list(asked.partitions)


def _elect(
    image: ClusterImage, name: str, number: int, *, election_type: int, room: int
) -> PartitionChangeRecord | Refusal:
    topic = image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(number)
    if topic is None or partition is None:
        return Refusal(
            code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            message=f"the partition {number} of the topic {name!r} does not exist",
        )
    if _satisfied(partition, election_type):
        return Refusal(code=ErrorCode.ELECTION_NOT_NEEDED, message="the partition already has that leader")
    if room <= 0:
        return too_many_records(MAX_RECORDS_PER_REQUEST + 1)
    election = Election.PREFERRED if election_type == PREFERRED else Election.UNCLEAN
    record = plan_change(image, topic, number, election=election, bereft_may_lead=True)
    if record is not None:
        return record
    if election_type == PREFERRED:
        return Refusal(
            code=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            message=f"broker {partition.preferred_leader}, the preferred leader, is not alive or not in sync",
        )
    return Refusal(
        code=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        message=f"none of the brokers {list(partition.replicas)} is alive",
    )


def _satisfied(partition: PartitionImage, election_type: int) -> bool:
    if election_type == PREFERRED:
        return partition.leader == partition.preferred_leader
    return partition.leader != NO_LEADER


def balance_leaders(image: ClusterImage, *, limit: int = MAX_ELECTIONS_PER_ROUND) -> Decision[bool]:
    """What auto.leader.rebalance.enable does at intervals: preferred leaders that can lead get their leadership back.

    The reply says that there may be more to do than `limit` allowed.
    """
    return _hold_elections(
        image, Election.PREFERRED, lambda topic, partition: partition.leader != partition.preferred_leader, limit
    )


def elect_uncleanly(
    image: ClusterImage, *, unclean: UncleanAllowed, limit: int = MAX_ELECTIONS_PER_ROUND
) -> Decision[bool]:
    """What happens every unclean.leader.election.interval.ms: partitions without a leader get one, where the topic
    allows it. It matters after somebody has set unclean.leader.election.enable, since at the death of a leader it was
    considered already.

    The reply says that there may be more to do than `limit` allowed.
    """
    return _hold_elections(
        image, Election.UNCLEAN, lambda topic, partition: partition.leader == NO_LEADER and unclean(topic.name), limit
    )


def _hold_elections(
    image: ClusterImage, election: Election, needed: Callable[[TopicImage, PartitionImage], bool], limit: int
) -> Decision[bool]:
    records: list[PartitionChangeRecord] = []
    for topic, number, partition in image.all_partitions():
        if len(records) >= limit:
            return Decision(records=tuple(records), reply=True)
        if needed(topic, partition):
            record = plan_change(image, topic, number, election=election, bereft_may_lead=True)
            if record is not None:
                records.append(record)
    return Decision(records=tuple(records), reply=False)
