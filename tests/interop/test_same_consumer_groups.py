"""The same conversation with the coordinator of a consumer group (KIP-848), held with tidelog and with Apache Kafka.

Which partitions a member gets is the assignor's choice, how many is not; nor are epochs and errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.apache_kafka import running_apache_kafka
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.tidelog_process import running_tidelog

from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import decode, encode
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.consumer_protocol_subscription import TopicPartition as SubscribedPartitions
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
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
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.asyncio(loop_scope="module")]

PROPERTIES = {"group.consumer.assignment.interval.ms": "0", "group.consumer.min.assignment.interval.ms": "0"}
TOPIC = "same"


class Peer:
    """One broker, and what its members own there."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.owned: dict[str, list[TopicPartitions]] = {}

    async def prepare(self) -> None:
        topics = [CreatableTopic(name=TOPIC, num_partitions=4, replication_factor=1)]
        await self.client.ask(CreateTopicsRequest(topics=topics, timeout_ms=5000), 7)

    async def find(self, group: str) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                reply = await self.client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4)
                if reply.coordinators[0].error_code == 0:
                    break
                await asyncio.sleep(0.1)
            probe = ConsumerGroupHeartbeatRequest(group_id=group, member_id="probe", member_epoch=7)
            while (await self.client.ask(probe, 1)).error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                await asyncio.sleep(0.1)

    async def beat(self, group: str, member: str, epoch: int, *, version: int = 1, **fields: Any) -> Any:
        """Error, epoch, and how many partitions are assigned; None if nothing is said about it."""
        if epoch == 0:
            first = {"rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_names": [TOPIC]}
            fields = {**first, **fields}
        if fields.get("topic_partitions") == "owned":
            fields["topic_partitions"] = self.owned.get(member, [])
        request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **fields)
        reply = await self.client.ask(request, version)
        if reply.assignment is None:
            return reply.error_code, reply.member_epoch, None
        self.owned[member] = [
            TopicPartitions(topic_id=topic.topic_id, partitions=topic.partitions)
            for topic in reply.assignment.topic_partitions
        ]
        count = sum(len(topic.partitions) for topic in reply.assignment.topic_partitions)
        return reply.error_code, reply.member_epoch, count

    async def commit(self, group: str, member: str, epoch: int, *, version: int = 9) -> int:
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=3)]
        request = OffsetCommitRequest(
            group_id=group,
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
        )
        return int((await self.client.ask(request, version)).topics[0].partitions[0].error_code)

    async def fetch(self, group: str, member: str | None, epoch: int) -> Any:
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
        asked = OffsetFetchRequestGroup(group_id=group, member_id=member, member_epoch=epoch, topics=topics)
        (reply,) = (await self.client.ask(OffsetFetchRequest(groups=[asked]), 9)).groups
        return reply.error_code, [each.committed_offset for topic in reply.topics for each in topic.partitions]

    async def describe(self, group: str) -> Any:
        (found,) = (await self.client.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1)).groups
        members = [
            (
                member.member_id,
                member.instance_id,
                member.member_epoch,
                sorted(member.subscribed_topic_names),
                member.subscribed_topic_regex or "",
                sum(len(topic.partitions) for topic in member.target_assignment.topic_partitions),
                member.member_type,
            )
            for member in found.members
        ]
        return (
            found.error_code,
            found.group_state,
            found.group_epoch,
            found.assignment_epoch,
            found.assignor_name,
            sorted(members, key=str),
        )


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def peers(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Peer, Peer]]:
    with (
        running_tidelog(tmp_path_factory.mktemp("tidelog"), PROPERTIES) as ours,
        running_apache_kafka(jars, tmp_path_factory.mktemp("apache"), PROPERTIES) as theirs,
    ):
        async with raw_client(ours.bootstrap_servers) as our, raw_client(theirs.bootstrap_servers) as their:
            both = Peer(our), Peer(their)
            for peer in both:
                await peer.prepare()
            yield both


