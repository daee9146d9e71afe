"""Eligible leader replicas: who is remembered, who leads, and that a clean leader has every committed record."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tidelog.config.broker import BrokerConfig
from tidelog.controller.brokers import begin_controlled_shutdown, fence_broker, register_broker, unfence_broker
from tidelog.controller.configs import incremental_alter_configs
from tidelog.controller.features import SAFE_DOWNGRADE, UPGRADE, update_features
from tidelog.controller.in_sync import alter_partition
from tidelog.metadata.image import NO_LEADER, ClusterImage, ConfiguredResource, LeaderRecovery, PartitionImage
from tidelog.metadata.records import ELIGIBLE_LEADER_REPLICAS_FEATURE
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.protocol.schema import Message

MakeCluster = Callable[..., ClusterImage]
TOPIC_ID = b"t" * 16
ON: tuple[Message, ...] = (
    FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_FEATURE, feature_level=1),
    ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
)


def never(topic: str) -> bool:
    return False


class Cluster:
    """Brokers 1 to 3 with a replica each of one partition; what is decided is applied at once."""

    def __init__(self, make_cluster: MakeCluster, *, feature: bool = True) -> None:
        partition = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1}
        self.image = make_cluster(1, 2, 3, partitions=(partition,))
        self.apply(ON if feature else ON[1:])
        self._offset = 1_000

    @property
    def partition(self) -> PartitionImage:
        return self.image.topics["t"].partitions[0]

    @property
    def state(self) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(leader, in sync, eligible, last leader)."""
        partition = self.partition
        return partition.leader, partition.isr, partition.eligible_leaders, partition.last_known_eligible_leaders

    def apply(self, records: Iterable[Message]) -> None:
        self.image, _ = apply(self.image, list(records))

    def fence(self, *brokers: int) -> None:
        for broker in brokers:
            self.apply(fence_broker(self.image, broker, unclean=never).records)

    def unfence(self, *brokers: int) -> None:
        for broker in brokers:
            self.apply(unfence_broker(self.image, broker, unclean=never).records)

    def stop_in_order(self, broker: int) -> None:
        self.apply(begin_controlled_shutdown(self.image, broker, unclean=never).records)
        self.fence(broker)

    def restart(self, broker: int, *, clean: bool) -> None:
        """A new process registers and is let in."""
        self._offset += 100
        known = self.image.brokers[broker]
        request = BrokerRegistrationRequest(
            broker_id=broker,
            cluster_id=self.image.cluster_id,
            incarnation_id=self._offset.to_bytes(16, "big"),
            features=[Feature(name=ELIGIBLE_LEADER_REPLICAS_FEATURE, min_supported_version=0, max_supported_version=1)],
            log_dirs=list(known.directories),
            previous_broker_epoch=known.epoch if clean else -1,
        )
        decision = register_broker(self.image, request, next_offset=self._offset, session_alive=False, unclean=never)
        assert decision.reply.error_code == ErrorCode.NONE
        self.apply(decision.records)
        self.unfence(broker)

    def set_in_sync(self, *brokers: int) -> None:
        """As the leader asks for it."""
        partition = self.partition
        states = [BrokerState(broker_id=each, broker_epoch=self.image.brokers[each].epoch) for each in brokers]
        data = PartitionData(
            partition_index=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=states,
            leader_recovery_state=LeaderRecovery.RECOVERED,
        )
        request = AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=self.image.brokers[partition.leader].epoch,
            topics=[TopicData(topic_id=TOPIC_ID, partitions=[data])],
        )
        decision = alter_partition(self.image, request, unclean=never)
        assert decision.reply.topics[0].partitions[0].error_code == ErrorCode.NONE
        self.apply(decision.records)


@pytest.fixture
def cluster(make_cluster: MakeCluster) -> Cluster:
    return Cluster(make_cluster)


