"""Classic groups and consumer groups live side by side, under the same ids but never at the same time."""

from __future__ import annotations

from support.consumer_group_driver import Consumer, ConsumerDriver, settle
from support.group_driver import GROUP

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest


def test_both_kinds_are_listed_and_filtered() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    driver.enter(group="classic")
    driver.join_as("b", group="gone")
    driver.heartbeat_as("b", -1, group="gone")
    listed = {group.group_id: group for group in driver.shard.list_groups()}
    assert {name: (group.group_type, group.group_state) for name, group in listed.items()} == {
        GROUP: ("consumer", "Stable"),
        "classic": ("classic", "PreparingRebalance"),
        "gone": ("consumer", "Empty"),
    }
    assert listed[GROUP].protocol_type == "consumer"
    assert [group.group_id for group in driver.shard.list_groups(types=["Consumer"], states=["stable"])] == [GROUP]
    assert [group.group_id for group in driver.shard.list_groups(types=["classic"])] == ["classic"]
    assert driver.shard.group_count() == 3


def test_each_kind_has_its_own_description() -> None:
    driver = ConsumerDriver()
    driver.join_as("a", instance="i", rack="r", client_id="me")
    driver.enter(group="classic")
    described = driver.shard.describe_consumer_group(GROUP)
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Stable", 2, 2)
    assert described.assignor_name == "uniform"
    (member,) = described.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("a", "i", "r", 2)
    assert (member.client_id, member.client_host) == ("me", "/127.0.0.1")
    assert (list(member.subscribed_topic_names), member.subscribed_topic_regex) == (["orders"], "")
    for assignment in (member.assignment, member.target_assignment):
        (topic,) = assignment.topic_partitions
        assert (topic.topic_name, list(topic.partitions)) == ("orders", [0, 1, 2, 3])
    assert member.member_type == 1
    assert driver.shard.describe_consumer_group("classic").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.shard.describe_consumer_group("nobody").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.shard.describe_group(GROUP, 5).group_state == "Dead"
    other = driver.shard.describe_group(GROUP, 6)
    assert (other.error_code, other.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a classic group.",
    )


def test_deleted_topics_are_not_in_descriptions() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    driver.set_topics()
    (member,) = driver.shard.describe_consumer_group(GROUP).members
    assert list(member.assignment.topic_partitions) == []


def test_an_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets() -> None:
    driver = ConsumerDriver()
    members, generation = driver.stable_group(1)
    driver.commit(5, member_id=members[0], generation=generation)
    driver.leave((members[0], None))
    assert driver.state() == "Empty"
    member = Consumer(driver, "a")
    assert member.join() == 0
    assert len(member.owned) == 4
    assert [group.group_type for group in driver.shard.list_groups()] == ["consumer"]
    assert driver.fetch_as("a", 2) == (0, 5)
    assert [group.group_type for group in driver.reloaded().list_groups()] == ["consumer"]


def test_who_only_keeps_offsets_is_in_nobodys_way() -> None:
    driver = ConsumerDriver()
    driver.commit(5)
    assert driver.join_as("a").error_code == 0
    assert [group.group_type for group in driver.reloaded().list_groups()] == ["consumer"]
    assert driver.fetch() == (5, 0)


def test_a_refused_member_does_not_cost_a_classic_group_its_place() -> None:
    driver = ConsumerDriver()
    driver.commit(5)
    written = len(driver.log)
    assert driver.join_as("a", regex="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(driver.log) == written
    assert [group.group_type for group in driver.shard.list_groups()] == ["classic"]


def test_an_empty_consumer_group_becomes_a_classic_group_and_keeps_its_offsets() -> None:
    driver = ConsumerDriver()
    driver.join_as("a", topics=[], regex="o.*")
    driver.commit(5, member_id="a", generation=2)
    driver.heartbeat_as("a", -1)
    driver.stable_group(2)
    assert [group.group_type for group in driver.shard.list_groups()] == ["classic"]
    assert [group.group_type for group in driver.reloaded().list_groups()] == ["classic"]
    assert driver.fetch() == (5, 0)


def test_an_administrator_can_remove_members_by_either_name() -> None:
    driver = ConsumerDriver()
    first, second, third = Consumer(driver, "a"), Consumer(driver, "b", instance="i"), Consumer(driver, "c")
    for member in (first, second, third):
        member.join()
    settle([first, second, third])
    outcome = driver.leave(("a", None), ("", "i"), ("", "j"), ("x", None), ("x", "i"))
    unknown, fenced = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
    assert outcome == [0, 0, unknown, unknown, fenced]
    settle([third])
    assert len(third.owned) == 4


def test_only_empty_groups_can_be_deleted() -> None:
    driver = ConsumerDriver()
    driver.join_as("a", topics=[], regex="o.*")
    driver.commit(5, member_id="a", generation=2)

    def delete() -> int:
        return int(driver.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2).results[0].error_code)

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    driver.heartbeat_as("a", -1)
    assert delete() == 0
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND
    for shard in (driver.shard, driver.reloaded()):
        assert shard.list_groups() == []
    assert driver.fetch() == (-1, 0)


def test_compaction_may_leave_only_the_last_word_about_each_key() -> None:
    driver = ConsumerDriver()
    driver.commit(1)
    first, second = Consumer(driver, "a"), Consumer(driver, "b", topics=[], regex="o.*")
    first.join()
    second.join()
    settle([first, second])
    driver.commit(2, member_id="a", generation=first.epoch)
    first.leave()
    settle([second])
    last = {entry[1]: index for index, entry in enumerate(driver.log)}
    full = driver.reloaded()
    driver.log = [entry for index, entry in enumerate(driver.log) if last[entry[1]] == index and entry[2] is not None]
    compacted = driver.reloaded()
    assert compacted.list_groups() == full.list_groups() == driver.shard.list_groups()
    assert compacted.describe_consumer_group(GROUP) == driver.shard.describe_consumer_group(GROUP)