Step = Callable[[Peer], Awaitable[Any]]


async def _same(peers: tuple[Peer, Peer], group: str, steps: Sequence[tuple[str, Step]]) -> None:
    for peer in peers:
        await peer.find(group)
    for what, step in steps:
        ours, theirs = [await step(peer) for peer in peers]
        assert ours == theirs, what


async def test_two_members_join_reconcile_and_leave(peers: tuple[Peer, Peer]) -> None:
    group = "two"

    def beat(member: str, epoch: int, **fields: Any) -> Step:
        return lambda peer: peer.beat(group, member, epoch, **fields)

    await _same(
        peers,
        group,
        [
            ("the first joins", beat("a", 0)),
            ("nothing new", beat("a", 2)),
            (
                "everything said",
                beat("a", 2, topic_partitions="owned", rebalance_timeout_ms=60_000, subscribed_topic_names=[TOPIC]),
            ),
            ("described", lambda peer: peer.describe(group)),
            ("the second joins", beat("b", 0)),
            ("the second waits", beat("b", 3)),
            ("while reconciling", lambda peer: peer.describe(group)),
            ("the first is told", beat("a", 2)),
            ("it has not confirmed", beat("b", 3)),
            ("it still has it all", beat("a", 2)),
            ("it confirms", beat("a", 2, topic_partitions="owned")),
            ("the second gets it", beat("b", 3)),
            ("stable", lambda peer: peer.describe(group)),
            ("one epoch behind, nothing said", beat("a", 2)),
            ("one epoch behind", beat("a", 2, topic_partitions="owned")),
            ("too far ahead", beat("a", 10)),
            ("rejoins", beat("a", 0)),
            ("unknown", beat("x", 3)),
            ("the second leaves", beat("b", -1)),
            ("it is gone", beat("b", 3)),
            ("the first inherits", beat("a", 3)),
            ("the first is stable", lambda peer: peer.describe(group)),
            ("leaves", beat("a", -1)),
            ("empty", lambda peer: peer.describe(group)),
            ("deleted", lambda peer: _delete(peer, group)),
            ("gone", lambda peer: peer.describe(group)),
        ],
    )


async def _delete(peer: Peer, group: str) -> int:
    return int((await peer.client.ask(DeleteGroupsRequest(groups_names=[group]), 2)).results[0].error_code)


async def test_offsets(peers: tuple[Peer, Peer]) -> None:
    group = "offsets"

    async def delete_offset(peer: Peer) -> Any:
        partitions = [OffsetDeleteRequestPartition(partition_index=0)]
        topics = [OffsetDeleteRequestTopic(name=TOPIC, partitions=partitions)]
        reply = await peer.client.ask(OffsetDeleteRequest(group_id=group, topics=topics), 0)
        return reply.error_code, [each.error_code for topic in reply.topics for each in topic.partitions]

    await _same(
        peers,
        group,
        [
            ("no group", lambda peer: peer.commit(group, "a", 2)),
            ("joins", lambda peer: peer.beat(group, "a", 0)),
            ("commits", lambda peer: peer.commit(group, "a", 2)),
            ("too old a version", lambda peer: peer.commit(group, "a", 2, version=8)),
            ("ahead", lambda peer: peer.commit(group, "a", 3)),
            ("behind", lambda peer: peer.commit(group, "a", 0)),
            ("unknown", lambda peer: peer.commit(group, "x", 2)),
            ("nobody", lambda peer: peer.commit(group, "", -1)),
            ("fetched", lambda peer: peer.fetch(group, "a", 2)),
            ("fetched by a tool", lambda peer: peer.fetch(group, None, -1)),
            ("fetched ahead", lambda peer: peer.fetch(group, "a", 3)),
            ("fetched by a stranger", lambda peer: peer.fetch(group, "x", 2)),
            ("deleted while subscribed", delete_offset),
            ("another joins", lambda peer: peer.beat(group, "b", 0)),
            ("told", lambda peer: peer.beat(group, "a", 2)),
            ("commits what it gives up or not", lambda peer: peer.commit(group, "a", 2)),
            ("leaves", lambda peer: peer.beat(group, "a", -1)),
            ("leaves too", lambda peer: peer.beat(group, "b", -1)),
            ("nobody is there", lambda peer: peer.commit(group, "", -1)),
            ("deleted", delete_offset),
        ],
    )


