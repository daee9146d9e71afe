"""`tidelog cluster`: shows nodes, quorum and partitions, elects leaders and moves replicas.

What is shown is made in `cluster_report`; moving replicas lives in `reassignments`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli import reassignments
from tidelog.cli.cluster_report import ClusterReport, partitions_json, report_json, report_lines
from tidelog.cli.output import print_json, print_lines
from tidelog.cli.session import (
    DEFAULT_SERVERS,
    BootstrapServer,
    CommandConfig,
    CommandFailure,
    Json,
    client_options,
    run,
)
from tidelog.cli.topics_description import PartitionReport, describe_lines
from tidelog.client.admin import Admin, ElectionType, QuorumInfo, TopicDescription
from tidelog.client.config import Options
from tidelog.client.errors import UnsupportedByBroker
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition


def cluster(
    bootstrap_server: BootstrapServer = DEFAULT_SERVERS,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated-partitions", help="Show under-replicated partitions.")
    ] = False,
    elect_leaders: Annotated[
        str | None,
        typer.Option(
            "--elect-leaders",
            metavar="preferred|unclean",
            help="Give leadership to the first replica, or (unclean, may lose records) to any live one.",
        ),
    ] = None,
    reassign: Annotated[
        list[str] | None,
        typer.Option("--reassign", metavar="TOPIC:PARTITION=1,2,3", help="Move a partition to nodes. Repeatable."),
    ] = None,
    reassign_file: Annotated[
        Path | None,
        typer.Option(
            "--reassign-file",
            metavar="FILE",
            help='{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}',
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="With a reassignment: show progress until it is complete.")] = (
        False
    ),
    timeout: Annotated[
        float, typer.Option("--timeout", min=0, help="The longest time that --wait waits, in seconds.")
    ] = 3600,
    list_reassignments: Annotated[
        bool, typer.Option("--list-reassignments", help="Show ongoing reassignments.")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel reassignments of --topic or --all.")] = False,
    unregister: Annotated[
        int | None,
        typer.Option("--unregister", min=0, metavar="NODE", help="Unregister a broker that will not return."),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="The topic of an election or of --cancel.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="One partition of --topic.")] = None,
    all_partitions: Annotated[bool, typer.Option("--all", help="All partitions, instead of --topic.")] = False,
    command_config: CommandConfig = None,
    as_json: Json = False,
) -> None:
    """Show the nodes, the quorum and the state of partitions; elect leaders; move replicas.

    \b
    Examples:
      tidelog cluster
      tidelog cluster --under-replicated-partitions
      tidelog cluster --elect-leaders preferred --all
      tidelog cluster --elect-leaders unclean --topic orders --partition 0
      tidelog cluster --reassign orders:0=1,2,3 --reassign orders:1=2,3,1 --wait
      tidelog cluster --list-reassignments
      tidelog cluster --cancel --topic orders
      tidelog cluster --unregister 3
    """
    moves = bool(reassign) or reassign_file is not None
    asked = [under_replicated, elect_leaders is not None, moves, list_reassignments, cancel, unregister is not None]
    if asked.count(True) > 1:
        raise typer.BadParameter("these options are separate actions: use one at a time")
    if partition is not None and topic is None:
        raise typer.BadParameter("--partition needs --topic")
    options = client_options(bootstrap_server, command_config)
    if elect_leaders is not None:
        election = _election(elect_leaders)
        _check_choice(topic, all_partitions)
        run(_elect(options, election, topic, partition, as_json))
    elif moves:
        targets = reassignments.parse_reassignments(reassign or ())
        if reassign_file is not None:
            targets = {**reassignments.read_reassignment_file(reassign_file), **targets}
        run(_reassign(options, targets, timeout if wait else None, as_json))
    elif list_reassignments:
        run(_list_reassignments(options, topic, partition, as_json))
    elif cancel:
        _check_choice(topic, all_partitions)
        run(_cancel(options, topic, partition, as_json))
    elif unregister is not None:
        run(_unregister(options, unregister, as_json))
    else:
        run(_show(options, under_replicated, as_json))


def _election(name: str) -> ElectionType:
    try:
        return ElectionType[name.upper()]
    except KeyError:
        raise typer.BadParameter(f"{name!r} is neither preferred nor unclean", param_hint="--elect-leaders") from None


def _check_choice(topic: str | None, all_partitions: bool) -> None:
    if (topic is None) != all_partitions:
        raise typer.BadParameter("either --topic (with --partition for one of its partitions) or --all is needed")


async def _show(options: Options, under_replicated: bool, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        report = await _report(admin)
    if not under_replicated:
        if as_json:
            print_json(report_json(report))
        else:
            print_lines(report_lines(report))
    elif as_json:
        print_json(partitions_json(report.under_replicated()))
    else:
        chosen = PartitionReport(under_replicated=True)
        print_lines(line for topic in report.topics for line in describe_lines(topic, (), chosen, report.live_nodes))


async def _report(admin: Admin) -> ClusterReport:
    listing = await admin.list_topics()
    cluster_description, quorum, described = await asyncio.gather(
        admin.describe_cluster(include_fenced=True),
        _quorum(admin),
        admin.describe_topics([topic.name for topic in listing]),
    )
    # A topic that was deleted in between is not worth an error.
    topics = [topic for _, topic in sorted(described.items()) if isinstance(topic, TopicDescription)]
    return ClusterReport(cluster=cluster_description, quorum=quorum, topics=topics)


async def _quorum(admin: Admin) -> QuorumInfo | None:
    try:
        return await admin.describe_quorum()
    except UnsupportedByBroker:
        return None


async def _partitions(admin: Admin, topic: str | None, partition: int | None) -> list[TopicPartition] | None:
    """What --topic and --partition choose; None for everything."""
    if topic is None:
        return None
    if partition is not None:
        return [TopicPartition(topic, partition)]
    described = Admin.raise_any(await admin.describe_topics([topic]))[topic]
    return [TopicPartition(topic, one.partition) for one in described.partitions]


async def _elect(
    options: Options, election: ElectionType, topic: str | None, partition: int | None, as_json: bool
) -> None:
    async with Admin(config=options) as admin:
        results = await admin.elect_leaders(election, await _partitions(admin, topic, partition))
    elected = [part for part, error in results.items() if error is None]
    not_needed = [part for part, error in results.items() if error and error.code == ErrorCode.ELECTION_NOT_NEEDED]
    failed: dict[TopicPartition, ApiError] = {
        part: error for part, error in results.items() if error is not None and part not in not_needed
    }
    if as_json:
        print_json(
            {
                "elected": _names(elected),
                "notNeeded": _names(not_needed),
                "failed": {str(part): str(error) for part, error in failed.items()},
            }
        )
    else:
        kind = election.name.lower()
        lines = []
        if elected:
            lines.append(f"Leader election ({kind}) is complete for {', '.join(_names(elected))}.")
        if not_needed:
            lines.append(f"Leader election ({kind}) was not needed for {', '.join(_names(not_needed))}.")
        print_lines(lines or ["No partition needs an election."])
    if failed:
        raise CommandFailure("; ".join(f"{part}: {error}" for part, error in failed.items()))


async def _reassign(
    options: Options, targets: reassignments.Targets, timeout_seconds: float | None, as_json: bool
) -> None:
    async with Admin(config=options) as admin:
        await reassignments.begin(admin, targets, as_json=as_json)
        if timeout_seconds is not None:
            await reassignments.follow(admin, list(targets), timeout_seconds, as_json=as_json)


async def _list_reassignments(options: Options, topic: str | None, partition: int | None, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        moves = await admin.list_partition_reassignments(await _partitions(admin, topic, partition))
    reassignments.show(moves, as_json=as_json)


async def _cancel(options: Options, topic: str | None, partition: int | None, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        await reassignments.cancel(admin, await _partitions(admin, topic, partition), as_json=as_json)


async def _unregister(options: Options, node: int, as_json: bool) -> None:
    async with Admin(config=options) as admin:
        await admin.unregister_broker(node)
    if as_json:
        print_json({"unregistered": node})
    else:
        print_lines([f"Broker {node} is no longer registered."])


def _names(partitions: Collection[TopicPartition]) -> list[str]:
    return [str(part) for part in sorted(partitions)]
