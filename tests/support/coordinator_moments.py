"""Moments in the lives of coordinators: a state, and something that is about to be decided in it.

Each moment is one entry of a table, so that tests can go over all of them: with a fault at every line of the decision,
with extreme numbers in every field of the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.classic_consumer import ClassicConsumer
from support.consumer_group_driver import ConsumerDriver
from support.default_settings import transaction_settings
from support.group_driver import GROUP, SESSION_MS, Driver
from support.transaction_driver import ORDERS, REFUNDS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import Moment, ShardRequest, Token
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.schema import Message

TOKEN = Token(10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A shard, the time, and how its decision is brought about and carried out."""

    shard: Any
    now: Moment
    decide: Callable[[], Any]
    apply: Callable[[Any], object]
    message: Message | None = None
    version: int = 0


def request_for(message: Message, version: int) -> ShardRequest:
    return ShardRequest(
        token=TOKEN,
        message=message,
        version=version,
        client_id="client",
        client_host="/127.0.0.1",
        fresh_id="fresh",
        fresh_producer_id=4711,
    )


def group_scene(driver: Driver, message: Message, version: int) -> Scene:
    driver.requests[TOKEN] = message
    return Scene(
        shard=driver.shard,
        now=driver.now,
        decide=lambda: driver.shard.decide(request_for(message, version), driver.now),
        apply=driver.apply,
        message=message,
        version=version,
    )


def group_timer_scene(driver: Driver) -> Scene:
    deadline_ms = driver.shard.next_deadline()
    assert deadline_ms is not None
    driver.elapsed_ms = max(driver.elapsed_ms, deadline_ms)
    return Scene(
        shard=driver.shard, now=driver.now, decide=lambda: driver.shard.on_time(driver.now), apply=driver.apply
    )


def transaction_scene(coordinator: Coordinator, message: Message, version: int) -> Scene:
    return Scene(
        shard=coordinator.shard,
        now=coordinator.moment,
        decide=lambda: coordinator.shard.decide(request_for(message, version), coordinator.moment),
        apply=coordinator._apply,
        message=message,
        version=version,
    )


# -- classic groups --------------------------------------------------------------------------------------------------


def _commit(member_id: str = "", generation: int = -1) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    return OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        retention_time_ms=1000,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )


def _join(member_id: str = "", instance: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def _stable(count: int = 2, **options: Any) -> tuple[Driver, list[str], int]:
    driver = Driver()
    members, generation = driver.stable_group(count, **options)
    return driver, members, generation


def commit_by_nobody() -> Scene:
    return group_scene(Driver(), _commit(), 2)


def commit_by_a_member() -> Scene:
    driver, members, generation = _stable()
    return group_scene(driver, _commit(members[0], generation), 4)


def heartbeat_of_a_member() -> Scene:
    driver, members, generation = _stable()
    message = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=members[1])
    return group_scene(driver, message, 4)


def first_join() -> Scene:
    return group_scene(Driver(), _join(), 2)


def join_for_an_id() -> Scene:
    return group_scene(Driver(), _join(), 9)


def join_of_a_stable_group() -> Scene:
    driver, _, _ = _stable()
    return group_scene(driver, _join(), 3)


def leader_rejoins() -> Scene:
    driver, members, _ = _stable()
    return group_scene(driver, _join(members[0]), 9)


def last_member_rejoins() -> Scene:
    driver, members, _ = _stable()
    driver.join(members[0])
    return group_scene(driver, _join(members[1]), 9)


def static_member_returns() -> Scene:
    driver = Driver()
    token = driver.join(instance="one")
    driver.advance(2 * driver.settings.group_initial_rebalance_delay_ms)
    reply = driver.answers[token]
    driver.sync(reply.member_id, reply.generation_id, {reply.member_id: b"all"}, instance="one")
    return group_scene(driver, _join(instance="one"), 9)


def _completing() -> tuple[Driver, list[str], int]:
    driver = Driver()
    entered = [driver.enter() for _ in range(2)]
    driver.advance(2 * driver.settings.group_initial_rebalance_delay_ms)
    reply = driver.answers[entered[0][1]]
    return driver, sorted((name for name, _ in entered), key=lambda name: name != reply.leader), reply.generation_id