async def test_static_members(peers: tuple[Peer, Peer]) -> None:
    group = "static"

    def beat(member: str, epoch: int, instance: str | None = "i", **fields: Any) -> Step:
        return lambda peer: peer.beat(group, member, epoch, instance_id=instance, **fields)

    await _same(
        peers,
        group,
        [
            ("joins", beat("a", 0)),
            ("in use", beat("b", 0)),
            ("unknown instance", beat("a", 2, "j")),
            ("fenced", beat("b", 2)),
            ("goes for a while", beat("a", -2)),
            ("away", lambda peer: peer.describe(group)),
            ("its old self", beat("a", 2)),
            ("is back", beat("b", 0)),
            ("without a rebalance", lambda peer: peer.describe(group)),
            ("the old self", beat("a", 2)),
            ("the old self leaves", beat("a", -1)),
            ("goes for good", beat("b", -1)),
            ("empty", lambda peer: peer.describe(group)),
        ],
    )


async def test_requests_that_make_no_sense(peers: tuple[Peer, Peer]) -> None:
    group = "nonsense"

    def beat(member: str, epoch: int, **fields: Any) -> Step:
        return lambda peer: peer.beat(group, member, epoch, **fields)

    await _same(
        peers,
        group,
        [
            ("no member id", beat("", 0)),
            ("an empty instance id", beat("a", 0, instance_id="")),
            ("an empty rack", beat("a", 0, rack_id="")),
            ("no timeout", beat("a", 0, rebalance_timeout_ms=-1)),
            ("owns something already", beat("a", 0, topic_partitions=[TopicPartitions()])),
            ("says nothing about it", beat("a", 0, topic_partitions=None)),
            ("no subscription", beat("a", 0, subscribed_topic_names=None)),
            ("an unknown assignor", beat("a", 0, server_assignor="clever")),
            ("an expression that is none", beat("a", 0, subscribed_topic_regex="(")),
            ("leaves without instance", beat("a", -2)),
            ("a strange epoch", beat("a", -3)),
            ("no group", beat("a", 1)),
            ("leaves no group", beat("a", -1)),
            ("an empty subscription", beat("a", 0, subscribed_topic_names=[])),
            ("a topic that does not exist", beat("b", 0, subscribed_topic_names=["missing"])),
            ("range", beat("c", 0, server_assignor="range")),
            ("described", lambda peer: peer.describe(group)),
        ],
    )


async def test_both_kinds_of_groups(peers: tuple[Peer, Peer]) -> None:
    group = "kinds"

    async def classic_heartbeat(peer: Peer) -> int:
        request = HeartbeatRequest(group_id=group, generation_id=2, member_id="a")
        return int((await peer.client.ask(request, 4)).error_code)

    async def classic_sync(peer: Peer) -> int:
        request = SyncGroupRequest(group_id=group, generation_id=2, member_id="a")
        return int((await peer.client.ask(request, 5)).error_code)

    async def classic_describe(peer: Peer) -> Any:
        (old,) = (await peer.client.ask(DescribeGroupsRequest(groups=[group]), 5)).groups
        (new,) = (await peer.client.ask(DescribeGroupsRequest(groups=[group]), 6)).groups
        return (old.error_code, old.group_state), (new.error_code, new.group_state)

    async def listed(peer: Peer) -> Any:
        reply = await peer.client.ask(ListGroupsRequest(), 5)
        found = [each for each in reply.groups if each.group_id == group]
        return [(each.group_type.lower(), each.group_state, each.protocol_type) for each in found]

    await _same(
        peers,
        group,
        [
            ("a commit without a group", lambda peer: peer.commit(group, "", -1)),
            ("listed", listed),
            ("is no consumer group", lambda peer: peer.describe(group)),
            ("joins", lambda peer: peer.beat(group, "a", 0)),
            ("listed again", listed),
            ("heartbeat", classic_heartbeat),
            ("sync", classic_sync),
            ("is no classic group", classic_describe),
            ("not empty", lambda peer: _delete(peer, group)),
            ("the offset is still there", lambda peer: peer.fetch(group, "a", 2)),
        ],
    )


