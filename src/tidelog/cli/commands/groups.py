"""`tidelog groups`: consumer groups and their offsets, with the options and lines of Kafka's kafka-consumer-groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.groups_description import describe as describe_groups
from tidelog.cli.groups_offsets import Reset, ResetScenario, delete_offsets, parse_topic, reset_offsets
from tidelog.cli.option_groups import with_groups
from tidelog.cli.output import columns
from tidelog.cli.session import run
from tidelog.cli.times import parse_datetime_ms, parse_duration_ms


@with_groups
def groups(
    list_groups: Annotated[bool, typer.Option("--list", help="List the names of all groups.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="Show offsets, lag and members.")] = False,
    reset: Annotated[
        bool, typer.Option("--reset-offsets", help="Change the offsets of groups without members.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete groups that have no members.")] = False,
    delete_some: Annotated[
        bool, typer.Option("--delete-offsets", help="Delete offsets of topics that nobody is subscribed to.")
    ] = False,
    group: Annotated[list[str] | None, typer.Option("--group", help="The group. Repeatable.")] = None,
    all_groups: Annotated[bool, typer.Option("--all-groups", help="All groups.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets", help="With --describe: show offsets (the default).")] = False,
    members: Annotated[bool, typer.Option("--members", help="With --describe: show members.")] = False,
    state: Annotated[bool, typer.Option("--state", help="With --list or --describe: show states.")] = False,
    kind: Annotated[bool, typer.Option("--type", help="With --list: show the types of groups.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="With --describe: more columns.")] = False,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="A topic, or some of its partitions: orders:0,1. Repeatable.")
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="All topics for which the group has committed offsets.")
    ] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="Reset to the first record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Reset to the end.")] = False,
    to_current: Annotated[bool, typer.Option("--to-current", help="Reset to the current offsets.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", help="Reset to this offset.")] = None,
    shift_by: Annotated[int | None, typer.Option("--shift-by", help="Shift forward, or back if negative.")] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", metavar="PnDTnHnMnS", help="Reset to this long ago, such as PT1H.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option("--to-datetime", metavar="TIME", help="Reset to a time, such as 2026-11-01T08:30:00.000."),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Apply the reset.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be reset; the default.")] = False,
    *,
    cluster: ClusterOptions,
) -> None:
    """Look at consumer groups, move their offsets, delete them. With the options of kafka-consumer-groups.

    \b
    Examples:
      tidelog groups --list --state
      tidelog groups --describe --group billing
      tidelog groups --describe --group billing --members --verbose
      tidelog groups --reset-offsets --group billing --topic orders:0,1 --to-earliest --execute
      tidelog groups --reset-offsets --group billing --all-topics --by-duration PT1H
      tidelog groups --delete-offsets --group billing --topic orders
      tidelog groups --delete --group billing
    """
    if [list_groups, describe, reset, delete, delete_some].count(True) != 1:
        raise typer.BadParameter(
            "exactly one of --list, --describe, --reset-offsets, --delete and --delete-offsets is needed"
        )
    if list_groups:
        run(_list(cluster, kind=kind, state=state))
        return
    if delete_some:
        if not group or len(group) != 1 or not topic:
            raise typer.BadParameter("--delete-offsets needs one --group and at least one --topic")
        run(delete_offsets(cluster, group[0], _checked(topic)))
        return
    if bool(group) == all_groups:
        raise typer.BadParameter("either --group or --all-groups is needed")
    if delete:
        run(_delete(cluster, group))
    elif describe:
        if [offsets, members, state].count(True) > 1:
            raise typer.BadParameter("at most one of --offsets, --members and --state can be shown")
        run(describe_groups(cluster, group, members=members, state=state, verbose=verbose))
    else:
        plan = _reset(
            {
                ResetScenario.EARLIEST: 0 if to_earliest else None,
                ResetScenario.LATEST: 0 if to_latest else None,
                ResetScenario.CURRENT: 0 if to_current else None,
                ResetScenario.OFFSET: to_offset,
                ResetScenario.SHIFT: shift_by,
                ResetScenario.DURATION: None if by_duration is None else _parsed(parse_duration_ms, by_duration),
                ResetScenario.DATETIME: None if to_datetime is None else _parsed(parse_datetime_ms, to_datetime),
            }
        )
        if bool(topic) == all_topics:
            raise typer.BadParameter("either --topic or --all-topics is needed")
        if execute and dry_run:
            raise typer.BadParameter("--execute and --dry-run cannot be combined")
        if not execute and not dry_run:
            sys.stderr.write("Nothing was changed: add --execute to apply this.\n")
        run(reset_offsets(cluster, group, _checked(topic or []), plan, execute=execute))


def _reset(numbers: dict[ResetScenario, int | None]) -> Reset:
    given = [(scenario, number) for scenario, number in numbers.items() if number is not None]
    if len(given) != 1:
        names = ", ".join(scenario.value for scenario in ResetScenario)
        raise typer.BadParameter(f"--reset-offsets needs exactly one of {names}")
    ((scenario, number),) = given
    return Reset(scenario=scenario, number=number)


def _parsed(parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _checked(topics: list[str]) -> list[str]:
    for topic in topics:
        try:
            parse_topic(topic)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--topic") from None
    return topics


async def _list(cluster: ClusterOptions, *, kind: bool, state: bool) -> None:
    async with cluster.admin() as admin:
        found = await admin.list_groups()
    document = [
        {"group": one.group_id, "type": one.kind, "protocol": one.protocol_type, "state": one.state} for one in found
    ]
    if not kind and not state:
        cluster.show(document, (one.group_id for one in found))
        return
    header = ["GROUP", *(["TYPE"] if kind else []), *(["STATE"] if state else [])]
    rows = [
        [one.group_id, *([one.kind.capitalize()] if kind else []), *([one.state] if state else [])] for one in found
    ]
    # Kafka's tool gives names ten characters more than they need.
    width = max((15, *(len(one.group_id) for one in found))) + 10
    cluster.show(document, columns(header, rows, least=[width, *[20] * (len(header) - 1)]))


async def _delete(cluster: ClusterOptions, names: Collection[str] | None) -> None:
    async with cluster.admin() as admin:
        wanted = list(names) if names else [one.group_id for one in await admin.list_groups()]
        results = await admin.delete_groups(wanted)
    failed = {name: error for name, error in results.items() if error is not None}
    deleted = [name for name in results if name not in failed]
    listed = ", ".join(f"'{name}'" for name in deleted)
    cluster.show(
        {"deleted": deleted, "failed": {name: str(error) for name, error in failed.items()}},
        [f"Deletion of requested consumer groups ({listed}) was successful."] if deleted else [],
    )
    raise_failures({f"group {name!r}": error for name, error in failed.items()})
