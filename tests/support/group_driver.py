"""Plays the part of the runtime for one shard: keeps the log and the time, and notes who was answered what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.default_settings import group_settings

from tidelog.coordinators.decision import CoordinatorRecord, Moment, ShardDecision, ShardRequest, Token
from tidelog.coordinators.groups.records import decode_record, encode_record
from tidelog.coordinators.groups.replies import refuse
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.group_metadata_key import GroupMetadataKey
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.schema import Message

GROUP = "orders"
START_MS = 1_700_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000

# One entry: offset, key, value, producer id of an open transaction or None, or a marker in place of key and value.
LogEntry = tuple[int, bytes, bytes | None, int | None] | tuple[int, int, bool]


def subscription(*topics: str) -> bytes:
    return b"\0\0" + encode(ConsumerProtocolSubscription(topics=topics), 0)


class Driver:
    def __init__(self, **settings: Any) -> None:
        self.settings = group_settings(**settings)
        self.shard = self.make_shard()
        self.elapsed_ms = 0.0
        self.log: list[LogEntry] = []
        self.answers: dict[Token, Any] = {}
        self.requests: dict[Token, Message] = {}
        # While True, the log takes nothing.
        self.log_is_broken = False
        # Whether whoever sends the next requests may know of a topic; None if of all of them.
        self.sees: Callable[[str], bool] | None = None
        # Grows whenever generations may be counted from a lower number again: with every coordinator, since those
        # that never became stable are not in the log, and with every group that is deleted.
        self.era = 0
        self.era_of_answer: dict[Token, int] = {}
        self._tokens = 0
        self.apply(self.shard.on_loaded(self.now))

    def make_shard(self) -> GroupShard:
        return GroupShard(self.settings)

    @property
    def now(self) -> Moment:
        return Moment(self.elapsed_ms, START_MS + int(self.elapsed_ms))

    # ------------------------------------------------------------------------------------------------------------
    # The runtime's duties.

    def apply(self, decision: ShardDecision) -> None:
        if self.log_is_broken and decision.records:
            for answer in decision.answers:
                self.note(answer.token, refuse(self.requests[answer.token], ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self.shard.check_invariants()
            return
        producer_id = decision.producer.producer_id if decision.producer else None
        for record in decision.records:
            offset = len(self.log)
            self.log.append((offset, *encode_record(record), producer_id))
            self.shard.replay(record, offset=offset, producer_id=producer_id)
            self.era += isinstance(record.key, GroupMetadataKey) and record.value is None
        for answer in decision.answers:
            self.note(answer.token, answer.response)
        self.shard.check_invariants()

    def note(self, token: Token, response: Message) -> None:
        assert token in self.requests, "an answer to nobody"
        assert token not in self.answers, "a second answer"
        self.answers[token] = response
        self.era_of_answer[token] = self.era

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.log.append((len(self.log), producer_id, commit))
        self.shard.replay_marker(producer_id, commit=commit)
        self.shard.check_invariants()

    def advance(self, milliseconds: float) -> None:
        """Let time pass, stopping at each deadline."""
        end_ms = self.elapsed_ms + milliseconds
        while True:
            deadline = self.shard.next_deadline()
            if deadline is None or deadline > end_ms:
                break
            self.elapsed_ms = max(self.elapsed_ms, deadline)
            self.apply(self.shard.on_time(self.now))
        self.elapsed_ms = end_ms

    def reloaded(self) -> GroupShard:
        """What another coordinator makes of the log."""
        shard = self.make_shard()
        for entry in self.log:
            if len(entry) == 3:
                shard.replay_marker(entry[1], commit=entry[2])
            else:
                offset, key, value, producer_id = entry
                shard.replay(decode_record(key, value), offset=offset, producer_id=producer_id)
        shard.check_invariants()
        return shard

    def fail_over(self) -> None:
        """The coordinator dies with everything it knew but the log; so do the waiting requests."""
        self.shard = self.reloaded()
        self.era += 1
        for token in self.waiting():
            self.note(token, refuse(self.requests[token], ErrorCode.NOT_COORDINATOR))
        self.apply(self.shard.on_loaded(self.now))

    def waiting(self) -> list[Token]:
        return [token for token in self.requests if token not in self.answers]

    def records(self) -> list[CoordinatorRecord]:
        return [decode_record(entry[1], entry[2]) for entry in self.log if len(entry) == 4]

    # ------------------------------------------------------------------------------------------------------------
    # Requests.

    def send(self, message: Message, version: int, client_id: str = "client") -> Token:
        self._tokens += 1
        token = Token(self._tokens)
        self.requests[token] = message
        request = ShardRequest(
            token=token,
            message=message,
            version=version,
            client_id=client_id,
            client_host="/127.0.0.1",
            sees=self.sees,
            fresh_id=f"{self._tokens:04d}",
        )
        self.apply(self.shard.decide(request, self.now))
        return token

    def ask(self, message: Message, version: int, client_id: str = "client") -> Any:
        token = self.send(message, version, client_id)
        assert token in self.answers, "no answer yet"
        return self.answers[token]

    def join(
        self,
        member_id: str = "",
        *,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        instance: str | None = None,
        version: int = 9,
        group: str = GROUP,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client_id: str = "client",
    ) -> Token:
        protocols = {"range": subscription("orders")} if protocols is None else protocols
        message = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        )
        return self.send(message, version, client_id)

    def enter(self, **options: Any) -> tuple[str, Token]:
        """What a modern client does: ask for an id, then join with it."""
        required = self.answers[self.join(**options)]
        assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return required.member_id, self.join(required.member_id, **options)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        group: str = GROUP,
        protocol_name: str | None = None,
        protocol_type: str | None = None,
    ) -> Token:
        message = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_name=protocol_name,
            protocol_type=protocol_type,
            assignments=[
                SyncGroupRequestAssignment(member_id=name, assignment=data)
                for name, data in (assignments or {}).items()
            ],
        )
        return self.send(message, 5)

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None, group: str = GROUP) -> int:
        message = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return int(self.ask(message, 4).error_code)

    def leave(self, *members: tuple[str, str | None], group: str = GROUP) -> list[int]:
        identities = [MemberIdentity(member_id=name, group_instance_id=instance) for name, instance in members]
        response = self.ask(LeaveGroupRequest(group_id=group, members=identities), 5)
        assert response.error_code == 0
        return [member.error_code for member in response.members]

    def commit(
        self,
        offset: int,
        *,
        topic: str = "orders",
        partition: int = 0,
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        metadata: str | None = "",
        group: str = GROUP,
        version: int = 9,
        retention_ms: int = -1,
    ) -> int:
        message = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
            ],
        )
        return int(self.ask(message, version).topics[0].partitions[0].error_code)

    def fetch(
        self, *, topic: str = "orders", partition: int = 0, group: str = GROUP, require_stable: bool = False
    ) -> tuple[int, int]:
        """Committed offset and error code."""
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])]
        request = OffsetFetchRequestGroup(group_id=group, topics=topics)
        found = self.shard.fetch_offsets(request, require_stable=require_stable).topics[0].partitions[0]
        return found.committed_offset, found.error_code

    def state(self, group: str = GROUP) -> str:
        return self.shard.describe_group(group, 5).group_state

    # ------------------------------------------------------------------------------------------------------------
    # Whole flows.

    def stable_group(self, count: int, **options: Any) -> tuple[list[str], int]:
        """A group of `count` members with assignments; the first of those returned is the leader."""
        entered = [self.enter(**options) for _ in range(count)]
        self.advance(2 * self.settings.group_initial_rebalance_delay_ms)
        replies = [self.answers[token] for _, token in entered]
        assert all(reply.error_code == 0 for reply in replies)
        leader, generation = replies[0].leader, replies[0].generation_id
        members = [member_id for member_id, _ in entered]
        for member_id in members:
            if member_id != leader:
                self.sync(member_id, generation)
        self.sync(leader, generation, {member_id: f"for {member_id}".encode() for member_id in members})
        assert self.state() == "Stable"
        members.sort(key=lambda member_id: member_id != leader)
        return members, generation
