"""ListGroups, DescribeGroups, DeleteGroups."""

from __future__ import annotations

import pytest
from support.group_driver import GROUP, Driver, subscription

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest


def _some_groups() -> Driver:
    driver = Driver()
    driver.commit(1, group="offsets-only")
    driver.stable_group(2)
    driver.enter(group="joining", client_id="other")
    return driver


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ((), (), {"offsets-only", GROUP, "joining"}),
        (("Stable",), (), {GROUP}),
        (("stable", " EMPTY "), (), {GROUP, "offsets-only"}),
        (("PreparingRebalance",), ("Classic",), {"joining"}),
        ((), ("consumer",), set()),
        (("NoSuchState",), (), set()),
    ],
)
def test_groups_are_filtered_by_state_and_type(states: tuple[str], types: tuple[str], expected: set[str]) -> None:
    listed = _some_groups().shard.list_groups(states, types)
    assert {group.group_id for group in listed} == expected
    assert all(group.group_type == "classic" for group in listed)


def test_a_stable_group_is_described_with_metadata_and_assignments() -> None:
    driver = _some_groups()
    described = driver.shard.describe_group(GROUP, 6)
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    member = described.members[0]
    assert member.member_metadata == subscription("orders")
    assert member.member_assignment == f"for {member.member_id}".encode()
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")


def test_during_a_rebalance_members_are_described_without_metadata() -> None:
    described = _some_groups().shard.describe_group("joining", 6)
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    (member,) = described.members
    assert (member.client_id, member.member_metadata, member.member_assignment) == ("other", b"", b"")


def test_an_unknown_group_is_dead_and_from_version_6_an_error() -> None:
    shard = Driver().shard
    assert shard.describe_group("unknown", 5).error_code == 0
    described = shard.describe_group("unknown", 6)
    assert (described.group_state, described.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert described.error_message == "Group unknown not found."


def test_only_groups_without_members_are_deleted() -> None:
    driver = _some_groups()
    names = ["offsets-only", GROUP, "joining", "unknown", "offsets-only"]
    reply = driver.ask(DeleteGroupsRequest(groups_names=names), 2)
    assert {result.group_id: result.error_code for result in reply.results} == {
        "offsets-only": ErrorCode.NONE,
        GROUP: ErrorCode.NON_EMPTY_GROUP,
        "joining": ErrorCode.NON_EMPTY_GROUP,
        "unknown": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert driver.fetch(group="offsets-only") == (-1, 0)
    assert "offsets-only" not in {group.group_id for group in driver.reloaded().list_groups()}
