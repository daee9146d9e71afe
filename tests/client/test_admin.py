"""`Admin` against real brokers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.eventually import eventually
from support.processes import free_port

from tidelog.client.admin import (
    Admin,
    AlterOperation,
    ConfigAlteration,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import NoBrokerAvailable
from tidelog.client.offsets.listing import OffsetAndTimestamp
from tidelog.config.definitions import ConfigSource, ConfigType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST, MAX_TIMESTAMP


def code_of(result: object) -> ErrorCode:
    assert isinstance(result, ApiError), result
    return result.code


async def test_a_created_topic_can_be_listed_and_described(admin: Admin, unique: str) -> None:
    created = await admin.create_topic(unique, partitions=3, replication_factor=1)
    assert created.partitions == 3
    assert created.topic_id != ZERO_UUID

    async def check() -> None:
        assert unique in [topic.name for topic in await admin.list_topics()]
        described = (await admin.describe_topics([unique]))[unique]
        assert not isinstance(described, ApiError)
        assert described.topic_id == created.topic_id
        assert [part.partition for part in described.partitions] == [0, 1, 2]
        nodes = {node.node_id for node in (await admin.describe_cluster()).nodes}
        assert {part.leader for part in described.partitions} <= nodes
        assert all(part.replicas == part.in_sync for part in described.partitions)

    await eventually(check)


async def test_results_of_one_call_are_told_apart(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    results = await admin.create_topics(
        [NewTopic(name=unique), NewTopic(name=f"{unique}-b", partitions=2), NewTopic(name="no/slashes")]
    )
    assert code_of(results[unique]) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert not isinstance(results[f"{unique}-b"], ApiError)
    assert code_of(results["no/slashes"]) == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_validation_creates_nothing(admin: Admin, unique: str) -> None:
    results = await admin.create_topics([NewTopic(name=unique, partitions=2)], validate_only=True)
    assert not isinstance(results[unique], ApiError)
    assert unique not in [topic.name for topic in await admin.list_topics()]


async def test_a_wrong_topic_config_is_refused_with_its_name(admin: Admin, unique: str) -> None:
    with pytest.raises(ApiError, match=r"retention\.ms") as refused:
        await admin.create_topic(unique, configs={"retention.ms": "soon"})
    assert refused.value.code == ErrorCode.INVALID_CONFIG


async def test_a_deleted_topic_is_gone(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    Admin.raise_any(await admin.delete_topics([unique]))

    async def check() -> None:
        assert unique not in [topic.name for topic in await admin.list_topics()]
        assert code_of((await admin.describe_topics([unique]))[unique]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    await eventually(check)
    assert code_of((await admin.delete_topics([unique]))[unique]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_recreated_topic_is_not_deleted_by_the_id_of_its_predecessor(admin: Admin, unique: str) -> None:
    first = (await admin.create_topic(unique, partitions=1)).topic_id
    assert await admin.delete_topics_by_id([first]) == {first: None}

    async def create_again() -> None:
        created = (await admin.create_topics([NewTopic(name=unique, partitions=1)]))[unique]
        assert not isinstance(created, ApiError)
        assert created.topic_id != first

    await eventually(create_again)
    assert code_of((await admin.delete_topics_by_id([first]))[first]) == ErrorCode.UNKNOWN_TOPIC_ID

    async def it_is_there() -> None:
        assert unique in [topic.name for topic in await admin.list_topics()]

    await eventually(it_is_there)


async def test_partitions_can_be_added_but_not_taken_away(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    Admin.raise_any(await admin.create_partitions({unique: 4}))

    async def check() -> None:
        described = (await admin.describe_topics([unique]))[unique]
        assert not isinstance(described, ApiError)
        assert len(described.partitions) == 4

    await eventually(check)
    assert code_of((await admin.create_partitions({unique: 3}))[unique]) == ErrorCode.INVALID_PARTITIONS


async def test_an_altered_topic_config_is_described_with_its_source(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, configs={"retention.ms": "3600000"})
    topic = ConfigResource(ResourceType.TOPIC, unique)
    changes = [
        ConfigAlteration(name="retention.ms", operation=AlterOperation.DELETE),
        ConfigAlteration(name="cleanup.policy", operation=AlterOperation.SET, value="compact"),
    ]
    Admin.raise_any(await admin.alter_configs({topic: changes}))

    async def check() -> None:
        entries = {entry.name: entry for entry in Admin.raise_any(await admin.describe_configs([topic]))[topic]}
        assert entries["cleanup.policy"].value == "compact"
        assert entries["cleanup.policy"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG
        assert entries["retention.ms"].value == "604800000"
        assert entries["retention.ms"].is_default
        assert (entries["retention.ms"].type, entries["cleanup.policy"].type) == (ConfigType.LONG, ConfigType.LIST)

    await eventually(check)
    wrong = [ConfigAlteration(name="retention.ms", value="soon")]
    assert code_of((await admin.alter_configs({topic: wrong}))[topic]) == ErrorCode.INVALID_CONFIG


async def test_some_properties_of_a_broker_can_be_asked_for(admin: Admin) -> None:
    node = (await admin.describe_cluster()).nodes[0]
    broker = ConfigResource(ResourceType.BROKER, str(node.node_id))
    results = await admin.describe_configs([broker], names=["num.partitions", "log.dirs"], synonyms=True)
    entries = {entry.name: entry for entry in Admin.raise_any(results)[broker]}
    assert set(entries) == {"num.partitions", "log.dirs"}
    assert entries["log.dirs"].read_only


async def test_offsets_of_an_empty_topic(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    first, second = TopicPartition(unique, 0), TopicPartition(unique, 1)
    missing = TopicPartition(unique, 7)
    nowhere = TopicPartition(f"{unique}-missing", 0)
    results = await admin.list_offsets({first: EARLIEST, second: LATEST, missing: LATEST, nowhere: LATEST})
    for partition in (first, second):
        found = results[partition]
        assert isinstance(found, OffsetAndTimestamp)
        assert found.offset == 0
    assert code_of(results[missing]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(results[nowhere]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    newest = Admin.raise_any(await admin.list_offsets({first: MAX_TIMESTAMP}))[first]
    assert (newest.offset, newest.timestamp) == (-1, -1)


async def test_metadata_that_the_caller_has_is_not_asked_for_again(
    admin: Admin, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await admin.create_topic(unique, partitions=2)
    ends = {TopicPartition(unique, number): LATEST for number in range(2)}
    expected = await admin.list_offsets(ends)
    metadata = await admin.cluster.fetch_metadata([unique])
    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "fetch_metadata", None)
        assert await admin.list_offsets(ends, metadata=metadata) == expected
    # What it says may be out of date.
    topic = metadata.topics[unique]
    others = {
        each.leader: next(iter(metadata.brokers.keys() - {each.leader}), each.leader) for each in topic.partitions
    }
    moved = replace(topic, partitions=tuple(replace(each, leader=others[each.leader]) for each in topic.partitions))
    assert await admin.list_offsets(ends, metadata=replace(metadata, topics={unique: moved})) == expected


async def test_records_beyond_the_end_cannot_be_deleted(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    assert code_of((await admin.delete_records({partition: 5}))[partition]) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert Admin.raise_any(await admin.delete_records({partition: 0})) == {partition: 0}


async def test_every_broker_tells_its_versions_and_directories(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    brokers = await admin.broker_versions()
    for versions in brokers:
        served = {api.api_key: (api.min_version, api.max_version) for api in versions.apis}
        assert served[18][0] == 0
        assert versions.problem is None

    async def check() -> None:
        by_broker = Admin.raise_any(await admin.describe_log_dirs())
        assert set(by_broker) == {versions.node.node_id for versions in brokers}
        directories = [directory for several in by_broker.values() for directory in several]
        assert TopicPartition(unique, 0) in {part for directory in directories for part in directory.sizes}

    await eventually(check)


async def test_producers_of_an_untouched_partition_are_none(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    assert Admin.raise_any(await admin.describe_producers([partition])) == {partition: ()}


async def test_an_unknown_group_is_not_found(admin: Admin, unique: str) -> None:
    assert code_of((await admin.describe_groups([unique]))[unique]) == ErrorCode.GROUP_ID_NOT_FOUND
    assert code_of((await admin.delete_groups([unique]))[unique]) == ErrorCode.GROUP_ID_NOT_FOUND
    assert await admin.list_group_offsets(unique) == {}


async def test_a_cluster_that_is_not_there_is_told_at_once() -> None:
    port = free_port()
    with pytest.raises(NoBrokerAvailable, match=rf"127\.0\.0\.1:{port}.*Connection refused"):
        await Admin(f"127.0.0.1:{port}").start()
