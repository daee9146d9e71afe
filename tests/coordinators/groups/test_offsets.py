"""OffsetCommit, OffsetFetch, OffsetDelete and the end of offsets."""

from __future__ import annotations

import pytest
from support.group_driver import GROUP, SESSION_MS, START_MS, Driver, subscription

from tidelog.coordinators.groups.offset_expiry import MAX_GROUPS_AT_A_TIME
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics

DAY_MS = 24 * 3600 * 1000
CHECK_MS = 600_000


def test_a_member_commits_and_fetches() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    assert driver.commit(42, member_id=member, generation=generation) == 0
    assert driver.fetch() == (42, 0)
    driver.fail_over()
    assert driver.fetch() == (42, 0)


def test_who_is_no_member_may_commit_while_the_group_is_empty() -> None:
    driver = Driver()
    assert driver.commit(7) == 0
    assert driver.fetch() == (7, 0)
    assert driver.state() == "Empty"
    (listed,) = driver.shard.list_groups()
    assert listed.protocol_type == ""


def test_an_unknown_group_has_no_offset_and_no_error() -> None:
    driver = Driver()
    assert driver.fetch(group="unknown") == (-1, 0)
    everything = OffsetFetchRequestGroup(group_id="unknown", topics=None)
    assert driver.shard.fetch_offsets(everything, require_stable=True).topics == []


def test_an_unknown_partition_has_no_offset_and_no_error() -> None:
    driver = Driver()
    driver.commit(7)
    assert driver.fetch(partition=1) == (-1, 0)


def test_without_topics_everything_is_fetched() -> None:
    driver = Driver()
    for topic, partition in [("a", 0), ("a", 1), ("b", 5)]:
        driver.commit(10 + partition, topic=topic, partition=partition, metadata="m")
    reply = driver.shard.fetch_offsets(OffsetFetchRequestGroup(group_id=GROUP, topics=None), require_stable=False)
    found = {
        (topic.name, partition.partition_index): (partition.committed_offset, partition.metadata)
        for topic in reply.topics
        for partition in topic.partitions
    }
    assert found == {("a", 0): (10, "m"), ("a", 1): (11, "m"), ("b", 5): (15, "m")}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"generation": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 2, "known": True}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 0, "known": True}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": -1, "known": True}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 1, "group": "unknown", "version": 9}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"generation": 1, "group": "unknown", "version": 8}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 1, "known": True, "metadata": "x" * 4097}, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_refused_commits(options: dict[str, object], expected: ErrorCode) -> None:
    driver = Driver()
    (member,), _ = driver.stable_group(1)
    if options.pop("known", False):
        options["member_id"] = member
    written = len(driver.log)
    assert driver.commit(1, **options) == expected  # type: ignore[arg-type]
    assert len(driver.log) == written


def test_a_zombie_of_an_older_generation_cannot_commit() -> None:
    """Scenario 21: the group has moved on while this consumer was processing."""
    driver = Driver()
    members, generation = driver.stable_group(2)
    driver.commit(10, member_id=members[1], generation=generation)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(members[0], generation)
    driver.advance(1)
    rejoined = driver.answers[driver.join(members[0])]
    driver.sync(members[0], rejoined.generation_id)
    assert driver.commit(99, member_id=members[1], generation=generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.commit(99, member_id=members[0], generation=generation) == ErrorCode.ILLEGAL_GENERATION
    assert driver.fetch() == (10, 0)


def test_members_may_commit_what_they_did_before_they_rejoin() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    driver.enter()
    assert driver.state() == "PreparingRebalance"
    assert driver.commit(5, member_id=member, generation=generation) == 0


def test_nobody_commits_between_join_and_sync() -> None:
    driver = Driver()
    member, _ = driver.enter()
    driver.advance(3000)
    assert driver.commit(5, member_id=member, generation=1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_one_oversized_text_does_not_harm_the_other_partitions() -> None:
    driver = Driver(offset_metadata_max_bytes=3)
    partitions = [
        OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="abcd"),
        OffsetCommitRequestPartition(partition_index=1, committed_offset=2, committed_metadata="abc"),
        OffsetCommitRequestPartition(partition_index=2, committed_offset=3, committed_metadata=None),
    ]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=partitions)]
    reply = driver.ask(OffsetCommitRequest(group_id=GROUP, topics=topics), 9)
    codes = [partition.error_code for partition in reply.topics[0].partitions]
    assert codes == [ErrorCode.OFFSET_METADATA_TOO_LARGE, 0, 0]
    assert [driver.fetch(partition=number)[0] for number in range(3)] == [-1, 2, 3]


def test_records_have_the_versions_of_kafka() -> None:
    driver = Driver()
    driver.commit(1)
    driver.commit(2, retention_ms=1000, version=4)
    versions = [int.from_bytes(entry[2][:2], "big") for entry in driver.log if len(entry) == 4 and entry[2]]
    assert versions == [4, 1]
    expiring = driver.records()[1].value
    assert isinstance(expiring, OffsetCommitValue)
    assert expiring.expire_timestamp == START_MS + 1000


def test_offsets_of_a_topic_that_was_made_anew_are_not_found() -> None:
    driver = Driver()
    old, new = bytes(15) + b"\1", bytes(15) + b"\2"
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=9)]
    topics = [OffsetCommitRequestTopic(name="orders", topic_id=old, partitions=partitions)]
    driver.ask(OffsetCommitRequest(group_id=GROUP, topics=topics), 10)

    def fetch(topic_id: bytes) -> int:
        wanted = [OffsetFetchRequestTopics(name="orders", topic_id=topic_id, partition_indexes=[0])]
        request = OffsetFetchRequestGroup(group_id=GROUP, topics=wanted)
        return driver.shard.fetch_offsets(request, require_stable=False).topics[0].partitions[0].committed_offset

    assert (fetch(old), fetch(new), fetch(bytes(16))) == (9, -1, 9)


