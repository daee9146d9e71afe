"""What `tidelog groups --describe` shows: offsets, members or states, in the lines of Kafka's kafka-consumer-groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.output import columns, print_json, print_lines
from tidelog.client.admin import Admin, GroupDescription, GroupMemberDescription
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import LATEST

Row = TypeVar("Row")

_MISSING = "-"
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """Where a group is in one partition, where the end is, and who reads it. None is what nobody knows."""

    partition: TopicPartition
    leader_epoch: int | None
    current_offset: int | None
    end_offset: int | None
    owner: GroupMemberDescription | None

    @property
    def lag(self) -> int | None:
        if self.current_offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.current_offset


async def describe(
    cluster: ClusterOptions, names: Collection[str] | None, *, members: bool, state: bool, verbose: bool
) -> None:
    """Show these groups, or all."""
    async with cluster.admin() as admin:
        wanted = list(names) if names else [one.group_id for one in await admin.list_groups()]
        described = Admin.raise_any(await admin.describe_groups(wanted))
        groups = [group for _, group in sorted(described.items())]
        addresses = {
            node.node_id: f"{node.host}:{node.port}  ({node.node_id})"
            for node in (await admin.describe_cluster()).nodes
        }
        with_offsets = cluster.as_json or not (members or state)
        rows = {group.group_id: await _partition_rows(admin, group) if with_offsets else [] for group in groups}
    if cluster.as_json:
        print_json([_as_json(group, rows[group.group_id]) for group in groups])
        return
    for group in groups:
        _report_state(group)
        if state:
            lines = _state_lines(group, addresses.get(group.coordinator, str(group.coordinator)), verbose=verbose)
        elif members:
            lines = _member_lines(group, verbose=verbose)
        else:
            lines = _offset_lines(group, rows[group.group_id], verbose=verbose)
        if lines:
            print_lines(["", *lines])


def _report_state(group: GroupDescription) -> None:
    """Not on standard output, where scripts expect the columns."""
    if group.state == "Empty":
        sys.stderr.write(f"Consumer group '{group.group_id}' has no active members.\n")
    elif group.state in _REBALANCING:
        sys.stderr.write(f"Warning: Consumer group '{group.group_id}' is rebalancing.\n")


async def _partition_rows(admin: Admin, group: GroupDescription) -> list[PartitionRow]:
    """Of members with many partitions first, of partitions without a member last."""
    committed = await admin.list_group_offsets(group.group_id)
    by_load = sorted(group.members, key=lambda member: -len(member.assignment))
    order: dict[TopicPartition, GroupMemberDescription | None] = {
        partition: member for member in by_load for partition in sorted(member.assignment)
    }
    order |= {partition: None for partition in sorted(committed) if partition not in order}
    found = await admin.list_offsets(dict.fromkeys(order, LATEST)) if order else {}
    ends = {partition: end.offset for partition, end in found.items() if not isinstance(end, ApiError)}
    return [
        PartitionRow(
            partition=partition,
            leader_epoch=None if offset is None or offset.leader_epoch < 0 else offset.leader_epoch,
            current_offset=None if offset is None else offset.offset,
            end_offset=ends.get(partition),
            owner=owner,
        )
        for partition, owner in order.items()
        for offset in (committed.get(partition),)
    ]


# A title, the least width, and what is in the column; 0 leaves the last column as wide as its text.
_Column = tuple[str, int, Callable[[Row], object]]


def _table(rows: Sequence[Row], shown: Sequence[_Column[Row]]) -> list[str]:
    titles, least, cells = zip(*shown, strict=True)
    return columns(titles, [[_or_missing(cell(row)) for cell in cells] for row in rows], least=least)


def _offset_lines(group: GroupDescription, rows: Sequence[PartitionRow], *, verbose: bool) -> list[str]:
    if not rows:
        return []
    epoch: list[_Column[PartitionRow]] = [("LEADER-EPOCH", 15, lambda row: row.leader_epoch)]
    return _table(
        rows,
        [
            ("GROUP", 15, lambda row: group.group_id),
            ("TOPIC", 15, lambda row: row.partition.topic),
            ("PARTITION", 10, lambda row: row.partition.partition),
            *(epoch if verbose else ()),
            ("CURRENT-OFFSET", 15, lambda row: row.current_offset),
            ("LOG-END-OFFSET", 15, lambda row: row.end_offset),
            ("LAG", 15, lambda row: row.lag),
            ("CONSUMER-ID", 15, lambda row: row.owner and row.owner.member_id),
            ("HOST", 15, lambda row: row.owner and row.owner.host),
            ("CLIENT-ID", 0, lambda row: row.owner and row.owner.client_id),
        ],
    )


def _member_lines(group: GroupDescription, *, verbose: bool) -> list[str]:
    if not group.members:
        return []
    shown: list[_Column[GroupMemberDescription]] = [
        ("GROUP", 15, lambda member: group.group_id),
        ("CONSUMER-ID", 15, lambda member: member.member_id),
        ("HOST", 15, lambda member: member.host),
        ("CLIENT-ID", 15, lambda member: member.client_id),
        ("#PARTITIONS", 15, lambda member: len(member.assignment)),
    ]
    if any(member.instance_id for member in group.members):
        shown.insert(2, ("GROUP-INSTANCE-ID", 17, lambda member: member.instance_id or ""))
    if verbose:
        shown += [
            ("CURRENT-EPOCH", 15, lambda member: member.epoch),
            ("CURRENT-ASSIGNMENT", 20, lambda member: _assignment(member.assignment)),
            ("TARGET-EPOCH", 15, lambda member: group.target_epoch),
            ("TARGET-ASSIGNMENT", 20, lambda member: _assignment(member.target)),
        ]
    lines = _table(group.members, shown)
    # Kafka's tool leaves room for columns that may follow.
    return lines if verbose else [f"{line} " for line in lines]


def _state_lines(group: GroupDescription, coordinator: str, *, verbose: bool) -> list[str]:
    epochs: list[_Column[GroupDescription]] = [
        ("GROUP-EPOCH", 15, lambda one: one.epoch),
        ("TARGET-ASSIGNMENT-EPOCH", 25, lambda one: one.target_epoch),
    ]
    return _table(
        [group],
        [
            ("GROUP", 15, lambda one: one.group_id),
            ("COORDINATOR (ID)", 25, lambda one: coordinator),
            ("ASSIGNMENT-STRATEGY", 20, lambda one: one.assignor or None),
            ("STATE", 20, lambda one: one.state),
            *(epochs if verbose else ()),
            ("#MEMBERS", 0, lambda one: len(one.members)),
        ],
    )


def _assignment(partitions: Collection[TopicPartition]) -> str:
    """Such as orders:0,1;returns:0."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic.items()) or _MISSING


def _or_missing(value: object) -> object:
    return _MISSING if value is None else value


def _as_json(group: GroupDescription, rows: Sequence[PartitionRow]) -> Mapping[str, Any]:
    return {
        "group": group.group_id,
        "type": group.kind,
        "state": group.state,
        "protocol": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "epoch": group.epoch,
        "targetEpoch": group.target_epoch,
        "members": [
            {
                "id": member.member_id,
                "instanceId": member.instance_id,
                "clientId": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "assignment": _partitions_as_json(member.assignment),
                "target": _partitions_as_json(member.target) if group.target_epoch is not None else None,
            }
            for member in group.members
        ],
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "leaderEpoch": row.leader_epoch,
                "currentOffset": row.current_offset,
                "logEndOffset": row.end_offset,
                "lag": row.lag,
                "member": None if row.owner is None else row.owner.member_id,
                "host": None if row.owner is None else row.owner.host,
                "clientId": None if row.owner is None else row.owner.client_id,
            }
            for row in rows
        ],
    }


def _partitions_as_json(partitions: Collection[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(partitions)]
