"""Eligible leader replicas on real nodes: turned on, recorded, shown, and elected when nobody is in sync any more."""

from __future__ import annotations

from pathlib import Path

from support.nodes_in_process import Nodes, nodes
from support.raw_client import produce_request, raw_client

from tidelog.metadata.image import NO_LEADER, PartitionImage
from tidelog.metadata.records import ELIGIBLE_LEADER_REPLICAS_FEATURE
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.records.record import encode_batch
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import ReadResult

ROLES = {1: "broker", 2: "broker", 3: "broker,controller"}


def partition(cluster: Nodes) -> PartitionImage:
    return cluster.running[3].node.image.topics["t"].partitions[0]


async def test_an_eligible_leader_takes_over_with_every_committed_record(tmp_path: Path) -> None:
    async with nodes(tmp_path, ROLES) as cluster:
        async with raw_client(cluster.address(3)) as client:
            feature = FeatureUpdateKey(feature=ELIGIBLE_LEADER_REPLICAS_FEATURE, max_version_level=1, upgrade_type=1)
            updated = await client.ask(UpdateFeaturesRequest(feature_updates=[feature], timeout_ms=10_000))
            assert updated.error_code == ErrorCode.NONE, updated.error_message
            topic = CreatableTopic(
                name="t",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2])],
                configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")],
            )
            created = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            assert created.topics[0].error_code == ErrorCode.NONE
        await cluster.until(lambda: "t" in cluster.running[1].node.image.topics, "the topic on its leader")
        async with raw_client(cluster.address(1)) as client:
            reply = await client.ask(produce_request("t", encode_batch([(0, None, b"committed", ())])), 11)
            assert reply.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        await cluster.stop(2)
        await cluster.until(lambda: partition(cluster).eligible_leaders == (2,), "an eligible leader")
        async with raw_client(cluster.address(3)) as client:
            asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
            (described,) = (await client.ask(asked)).topics[0].partitions
            assert list(described.eligible_leader_replicas) == [2]
        await cluster.kill(1)
        await cluster.until(lambda: partition(cluster).leader == NO_LEADER, "the fencing of the leader")
        assert partition(cluster).isr == ()
        # It was the second last in sync. Without the feature only node 1 could lead now.
        await cluster.start(2)
        await cluster.until(lambda: partition(cluster).leader == 2, "the election of the eligible leader")
        # Node 1 crashed: it may not lead, but follows, and with it everything can be read again.
        await cluster.start(1)
        await cluster.until(lambda: set(partition(cluster).isr) == {1, 2}, "a whole in-sync set")
        assert partition(cluster).eligible_leaders == ()
        replica = cluster.running[2].node.replicas.get("t", 0)
        assert replica is not None
        await cluster.until(lambda: replica.log.high_watermark == 1, "that the record is committed once more")
        kept = read_records(replica.log, 0, max_bytes=1 << 20, upper_bound=1)
        assert isinstance(kept, ReadResult)
        assert b"committed" in kept.records
