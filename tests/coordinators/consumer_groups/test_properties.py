"""Random clients against consumer groups: no partition has two owners, all get there, the log tells the truth."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.consumer_group_driver import Consumer, ConsumerDriver

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import LEAVE_STATIC_EPOCH
from tidelog.coordinators.consumer_groups.states import CONSUMER_GROUP, ConsumerGroupState, MemberState
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.errors import ErrorCode

SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"topics": ["orders"], "regex": ""},
    {"topics": ["orders", "returns"], "regex": ""},
    {"topics": [], "regex": "(orders|other).*"},
    {"topics": ["returns"], "regex": ".*s"},
    {"topics": [], "regex": ""},
]
TOPICS = ["orders", "returns", "others"]
RETRIED = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)


class Client(Consumer):
    """Takes part until it is told that it is out; then it owns nothing and joins again."""

    def __init__(self, driver: ConsumerDriver, member_id: str, subscription: dict[str, Any], **options: Any) -> None:
        super().__init__(driver, member_id, **options)
        self.subscription = subscription
        self.in_group = False
        # Whether the coordinator may know more than this client, because a reply was lost.
        self.in_doubt = False

    def step(self, *, lost: bool = False) -> None:
        static = {key: value for key, value in self.options.items() if key == "instance"}
        everything = {"rebalance_ms": 30_000, **self.subscription, **static}
        if not self.in_group:
            self.epoch, self.owned = 0, set()
            reply = self.driver.heartbeat_as(self.member_id, 0, owned=[], **everything)
        elif self.in_doubt:
            reply = self.driver.heartbeat_as(self.member_id, self.epoch, owned=self.owned, **everything)
        else:
            owned = self.owned if self.owned != self._reported else None
            reply = self.driver.heartbeat_as(self.member_id, self.epoch, owned=owned, **static)
            self._reported = set(self.owned)
        if lost or reply.error_code in RETRIED:
            self.in_doubt = self.in_group
            return
        self.in_doubt = False
        if self._hear(reply):
            self.in_group = False
            self.epoch, self.owned, self._reported = 0, set(), set()
        else:
            self.in_group = True

    def change(self, subscription: dict[str, Any]) -> None:
        self.subscription = subscription
        # A client tells everything when it has something to tell.
        self.in_doubt = True

    def go(self, epoch: int) -> None:
        if self.in_group and self.leave(epoch) not in RETRIED:
            self.in_group = False
            self.owned, self._reported = set(), set()


class ConsumerGroups(RuleBasedStateMachine):
    @initialize(interval_ms=st.sampled_from([0, 1000]), assignor=st.sampled_from(["uniform", "range"]))
    def start(self, interval_ms: int, assignor: str) -> None:
        self.driver = ConsumerDriver(
            {"orders": 3, "returns": 2},
            group_consumer_assignment_interval_ms=interval_ms,
            group_consumer_assignors=(assignor,),
        )
        self.clients: list[Client] = []
        self.checked_log = -1
        self.numbers = 0
        for subscription in SUBSCRIPTIONS[:2]:
            self.come(subscription, None)

    @rule(subscription=st.sampled_from(SUBSCRIPTIONS), instance=st.sampled_from([None, "i", "j"]))
    def come(self, subscription: dict[str, Any], instance: str | None) -> None:
        if len(self.clients) >= 6:
            return
        self.numbers += 1
        options = {} if instance is None else {"instance": instance}
        self.clients.append(Client(self.driver, f"m{self.numbers}", subscription, **options))
        self.clients[-1].step()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), lost=st.booleans())
    def beat(self, data: st.DataObject, lost: bool) -> None:
        data.draw(st.sampled_from(self.clients), label="client").step(lost=lost)

    @precondition(lambda self: self.clients)
    @rule(rounds=st.integers(1, 3))
    def beat_all(self, rounds: int) -> None:
        for _ in range(rounds):
            for client in self.clients:
                client.step()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), subscription=st.sampled_from(SUBSCRIPTIONS))
    def change_subscription(self, data: st.DataObject, subscription: dict[str, Any]) -> None:
        data.draw(st.sampled_from(self.clients), label="client").change(subscription)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), for_a_while=st.booleans())
    def go(self, data: st.DataObject, for_a_while: bool) -> None:
        client = data.draw(st.sampled_from(self.clients), label="client")
        is_static = "instance" in client.options
        client.go(LEAVE_STATIC_EPOCH if is_static and for_a_while else -1)
        self.clients.remove(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.clients.remove(data.draw(st.sampled_from(self.clients), label="client"))

    @rule(counts=st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 5)))
    def change_topics(self, counts: dict[str, int]) -> None:
        self.driver.set_topics(**counts)

    @rule(milliseconds=st.sampled_from([500, 1_000, 5_000, 5_000, 31_000, 46_000]))
    def wait(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)

    @rule()
    def fail_over(self) -> None:
        self.driver.fail_over()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), milliseconds=st.sampled_from([0, 500, 5_000]))
    def go_on_while_the_log_takes_nothing(self, data: st.DataObject, milliseconds: int) -> None:
        self.driver.log_is_broken = True
        data.draw(st.sampled_from(self.clients), label="client").step()
        self.driver.advance(milliseconds)
        self.driver.log_is_broken = False

    # ------------------------------------------------------------------------------------------------------------

    @invariant()
    def nobody_owns_what_another_owns(self) -> None:
        for group in self.driver.shard.consumer_groups:
            owned = [partition for member in group.members.values() for partition in member.current.owned()]
            assert len(owned) == len(set(owned))
            assert group.owners == {
                partition: member.member_id for member in group.members.values() for partition in member.current.owned()
            }
            for client in self.clients:
                member = group.members.get(client.member_id)
                if member is not None and client.in_group:
                    assert client.owned <= self.driver.named(member.current.owned())

    @invariant()
    def epochs_are_in_order(self) -> None:
        for group in self.driver.shard.consumer_groups:
            assert group.assignment_epoch <= group.epoch
            for member in group.members.values():
                assert member.epoch == LEAVE_STATIC_EPOCH or 0 < member.epoch <= group.assignment_epoch
                assert bool(member.current.pending_revocation) <= (
                    member.current.state is MemberState.UNREVOKED_PARTITIONS
                )
            assert group.targets.keys() <= group.members.keys()
            assert group.static_members == {
                member.profile.instance_id: member.member_id
                for member in group.members.values()
                if member.profile.instance_id is not None
            }

    @invariant()
    def every_change_of_state_is_in_the_table(self) -> None:
        assert self.driver.changes <= {(before, after) for (before, _), after in CONSUMER_GROUP.steps.items()}

    @invariant()
    def the_log_tells_the_whole_truth(self) -> None:
        if self.checked_log == len(self.driver.log):
            return
        self.checked_log = len(self.driver.log)
        assert _state(self.driver.reloaded()) == _state(self.driver.shard)

    def teardown(self) -> None:
        """Left alone, all come to own what they should own, and together own everything."""
        if not hasattr(self, "driver"):
            return
        # Static members that went for a while, and those who died, are gone after that.
        for _ in range(60):
            self.driver.advance(1_000)
            for client in self.clients:
                client.step()
        for group in self.driver.shard.consumer_groups:
            if not group.members:
                continue
            assert group.state is ConsumerGroupState.STABLE
            for member_id, member in group.members.items():
                assert member.current.assigned.keys() == group.target_of(member_id)
            names = {name for name in TOPICS if group.is_subscribed_to(name)}
            topics = [topic for name in names if (topic := self.driver.topics.named(name)) is not None]
            assert group.owners.keys() == {
                TopicIdPartition(topic.id, number) for topic in topics for number in range(topic.partition_count)
            }
            for client in self.clients:
                if client.in_group:
                    member = group.members[client.member_id]
                    assert client.owned == self.driver.named(member.current.assigned)


def _state(shard: GroupShard) -> object:
    return {group.group_id: _group_state(group) for group in shard.consumer_groups}


def _group_state(group: ConsumerGroup) -> dict[str, Any]:
    soft = {"checked_version", "resolved_ms"}
    return {name: value for name, value in vars(group).items() if name not in soft}


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(max_examples=60, stateful_step_count=50)