def test_who_leaves_an_in_sync_set_that_is_large_enough_without_it_is_not_eligible(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    assert cluster.state == (1, (1, 2), (), ())


def test_who_leaves_it_too_small_stays_eligible_until_it_is_large_enough_again(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    cluster.set_in_sync(1)
    assert cluster.state == (1, (1,), (2,), ())
    cluster.set_in_sync(1, 3)
    assert cluster.state == (1, (1, 3), (), ())


def test_an_eligible_replica_leads_when_the_last_in_sync_one_is_gone(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    cluster.fence(2)
    assert cluster.state == (1, (1,), (2,), ())
    cluster.fence(1)
    assert cluster.state == (NO_LEADER, (), (2, 1), (1,))
    cluster.restart(2, clean=True)
    assert cluster.state == (2, (2,), (1,), ())
    assert cluster.partition.leader_recovery is LeaderRecovery.RECOVERED
    cluster.restart(1, clean=True)
    cluster.set_in_sync(2, 1)
    assert cluster.state == (2, (2, 1), (), ())


def test_one_that_is_not_eligible_does_not_lead(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    cluster.fence(2, 1)
    # Broker 3 was out of sync while records were committed.
    assert cluster.image.is_active(3)
    assert cluster.partition.leader == NO_LEADER


def test_who_comes_back_from_a_crash_is_not_eligible(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    cluster.fence(2, 1)
    cluster.restart(2, clean=False)
    assert cluster.state == (NO_LEADER, (), (1,), (1,))
    cluster.restart(1, clean=True)
    assert cluster.state == (1, (1,), (), ())


def test_if_all_have_crashed_the_last_leader_leads_again_as_an_unclean_one(cluster: Cluster) -> None:
    cluster.set_in_sync(1, 2)
    cluster.fence(2, 1)
    cluster.restart(2, clean=False)
    cluster.restart(1, clean=False)
    assert cluster.state == (1, (1,), (), ())
    assert cluster.partition.leader_recovery is LeaderRecovery.RECOVERING


def test_a_process_that_dies_and_is_back_before_it_is_fenced_leaves_the_in_sync_set(cluster: Cluster) -> None:
    cluster.restart(1, clean=False)
    assert cluster.state == (2, (2, 3), (), ())


def test_without_the_feature_the_last_in_sync_replica_stays(make_cluster: MakeCluster) -> None:
    cluster = Cluster(make_cluster, feature=False)
    cluster.set_in_sync(1, 2)
    cluster.fence(2, 1)
    assert cluster.state == (NO_LEADER, (1,), (), ())
    cluster.restart(2, clean=True)
    assert cluster.partition.leader == NO_LEADER
    cluster.restart(1, clean=False)
    assert cluster.state == (1, (1,), (), ())


def alter_config(image: ClusterImage, resource: ConfiguredResource, name: str, value: str | None) -> tuple[Any, int]:
    operation = 1 if value is None else 0
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[AlterableConfig(name=name, config_operation=operation, value=value)],
            )
        ]
    )
    decision = incremental_alter_configs(image, request, config=BrokerConfig.from_properties({"node.id": "1"}))
    return decision.records, decision.reply.responses[0].error_code


@pytest.mark.parametrize("resource", [ConfiguredResource(2, "t"), ConfiguredResource(4, "")])
def test_another_min_insync_replicas_forgets_who_was_eligible(cluster: Cluster, resource: ConfiguredResource) -> None:
    cluster.set_in_sync(1, 2)
    cluster.set_in_sync(1)
    assert cluster.partition.eligible_leaders == (2,)
    records, code = alter_config(cluster.image, resource, "min.insync.replicas", "1")
    assert code == ErrorCode.NONE
    cluster.apply(records)
    assert cluster.partition.eligible_leaders == ()


def test_min_insync_replicas_stays_the_same_for_all_brokers(cluster: Cluster) -> None:
    for resource, value in ((ConfiguredResource(4, "1"), "1"), (ConfiguredResource(4, ""), None)):
        records, code = alter_config(cluster.image, resource, "min.insync.replicas", value)
        assert (records, code) == ((), ErrorCode.INVALID_CONFIG)


def update(image: ClusterImage, name: str, level: int, kind: int = UPGRADE) -> tuple[tuple[Message, ...], int]:
    key = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    decision = update_features(image, UpdateFeaturesRequest(feature_updates=[key]), min_in_sync=2)
    return decision.records, decision.reply.error_code


def test_the_feature_is_turned_on_if_all_brokers_know_it_and_fixes_min_insync_replicas(
    make_cluster: MakeCluster,
) -> None:
    cluster = Cluster(make_cluster, feature=False)
    cluster.apply([ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value=None)])
    cluster.apply([ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value="3")])
    records, code = update(cluster.image, ELIGIBLE_LEADER_REPLICAS_FEATURE, 1)
    assert (records, code) == ((), ErrorCode.INVALID_UPDATE_VERSION), "the brokers do not know it"
    for broker in (1, 2, 3):
        cluster.restart(broker, clean=True)
    records, code = update(cluster.image, ELIGIBLE_LEADER_REPLICAS_FEATURE, 1)
    assert code == ErrorCode.NONE
    cluster.apply(records)
    assert cluster.image.features[ELIGIBLE_LEADER_REPLICAS_FEATURE] == 1
    assert cluster.image.cluster_config() == {"min.insync.replicas": "2"}
    assert cluster.image.broker_config(1) == {}


