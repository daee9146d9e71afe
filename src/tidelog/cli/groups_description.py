"""What `tidelog groups --describe` shows: offsets, members or states, in the lines of Kafka's kafka-consumer-groups."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.output import print_json, print_lines
from tidelog.client.admin import Admin, GroupDescription, GroupMemberDescription
from tidelog.client.config import Options
from tidelog.client.offsets.listing import LATEST
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

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
    options: Options, names: Collection[str] | None, *, members: bool, state: bool, verbose: bool, as_json: bool
) -> None:
    """Show these groups, or all."""
    async with Admin(config=options) as admin:
        wanted = list(names) if names else [one.group_id for one in await admin.list_groups()]
        described = Admin.raise_any(await admin.describe_groups(wanted))
        groups = [group for _, group in sorted(described.items())]
        addresses = {
            node.node_id: f"{node.host}:{node.port}  ({node.node_id})"
            for node in (await admin.describe_cluster()).nodes
        }
        with_offsets = as_json or not (members or state)
        rows = {group.group_id: await _partition_rows(admin, group) if with_offsets else [] for group in groups}
    if as_json:
        print_json([_as_json(group, rows[group.group_id]) for group in groups])
        return
    for group in groups:
        _tell_state(group)
        if state:
            lines = _state_lines(group, addresses.get(group.coordinator, str(group.coordinator)), verbose=verbose)
        elif members:
            lines = _member_lines(group, verbose=verbose)
        else:
            lines = _offset_lines(group, rows[group.group_id], verbose=verbose)
        if lines:
            print_lines(["", *lines])


def _tell_state(group: GroupDescription) -> None:
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


def _offset_lines(group: GroupDescription, rows: Sequence[PartitionRow], *, verbose: bool) -> list[str]:
    if not rows:
        return []
    header = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST"]
    least = [15, 15, 10, 15, 15, 15, 15, 15]
    table = [
        [
            group.group_id,
            row.partition.topic,
            str(row.partition.partition),
            _or_missing(row.current_offset),
            _or_missing(row.end_offset),
            _or_missing(row.lag),
            _MISSING if row.owner is None else row.owner.member_id,
            _MISSING if row.owner is None else row.owner.host,
            _MISSING if row.owner is None else row.owner.client_id,
        ]
        for row in rows
    ]
    if verbose:
        header.insert(3, "LEADER-EPOCH")
        least.insert(3, 15)
        for cells, row in zip(table, rows, strict=True):
            cells.insert(3, _or_missing(row.leader_epoch))
    return format_columns([*header, "CLIENT-ID"], table, least=[*least, 0])


def _member_lines(group: GroupDescription, *, verbose: bool) -> list[str]:
    if not group.members:
        return []
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    least = [15, 15, 15, 15, 15]
    table = [
        [group.group_id, member.member_id, member.host, member.client_id, str(len(member.assignment))]
        for member in group.members
    ]
    if any(member.instance_id for member in group.members):
        header.insert(2, "GROUP-INSTANCE-ID")
        least.insert(2, 17)
        for cells, member in zip(table, group.members, strict=True):
            cells.insert(2, member.instance_id or "")
    if verbose:
        header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        least += [15, 20, 15, 20]
        for cells, member in zip(table, group.members, strict=True):
            cells += [
                _or_missing(member.epoch),
                _assignment(member.assignment),
                _or_missing(group.target_epoch),
                _assignment(member.target),
            ]
    lines = format_columns(header, table, least=least)
    # Kafka's tool leaves room for columns that may follow.
    return lines if verbose else [f"{line} " for line in lines]


def _state_lines(group: GroupDescription, coordinator: str, *, verbose: bool) -> list[str]:
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    least = [15, 25, 20, 20]
    cells = [group.group_id, coordinator, group.assignor or _MISSING, group.state]
    if verbose:
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        least += [15, 25]
        cells += [_or_missing(group.epoch), _or_missing(group.target_epoch)]
    return format_columns([*header, "#MEMBERS"], [[*cells, str(len(group.members))]], least=[*least, 0])


def format_columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, least: Sequence[int]) -> list[str]:
    """Every column padded, the last one too, unless the least width of it is 0: as Java's format strings do."""
    widths = [
        max(width, *(len(row[number]) for row in (header, *rows))) if width else 0 for number, width in enumerate(least)
    ]
    return [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]


def _assignment(partitions: Collection[TopicPartition]) -> str:
    """Such as orders:0,1;returns:0."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic.items()) or _MISSING


def _or_missing(number: int | None) -> str:
    return _MISSING if number is None else str(number)


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
