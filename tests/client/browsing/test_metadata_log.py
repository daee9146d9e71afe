"""`MetadataLog` against tidelog and Apache Kafka: the log as it grows, behind a snapshot, and for those who may not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.eventually import eventually
from support.nodes_in_process import nodes

from tidelog.client.admin import (
    Admin,
    AlterOperation,
    ConfigAlteration,
    ConfigResource,
    DeleteScramCredential,
    PutScramCredential,
    ResourceType,
    ScramMechanism,
)
from tidelog.client.browsing import MetadataEntry, MetadataLog, MetadataLogUnavailable
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import raise_any
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.metadata.image import ConfiguredResource

BOTH = "broker,controller"


class Follower:
    """Reads each record once, and keeps those that are about names with a certain beginning."""

    def __init__(self, log: MetadataLog, offset: int, prefix: str) -> None:
        self._log = log
        self._offset = offset
        self._prefix = prefix
        self.entries: list[MetadataEntry] = []

    async def read(self) -> None:
        page = await self._log.page(self._offset, 7)
        assert [entry.offset for entry in page.entries] == list(range(self._offset, page.next_offset))
        self._offset = page.next_offset
        for entry in page.entries:
            json.dumps((entry.fields, entry.before, entry.after))
            if entry.entity_name is not None and self._prefix in entry.entity_name:
                assert entry.problem is None, entry
                self.entries.append(entry)

    async def until(self, types: Sequence[str]) -> list[MetadataEntry]:
        """The entries since the last call, which are of these types."""

        async def check() -> None:
            await self.read()
            assert [entry.type for entry in self.entries] == list(types)

        await eventually(check)
        found, self.entries = self.entries, []
        return found


async def at_the_end(admin: Admin, prefix: str) -> Follower:
    log = MetadataLog(admin)
    return Follower(log, (await log.page()).next_offset, prefix)


async def test_the_life_of_a_topic_is_followed_record_by_record(admin: Admin, unique: str) -> None:
    follower = await at_the_end(admin, unique)
    await admin.create_topic(unique, partitions=1, configs={"retention.ms": "7000"})
    created = await follower.until(["TopicRecord", "ConfigRecord", "PartitionRecord"])
    by_type = {entry.type: entry for entry in created}
    topic, config, partition = (by_type[name] for name in ("TopicRecord", "ConfigRecord", "PartitionRecord"))
    assert (topic.entity_kind, topic.entity_name, topic.before) == ("topic", unique, None)
    assert topic.fields["name"] == unique
    assert (config.before, config.after) == (None, {"retention.ms": "7000"})
    assert (partition.entity_name, partition.before) == (f"{unique}-0", None)
    assert partition.after is not None
    assert partition.after["leader"] in partition.after["isr"]
    resource = ConfigResource(ResourceType.TOPIC, unique)
    change = ConfigAlteration(name="retention.ms", operation=AlterOperation.SET, value="8000")
    raise_any(await admin.alter_configs({resource: [change]}))
    (altered,) = await follower.until(["ConfigRecord"])
    assert (altered.before, altered.after) == ({"retention.ms": "7000"}, {"retention.ms": "8000"})
    raise_any(await admin.delete_topics([unique]))
    (removed,) = await follower.until(["RemoveTopicRecord"])
    assert removed.before is not None
    assert removed.before["configs"] == altered.after
    assert removed.before["partitions"]["0"]["leader"] == partition.after["leader"]
    assert removed.after is None


async def test_an_older_page_shows_the_same_again(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=3)
    log = MetadataLog(admin)
    offset = 0
    entries: list[MetadataEntry] = []
    while True:
        page = await log.page(offset, 5)
        entries += page.entries
        offset = page.next_offset
        if not page.entries:
            break
    assert page.log_start_offset == 0
    assert entries[0].offset == 0
    assert "LEADER_CHANGE" in {entry.type for entry in entries if entry.is_control}
    assert not [entry for entry in entries if entry.problem is not None]
    assert page.high_watermark <= len(entries)
    for start in (len(entries) // 2, 1, len(entries) - 3):
        assert (await log.page(start, 4)).entries == tuple(entries[start : start + 4])
        # Of one that has replayed nothing before.
        assert (await MetadataLog(admin).page(start, 2)).entries == tuple(entries[start : start + 2])
    assert (await log.page(10**9)).entries == ()


async def test_what_is_set_is_told_of_all_resources_at_once(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, configs={"retention.ms": "7000"})
    log, resource = MetadataLog(admin), ConfiguredResource(ResourceType.TOPIC, unique)

    async def is_set(expected: dict[str, str] | None) -> None:
        assert (await log.configs()).get(resource) == expected

    await eventually(lambda: is_set({"retention.ms": "7000"}))
    await admin.delete_topics([unique])
    await eventually(lambda: is_set(None))


async def test_passwords_are_not_shown(admin: Admin, unique: str) -> None:
    follower = await at_the_end(admin, unique)
    put = PutScramCredential(user=unique, password="secret", mechanism=ScramMechanism.SHA_256, salt=b"0123456789abcdef")
    raise_any(await admin.alter_user_scram_credentials([put]))
    (entry,) = await follower.until(["UserScramCredentialRecord"])
    assert entry.after == {
        "user": unique,
        "mechanism": "SCRAM-SHA-256",
        "iterations": 4096,
        **dict.fromkeys(("salt", "stored_key", "server_key"), "hidden"),
    }
    assert {entry.fields[name] for name in ("salt", "stored_key", "server_key")} == {"hidden"}
    deletion = DeleteScramCredential(user=unique, mechanism=ScramMechanism.SHA_256)
    raise_any(await admin.alter_user_scram_credentials([deletion]))
    (removed,) = await follower.until(["RemoveUserScramCredentialRecord"])
    assert (removed.before, removed.after) == (entry.after, None)


async def test_a_page_begins_behind_a_snapshot(tmp_path: Path) -> None:
    often = {"metadata_log_max_record_bytes_between_snapshots": "1500", "metadata_max_retention_bytes": "1"}
    async with nodes(tmp_path, {1: BOTH}, **often) as cluster, Admin(cluster.address(1)) as admin:
        await admin.create_topic("first", partitions=1, configs={"retention.ms": "7000"})
        reader = MetadataLog(admin)
        # A position that the log leaves behind.
        await reader.page(0, 3)
        for number in range(30):
            await admin.create_topic(f"t-{number}", partitions=1)
        control = cluster.running[1].node.control
        await cluster.until(lambda: control.log.start_offset > 20, "a log without its beginning")
        raise_any(await admin.delete_topics(["first"]))
        for log in (reader, MetadataLog(admin)):
            page = await log.page(0, 1_000)
            assert page.log_start_offset > 20
            assert page.entries[0].offset == page.log_start_offset
            assert not [entry for entry in page.entries if entry.problem is not None]
            removed = page.entries[-1]
            assert (removed.type, removed.entity_name, removed.after) == ("RemoveTopicRecord", "first", None)
            assert removed.before is not None
            assert removed.before["configs"] == {"retention.ms": "7000"}


async def test_who_may_not_gets_a_reason(tmp_path: Path) -> None:
    secured = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:admin"}
    async with nodes(tmp_path, {1: BOTH}, **secured) as cluster, Admin(cluster.address(1)) as admin:
        with pytest.raises(MetadataLogUnavailable, match="needs ClusterAction on the cluster"):
            await MetadataLog(admin).page()


async def test_a_broker_that_does_not_vote_shows_the_log(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: "controller", 2: "broker"}) as cluster, Admin(cluster.address(2)) as admin:
        follower = await at_the_end(admin, "orders")
        await admin.create_topic("orders", partitions=1, replication_factor=1)
        await follower.until(["TopicRecord", "PartitionRecord"])


async def test_brokers_that_were_not_known_at_first_are_looked_for(tmp_path: Path) -> None:
    """As for a client that has started before the broker was registered."""
    async with nodes(tmp_path, {1: BOTH}) as cluster, Admin(cluster.address(1)) as admin:
        admin.cluster.metadata = ClusterMetadata()
        assert (await MetadataLog(admin).page()).entries


async def test_a_cluster_that_is_gone_gives_a_reason(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: BOTH}) as cluster, Admin(cluster.address(1)) as admin:
        log = MetadataLog(admin)
        await log.page()
        await cluster.kill(1)
        with pytest.raises(MetadataLogUnavailable, match="cannot be read at the moment"):
            await log.page(timeout_ms=500)
