"""Random clients against a shard: whatever they do, generations are consistent and the log tells the whole truth."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.group_driver import Driver, subscription

from tidelog.coordinators.decision import Token
from tidelog.coordinators.groups.group import ClassicGroup, record_value
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.schema import Message

GROUPS = ["left", "right"]
PROTOCOLS = [
    {"range": subscription("orders")},
    {"range": subscription("orders", "returns")},
    {"sticky": subscription("orders"), "range": subscription("orders")},
]
TRANSACTION_PRODUCERS = [7, 8]


class Client:
    """Does what its last reply suggests, or, when a rule says so, something silly."""

    def __init__(self, number: int, group: str, instance: str | None) -> None:
        self.number = number
        self.group = group
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.joined: JoinGroupResponse | None = None
        self.waiting: Token | None = None

    def hear(self, response: Message) -> None:
        self.waiting = None
        code = getattr(response, "error_code", 0)
        match response:
            case JoinGroupResponse() if code in (0, ErrorCode.MEMBER_ID_REQUIRED):
                self.member_id = response.member_id
                self.generation = response.generation_id
                self.joined = response if code == 0 else None
            case _ if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION):
                self.member_id = ""
                self.generation = -1
                self.joined = None


class Groups(RuleBasedStateMachine):
    @initialize(
        delay_ms=st.sampled_from([0, 3000]),
        max_size=st.sampled_from([2, 100]),
        instances=st.lists(st.booleans(), min_size=4, max_size=6),
    )
    def start(self, delay_ms: int, max_size: int, instances: list[bool]) -> None:
        self.driver = Driver(group_initial_rebalance_delay_ms=delay_ms, group_max_size=max_size)
        self.clients = [
            Client(number, GROUPS[number % 2], f"instance-{number // 4}" if is_static else None)
            for number, is_static in enumerate(instances)
        ]
        # Of each era, group and generation: who was told to be its leader, and of which members.
        self.leaders: dict[tuple[int, str, int], set[str]] = defaultdict(set)
        self.rosters: dict[tuple[int, str, int], set[frozenset[str]]] = defaultdict(set)
        self.checked_answers = 0
        self.checked_log = -1

    def _client(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    @rule(number=st.integers(0, 5), protocols=st.sampled_from(PROTOCOLS), version=st.sampled_from([3, 5, 9]))
    def join(self, number: int, protocols: dict[str, bytes], version: int) -> None:
        client = self._client(number)
        client.waiting = self.driver.join(
            client.member_id,
            protocols=protocols,
            instance=client.instance if version >= 5 else None,
            version=version,
            group=client.group,
            rebalance_ms=20_000,
            client_id=f"client-{client.number}",
        )

    @rule(number=st.integers(0, 5))
    def sync(self, number: int) -> None:
        client = self._client(number)
        given: dict[str, bytes] | None = None
        joined = client.joined
        if joined is not None and joined.leader == client.member_id and not joined.skip_assignment:
            given = {
                member.member_id: f"{client.group}/{client.generation}/{member.member_id}".encode()
                for member in joined.members
            }
        client.waiting = self.driver.sync(
            client.member_id, client.generation, given, instance=client.instance, group=client.group
        )

    @rule(number=st.integers(0, 5))
    def heartbeat(self, number: int) -> None:
        client = self._client(number)
        self.driver.heartbeat(client.member_id, client.generation, client.instance, client.group)

    @rule(number=st.integers(0, 5))
    def leave(self, number: int) -> None:
        client = self._client(number)
        identity = MemberIdentity(member_id=client.member_id, group_instance_id=client.instance)
        self.driver.ask(LeaveGroupRequest(group_id=client.group, members=[identity]), 5)

    @rule(number=st.integers(0, 5), offset=st.integers(0, 99), partition=st.integers(0, 2))
    def commit(self, number: int, offset: int, partition: int) -> None:
        client = self._client(number)
        self.driver.commit(
            offset,
            partition=partition,
            member_id=client.member_id,
            generation=client.generation,
            instance=client.instance,
            group=client.group,
        )

    @rule(
        group=st.sampled_from(GROUPS),
        producer_id=st.sampled_from(TRANSACTION_PRODUCERS),
        offset=st.integers(100, 199),
        partition=st.integers(0, 2),
    )
    def commit_in_transaction(self, group: str, producer_id: int, offset: int, partition: int) -> None:
        partitions = [TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)]
        topics = [TxnOffsetCommitRequestTopic(name="orders", partitions=partitions)]
        message = TxnOffsetCommitRequest(transactional_id="t", group_id=group, producer_id=producer_id, topics=topics)
        self.driver.ask(message, 2)

    @rule(producer_id=st.sampled_from(TRANSACTION_PRODUCERS), commit=st.booleans())
    def end_transaction(self, producer_id: int, commit: bool) -> None:
        self.driver.end_transaction(producer_id, commit=commit)

    @rule(milliseconds=st.sampled_from([1, 500, 3000, 9000, 21_000, 700_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)

    @rule()
    def fail_over(self) -> None:
        self.driver.fail_over()

    @rule(is_broken=st.booleans())
    def log_fails(self, is_broken: bool) -> None:
        self.driver.log_is_broken = is_broken

    # ------------------------------------------------------------------------------------------------------------

    @invariant()
    def answers_are_consistent(self) -> None:
        answers = list(self.driver.answers.items())
        for token, response in answers[self.checked_answers :]:
            request = self.driver.requests[token]
            for client in self.clients:
                if client.waiting == token:
                    client.hear(response)
            self._check_answer(request, response, self.driver.era_of_answer[token])
        self.checked_answers = len(answers)

    def _check_answer(self, request: Message, response: Any, era: int) -> None:
        match request, response:
            case JoinGroupRequest(), JoinGroupResponse(error_code=0):
                key = (era, request.group_id, response.generation_id)
                assert response.generation_id > 0
                assert response.leader
                if not response.skip_assignment and response.leader == response.member_id:
                    members = frozenset(member.member_id for member in response.members)
                    assert response.member_id in members
                    self.rosters[key].add(members)
                    self.leaders[key].add(response.leader)
            case SyncGroupRequest(), SyncGroupResponse(error_code=0) if response.assignment:
                group, generation, member_id = response.assignment.decode().split("/")
                assert (group, int(generation)) == (request.group_id, request.generation_id)
                # A static member may have got another id since.
                if request.group_instance_id is None:
                    assert member_id == request.member_id
            case _:
                pass

    @invariant()
    def a_generation_has_one_leader_and_one_roster(self) -> None:
        for key, leaders in self.leaders.items():
            assert len(leaders) == 1, f"{key} has the leaders {leaders}"
        for key, rosters in self.rosters.items():
            assert len(rosters) == 1, f"{key} has the members {rosters}"

    @invariant()
    def groups_are_sound(self) -> None:
        for group in self.driver.shard.groups:
            assert set(group.static_members.values()) == {
                member.member_id for member in group.members.values() if member.is_static
            }
            assert group.awaiting_join.keys() <= group.members.keys()
            assert group.awaiting_sync.keys() <= group.members.keys()
            assert group.pending_sync <= group.members.keys()
            assert not group.pending_members & group.members.keys()
            assert (group.leader in group.members) if group.members else (group.leader is None)
            match group.state:
                case GroupState.EMPTY:
                    assert not group.members
                case GroupState.STABLE:
                    assert group.members
                    assert not group.awaiting_join
                    assert not group.awaiting_sync
                case GroupState.COMPLETING_REBALANCE:
                    assert not group.awaiting_join
                case GroupState.PREPARING_REBALANCE:
                    assert not group.awaiting_sync

    @invariant()
    def every_waiting_request_is_known_to_its_group(self) -> None:
        known = {
            token
            for group in self.driver.shard.groups
            for token in (*group.awaiting_join.values(), *group.awaiting_sync.values())
        }
        assert set(self.driver.waiting()) == known

    @invariant()
    def the_log_tells_the_whole_truth(self) -> None:
        if self.checked_log == len(self.driver.log):
            return
        self.checked_log = len(self.driver.log)
        reloaded = self.driver.reloaded()
        for group_id in GROUPS:
            assert _offsets(self.driver.shard, group_id) == _offsets(reloaded, group_id)
        replayed = {group.group_id: group for group in reloaded.groups}
        for group in self.driver.shard.groups:
            if group.state is GroupState.STABLE:
                assert _value(group) == _value(replayed[group.group_id])
            elif group.group_id in replayed and not self.driver.log_is_broken:
                assert replayed[group.group_id].generation <= group.generation

    def teardown(self) -> None:
        """Nobody waits for ever: silence ends every rebalance and, with it, every group."""
        if not hasattr(self, "driver"):
            return
        self.driver.log_is_broken = False
        self.driver.advance(1_000_000)
        assert self.driver.waiting() == []
        assert all(group.state is GroupState.EMPTY for group in self.driver.shard.groups)


def _offsets(shard: GroupShard, group_id: str) -> object:
    everything = OffsetFetchRequestGroup(group_id=group_id, topics=None)
    plain = shard.fetch_offsets(everything, require_stable=False)
    stable = shard.fetch_offsets(everything, require_stable=True)
    return plain, stable


def _value(group: ClassicGroup) -> object:
    return record_value(group, group.members.values(), leader=group.leader, since_ms=group.since_ms)


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=50)