def leader_brings_the_assignment() -> Scene:
    driver, members, generation = _completing()
    driver.sync(members[1], generation)
    message = SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=members[0],
        assignments=[SyncGroupRequestAssignment(member_id=name, assignment=b"x") for name in members],
    )
    return group_scene(driver, message, 5)


def leave_of_both() -> Scene:
    driver, members, _ = _stable()
    identities = [MemberIdentity(member_id=name) for name in members]
    return group_scene(driver, LeaveGroupRequest(group_id=GROUP, members=identities), 5)


def leave_of_one() -> Scene:
    driver, members, _ = _stable()
    return group_scene(driver, LeaveGroupRequest(group_id=GROUP, member_id=members[1]), 1)


def transactional_commit() -> Scene:
    driver, members, generation = _stable()
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    message = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=GROUP,
        producer_id=7,
        producer_epoch=1,
        generation_id=generation,
        member_id=members[0],
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )
    return group_scene(driver, message, 4)


def offsets_are_deleted() -> Scene:
    driver = Driver()
    driver.commit(5)
    topic = OffsetDeleteRequestTopic(name="orders", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    return group_scene(driver, OffsetDeleteRequest(group_id=GROUP, topics=[topic]), 0)


def groups_are_deleted() -> Scene:
    driver = Driver()
    driver.commit(5)
    driver.commit(6, group="other")
    return group_scene(driver, DeleteGroupsRequest(groups_names=[GROUP, "other", "unknown"]), 2)


def a_session_ends() -> Scene:
    driver, _, _ = _stable()
    return group_timer_scene(driver)


def the_wait_for_members_ends() -> Scene:
    driver, members, generation = _stable()
    driver.join(members[0])
    driver.elapsed_ms += SESSION_MS - 10
    driver.heartbeat(members[1], generation)
    return group_timer_scene(driver)


def offsets_expire() -> Scene:
    driver = Driver()
    driver.commit(5)
    driver.commit(6, group="other")
    driver.elapsed_ms += 8 * 86_400_000
    return group_timer_scene(driver)


# -- consumer groups -------------------------------------------------------------------------------------------------


def _consumer_heartbeat(member_id: str, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, **fields)


def first_consumer() -> Scene:
    message = _consumer_heartbeat(
        "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    return group_scene(ConsumerDriver({"orders": 4}), message, 1)


def consumer_in_place_of_a_classic_group() -> Scene:
    driver = ConsumerDriver({"orders": 4})
    driver.commit(5)
    message = _consumer_heartbeat(
        "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    return group_scene(driver, message, 1)


def second_consumer() -> Scene:
    driver = ConsumerDriver({"orders": 4})
    driver.join_as("a")
    message = _consumer_heartbeat(
        "b", 0, rebalance_timeout_ms=30_000, subscribed_topic_regex="ord.*", topic_partitions=[]
    )
    return group_scene(driver, message, 1)


def consumer_reports() -> Scene:
    driver = ConsumerDriver({"orders": 4})
    driver.join_as("a")
    driver.join_as("b")
    epoch = driver.consumer_group().members["a"].epoch
    partitions = [TopicPartitions(topic_id=driver.topic_id("orders"), partitions=[0, 1, 2, 3])]
    return group_scene(driver, _consumer_heartbeat("a", epoch, topic_partitions=partitions), 1)


def consumer_leaves() -> Scene:
    driver = ConsumerDriver({"orders": 4})
    driver.join_as("a")
    return group_scene(driver, _consumer_heartbeat("a", -1), 1)


def a_consumer_falls_silent() -> Scene:
    driver = ConsumerDriver({"orders": 4})
    driver.join_as("a")
    driver.join_as("b")
    return group_timer_scene(driver)


# -- groups that change their protocol -----------------------------------------------------------------------------


def _live_classic_group() -> tuple[ConsumerDriver, list[ClassicConsumer]]:
    driver = ConsumerDriver({"orders": 4})
    members = [ClassicConsumer(driver), ClassicConsumer(driver)]
    for _ in range(20):
        for member in members:
            member.step()
        driver.advance(500)
    return driver, members


def _mixed_group() -> tuple[ConsumerDriver, list[ClassicConsumer]]:
    driver, members = _live_classic_group()
    driver.join_as("new")
    return driver, members


def consumer_joins_a_live_classic_group() -> Scene:
    driver, _ = _live_classic_group()
    message = _consumer_heartbeat(
        "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    return group_scene(driver, message, 1)


def classic_member_rejoins_a_consumer_group() -> Scene:
    driver, (member, _) = _mixed_group()
    return group_scene(driver, _join(member.member_id), 9)


def classic_member_syncs_with_a_consumer_group() -> Scene:
    driver, (member, _) = _mixed_group()
    message = SyncGroupRequest(group_id=GROUP, member_id=member.member_id, generation_id=member.generation)
    return group_scene(driver, message, 5)


def classic_member_of_a_consumer_group_has_to_rejoin() -> Scene:
    driver, (member, _) = _mixed_group()
    message = HeartbeatRequest(group_id=GROUP, member_id=member.member_id, generation_id=member.generation)
    return group_scene(driver, message, 4)


def the_last_consumer_leaves_classic_members() -> Scene:
    driver, _ = _mixed_group()
    return group_scene(driver, _consumer_heartbeat("new", -1), 1)


def an_administrator_takes_out_the_last_consumer() -> Scene:
    driver, _ = _mixed_group()
    return group_scene(driver, LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="new")]), 5)


# -- transactions ----------------------------------------------------------------------------------------------------


def _init(producer_id: int = -1, epoch: int = -1, **fields: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=TRANSACTIONAL_ID,
        transaction_timeout_ms=60_000,
        producer_id=producer_id,
        producer_epoch=epoch,
        **fields,
    )


def _open_transaction(**settings: Any) -> tuple[Coordinator, Any]:
    coordinator = Coordinator(settings=transaction_settings(**settings))
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS)
    return coordinator, producer