async def test_new_partitions(peers: tuple[Peer, Peer]) -> None:
    group = "growing"

    async def grow(peer: Peer) -> int:
        created = CreatableTopic(name="growing", num_partitions=1, replication_factor=1)
        if not hasattr(peer, "made"):
            peer.made = True  # type: ignore[attr-defined]
            await peer.client.ask(CreateTopicsRequest(topics=[created], timeout_ms=5000), 7)
            return 0
        more = CreatePartitionsTopic(name="growing", count=5, assignments=None)
        reply = await peer.client.ask(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
        return int(reply.results[0].error_code)

    async def until(peer: Peer, count: int, epoch: int) -> Any:
        """Brokers learn of topics when the controller tells them."""
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                found = await peer.beat(group, "a", epoch)
                if found[2] is not None and found[2] == count:
                    return found
                await asyncio.sleep(0.1)

    await _same(
        peers,
        group,
        [
            ("joins", lambda peer: peer.beat(group, "a", 0, subscribed_topic_names=["growing"])),
            ("made", grow),
            ("gets it", lambda peer: until(peer, 1, 2)),
            ("grown", grow),
            ("gets more", lambda peer: until(peer, 5, 3)),
            ("described", lambda peer: peer.describe(group)),
        ],
    )


class ClassicMember:
    """One member of the classic protocol in a group, and what both brokers call it."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.ids: dict[Peer, str] = {}
        self.generations: dict[Peer, int] = {}
        self.owned: dict[Peer, list[SubscribedPartitions]] = {}

    async def join(self, peer: Peer) -> Any:
        """Error, whether anybody leads, and what the protocol is; joins twice if an id is required first."""
        metadata = ConsumerProtocolSubscription(topics=[TOPIC], owned_partitions=self.owned.get(peer, []))
        protocols = [JoinGroupRequestProtocol(name="cooperative-sticky", metadata=b"\0\x03" + encode(metadata, 3))]
        for _ in range(2):
            request = JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                member_id=self.ids.get(peer, ""),
                protocol_type="consumer",
                protocols=protocols,
            )
            reply = await peer.client.ask(request, 9)
            self.ids[peer] = reply.member_id or self.ids.get(peer, "")
            if reply.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
        self.generations[peer] = reply.generation_id
        return reply.error_code, reply.generation_id, reply.leader == reply.member_id, reply.protocol_name

    async def sync(self, peer: Peer, *, assign: bool = False) -> Any:
        """Error, and how many partitions there are. `assign` if the member leads the group: it takes all of them."""
        everything = ConsumerProtocolAssignment(
            assigned_partitions=[AssignedPartitions(topic=TOPIC, partitions=[0, 1, 2, 3])]
        )
        given = SyncGroupRequestAssignment(member_id=self.ids[peer], assignment=b"\0\x03" + encode(everything, 3))
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generations[peer],
            member_id=self.ids[peer],
            protocol_type="consumer",
            protocol_name="cooperative-sticky",
            assignments=[given] if assign else [],
        )
        reply = await peer.client.ask(request, 5)
        if reply.error_code:
            return reply.error_code, None
        assignment, _ = decode(ConsumerProtocolAssignment, reply.assignment, 3, 2)
        self.owned[peer] = [
            SubscribedPartitions(topic=topic.topic, partitions=topic.partitions)
            for topic in assignment.assigned_partitions
        ]
        return 0, sum(len(topic.partitions) for topic in assignment.assigned_partitions)

    async def beat(self, peer: Peer) -> int:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generations[peer], member_id=self.ids[peer])
        return int((await peer.client.ask(request, 4)).error_code)

    async def commit(self, peer: Peer) -> int:
        return await peer.commit(self.group, self.ids[peer], self.generations[peer], version=8)


async def test_a_live_group_changes_its_protocol_and_back(peers: tuple[Peer, Peer]) -> None:
    group = "migrating"
    classic = ClassicMember(group)

    async def kind(peer: Peer) -> Any:
        reply = await peer.client.ask(ListGroupsRequest(), 5)
        return [(each.group_type.lower(), each.group_state) for each in reply.groups if each.group_id == group]

    async def members(peer: Peer) -> Any:
        (found,) = (await peer.client.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1)).groups
        return found.group_epoch, sorted((each.member_epoch, each.member_type) for each in found.members)

    await _same(
        peers,
        group,
        [
            ("a classic member joins", classic.join),
            ("it takes everything", lambda peer: classic.sync(peer, assign=True)),
            ("it commits", classic.commit),
            ("a member of the consumer protocol joins", lambda peer: peer.beat(group, "new", 0)),
            ("the group is another one", kind),
            ("with both as members", members),
            ("the classic one may still commit", classic.commit),
            ("it has to rejoin", classic.beat),
            ("it rejoins with what it owns", classic.join),
            ("it keeps half", classic.sync),
            ("it has to rejoin without the other half", classic.beat),
            ("it rejoins", classic.join),
            ("it still has half", classic.sync),
            ("it is done", classic.beat),
            ("the new one gets the other half", lambda peer: peer.beat(group, "new", 2)),
            ("both are there", members),
            ("stable", kind),
            ("a commit of the old generation", lambda peer: peer.commit(group, classic.ids[peer], 1, version=8)),
            ("a commit of this one", classic.commit),
            ("the new one leaves", lambda peer: peer.beat(group, "new", -1)),
            ("the group is a classic one again", kind),
            ("the classic one has to rejoin", classic.beat),
            ("it rejoins the classic group", classic.join),
            ("it takes everything again", lambda peer: classic.sync(peer, assign=True)),
            ("and is stable", kind),
        ],
    )


async def test_a_classic_member_joins_a_consumer_group(peers: tuple[Peer, Peer]) -> None:
    group = "mixed"
    classic = ClassicMember(group)

    async def other_protocol(peer: Peer) -> int:
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="connect",
            protocols=[JoinGroupRequestProtocol(name="p", metadata=b"")],
        )
        return int((await peer.client.ask(request, 9)).error_code)

    async def leave(peer: Peer) -> Any:
        request = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=classic.ids[peer])])
        reply = await peer.client.ask(request, 5)
        return reply.error_code, [each.error_code for each in reply.members]

    await _same(
        peers,
        group,
        [
            ("the first joins", lambda peer: peer.beat(group, "new", 0)),
            ("a classic one joins", classic.join),
            ("it gets what is free", classic.sync),
            ("no step to take yet", classic.beat),
            ("the first is told", lambda peer: peer.beat(group, "new", 2)),
            ("it confirms", lambda peer: peer.beat(group, "new", 2, topic_partitions="owned")),
            ("now there is a step", classic.beat),
            ("it rejoins", classic.join),
            ("and gets its half", classic.sync),
            ("nothing to do", classic.beat),
            ("somebody who is no consumer", other_protocol),
            ("the classic one leaves", leave),
            ("it is gone", classic.beat),
            ("the first inherits", lambda peer: peer.beat(group, "new", 3)),
        ],
    )