def test_turning_the_feature_off_is_a_downgrade_and_forgets_who_was_eligible(cluster: Cluster) -> None:
    for broker in (1, 2, 3):
        cluster.restart(broker, clean=True)
    cluster.set_in_sync(cluster.partition.leader)
    assert cluster.partition.eligible_leaders
    assert update(cluster.image, ELIGIBLE_LEADER_REPLICAS_FEATURE, 0)[1] == ErrorCode.INVALID_UPDATE_VERSION
    records, code = update(cluster.image, ELIGIBLE_LEADER_REPLICAS_FEATURE, 0, SAFE_DOWNGRADE)
    assert code == ErrorCode.NONE
    cluster.apply(records)
    assert cluster.partition.eligible_leaders == ()
    assert ELIGIBLE_LEADER_REPLICAS_FEATURE not in cluster.image.features


@pytest.mark.parametrize(("name", "level"), [("unheard.of", 1), ("metadata.version", 1), ("group.version", -1)])
def test_levels_that_nobody_can_work_with_are_refused(cluster: Cluster, name: str, level: int) -> None:
    assert update(cluster.image, name, level) == ((), ErrorCode.INVALID_UPDATE_VERSION)


class Walk:
    """A partition that lives through random events, with logs that a crash can shorten.

    Logs are lists of numbers that are never used twice. The rules of replication are the simplest that are allowed:
    only what all in-sync replicas have is committed, and nothing while they are too few.
    """

    def __init__(self, cluster: Cluster, chance: random.Random, *, lossy: bool) -> None:
        self.cluster = cluster
        self.chance = chance
        self.lossy = lossy
        self.logs: dict[int, list[int]] = {broker: [] for broker in (1, 2, 3)}
        self.alive = {1, 2, 3}
        self.clean = {1: True, 2: True, 3: True}
        self.committed: list[int] = []
        self.clean_elections = 0
        self._next = 0
        self._led_epoch = self.cluster.partition.leader_epoch

    def step(self) -> None:
        events = [self.append, self.append, self.replicate, self.replicate, self.commit, self.commit, self.shrink]
        events += [self.expand, self.expand, self.crash, self.stop, self.fence, self.start, self.start]
        self.chance.choice(events)()
        partition = self.cluster.partition
        # One that is dead when it is elected does no harm, and is replaced before it can.
        if self.leader is not None and partition.leader_epoch != self._led_epoch:
            self._led_epoch = partition.leader_epoch
            self.elected(partition)

    def elected(self, partition: PartitionImage) -> None:
        log = self.logs[partition.leader]
        if partition.leader_recovery is LeaderRecovery.RECOVERED:
            self.clean_elections += 1
            assert log[: len(self.committed)] == self.committed, f"{partition} has lost committed records"
        else:
            self.committed = self.committed[: common(log, self.committed)]

    @property
    def leader(self) -> int | None:
        """If it is there to act."""
        leader = self.cluster.partition.leader
        return leader if leader in self.alive and self.cluster.image.is_active(leader) else None

    def append(self) -> None:
        if self.leader is not None:
            self._next += 1
            self.logs[self.leader].append(self._next)

    def replicate(self) -> None:
        if self.leader is not None:
            source = self.logs[self.leader]
            for broker in self.alive - {self.leader}:
                same = common(source, self.logs[broker])
                self.logs[broker] = source[: self.chance.randint(same, len(source))]

    def commit(self) -> None:
        isr = self.cluster.partition.isr
        if self.leader is not None and len(isr) >= 2:
            source = self.logs[self.leader]
            reached = min(common(source, self.logs[broker]) for broker in isr)
            if reached > len(self.committed):
                self.committed = source[:reached]

    def shrink(self) -> None:
        others = [broker for broker in self.cluster.partition.isr if broker != self.leader]
        if self.leader is not None and others:
            gone = self.chance.choice(others)
            kept = [broker for broker in self.cluster.partition.isr if broker != gone]
            if all(self.cluster.image.is_active(broker) for broker in kept):
                self.cluster.set_in_sync(*kept)

    def expand(self) -> None:
        leader, partition = self.leader, self.cluster.partition
        if leader is None or not all(self.cluster.image.is_active(broker) for broker in partition.isr):
            return
        ready = [
            broker
            for broker in sorted(self.alive)
            if broker not in partition.isr
            and self.cluster.image.is_active(broker)
            and self.logs[broker] == self.logs[leader]
        ]
        if ready:
            self.cluster.set_in_sync(*partition.isr, self.chance.choice(ready))

    def crash(self) -> None:
        if self.alive:
            broker = self.chance.choice(sorted(self.alive))
            self.alive.discard(broker)
            self.clean[broker] = False
            if self.lossy:
                log = self.logs[broker]
                self.logs[broker] = log[: self.chance.randint(0, len(log))]

    def stop(self) -> None:
        if self.alive:
            broker = self.chance.choice(sorted(self.alive))
            self.alive.discard(broker)
            self.clean[broker] = True
            self.cluster.stop_in_order(broker)

    def fence(self) -> None:
        dead = [broker for broker in (1, 2, 3) if broker not in self.alive and self.cluster.image.is_active(broker)]
        if dead:
            self.cluster.fence(self.chance.choice(dead))

    def start(self) -> None:
        dead = [broker for broker in (1, 2, 3) if broker not in self.alive]
        if dead:
            broker = self.chance.choice(dead)
            self.alive.add(broker)
            self.cluster.restart(broker, clean=self.clean[broker])


def common(one: list[int], other: list[int]) -> int:
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


@pytest.mark.parametrize("feature", [True, False])
def test_a_clean_leader_has_every_committed_record_whatever_happens(make_cluster: MakeCluster, feature: bool) -> None:
    elections = 0
    for seed in range(80):
        # Without the feature the last in-sync replica leads even after a crash, so there a crash must lose nothing.
        walk = Walk(Cluster(make_cluster, feature=feature), random.Random(seed), lossy=feature)
        try:
            for _ in range(120):
                walk.step()
                partition = walk.cluster.partition
                assert not set(partition.isr) & set(partition.eligible_leaders)
                assert partition.leader == NO_LEADER or partition.leader in partition.isr
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem
        elections += walk.clean_elections
    assert elections > 150
