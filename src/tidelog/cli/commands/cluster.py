"""`tidelog cluster`: shows nodes, quorum and partitions, elects leaders and moves replicas.

What is shown is made in `cluster_report`; moving replicas lives in `reassignments`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli import reassignments
from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.cluster_report import ClusterReport, partitions_json, report_json, report_lines
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.session import run
from tidelog.cli.spreading import spread
from tidelog.cli.topic_selection import partitions_of
from tidelog.cli.topics_description import PartitionReport, describe_lines
from tidelog.client.admin import Admin, ElectionType, QuorumInfo, TopicDescription
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import UnsupportedByBroker


@with_groups
def cluster(
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
    spread_over: Annotated[
        str | None,
        typer.Option(
            "--spread-over", metavar="1,2,3", help="Move partitions so that they are spread over these nodes."
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
    *,
    where: ClusterOptions,
) -> None:
    """Show the nodes, the quorum and the state of partitions; elect leaders; move replicas.

    \b
    Examples:
      tidelog cluster
      tidelog cluster --under-replicated-partitions
      tidelog cluster --elect-leaders preferred --all
      tidelog cluster --elect-leaders unclean --topic orders --partition 0
      tidelog cluster --reassign orders:0=1,2,3 --reassign orders:1=2,3,1 --wait
      tidelog cluster --spread-over 1,2,3,4 --wait
      tidelog cluster --list-reassignments
      tidelog cluster --cancel --topic orders
      tidelog cluster --unregister 3
    """
    moves = bool(reassign) or reassign_file is not None
    asked = [under_replicated, elect_leaders is not None, moves, list_reassignments, cancel, unregister is not None]
    asked.append(spread_over is not None)
    if asked.count(True) > 1:
        raise typer.BadParameter("these options are separate actions: use one at a time")
    if partition is not None and topic is None:
        raise typer.BadParameter("--partition needs --topic")
    if elect_leaders is not None:
        election = _election(elect_leaders)
        _check_choice(topic, all_partitions)
        run(_elect(where, election, topic, partition))
    elif moves:
        targets = reassignments.parse_reassignments(reassign or ())
        if reassign_file is not None:
            targets = {**reassignments.read_reassignment_file(reassign_file), **targets}
        run(_reassign(where, targets, timeout if wait else None))
    elif spread_over is not None:
        run(_spread(where, _node_numbers(spread_over), timeout if wait else None))
    elif list_reassignments:
        run(_list_reassignments(where, topic, partition))
    elif cancel:
        _check_choice(topic, all_partitions)
        run(_cancel(where, topic, partition))
    elif unregister is not None:
        run(_unregister(where, unregister))
    else:
        run(_show(where, under_replicated))


def _election(name: str) -> ElectionType:
    try:
        return ElectionType[name.upper()]
    except KeyError:
        raise typer.BadParameter(f"{name!r} is neither preferred nor unclean", param_hint="--elect-leaders") from None


def _check_choice(topic: str | None, all_partitions: bool) -> None:
    if (topic is None) != all_partitions:
        raise typer.BadParameter("either --topic (with --partition for one of its partitions) or --all is needed")


async def _show(where: ClusterOptions, under_replicated: bool) -> None:
    async with where.admin() as admin:
        report = await _report(admin)
    if not under_replicated:
        where.show(report_json(report), report_lines(report))
        return
    chosen = PartitionReport(under_replicated=True)
    lines = (line for topic in report.topics for line in describe_lines(topic, (), chosen, report.live_nodes))
    where.show(partitions_json(report.under_replicated()), lines)


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
    return await partitions_of(admin, [topic])


async def _elect(where: ClusterOptions, election: ElectionType, topic: str | None, partition: int | None) -> None:
    async with where.admin() as admin:
        results = await admin.elect_leaders(election, await _partitions(admin, topic, partition))
    elected = _names(part for part, error in results.items() if error is None)
    not_needed = {part for part, error in results.items() if error and error.code == ErrorCode.ELECTION_NOT_NEEDED}
    failed = {part: error for part, error in results.items() if error is not None and part not in not_needed}
    kind = election.name.lower()
    lines = []
    if elected:
        lines.append(f"Leader election ({kind}) is complete for {', '.join(elected)}.")
    if not_needed:
        lines.append(f"Leader election ({kind}) was not needed for {', '.join(_names(not_needed))}.")
    document = {
        "elected": elected,
        "notNeeded": _names(not_needed),
        "failed": {str(part): str(error) for part, error in failed.items()},
    }
    where.show(document, lines or ["No partition needs an election."])
    raise_failures(failed)


def _node_numbers(text: str) -> list[int]:
    numbers = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in numbers):
        raise typer.BadParameter(f"{text!r} is not of the form 1,2,3", param_hint="--spread-over")
    return [int(part) for part in numbers]


async def _spread(where: ClusterOptions, nodes: list[int], timeout_seconds: float | None) -> None:
    async with where.admin() as admin:
        report = await _report(admin)
        dead = sorted(set(nodes) - {node.node_id for node in report.cluster.nodes if not node.fenced})
        if dead:
            raise CommandFailure(f"not running: {_shown_nodes(dead)}; partitions can only be moved to nodes that run")
        current = {
            TopicPartition(topic.name, one.partition): one.replicas
            for topic in report.topics
            for one in topic.partitions
        }
        targets = spread(current, nodes)
        if not targets:
            where.show({"started": []}, [f"All partitions are spread over {_shown_nodes(nodes)} already."])
            return
        await reassignments.begin(admin, targets, where)
        if timeout_seconds is not None:
            await reassignments.follow(admin, list(targets), timeout_seconds, where)


def _shown_nodes(nodes: Iterable[int]) -> str:
    return "nodes " + ",".join(map(str, nodes))


async def _reassign(where: ClusterOptions, targets: reassignments.Targets, timeout_seconds: float | None) -> None:
    async with where.admin() as admin:
        await reassignments.begin(admin, targets, where)
        if timeout_seconds is not None:
            await reassignments.follow(admin, list(targets), timeout_seconds, where)


async def _list_reassignments(where: ClusterOptions, topic: str | None, partition: int | None) -> None:
    async with where.admin() as admin:
        moves = await admin.list_partition_reassignments(await _partitions(admin, topic, partition))
    reassignments.show(moves, where)


async def _cancel(where: ClusterOptions, topic: str | None, partition: int | None) -> None:
    async with where.admin() as admin:
        await reassignments.cancel(admin, await _partitions(admin, topic, partition), where)


async def _unregister(where: ClusterOptions, node: int) -> None:
    async with where.admin() as admin:
        await admin.unregister_broker(node)
    where.show({"unregistered": node}, [f"Broker {node} is no longer registered."])


def _names(partitions: Iterable[TopicPartition]) -> list[str]:
    return [str(part) for part in sorted(partitions)]