def first_producer() -> Scene:
    return transaction_scene(Coordinator(), _init(), 4)


def producer_takes_over() -> Scene:
    coordinator = Coordinator()
    producer = coordinator.producer()
    return transaction_scene(coordinator, _init(producer.producer_id, producer.producer_epoch), 5)


def producer_fences_an_open_transaction() -> Scene:
    coordinator, _ = _open_transaction()
    return transaction_scene(coordinator, _init(), 4)


def producer_keeps_a_prepared_transaction() -> Scene:
    coordinator, _ = _open_transaction(transaction_two_phase_commit_enable=True)
    return transaction_scene(coordinator, _init(enable2_pc=True, keep_prepared_txn=True), 6)


def partitions_are_added() -> Scene:
    coordinator, producer = _open_transaction()
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[AddPartitionsToTxnTopic(name=REFUNDS.topic, partitions=[REFUNDS.partition])],
    )
    return transaction_scene(coordinator, AddPartitionsToTxnRequest(transactions=[transaction]), 4)


def _end(producer: Any, committed: bool = True) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=committed,
    )


def transaction_commits() -> Scene:
    coordinator, producer = _open_transaction()
    return transaction_scene(coordinator, _end(producer), 4)


def transaction_of_version_2_aborts() -> Scene:
    coordinator, producer = _open_transaction()
    return transaction_scene(coordinator, _end(producer, committed=False), 5)


def markers_are_written() -> Scene:
    coordinator, producer = _open_transaction()
    coordinator.add(producer, REFUNDS)
    coordinator.end(producer, commit=True)
    (work,) = coordinator.marker_work
    coordinator.write_marker(work, ORDERS)
    return Scene(
        shard=coordinator.shard,
        now=coordinator.moment,
        decide=lambda: coordinator.shard.on_markers_written(work, [REFUNDS], coordinator.moment),
        apply=coordinator._apply,
    )


def a_transaction_times_out() -> Scene:
    coordinator, _ = _open_transaction()
    coordinator.now_ms += 60_000
    return Scene(
        shard=coordinator.shard,
        now=coordinator.moment,
        decide=lambda: coordinator.shard.on_time(coordinator.moment),
        apply=coordinator._apply,
    )


MOMENTS: dict[str, Callable[[], Scene]] = {
    name.replace("_", " "): scene
    for name, scene in list(globals().items())
    if not name.startswith("_") and callable(scene) and getattr(scene, "__annotations__", {}) == {"return": "Scene"}
}
