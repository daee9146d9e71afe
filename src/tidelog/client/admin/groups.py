"""Groups: list, describe and delete them, and the offsets that they have committed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from operator import attrgetter

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import (
    COORDINATION,
    ask_brokers,
    ask_coordinator,
    ask_coordinators,
    ask_each_broker,
    ask_each_coordinator,
)
from tidelog.client.errors import api_error, outcome, raise_for_code
from tidelog.client.offsets.committed import (
    OffsetAndMetadata,
    commit_offsets,
    fetch_committed,
    fetch_committed_of_groups,
)
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_describe_response import Assignment, ConsumerGroupDescribeResponse
from tidelog.protocol.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeleteGroupsResponse
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_delete_response import OffsetDeleteResponse

# A protocol of classic groups, and the name of the kind of groups that need no protocol (KIP-848).
CONSUMER_PROTOCOL = "consumer"
CLASSIC = "classic"
# A coordinator answers nobody else while it collects the groups of one request.
_GROUPS_AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    """`kind` is "classic", "consumer" or another of Kafka's types; empty where the broker does not tell."""

    group_id: str
    protocol_type: str
    state: str
    kind: str
    coordinator: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMemberDescription:
    """`epoch` and `target` only exist in groups of the consumer protocol (KIP-848).

    In groups of the classic protocol the assignment is what the leading member has sent. `assignment_problem` says why
    it cannot be read, if it is something else.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    epoch: int | None = None
    target: tuple[TopicPartition, ...] = ()
    assignment_problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """`kind` is "classic" or "consumer"; the epochs only exist in the second."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: tuple[GroupMemberDescription, ...]
    kind: str
    epoch: int | None = None
    target_epoch: int | None = None


class GroupAdmin:
    _cluster: Cluster

    async def list_groups(self) -> list[GroupListing]:
        """The groups of all coordinators, by name. Raises ApiTimeout if one of the brokers does not answer."""
        order = attrgetter("group_id")
        return await ask_brokers(self._cluster, "listing groups", self._list_groups_of, order=order)

    async def list_groups_by_broker(
        self, node_ids: Collection[int] | None = None, *, timeout_ms: float | None = None
    ) -> dict[int, list[GroupListing] | ApiError]:
        """The groups that each of these brokers coordinates, or each of all. One that does not answer until the time is
        up has an error."""
        return await ask_each_broker(
            self._cluster, "listing groups", node_ids, self._list_groups_of, timeout_ms=timeout_ms
        )

    async def _list_groups_of(self, node: int) -> list[GroupListing]:
        reply = await self._cluster.ask_node(node, ListGroupsRequest(), ListGroupsResponse)
        raise_for_code(reply.error_code, f"broker {node}")
        return [
            GroupListing(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                state=group.group_state,
                kind=group.group_type,
                coordinator=node,
            )
            for group in reply.groups
        ]

    async def describe_groups(
        self, group_ids: Collection[str], *, timeout_ms: float | None = None
    ) -> dict[str, GroupDescription | ApiError]:
        """A group that does not exist gives GROUP_ID_NOT_FOUND."""
        what = "describing groups"
        return await ask_each_coordinator(self._cluster, what, group_ids, self._describe, timeout_ms=timeout_ms)

    async def delete_groups(self, group_ids: Collection[str]) -> dict[str, ApiError | None]:
        """Only groups without members can be deleted."""

        async def delete(group_id: str) -> None:
            request = DeleteGroupsRequest(groups_names=(group_id,))
            reply = await ask_coordinator(
                self._cluster, group_id, request, DeleteGroupsResponse, lambda reply: reply.results[0].error_code
            )
            raise_for_code(reply.results[0].error_code, f"group {group_id!r}")

        return await ask_coordinators(self._cluster, "deleting groups", group_ids, delete)

    async def list_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What the group has committed; partitions without a committed offset are left out."""
        return await fetch_committed(self._cluster, group_id, partitions)

    async def list_offsets_of_groups(
        self,
        group_ids: Collection[str],
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata] | ApiError]:
        """What these groups have committed, for these partitions or for all, of many groups in one request where the
        brokers can do that. A group that does not exist has committed nothing."""
        return await fetch_committed_of_groups(self._cluster, group_ids, partitions, timeout_ms=timeout_ms)

    async def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit for a group that has no members now."""
        await commit_offsets(self._cluster, ConsumerGroupMetadata(group_id=group_id), offsets)

    async def delete_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ApiError | None]:
        """Take back committed offsets. Those of topics that members are subscribed to stay."""
        by_topic: dict[str, list[OffsetDeleteRequestPartition]] = defaultdict(list)
        for partition in partitions:
            by_topic[partition.topic].append(OffsetDeleteRequestPartition(partition_index=partition.partition))
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[OffsetDeleteRequestTopic(name=name, partitions=numbers) for name, numbers in by_topic.items()],
        )

        async def attempt() -> OffsetDeleteResponse:
            reply = await ask_coordinator(
                self._cluster, group_id, request, OffsetDeleteResponse, lambda reply: reply.error_code
            )
            raise_for_code(reply.error_code, f"group {group_id!r}")
            return reply

        reply = await self._cluster.retry(f"deleting offsets of group {group_id!r}", attempt)
        return {
            partition: outcome(result.error_code, f"partition {partition}", None)
            for topic in reply.topics
            for result in topic.partitions
            for partition in (TopicPartition(topic.name, result.partition_index),)
        }

    async def _describe(self, node: int, group_ids: list[str]) -> dict[str, GroupDescription | ApiError]:
        """The groups of one coordinator. Of which kind each is only it knows: what is not of the new one is classic."""
        answers: dict[str, GroupDescription | ApiError] = {}
        for first in range(0, len(group_ids), _GROUPS_AT_ONCE):
            part = group_ids[first : first + _GROUPS_AT_ONCE]
            answers |= await self._describe_new(node, part)
            left = [group_id for group_id in part if group_id not in answers]
            if left:
                answers |= await self._describe_classic(node, left)
        return answers

    async def _describe_new(self, node: int, group_ids: list[str]) -> dict[str, GroupDescription | ApiError]:
        """Those of the KIP-848 protocol, and those that are refused; groups of other kinds are left out."""
        request = ConsumerGroupDescribeRequest(group_ids=group_ids)
        try:
            reply = await self._cluster.ask_node(node, request, ConsumerGroupDescribeResponse, purpose=COORDINATION)
        except UnsupportedByBroker:
            return {}
        return {
            group.group_id: outcome(group.error_code, group.error_message, _new_group(group, node))
            for group in reply.groups
            if group.error_code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
        }

    async def _describe_classic(self, node: int, group_ids: list[str]) -> dict[str, GroupDescription | ApiError]:
        request = DescribeGroupsRequest(groups=group_ids)
        reply = await self._cluster.ask_node(node, request, DescribeGroupsResponse, purpose=COORDINATION)
        return {group.group_id: _classic_group(group, node) for group in reply.groups}


