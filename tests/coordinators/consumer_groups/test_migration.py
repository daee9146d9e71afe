"""Groups with members change their protocol, and members of both protocols are in one group meanwhile (KIP-848)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.classic_consumer import ClassicConsumer
from support.consumer_group_driver import Consumer, ConsumerDriver
from support.group_driver import GROUP, subscription

from tidelog.coordinators.consumer_groups.settings import MigrationPolicy
from tidelog.coordinators.groups.embedded_protocol import read_assignment
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest

ALL = {("orders", number) for number in range(4)}


def run(driver: ConsumerDriver, members: list[Any], rounds: int = 40) -> None:
    """Each does its next step, time and again, while time passes."""
    for _ in range(rounds):
        for member in members:
            if isinstance(member, ClassicConsumer):
                member.step()
            elif member.beat() in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID):
                member.join()
        driver.advance(500)


def owned_once(*members: Any) -> bool:
    together = [partition for member in members for partition in member.owned]
    return len(together) == len(set(together)) and set(together) == ALL


def partitions_of(synced: Any) -> set[tuple[str, int]]:
    assigned = read_assignment(synced.assignment).assigned_partitions
    return {(topic.topic, number) for topic in assigned for number in topic.partitions}


def group_type(driver: ConsumerDriver) -> str:
    (listed,) = driver.shard.list_groups()
    return listed.group_type


def classic_group(driver: ConsumerDriver, count: int, **options: Any) -> list[ClassicConsumer]:
    members = [ClassicConsumer(driver, **options) for _ in range(count)]
    run(driver, members)
    assert owned_once(*members)
    assert driver.state() == "Stable"
    return members


@pytest.mark.parametrize("cooperative", [False, True])
def test_a_live_classic_group_takes_in_a_member_of_the_consumer_protocol(cooperative: bool) -> None:
    driver = ConsumerDriver()
    members = classic_group(driver, 2, cooperative=cooperative)
    generation = members[0].generation
    newcomer = Consumer(driver, "new")
    assert newcomer.join() == 0
    assert newcomer.epoch == generation + 1
    assert newcomer.owned == set(), "the classic members have not given up anything yet"
    assert group_type(driver) == "consumer"
    everybody: list[ClassicConsumer | Consumer] = [*members, newcomer]
    run(driver, everybody)
    assert owned_once(*everybody)
    assert all(member.owned for member in everybody)
    assert [member.member_type for member in driver.shard.describe_consumer_group(GROUP).members] == [0, 0, 1]
    assert driver.reloaded().describe_consumer_group(GROUP) == driver.shard.describe_consumer_group(GROUP)


def test_members_are_exchanged_one_by_one_in_both_directions() -> None:
    driver = ConsumerDriver()
    members: list[Any] = classic_group(driver, 3)
    for number in range(3):
        members[0].leave()
        members = [*members[1:], Consumer(driver, f"new-{number}")]
        members[-1].join()
        run(driver, members)
        assert owned_once(*members), f"after {number + 1} exchanges"
    assert group_type(driver) == "consumer"
    assert [member.member_type for member in driver.shard.describe_consumer_group(GROUP).members] == [1, 1, 1]
    for number in range(3):
        members[0].leave()
        members = [*members[1:], ClassicConsumer(driver)]
        run(driver, members, rounds=60)
        assert owned_once(*members), f"after {number + 1} exchanges back"
    assert group_type(driver) == "classic"
    assert driver.state() == "Stable"


def test_committed_offsets_survive_both_changes() -> None:
    driver = ConsumerDriver()
    (member,) = classic_group(driver, 1)
    assert driver.commit(7, member_id=member.member_id, generation=member.generation, version=7) == 0
    newcomer = Consumer(driver, "new")
    newcomer.join()
    run(driver, [member, newcomer])
    assert driver.fetch() == (7, 0)
    assert driver.commit(8, member_id=member.member_id, generation=member.generation, version=7) == 0
    wrong = driver.commit(9, member_id=member.member_id, generation=member.generation + 5, version=7)
    assert wrong == ErrorCode.ILLEGAL_GENERATION
    assert driver.commit(9, member_id="new", generation=newcomer.epoch, version=8) == ErrorCode.UNSUPPORTED_VERSION
    newcomer.leave()
    assert (group_type(driver), driver.state()) == ("classic", "PreparingRebalance"), "in one step"
    driver.fail_over()
    assert (group_type(driver), driver.state()) == ("classic", "PreparingRebalance"), "also from the log"
    run(driver, [member])
    assert group_type(driver) == "classic"
    assert driver.fetch() == (8, 0)


def test_who_waits_for_a_classic_rebalance_is_sent_to_the_converted_group() -> None:
    driver = ConsumerDriver()
    (member,) = classic_group(driver, 1)
    second = ClassicConsumer(driver)
    second.step()
    second.step()
    second.step()
    assert driver.state() == "PreparingRebalance"
    assert driver.waiting(), "the second one waits for the first to rejoin"
    newcomer = Consumer(driver, "new")
    newcomer.join()
    assert not driver.waiting()
    everybody = [member, second, newcomer]
    run(driver, everybody)
    assert owned_once(*everybody)


def test_a_static_member_changes_its_protocol_without_leaving() -> None:
    driver = ConsumerDriver()
    old = ClassicConsumer(driver, instance="i")
    other = ClassicConsumer(driver)
    run(driver, [old, other])
    new = Consumer(driver, "new", instance="i")
    assert new.join() == 0
    run(driver, [new, other])
    assert owned_once(new, other)
    old.step()
    assert old.fenced
    back = ClassicConsumer(driver, instance="i")
    run(driver, [back, other], rounds=60)
    assert group_type(driver) == "classic"
    assert owned_once(back, other)


def test_a_static_member_that_changes_its_protocol_in_a_rebalance_gets_partitions() -> None:
    """It reads what its old self has read, but that one was never given anything."""
    driver = ConsumerDriver()
    driver.join(instance="i")
    assert driver.state() == "PreparingRebalance"
    new = Consumer(driver, "new", instance="i")
    assert new.join() == 0
    assert new.owned == ALL


def group_before_its_last_exchange(driver: ConsumerDriver) -> tuple[ClassicConsumer, Consumer]:
    """A classic member, and a static one that is the last of the consumer protocol."""
    other = ClassicConsumer(driver, cooperative=True)
    last = Consumer(driver, "last", instance="i")
    assert last.join() == 0
    run(driver, [other, last])
    assert owned_once(other, last)
    return other, last


def test_classic_member_in_the_place_of_the_last_other_one_costs_no_rebalance() -> None:
    """As in Apache Kafka, whose GroupMetadataManager prepares a rebalance only if somebody left or reads other topics:
    testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMember."""
    driver = ConsumerDriver()
    other, last = group_before_its_last_exchange(driver)
    before, generation = set(other.owned), other.generation
    joined = driver.answers[driver.join(instance="i", protocols={"cooperative-sticky": subscription("orders")})]
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, generation, "")
    for _ in range(2):
        assert (group_type(driver), driver.state()) == ("classic", "Stable")
        synced = driver.answers[driver.sync(joined.member_id, generation, instance="i")]
        assert partitions_of(synced) == last.owned
        other.step()
        assert (other.joined, other.owned, other.generation) == (True, before, generation), "it does not notice"
        driver.fail_over()
    # The leader that the record names rejoins because it wants another assignment: a rebalance as any other.
    driver.join(other.member_id, protocols={"cooperative-sticky": subscription("orders")})
    assert driver.state() == "PreparingRebalance"


def test_classic_member_in_the_place_of_the_last_other_one_that_reads_other_topics_costs_a_rebalance() -> None:
    driver = ConsumerDriver()
    group_before_its_last_exchange(driver)
    driver.join(instance="i", protocols={"cooperative-sticky": subscription("orders", "invoices")})
    assert (group_type(driver), driver.state()) == ("classic", "PreparingRebalance")


def test_classic_member_in_the_place_of_the_last_other_one_waits_for_what_others_still_own() -> None:
    """Apache Kafka does not rebalance here either, and lets two members read a partition."""
    driver = ConsumerDriver()
    other = ClassicConsumer(driver, cooperative=True)
    run(driver, [other])
    assert other.owned == ALL
    last = Consumer(driver, "last", instance="i")
    assert last.join() == 0
    assert last.owned == set(), "the other one has not given up anything yet"
    back = ClassicConsumer(driver, cooperative=True, instance="i")
    back.step()
    assert (group_type(driver), driver.state()) == ("classic", "PreparingRebalance")
    # Beyond the rebalance timeout: the other one comes back under another id, and its old one is waited for.
    run(driver, [other, back], rounds=200)
    assert owned_once(other, back)
    assert back.owned


def test_who_joins_the_converted_group_is_told_the_protocol_that_all_members_know() -> None:
    driver = ConsumerDriver()
    _, last = group_before_its_last_exchange(driver)
    known = {"range": subscription("orders"), "cooperative-sticky": subscription("orders")}
    joined = driver.answers[driver.join(instance="i", protocols=known)]
    assert joined.protocol_name == "cooperative-sticky"
    named = driver.sync(
        joined.member_id,
        joined.generation_id,
        instance="i",
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol_name,
    )
    assert driver.answers[named].error_code == 0
    assert partitions_of(driver.answers[named]) == last.owned


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_the_policy_may_forbid_the_upgrade(policy: MigrationPolicy) -> None:
    driver = ConsumerDriver(group_consumer_migration_policy=policy)
    classic_group(driver, 1)
    reply = driver.join_as("new")
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "group.consumer.migration.policy" in reply.error_message
    assert driver.state() == "Stable"


def test_the_policy_may_forbid_the_downgrade() -> None:
    driver = ConsumerDriver(group_consumer_migration_policy=MigrationPolicy.UPGRADE)
    (member,) = classic_group(driver, 1)
    newcomer = Consumer(driver, "new")
    newcomer.join()
    run(driver, [member, newcomer])
    newcomer.leave()
    run(driver, [member])
    assert group_type(driver) == "consumer"
    assert owned_once(member), "a classic member needs no classic group"


def test_a_group_of_classic_members_in_the_log_stays_as_it_is_until_its_members_change() -> None:
    """As in Apache Kafka, where GroupMetadataManager.onLoaded sets timers and converts nothing."""
    driver = ConsumerDriver(group_consumer_migration_policy=MigrationPolicy.UPGRADE)
    members = classic_group(driver, 2)
    newcomer = Consumer(driver, "new")
    newcomer.join()
    run(driver, [*members, newcomer])
    newcomer.leave()
    run(driver, members)
    driver.reconfigure(group_consumer_migration_policy=MigrationPolicy.BIDIRECTIONAL)
    written = len(driver.log)
    driver.fail_over()
    assert len(driver.log) == written
    run(driver, members)
    assert group_type(driver) == "consumer"
    assert owned_once(*members)
    members.pop().leave()
    assert group_type(driver) == "classic"
    run(driver, members)
    assert owned_once(*members)
    assert driver.state() == "Stable"


def test_without_migration_classic_members_are_refused() -> None:
    driver = ConsumerDriver(group_consumer_migration_policy=MigrationPolicy.DISABLED)
    driver.join_as("a")
    assert driver.answers[driver.join()].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"protocols": {"p": b""}, "protocol_type": "connect"}, "'connect'"),
        ({"protocols": {"range": b"\x00"}}, "cannot be read"),
        ({"protocols": {"range": b"\x00\x00\xff\xff"}}, "cannot be read"),
    ],
)
def test_a_group_that_is_none_of_consumers_stays_as_it_is(options: dict[str, Any], why: str) -> None:
    driver = ConsumerDriver()
    driver.enter(**options)
    written = len(driver.log)
    reply = driver.join_as("new")
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert why in reply.error_message
    assert len(driver.log) == written
    assert driver.state() == "PreparingRebalance"


def test_data_of_a_custom_assignor_is_not_thrown_away() -> None:
    driver = ConsumerDriver()
    member_id, token = driver.enter()
    driver.advance(4000)
    generation = driver.answers[token].generation_id
    driver.sync(member_id, generation, {member_id: b"\0\0" + b"\0\0\0\0" + b"\0\0\0\x04mine"})
    reply = driver.join_as("new")
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "assignor" in reply.error_message


def test_a_refused_newcomer_leaves_the_classic_group_alone() -> None:
    driver = ConsumerDriver()
    members = classic_group(driver, 2)
    written = len(driver.log)
    assert driver.join_as("new", topics=[], regex="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(driver.log) == written
    run(driver, members)
    assert owned_once(*members)
    assert group_type(driver) == "classic"


def test_heartbeats_that_only_a_member_can_send_do_not_convert_a_classic_group() -> None:
    driver = ConsumerDriver()
    classic_group(driver, 1)
    for epoch in (1, -1, -2):
        reply = driver.heartbeat_as("a", epoch, instance="i")
        assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.state() == "Stable"


def test_what_a_classic_member_of_a_consumer_group_is_refused() -> None:
    driver = ConsumerDriver()
    newcomer = Consumer(driver, "new")
    newcomer.join()
    member_id, token = driver.enter()
    reply = driver.answers[token]
    assert (reply.error_code, reply.leader, list(reply.members)) == (0, "", [])
    assert (reply.protocol_type, reply.protocol_name) == ("consumer", "range")
    generation = reply.generation_id
    unknown, illegal = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
    assert driver.heartbeat(member_id, generation + 1) == illegal
    assert driver.heartbeat("nobody", generation) == unknown
    assert driver.heartbeat("new", newcomer.epoch) == unknown, "it speaks the other protocol"
    assert driver.heartbeat(member_id, generation, "i") == unknown
    assert driver.answers[driver.sync(member_id, generation + 1)].error_code == illegal
    wrong = driver.sync(member_id, generation, protocol_name="other", protocol_type="consumer")
    assert driver.answers[wrong].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    good = driver.answers[driver.sync(member_id, generation, protocol_name="range", protocol_type="consumer")]
    assert good.error_code == 0
    assert read_assignment(good.assignment).user_data is None
    other = driver.join(protocols={"roundrobin": subscription("orders")})
    assert driver.answers[other].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "no protocol in common"
    connect = driver.join(protocol_type="connect", protocols={"range": b""})
    assert driver.answers[connect].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_old_versions_join_at_once_and_leave_alone() -> None:
    driver = ConsumerDriver()
    Consumer(driver, "new").join()
    joined = driver.answers[driver.join(version=3)]
    assert joined.error_code == 0
    beat = HeartbeatRequest(group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id)
    assert driver.ask(beat, 0).error_code in (0, ErrorCode.REBALANCE_IN_PROGRESS)
    left = driver.ask(LeaveGroupRequest(group_id=GROUP, member_id=joined.member_id), 2)
    assert (left.error_code, list(left.members)) == (0, [])
    assert driver.ask(LeaveGroupRequest(group_id=GROUP, member_id=joined.member_id), 2).error_code == (
        ErrorCode.UNKNOWN_MEMBER_ID
    )


def test_a_classic_member_is_removed_if_it_is_silent_or_does_not_rejoin() -> None:
    driver = ConsumerDriver()
    newcomer = Consumer(driver, "new")
    newcomer.join()
    silent, token = driver.enter(session_ms=10_000)
    driver.sync(silent, driver.answers[token].generation_id)
    driver.advance(10_001)
    assert [member.member_id for member in driver.shard.describe_consumer_group(GROUP).members] == ["new"]
    lazy, token = driver.enter(session_ms=10_000, rebalance_ms=20_000)
    generation = driver.answers[token].generation_id
    driver.sync(lazy, generation)
    newcomer.beat()
    third = Consumer(driver, "third")
    third.join()
    for _ in range(6):
        code = driver.heartbeat(lazy, generation)
        for member in (newcomer, third):
            member.beat()
        driver.advance(4_000)
    assert code == ErrorCode.UNKNOWN_MEMBER_ID, "it was asked to rejoin and only sent heartbeats"


class Migrations(RuleBasedStateMachine):
    """Clients of both protocols come and go: no partition is read by two, and all are read in the end."""

    @initialize(cooperative=st.booleans(), interval_ms=st.sampled_from([0, 1000]))
    def start(self, cooperative: bool, interval_ms: int) -> None:
        self.cooperative = cooperative
        self.driver = ConsumerDriver(group_consumer_assignment_interval_ms=interval_ms)
        self.clients: list[Any] = []
        self.numbers = 0

    @precondition(lambda self: len(self.clients) < 5)
    @rule(classic=st.booleans(), static=st.booleans())
    def member_comes(self, classic: bool, static: bool) -> None:
        self._start_client(classic=classic, instance=f"instance-{self.numbers}" if static else None)

    @precondition(lambda self: any(self._instance(client) for client in self.clients))
    @rule(classic=st.booleans(), data=st.data())
    def static_member_restarts(self, classic: bool, data: st.DataObject) -> None:
        """Perhaps with the other protocol. Of the consumer protocol it says that it will be back."""
        static = [client for client in self.clients if self._instance(client)]
        client = data.draw(st.sampled_from(static), label="client")
        self.clients.remove(client)
        if isinstance(client, Consumer) and client.epoch:
            client.leave(-2)
        self._start_client(classic=classic, instance=self._instance(client))

    def _start_client(self, *, classic: bool, instance: str | None) -> None:
        self.numbers += 1
        if classic:
            self.clients.append(ClassicConsumer(self.driver, cooperative=self.cooperative, instance=instance))
        else:
            options = {} if instance is None else {"instance": instance}
            self.clients.append(Consumer(self.driver, f"new-{self.numbers}", **options))
        self._step(self.clients[-1])

    def _instance(self, client: Any) -> str | None:
        return client.instance if isinstance(client, ClassicConsumer) else client.options.get("instance")

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def client_steps(self, data: st.DataObject) -> None:
        self._step(data.draw(st.sampled_from(self.clients), label="client"))

    @rule(rounds=st.integers(1, 8), milliseconds=st.sampled_from([10, 1_000]))
    def all_step(self, rounds: int, milliseconds: int) -> None:
        for _ in range(rounds):
            for client in self.clients:
                self._step(client)
            self.driver.advance(milliseconds)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def client_leaves(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients), label="client")
        self.clients.remove(client)
        client.leave()
        self.driver.advance(1)

    @rule()
    def coordinator_fails_over(self) -> None:
        self.driver.fail_over()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def log_takes_nothing(self, data: st.DataObject) -> None:
        self.driver.log_is_broken = True
        self._step(data.draw(st.sampled_from(self.clients), label="client"))
        self.driver.advance(600)
        self.driver.log_is_broken = False

    def _step(self, client: Any) -> None:
        if isinstance(client, ClassicConsumer):
            # The id under which a static member comes back is in the log only when the rebalance is over. If the
            # coordinator dies before, the next one takes it for somebody else's.
            if client.fenced:
                client.restart()
            client.step()
        elif client.epoch == 0 or client.beat() in (
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.FENCED_MEMBER_EPOCH,
            ErrorCode.FENCED_INSTANCE_ID,
        ):
            client.join()

    @invariant()
    def no_partition_has_two_readers(self) -> None:
        if hasattr(self, "clients"):
            together = [partition for client in self.clients for partition in client.owned]
            assert len(together) == len(set(together))

    @invariant()
    def a_group_is_of_one_kind(self) -> None:
        if hasattr(self, "driver"):
            assert len(self.driver.shard.list_groups()) <= 1
            for group in self.driver.shard.consumer_groups:
                assert group.classic_member_count == sum(member.is_classic for member in group.members.values())

    def teardown(self) -> None:
        if not hasattr(self, "driver") or not self.clients:
            return
        # Long enough for members that have died with a lost answer to be removed.
        for _ in range(160):
            for client in self.clients:
                self._step(client)
                self.no_partition_has_two_readers()
            self.driver.advance(5_000)
        assert owned_once(*self.clients), [client.owned for client in self.clients]
        only_classic = all(isinstance(client, ClassicConsumer) for client in self.clients)
        assert group_type(self.driver) == ("classic" if only_classic else "consumer")


TestMigrations = Migrations.TestCase
TestMigrations.settings = settings(max_examples=80, stateful_step_count=40)
