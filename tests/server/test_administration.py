"""Topics, configurations and offsets over a real socket, and what of them survives a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import format_uuid
from tidelog.protocol.messages.alter_configs_request import (
    AlterableConfig as ReplacedConfig,
)
from tidelog.protocol.messages.alter_configs_request import (
    AlterConfigsRequest,
)
from tidelog.protocol.messages.alter_configs_request import (
    AlterConfigsResource as ReplacedResource,
)
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
DYNAMIC_TOPIC_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG, DEFAULT_CONFIG = 1, 3, 5


async def topics_of(client: RawClient, *names: str, create: bool = False) -> dict[str, Any]:
    wanted = [MetadataRequestTopic(name=name) for name in names] if names else None
    response = await client.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=create))
    return {topic.name: topic for topic in response.topics}


async def config_of(client: RawClient, kind: int, name: str, key: str) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    response = await client.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True))
    (result,) = response.results
    assert result.error_code == 0, result.error_message
    (config,) = result.configs
    return config


async def alter(client: RawClient, kind: int, name: str, key: str, value: str | None, operation: int = SET) -> Any:
    change = AlterableConfig(name=key, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
    response = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    return response.responses[0]


async def offset_at(client: RawClient, topic: str, timestamp: int) -> tuple[int, int]:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    response = await client.ask(
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    )
    answer = response.topics[0].partitions[0]
    assert answer.error_code == 0
    return answer.offset, answer.timestamp


async def test_topics_configs_and_records_survive_a_restart(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await create_topic(client, "t", partitions=3, retention_ms="123456")
        await client.produce("t", b"a", b"b", partition=2)
        cluster = await client.ask(DescribeClusterRequest())
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        topic = (await topics_of(client, "t"))["t"]
        assert topic.topic_id == topic_id
        assert len(topic.partitions) == 3
        assert (await config_of(client, TOPIC, "t", "retention.ms")).value == "123456"
        assert (await client.produce("t", b"c", partition=2)).base_offset == 2
        again = await client.ask(DescribeClusterRequest())
        assert again.cluster_id == cluster.cluster_id


async def test_a_restart_begins_a_new_leader_epoch(tmp_path: Path) -> None:
    epochs: list[int] = []
    for _ in range(3):
        async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
            if not epochs:
                await create_topic(client, "t")
            epochs.append((await topics_of(client, "t"))["t"].partitions[0].leader_epoch)
            await client.produce("t", b"x")
    assert epochs == sorted(set(epochs))
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epochs[1])
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[wanted])])
        answer = (await client.ask(request)).topics[0].partitions[0]
        assert (answer.leader_epoch, answer.end_offset) == (epochs[1], 2)


async def test_unknown_topics_are_created_when_asked_for(client: RawClient) -> None:
    assert (await topics_of(client, "fresh"))["fresh"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # The reply does not wait for the topic that it causes; clients ask again, and count on that error to do so.
    told = (await topics_of(client, "fresh", create=True))["fresh"]
    assert (told.error_code, len(told.partitions)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    async with asyncio.timeout(HANG_SECONDS):
        while (created := (await topics_of(client, "fresh"))["fresh"]).error_code:
            await asyncio.sleep(0.01)
    assert (len(created.partitions), created.partitions[0].leader_id) == (1, 1)


async def test_auto_creation_can_be_turned_off() -> None:
    async with (
        tidelog.Broker(properties={"auto.create.topics.enable": "false"}) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        topic = (await topics_of(client, "fresh", create=True))["fresh"]
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["", "..", "a b", "x" * 250, "ü"])
async def test_bad_names_are_refused(client: RawClient, name: str) -> None:
    response = await client.ask(
        CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])
    )
    assert response.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_creating_twice_and_impossible_topics_are_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    asked = [
        CreatableTopic(name="t", num_partitions=1, replication_factor=1),
        CreatableTopic(name="none", num_partitions=0, replication_factor=1),
        CreatableTopic(name="three", num_partitions=1, replication_factor=3),
    ]
    response = await client.ask(CreateTopicsRequest(topics=asked))
    assert {topic.name: topic.error_code for topic in response.topics} == {
        "t": ErrorCode.TOPIC_ALREADY_EXISTS,
        "none": ErrorCode.INVALID_PARTITIONS,
        "three": ErrorCode.INVALID_REPLICATION_FACTOR,
    }


async def test_a_deleted_topic_is_gone_with_its_files_and_can_come_back_empty(
    broker: tidelog.Broker, client: RawClient
) -> None:
    old_id = await create_topic(client, "t", file_delete_delay_ms="0")
    await client.produce("t", b"old")
    response = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=old_id, name=None)]))
    assert response.responses[0].error_code == 0
    assert not (Path(broker.data_dir) / "t-0").exists()
    new_id = await create_topic(client, "t")
    assert new_id != old_id
    assert await offset_at(client, "t", -1) == (0, -1)
    deadline = asyncio.get_running_loop().time() + 20
    while list(Path(broker.data_dir).glob("*-delete")):
        assert asyncio.get_running_loop().time() < deadline, "the files of the deleted topic are still there"
        await asyncio.sleep(0.1)


async def test_a_topic_that_was_deleted_stays_deleted_after_a_restart(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t")
        await client.produce("t", b"old")
        await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]))
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert await topics_of(client) == {}


async def test_topics_grow_but_do_not_shrink(client: RawClient) -> None:
    await create_topic(client, "t", partitions=2)

    async def resize(count: int) -> int:
        wanted = [CreatePartitionsTopic(name="t", count=count, assignments=None)]
        response = await client.ask(CreatePartitionsRequest(topics=wanted, timeout_ms=5000))
        code: int = response.results[0].error_code
        return code

    assert await resize(5) == 0
    assert len((await topics_of(client, "t"))["t"].partitions) == 5
    assert (await client.produce("t", b"x", partition=4)).error_code == 0
    assert await resize(3) == ErrorCode.INVALID_PARTITIONS


async def test_topic_configs_take_effect_at_once(client: RawClient) -> None:
    await create_topic(client, "t")
    assert (await client.produce("t", b"x" * 5000)).error_code == 0
    assert (await alter(client, TOPIC, "t", "max.message.bytes", "1000")).error_code == 0
    assert (await client.produce("t", b"x" * 5000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    described = await config_of(client, TOPIC, "t", "max.message.bytes")
    assert (described.value, described.config_source) == ("1000", DYNAMIC_TOPIC_CONFIG)
    assert (await alter(client, TOPIC, "t", "max.message.bytes", None, DELETE)).error_code == 0
    assert (await client.produce("t", b"x" * 5000)).error_code == 0


async def test_cluster_wide_broker_configs_take_effect_at_once_and_survive(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t")
        assert (await alter(client, BROKER, "", "message.max.bytes", "1000")).error_code == 0
        assert (await client.produce("t", b"x" * 5000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert (await client.produce("t", b"x" * 5000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        described = await config_of(client, BROKER, "1", "message.max.bytes")
        assert (described.value, described.config_source) == ("1000", DYNAMIC_DEFAULT_BROKER_CONFIG)


async def test_alter_configs_replaces_everything(client: RawClient) -> None:
    await create_topic(client, "t", retention_ms="1", max_message_bytes="2000")
    resource = ReplacedResource(
        resource_type=TOPIC, resource_name="t", configs=[ReplacedConfig(name="retention.ms", value="5")]
    )
    response = await client.ask(AlterConfigsRequest(resources=[resource]))
    assert response.responses[0].error_code == 0
    assert (await config_of(client, TOPIC, "t", "retention.ms")).value == "5"
    assert (await config_of(client, TOPIC, "t", "max.message.bytes")).config_source == DEFAULT_CONFIG


async def test_wrong_configs_are_named_and_change_nothing(client: RawClient) -> None:
    await create_topic(client, "t")
    wrong_value = await alter(client, TOPIC, "t", "retention.ms", "soon")
    assert wrong_value.error_code == ErrorCode.INVALID_CONFIG
    assert "soon" in wrong_value.error_message
    wrong_name = await alter(client, TOPIC, "t", "retention.mss", "1")
    assert wrong_name.error_code == ErrorCode.INVALID_CONFIG
    assert "retention.ms" in wrong_name.error_message


async def test_config_resources_are_listed(client: RawClient) -> None:
    await create_topic(client, "t")
    response = await client.ask(ListConfigResourcesRequest(resource_types=[TOPIC, BROKER]))
    assert {(each.resource_type, each.resource_name) for each in response.config_resources} == {(2, "t"), (4, "1")}


async def test_offsets_are_found_by_time(client: RawClient) -> None:
    await create_topic(client, "t")
    for number in range(5):
        await client.produce("t", b"x", timestamp=1_700_000_000_000 + number * 1000)
    assert await offset_at(client, "t", -2) == (0, -1)
    assert await offset_at(client, "t", -1) == (5, -1)
    assert await offset_at(client, "t", 1_700_000_001_500) == (2, 1_700_000_002_000)
    assert await offset_at(client, "t", 1_700_000_099_000) == (-1, -1)
    assert await offset_at(client, "t", -3) == (4, 1_700_000_004_000)
    assert await offset_at(client, "t", -4) == (0, -1)


async def delete_records(client: RawClient, offset: int) -> tuple[int, int]:
    wanted = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    response = await client.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000))
    answer = response.topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


async def test_deleted_records_stay_deleted_after_a_restart(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t")
        for _ in range(10):
            await client.produce("t", b"x")
        assert await delete_records(client, 4) == (0, 4)
        assert await delete_records(client, 2) == (0, 4)
        assert (await delete_records(client, 11))[0] == ErrorCode.OFFSET_OUT_OF_RANGE
        assert await offset_at(client, "t", -2) == (4, -1)
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert await offset_at(client, "t", -2) == (4, -1)
        assert await delete_records(client, -1) == (0, 10)


async def test_producers_of_a_partition_are_described(client: RawClient) -> None:
    await create_topic(client, "t")
    await client.produce("t", b"a", b"b", producer_id=77, producer_epoch=3, base_sequence=0)
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
    (producer,) = (await client.ask(request)).topics[0].partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 3, 1)


async def test_log_directories_tell_sizes(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(client, "t")
    await client.produce("t", b"x" * 1000)
    response = await client.ask(DescribeLogDirsRequest(topics=None))
    (directory,) = response.results
    assert directory.log_dir == broker.data_dir
    (topic,) = directory.topics
    size = (Path(broker.data_dir) / "t-0" / "00000000000000000000.log").stat().st_size
    assert topic.partitions[0].partition_size == size > 1000
    assert directory.total_bytes > directory.usable_bytes > 0


async def test_topics_come_in_pages(client: RawClient) -> None:
    for name in ("a", "b", "c"):
        await create_topic(client, name, partitions=3)
    seen: list[tuple[str, int]] = []
    cursor: Cursor | None = None
    pages = 0
    while True:
        response = await client.ask(DescribeTopicPartitionsRequest(response_partition_limit=4, cursor=cursor))
        pages += 1
        seen += [(topic.name, each.partition_index) for topic in response.topics for each in topic.partitions]
        if response.next_cursor is None:
            break
        cursor = Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )
    assert seen == [(name, number) for name in "abc" for number in range(3)]
    assert pages == 3


async def test_files_have_the_names_that_kafka_gives_them(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await create_topic(client, "t", internal_segment_bytes="300")
        for sequence in range(5):
            await client.produce("t", b"x" * 150, producer_id=9, producer_epoch=0, base_sequence=sequence)
    names = {path.name for path in (tmp_path / "t-0").iterdir()}
    first = f"{0:020d}"
    assert {f"{first}.log", f"{first}.index", f"{first}.timeindex"} <= names
    assert {"leader-epoch-checkpoint", "partition.metadata", f"{5:020d}.snapshot"} <= names
    assert len([name for name in names if name.endswith(".log")]) > 2
    assert format_uuid(topic_id) in (tmp_path / "t-0" / "partition.metadata").read_text()
    assert {
        "meta.properties",
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        ".kafka_cleanshutdown",
        "__cluster_metadata-0",
    } <= {path.name for path in tmp_path.iterdir()}
    assert "t 0 5" in (tmp_path / "replication-offset-checkpoint").read_text()