def _new_group(group: DescribedConsumerGroup, coordinator: int) -> GroupDescription:
    return GroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        protocol_type=CONSUMER_PROTOCOL,
        assignor=group.assignor_name,
        coordinator=coordinator,
        kind=CONSUMER_PROTOCOL,
        epoch=group.group_epoch,
        target_epoch=group.assignment_epoch,
        members=tuple(
            GroupMemberDescription(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                host=member.client_host,
                assignment=_partitions(member.assignment),
                epoch=member.member_epoch,
                target=_partitions(member.target_assignment),
            )
            for member in group.members
        ),
    )


def _classic_group(group: DescribedGroup, coordinator: int) -> GroupDescription | ApiError:
    if group.error_code:
        return api_error(group.error_code, group.error_message or f"group {group.group_id!r}")
    if group.group_state == "Dead":
        # How brokers before 4.0 say that there is no such group.
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group.group_id!r}")
    return GroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        protocol_type=group.protocol_type,
        assignor=group.protocol_data,
        coordinator=coordinator,
        kind=CLASSIC,
        members=_classic_members(group),
    )


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )


def _classic_members(group: DescribedGroup) -> tuple[GroupMemberDescription, ...]:
    # The consumer, which most commands and programs with an Admin do not need, comes with it.
    from tidelog.client.consumer.group_protocol import decode_assignment

    def described(member: DescribedGroupMember) -> GroupMemberDescription:
        assignment: tuple[TopicPartition, ...] = ()
        problem = None
        if group.protocol_type == CONSUMER_PROTOCOL:
            try:
                assignment = decode_assignment(member.member_assignment)
            except ProtocolError as error:
                problem = f"{len(member.member_assignment):,} bytes that are no assignment of a consumer: {error}"
        return GroupMemberDescription(
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            client_id=member.client_id,
            host=member.client_host,
            assignment=assignment,
            assignment_problem=problem,
        )

    return tuple(described(member) for member in group.members)
