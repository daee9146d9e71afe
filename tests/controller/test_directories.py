"""Where replicas are (KIP-858): brokers report it, directories fail, disks are replaced."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import pytest

from tidelog.controller.brokers import register_broker
from tidelog.controller.directories import assign_replicas
from tidelog.controller.heartbeats import heartbeat
from tidelog.controller.in_sync import alter_partition
from tidelog.controller.leader_election import UNCLEAN, elect_leaders
from tidelog.metadata.image import (
    LOST_DIRECTORY,
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    ClusterImage,
    LeaderRecovery,
    PartitionImage,
)
from tidelog.metadata.records import ELIGIBLE_LEADER_REPLICAS_FEATURE
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState
from tidelog.protocol.messages.alter_partition_request import PartitionData as AlterPartitionData
from tidelog.protocol.messages.alter_partition_request import TopicData as AlterTopicData
from tidelog.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions

MakeCluster = Callable[..., ClusterImage]

TOPIC_ID = b"t" * 16
NEW = Uuid(b"new-directory-01")
SECOND = Uuid(b"second-directory")

_incarnations = itertools.count(1)


def never(topic: str) -> bool:
    return False


def always(topic: str) -> bool:
    return True


def directory(broker: int) -> Uuid:
    return Uuid(b"directory-of-%03d" % broker)


def with_directories(image: ClusterImage, broker: int, *directories: Uuid) -> ClusterImage:
    brokers = {**image.brokers, broker: dataclasses.replace(image.brokers[broker], directories=directories)}
    return dataclasses.replace(image, brokers=brokers)


def with_eligible_leaders(image: ClusterImage) -> ClusterImage:
    return dataclasses.replace(image, features={**image.features, ELIGIBLE_LEADER_REPLICAS_FEATURE: 1})


def assign(
    image: ClusterImage, broker: int, where: Uuid, *partitions: int, unclean: Callable[[str], bool] = never
) -> tuple[ClusterImage, list[int]]:
    request = AssignReplicasToDirsRequest(
        broker_id=broker,
        broker_epoch=image.brokers[broker].epoch,
        directories=[
            DirectoryData(
                id=where,
                topics=[
                    TopicData(
                        topic_id=TOPIC_ID,
                        partitions=[PartitionData(partition_index=number) for number in partitions or (0,)],
                    )
                ],
            )
        ],
    )
    decision = assign_replicas(image, request, unclean=unclean)
    assert decision.reply.error_code == ErrorCode.NONE
    (answer,) = decision.reply.directories
    assert bytes(answer.id) == where
    return apply(image, decision.records)[0], [each.error_code for each in answer.topics[0].partitions]


def beat(image: ClusterImage, broker: int, *offline: Uuid, unclean: Callable[[str], bool] = never) -> ClusterImage:
    request = BrokerHeartbeatRequest(
        broker_id=broker,
        broker_epoch=image.brokers[broker].epoch,
        current_metadata_offset=1_000,
        offline_log_dirs=list(offline),
    )
    return apply(image, heartbeat(image, request, unclean=unclean).records)[0]


def restart(
    image: ClusterImage, broker: int, *directories: Uuid, previous_epoch: int = -1, absent: tuple[int, ...] = ()
) -> ClusterImage:
    """As a new process, after its session has ended; then caught up and unfenced."""
    request = BrokerRegistrationRequest(
        broker_id=broker,
        cluster_id=image.cluster_id,
        incarnation_id=Uuid(b"process-%08d" % next(_incarnations)),
        log_dirs=list(directories),
        previous_broker_epoch=previous_epoch,
        features=[
            Feature(name=name, min_supported_version=0, max_supported_version=level)
            for name, level in image.features.items()
        ],
    )
    decision = register_broker(image, request, next_offset=500, session_alive=False, unclean=never, absent=absent)
    assert decision.reply.error_code == ErrorCode.NONE
    return beat(apply(image, decision.records)[0], broker)


def join(image: ClusterImage, leader: int, *in_sync: int) -> tuple[ClusterImage, int]:
    partition = the_partition(image)
    change = AlterPartitionData(
        partition_index=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr_with_epochs=[
            BrokerState(broker_id=broker, broker_epoch=image.brokers[broker].epoch) for broker in in_sync
        ],
    )
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=image.brokers[leader].epoch,
        topics=[AlterTopicData(topic_id=TOPIC_ID, partitions=[change])],
    )
    decision = alter_partition(image, request, unclean=never)
    return apply(image, decision.records)[0], decision.reply.topics[0].partitions[0].error_code


def the_partition(image: ClusterImage) -> PartitionImage:
    partition = image.partition("t", 0)
    assert partition is not None
    return partition


# -- what a broker reports -------------------------------------------------------------------------------------------


def test_a_chosen_directory_is_recorded_and_changes_nothing_else(make_cluster: MakeCluster) -> None:
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader": 1, "directories": (UNASSIGNED_DIRECTORY, directory(2))}
    image = with_directories(make_cluster(1, 2, partitions=(fields,)), 1, directory(1), SECOND)
    after, codes = assign(image, 1, SECOND)
    assert codes == [ErrorCode.NONE]
    before, partition = the_partition(image), the_partition(after)
    assert partition.directories == (SECOND, directory(2))
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, before.leader_epoch, (1, 2))
    assert assign(after, 1, SECOND)[0] == after, "the same report again must change nothing"


def test_a_replica_that_moved_between_two_directories_stays_in_sync_and_leads(make_cluster: MakeCluster) -> None:
    fields = {"replicas": (1,), "isr": (1,), "leader": 1}
    image = with_directories(make_cluster(1, partitions=(fields,)), 1, directory(1), SECOND)
    partition = the_partition(assign(image, 1, SECOND)[0])
    assert (partition.directories, partition.isr, partition.leader) == ((SECOND,), (1,), 1)


def test_reports_that_make_no_sense_are_refused_one_by_one(make_cluster: MakeCluster) -> None:
    fields = {"replicas": (1,), "isr": (1,), "leader": 1}
    image = make_cluster(1, 2, partitions=(fields,))
    assert assign(image, 2, directory(2))[1] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert assign(image, 1, directory(1), 0, 7)[1] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert assign(image, 1, directory(1), 0, 0)[1] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert assign(image, 1, UNASSIGNED_DIRECTORY)[1] == [ErrorCode.INVALID_REQUEST]


def test_a_report_of_an_earlier_process_is_refused(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=({"replicas": (1,), "isr": (1,), "leader": 1},))
    request = AssignReplicasToDirsRequest(broker_id=1, broker_epoch=7)
    assert assign_replicas(image, request, unclean=never).reply.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_replica_that_is_lost_no_longer_leads(make_cluster: MakeCluster) -> None:
    """Its directory has failed, and the controller does not know that it was in there."""
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader": 1, "directories": (UNASSIGNED_DIRECTORY, directory(2))}
    image = make_cluster(1, 2, partitions=(fields,))
    partition = the_partition(assign(image, 1, LOST_DIRECTORY)[0])
    assert (partition.leader, partition.isr, partition.directories[0]) == (2, (2,), LOST_DIRECTORY)


# -- a directory fails while its broker lives on -----------------------------------------------------------------------


def test_a_failed_directory_moves_leadership_away_and_shrinks_the_in_sync_sets(make_cluster: MakeCluster) -> None:
    there = {"replicas": (1, 2), "isr": (1, 2), "leader": 1}
    elsewhere = {**there, "directories": (SECOND, directory(2))}
    followed = {"replicas": (2, 1), "isr": (2, 1), "leader": 2, "directories": (directory(2), directory(1))}
    image = make_cluster(1, 2, partitions=(there, elsewhere, followed))
    image = with_directories(image, 1, directory(1), SECOND)
    after = beat(image, 1, directory(1))
    assert after.brokers[1].directories == (SECOND,)
    assert not after.brokers[1].fenced
    found = {number: (each.leader, each.isr) for _, number, each in after.all_partitions()}
    assert found == {0: (2, (2,)), 1: (1, (1, 2)), 2: (2, (2,))}
    assert beat(after, 1, directory(1)) == after, "the next heartbeat says the same again"


def test_the_last_in_sync_replica_in_a_failed_directory_leaves_the_partition_without_a_leader(
    make_cluster: MakeCluster,
) -> None:
    fields = {"replicas": (1, 2), "isr": (1,), "leader": 1}
    image = with_directories(make_cluster(1, 2, partitions=(fields,)), 1, directory(1), SECOND)
    failed = beat(image, 1, directory(1))
    assert (the_partition(failed).leader, the_partition(failed).isr) == (NO_LEADER, (1,))
    # The disk was only detached: after a restart it is back, and nothing is lost.
    back = restart(failed, 1, directory(1), SECOND)
    assert (the_partition(back).leader, the_partition(back).isr) == (1, (1,))


def test_a_broker_whose_directories_have_all_failed_is_fenced_and_stays_so(make_cluster: MakeCluster) -> None:
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader": 1}
    image = make_cluster(1, 2, partitions=(fields,))
    after = beat(image, 1, directory(1))
    assert after.brokers[1].fenced
    assert the_partition(after).leader == 2
    assert beat(after, 1, directory(1)).brokers[1].fenced


# -- a disk is replaced --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eligible_leaders", [False, True])
def test_a_replaced_disk_leads_again_once_it_is_in_sync(make_cluster: MakeCluster, eligible_leaders: bool) -> None:
    """N-1 of N disks are replaced one after another; every partition keeps a leader (scenario 34)."""
    fields = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1}
    image = make_cluster(1, 2, 3, partitions=(fields,))
    if eligible_leaders:
        image = with_eligible_leaders(image)
    for broker in (1, 2, 3):
        others = [each for each in (1, 2, 3) if each != broker]
        new = Uuid(b"replaced-disk-%02d" % broker)
        image = restart(image, broker, new)
        assert the_partition(image).leader in others
        assert broker not in the_partition(image).isr
        assert join(image, the_partition(image).leader, 1, 2, 3)[1] == ErrorCode.INELIGIBLE_REPLICA, (
            "in sync before it has said where it is"
        )
        image, codes = assign(image, broker, new)
        assert codes == [ErrorCode.NONE]
        image, code = join(image, the_partition(image).leader, 1, 2, 3)
        assert code == ErrorCode.NONE
    request = ElectLeadersRequest(
        election_type=0, topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=1
    )
    image = apply(image, elect_leaders(image, request).records)[0]
    assert the_partition(image).leader == 1


@pytest.mark.parametrize("eligible_leaders", [False, True])
def test_the_last_in_sync_replica_that_returns_with_an_empty_disk_does_not_lead(
    make_cluster: MakeCluster, eligible_leaders: bool
) -> None:
    fields = {"replicas": (1, 2), "isr": (1,), "leader": 1}
    image = make_cluster(1, 2, partitions=(fields,))
    if eligible_leaders:
        image = with_eligible_leaders(image)
    image = restart(image, 1, NEW)
    assert the_partition(image).leader == NO_LEADER
    image, codes = assign(image, 1, NEW)
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert the_partition(image).leader == NO_LEADER
    # The old disk is back: nothing was lost.
    back = restart(image, 1, directory(1))
    assert (the_partition(back).leader, the_partition(back).isr) == (1, (1,))


def test_the_loss_can_be_accepted_with_an_unclean_election(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=({"replicas": (1,), "isr": (1,), "leader": 1},))
    image = restart(image, 1, NEW)
    assert the_partition(image).leader == NO_LEADER
    request = ElectLeadersRequest(
        election_type=UNCLEAN, topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=1
    )
    image = apply(image, elect_leaders(image, request).records)[0]
    partition = the_partition(image)
    assert (partition.leader, partition.isr, partition.directories) == (1, (1,), (UNASSIGNED_DIRECTORY,))
    assert partition.leader_recovery is LeaderRecovery.RECOVERING
    image, codes = assign(image, 1, NEW)
    assert codes == [ErrorCode.NONE]
    assert the_partition(image).leader == 1


def test_a_topic_that_allows_unclean_elections_goes_on_with_the_empty_disk(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=({"replicas": (1,), "isr": (1,), "leader": 1},))
    image = restart(image, 1, NEW)
    image, codes = assign(image, 1, NEW, unclean=always)
    assert codes == [ErrorCode.NONE]
    assert (the_partition(image).leader, the_partition(image).directories) == (1, (NEW,))


def test_another_replica_is_preferred_to_one_whose_directory_is_gone(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, partitions=({"replicas": (1, 2), "isr": (1,), "leader": 1},))
    image = restart(image, 1, NEW)
    request = ElectLeadersRequest(
        election_type=UNCLEAN, topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=1
    )
    image = apply(image, elect_leaders(image, request).records)[0]
    assert the_partition(image).leader == 2


def test_a_replica_of_unknown_place_is_lost_with_a_directory_that_is_gone(make_cluster: MakeCluster) -> None:
    """The broker had not said where it was, and starts without one of its disks."""
    fields = {"replicas": (1,), "isr": (1,), "leader": 1, "directories": (UNASSIGNED_DIRECTORY,)}
    image = with_directories(make_cluster(1, partitions=(fields,)), 1, directory(1), SECOND)
    kept = restart(image, 1, directory(1), SECOND)
    assert the_partition(kept).leader == 1
    replaced = restart(image, 1, NEW, SECOND)
    assert (the_partition(replaced).leader, the_partition(replaced).directories) == (NO_LEADER, (LOST_DIRECTORY,))


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("eligible_leaders", [False, True])
def test_of_two_that_died_the_one_with_an_empty_disk_is_not_the_last_in_sync(
    make_cluster: MakeCluster, first: int, eligible_leaders: bool
) -> None:
    """Both were in sync when they died, and come back in either order; a new controller has heard of neither."""
    image = make_cluster(1, 2, 3, partitions=({"replicas": (2, 1), "isr": (1, 2), "leader": 2},))
    if eligible_leaders:
        image = with_eligible_leaders(image)
    for broker in (first, 3 - first):
        other = 3 - broker
        absent = (other,) if broker == first else ()
        image = restart(image, broker, NEW if broker == 2 else directory(1), absent=absent)
    image, codes = assign(image, 2, NEW)
    assert codes == [ErrorCode.NONE]
    assert (the_partition(image).leader, the_partition(image).isr) == (1, (1,))