# ----------------------------------------------------------------------------------------------------------------
# OffsetDelete.


def _delete(driver: Driver, topic: str, partition: int = 0, group: str = GROUP) -> tuple[int, list[int]]:
    partitions = [OffsetDeleteRequestPartition(partition_index=partition)]
    topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
    reply = driver.ask(OffsetDeleteRequest(group_id=group, topics=topics), 0)
    return reply.error_code, [partition.error_code for topic in reply.topics for partition in topic.partitions]


def test_offsets_of_an_empty_group_can_be_deleted() -> None:
    driver = Driver()
    driver.commit(7)
    assert _delete(driver, "orders") == (0, [0])
    assert driver.fetch() == (-1, 0)
    written = len(driver.log)
    assert _delete(driver, "orders") == (0, [0])
    assert len(driver.log) == written


def test_offsets_of_topics_that_members_are_subscribed_to_cannot_be_deleted() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    for topic in ("orders", "old"):
        driver.commit(7, topic=topic, member_id=member, generation=generation)
    assert _delete(driver, "orders") == (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])
    assert _delete(driver, "old") == (0, [0])
    assert driver.fetch(topic="orders") == (7, 0)
    assert driver.fetch(topic="old") == (-1, 0)


def test_refused_deletes() -> None:
    driver = Driver()
    driver.stable_group(1, protocol_type="connect")
    assert _delete(driver, "orders") == (ErrorCode.NON_EMPTY_GROUP, [])
    assert _delete(driver, "orders", group="unknown") == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_offsets_of_deleted_partitions_go() -> None:
    driver = Driver()
    driver.commit(1, group="a")
    driver.commit(2, group="b", partition=1)
    driver.commit(3, group="b", topic="other")
    partitions = [TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("orders", 2)]
    driver.apply(driver.shard.on_partitions_deleted(partitions, driver.now))
    assert driver.shard.size().endswith(" 1 offsets")
    assert driver.reloaded().size().endswith(" 1 offsets")


# ----------------------------------------------------------------------------------------------------------------
# Expiry.


def test_offsets_and_group_expire_some_time_after_the_last_member_left() -> None:
    driver = Driver(offsets_retention_minutes=60)
    (member,), generation = driver.stable_group(1)
    driver.commit(7, member_id=member, generation=generation)
    for _ in range(200):
        driver.advance(SESSION_MS - 1)
        driver.commit(8, partition=1, member_id=member, generation=generation)
    driver.leave((member, None))
    # The first offset is older than an hour by now, but counts from the departure.
    driver.advance(3_600_000 - CHECK_MS)
    assert driver.fetch() == (7, 0)
    driver.advance(2 * CHECK_MS)
    assert driver.fetch() == (-1, 0)
    assert driver.shard.list_groups() == []
    assert driver.reloaded().list_groups() == []
    assert driver.reloaded().size().endswith(" 0 offsets")


def test_offsets_of_who_is_no_member_expire_each_by_its_own_age() -> None:
    driver = Driver(offsets_retention_minutes=60)
    driver.commit(1)
    driver.advance(3_000_000)
    driver.commit(2, partition=1)
    driver.advance(1_200_000)
    assert driver.fetch(partition=0) == (-1, 0)
    assert driver.fetch(partition=1) == (2, 0)
    assert driver.state() == "Empty"


def test_a_group_with_members_keeps_the_offsets_of_topics_it_reads_and_no_others() -> None:
    driver = Driver(offsets_retention_minutes=60)
    (member,), generation = driver.stable_group(1, protocols={"range": subscription("orders")})
    for topic in ("orders", "given-up"):
        driver.commit(7, topic=topic, member_id=member, generation=generation)
    for _ in range(500):
        driver.advance(SESSION_MS - 1)
        driver.heartbeat(member, generation)
    assert driver.fetch(topic="orders") == (7, 0)
    assert driver.fetch(topic="given-up") == (-1, 0)


def test_groups_that_are_not_consumers_keep_everything_while_they_have_members() -> None:
    driver = Driver(offsets_retention_minutes=1)
    (member,), generation = driver.stable_group(1, protocol_type="connect")
    driver.commit(7, member_id=member, generation=generation)
    for _ in range(200):
        driver.advance(SESSION_MS - 1)
        driver.heartbeat(member, generation)
    assert driver.fetch() == (7, 0)


def test_a_retention_time_in_the_request_is_obeyed() -> None:
    driver = Driver()
    driver.commit(7, version=4, retention_ms=CHECK_MS)
    driver.advance(3 * CHECK_MS)
    assert driver.fetch() == (-1, 0)


def test_a_group_without_offsets_and_members_is_forgotten() -> None:
    driver = Driver()
    driver.join()
    driver.advance(CHECK_MS)
    assert driver.shard.list_groups() == []
    assert driver.reloaded().list_groups() == []


def test_expiry_of_many_groups_is_done_in_steps() -> None:
    driver = Driver(offsets_retention_minutes=1)
    count = MAX_GROUPS_AT_A_TIME + 10
    for number in range(count):
        driver.commit(1, group=f"group-{number}")
    driver.elapsed_ms = CHECK_MS
    first = driver.shard.on_time(driver.now)
    assert not first.atomic
    assert 0 < len(first.records) < 2 * count
    driver.apply(first)
    driver.advance(0)
    assert driver.shard.list_groups() == []
