"""The conversation of a member of a classic group with its coordinator, one rebalance at a time.

When to join, and what has to happen before and after, is decided in `tidelog.client.consumer.classic_member`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import COORDINATION, ask_coordinator
from tidelog.client.consumer.assignors import ASSIGNORS
from tidelog.client.consumer.group_protocol import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tidelog.client.errors import ClientError, raise_for_code
from tidelog.client.offsets.group_metadata import NO_GENERATION
from tidelog.client.options import ConsumerConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.heartbeat_response import HeartbeatResponse
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.leave_group_response import LeaveGroupResponse
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse

_Reply = TypeVar("_Reply", JoinGroupResponse, SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse)
_Request = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest

logger = logging.getLogger(__name__)

PROTOCOL_TYPE = "consumer"
# Joins have a connection of their own: replies come in order, and commits shall not wait for a rebalance to end.
_JOINING = "joining"
# A join is answered when all members have joined, which may take the whole rebalance timeout; this much on top.
_JOIN_MARGIN_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What came out of a rebalance. `counts` are the partitions of the group's topics, if this member leads it."""

    generation: int
    partitions: tuple[TopicPartition, ...]
    counts: Mapping[str, int] | None


class Joiner:
    def __init__(self, cluster: Cluster, config: ConsumerConfig, group_id: str) -> None:
        self._cluster = cluster
        self._config = config
        self._group_id = group_id
        self.member_id = ""
        self.generation = NO_GENERATION
        # The last assignment and its generation: what the sticky assignors want to know.
        self._remembered: tuple[tuple[TopicPartition, ...], int] = ((), NO_GENERATION)

    def forget(self) -> None:
        """The coordinator does not know this member any more."""
        self.member_id = ""
        self.generation = NO_GENERATION

    async def join(self, topics: Collection[str], owned: Collection[TopicPartition]) -> Joined:
        """One try. Raises what the coordinator has against it."""
        joined = await self._ask_to_join(topics, owned)
        self.generation = joined.generation_id
        self.member_id = joined.member_id
        assignments: list[SyncGroupRequestAssignment] = []
        counts: Mapping[str, int] | None = None
        if joined.leader == joined.member_id:
            subscriptions = _subscriptions(joined)
            counts = await self._partition_counts(subscriptions)
            if not joined.skip_assignment:
                assignments = _assign(joined.protocol_name or "", subscriptions, counts)
        reply = await self._ask(
            SyncGroupRequest(
                group_id=self._group_id,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self._config.group_instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=joined.protocol_name,
                assignments=assignments,
            ),
            SyncGroupResponse,
            self._long_timeout_ms(),
        )
        partitions = decode_assignment(reply.assignment)
        self._remembered = (partitions, self.generation)
        return Joined(generation=self.generation, partitions=partitions, counts=counts)

    async def heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._config.group_instance_id,
        )
        await self._ask(request, HeartbeatResponse, None)

    async def leave(self, reason: str) -> None:
        """The coordinator may be away: then the group notices when the session times out."""
        identity = MemberIdentity(
            member_id=self.member_id, group_instance_id=self._config.group_instance_id, reason=reason
        )
        request = LeaveGroupRequest(group_id=self._group_id, member_id=self.member_id, members=(identity,))
        try:
            await self._ask(request, LeaveGroupResponse, self._config.request_timeout_ms)
        except (ApiError, ConnectionProblem, ClientError) as error:
            logger.info("leaving group %r: %s", self._group_id, error)

    async def _ask_to_join(self, topics: Collection[str], owned: Collection[TopicPartition]) -> JoinGroupResponse:
        subscription = MemberSubscription(
            topics=tuple(topics),
            owned=tuple(owned),
            generation=self.generation,
            rack=self._config.client_rack or None,
        )
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._config.session_timeout_ms,
            rebalance_timeout_ms=self._config.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(
                    name=name,
                    metadata=encode_subscription(
                        replace(subscription, user_data=ASSIGNORS[name].user_data(*self._remembered))
                    ),
                )
                for name in self._config.partition_assignment_strategy
            ],
        )
        reply = await self._answer(request, JoinGroupResponse, self._long_timeout_ms())
        if reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            # The coordinator first gives out an id, and only then counts the member in (KIP-394).
            self.member_id = reply.member_id
        raise_for_code(reply.error_code, f"group {self._group_id!r}")
        return reply

    async def _partition_counts(self, subscriptions: Mapping[str, MemberSubscription]) -> Mapping[str, int]:
        topics = {topic for wants in subscriptions.values() for topic in wants.topics}
        self._cluster.watch(topics)
        await self._cluster.refresh()
        metadata = self._cluster.metadata
        return {topic: metadata.partition_count(topic) or 0 for topic in topics}

    def _long_timeout_ms(self) -> float:
        return max(self._config.request_timeout_ms, self._config.max_poll_interval_ms + _JOIN_MARGIN_MS)

    async def _answer(self, request: _Request, expected: type[_Reply], timeout_ms: float | None) -> _Reply:
        return await ask_coordinator(
            self._cluster,
            self._group_id,
            request,
            expected,
            lambda reply: reply.error_code,
            purpose=_JOINING if isinstance(request, JoinGroupRequest | SyncGroupRequest) else COORDINATION,
            timeout_ms=timeout_ms,
        )

    async def _ask(self, request: _Request, expected: type[_Reply], timeout_ms: float | None) -> _Reply:
        reply = await self._answer(request, expected, timeout_ms)
        raise_for_code(reply.error_code, f"group {self._group_id!r}")
        return reply


def _subscriptions(joined: JoinGroupResponse) -> dict[str, MemberSubscription]:
    return {
        member.member_id: replace(decode_subscription(member.metadata), instance_id=member.group_instance_id)
        for member in joined.members
    }


def _assign(
    protocol: str, subscriptions: Mapping[str, MemberSubscription], counts: Mapping[str, int]
) -> list[SyncGroupRequestAssignment]:
    """This member leads the group: divide the partitions among all members."""
    assignment = ASSIGNORS[protocol].assign(subscriptions, counts)
    return [
        SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
        for member, partitions in assignment.items()
    ]
