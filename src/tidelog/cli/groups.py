"""`tidelog groups`: list, describe and delete consumer groups, with the columns of Kafka's kafka-consumer-groups."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Annotated

import typer

from tidelog.cli.output import columns, print_json, print_lines
from tidelog.cli.session import (
    DEFAULT_SERVERS,
    BootstrapServer,
    CommandConfig,
    CommandFailure,
    Json,
    client_options,
    run,
)
from tidelog.client.admin import Admin, GroupDescription, GroupMember
from tidelog.client.committed import OffsetAndMetadata
from tidelog.client.config import Options
from tidelog.client.offsets import LATEST
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

_HEADER = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
_LEAST_WIDTHS = (15, 15, 10, 15, 15, 15, 15, 15)


def groups(
    bootstrap_server: BootstrapServer = DEFAULT_SERVERS,
    list_groups: Annotated[bool, typer.Option("--list", help="List the names of all groups.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="Show offsets, lag and members.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete groups that have no members.")] = False,
    group: Annotated[list[str] | None, typer.Option("--group", help="The group. Repeatable.")] = None,
    all_groups: Annotated[bool, typer.Option("--all-groups", help="All groups there are.")] = False,
    members: Annotated[bool, typer.Option("--members", help="With --describe: show members, not offsets.")] = False,
    state: Annotated[
        bool, typer.Option("--state", help="With --list or --describe: show the states of groups.")
    ] = False,
    command_config: CommandConfig = None,
    as_json: Json = False,
) -> None:
    """List, describe and delete consumer groups, with the options of kafka-consumer-groups.

    \b
    Examples:
      tidelog groups --list
      tidelog groups --describe --group billing
      tidelog groups --describe --group billing --members
      tidelog groups --delete --group billing
    """
    if [list_groups, describe, delete].count(True) != 1:
        raise typer.BadParameter("exactly one of --list, --describe and --delete is needed")
    options = client_options(bootstrap_server, command_config)
    if list_groups:
        run(_list(options, state, as_json))
        return
    if bool(group) == all_groups:
        raise typer.BadParameter("either --group or --all-groups is needed")
    if delete:
        run(_delete(options, group, as_json))
    else:
        run(_describe(options, group, members=members, state=state, as_json=as_json))


async def _list(options: Options, state: bool, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        found = await admin.list_groups()
    if as_json:
        print_json(
            [
                {"group": one.group_id, "type": one.kind, "protocol": one.protocol_type, "state": one.state}
                for one in found
            ]
        )
    elif state:
        print_lines(columns(("GROUP", "STATE"), ((one.group_id, one.state) for one in found), least=(25,)))
    else:
        print_lines(one.group_id for one in found)


async def _names(admin: Admin, names: Collection[str] | None) -> list[str]:
    return list(names) if names else [one.group_id for one in await admin.list_groups()]


async def _delete(options: Options, names: Collection[str] | None, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        results = await admin.delete_groups(await _names(admin, names))
    failed = {name: error for name, error in results.items() if error is not None}
    deleted = [name for name in results if name not in failed]
    if as_json:
        print_json({"deleted": deleted, "failed": {name: str(error) for name, error in failed.items()}})
    elif deleted:
        listed = ", ".join(f"'{name}'" for name in deleted)
        print_lines([f"Deletion of requested consumer groups ({listed}) was successful."])
    if failed:
        raise CommandFailure("; ".join(f"group {name!r}: {error}" for name, error in failed.items()))


async def _describe(
    options: Options, names: Collection[str] | None, *, members: bool, state: bool, as_json: bool
) -> None:
    async with Admin(config=options) as admin:
        described = Admin.raise_any(await admin.describe_groups(await _names(admin, names)))
        reports = [await _report(admin, group) for group in described.values()]
    if as_json:
        print_json(reports)
        return
    for group, report in zip(described.values(), reports, strict=True):
        if not group.members and not state:
            # Not on standard output, where scripts expect the columns.
            sys.stderr.write(f"Consumer group '{group.group_id}' has no active members.\n")
        if state:
            lines = _state_lines(group)
        elif members:
            lines = _member_lines(group)
        else:
            lines = _offset_lines(group, report)
        if lines:
            print_lines(["", *lines])


async def _report(admin: Admin, group: GroupDescription) -> dict[str, object]:
    """Everything about one group: its members, and for each partition where it is and where the end is."""
    committed = await admin.list_group_offsets(group.group_id)
    owners = {partition: member for member in group.members for partition in member.assignment}
    partitions = sorted({*committed, *owners})
    ends = await admin.list_offsets(dict.fromkeys(partitions, LATEST)) if partitions else {}
    known_ends = {part: end.offset for part, end in ends.items() if not isinstance(end, ApiError)}
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "members": [
            {"id": member.member_id, "clientId": member.client_id, "host": member.host} for member in group.members
        ],
        "partitions": [_row(part, committed, known_ends, owners.get(part)) for part in partitions],
    }


def _row(
    partition: TopicPartition,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    ends: Mapping[TopicPartition, int],
    owner: GroupMember | None,
) -> dict[str, object]:
    current = committed[partition].offset if partition in committed else None
    end = ends.get(partition)
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "currentOffset": current,
        "logEndOffset": end,
        "lag": None if current is None or end is None else end - current,
        "member": None if owner is None else owner.member_id,
        "host": None if owner is None else owner.host,
        "clientId": None if owner is None else owner.client_id,
    }


def _offset_lines(group: GroupDescription, report: dict[str, object]) -> list[str]:
    partitions = report["partitions"]
    assert isinstance(partitions, list)
    if not partitions:
        return []
    keys = ("topic", "partition", "currentOffset", "logEndOffset", "lag", "member", "host", "clientId")
    rows = [(group.group_id, *("-" if row[key] is None else row[key] for key in keys)) for row in partitions]
    return columns(_HEADER, rows, least=_LEAST_WIDTHS)


def _member_lines(group: GroupDescription) -> list[str]:
    if not group.members:
        return []
    rows = [
        (
            group.group_id,
            member.member_id,
            member.host,
            member.client_id,
            len(member.assignment),
            ", ".join(map(str, member.assignment)) or "-",
        )
        for member in group.members
    ]
    header = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")
    return columns(header, rows, least=(15, 15, 15, 15, 15))


def _state_lines(group: GroupDescription) -> list[str]:
    row = (group.group_id, group.coordinator, group.assignor or "-", group.state, len(group.members))
    header = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    return columns(header, [row], least=(15, 20, 20, 15))
