"""Moving replicas for `tidelog cluster`: reading what is wanted, asking for it, and following it to its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.failures import CommandFailure
from tidelog.cli.output import comma_separated, print_lines
from tidelog.cli.partition_files import read_partition_file
from tidelog.client.admin import Admin, Reassignment
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

POLL_SECONDS = 0.2

Targets = dict[TopicPartition, tuple[int, ...]]


def parse_reassignments(arguments: Iterable[str]) -> Targets:
    """`topic:partition=1,2,3`."""
    targets: Targets = {}
    for text in arguments:
        name, equals, replicas = text.rpartition("=")
        topic, colon, number = name.rpartition(":")
        try:
            if not (equals and colon and topic):
                raise ValueError
            partition = TopicPartition(topic, int(number))
            targets[partition] = tuple(int(each) for each in replicas.split(","))
        except ValueError:
            raise typer.BadParameter(
                f"{text!r} is not of the form topic:partition=1,2,3", param_hint="--reassign"
            ) from None
    return targets


def read_reassignment_file(path: Path) -> Targets:
    """The file of kafka-reassign-partitions."""
    example = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2, 3]}]}'

    def replicas(one: Any) -> tuple[int, ...]:
        if any(directory != "any" for directory in one.get("log_dirs", ())):
            raise CommandFailure(f'{path}: log_dirs other than "any" cannot be chosen')
        return tuple(int(replica) for replica in one["replicas"])

    return read_partition_file(path, example, replicas)


async def begin(admin: Admin, targets: Targets, output: ClusterOptions) -> None:
    """Ask for the moves, and show how to undo them."""
    before = await _current_replicas(admin, targets)
    raise_failures(await admin.alter_partition_reassignments(targets))
    undo = {
        "version": 1,
        "partitions": [
            {"topic": part.topic, "partition": part.partition, "replicas": list(before[part])}
            for part in targets
            if part in before
        ],
    }
    lines = [
        "Current replicas, for --reassign-file to move them back:",
        json.dumps(undo, separators=(",", ":")),
        f"Reassignment of {_listed(targets)} has started.",
    ]
    output.show({"started": [str(part) for part in targets], "before": undo}, lines)


async def follow(
    admin: Admin, targets: Collection[TopicPartition], timeout_seconds: float, output: ClusterOptions
) -> None:
    """Until none of the partitions is being moved any more."""
    shown = -1
    try:
        async with asyncio.timeout(timeout_seconds):
            while left := await admin.list_partition_reassignments(targets):
                done = len(targets) - len(left)
                if done != shown and not output.as_json:
                    print_lines([f"{done} of {len(targets)} partitions moved; waiting for {_listed(left)}"])
                shown = done
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise CommandFailure(
            f"the reassignment is still running after {timeout_seconds:g} s; see `tidelog cluster --list-reassignments`"
        ) from None
    if not output.as_json:
        print_lines([f"Reassignment of {_listed(targets)} is complete."])


async def cancel(admin: Admin, partitions: Collection[TopicPartition] | None, output: ClusterOptions) -> None:
    """End moves that are under way, of these partitions or all, and go back to the replicas before."""
    under_way = await admin.list_partition_reassignments(partitions)
    if not under_way:
        raise CommandFailure("no reassignment of these partitions is under way, so there is nothing to cancel")
    raise_failures(await admin.alter_partition_reassignments(dict.fromkeys(under_way)))
    document = {"cancelled": [str(part) for part in under_way]}
    output.show(document, [f"Reassignment of {_listed(under_way)} is cancelled."])


def show(moves: Mapping[TopicPartition, Reassignment], output: ClusterOptions) -> None:
    document = [
        {
            "topic": part.topic,
            "partition": part.partition,
            "replicas": list(move.replicas),
            "adding": list(move.adding),
            "removing": list(move.removing),
        }
        for part, move in sorted(moves.items())
    ]
    lines = [
        f"{part}: replicas: {comma_separated(move.replicas)}. adding: {comma_separated(move.adding)}. "
        f"removing: {comma_separated(move.removing)}."
        for part, move in sorted(moves.items())
    ]
    output.show(document, lines or ["No partition is being reassigned."])


async def _current_replicas(admin: Admin, targets: Targets) -> Targets:
    described = await admin.describe_topics({part.topic for part in targets})
    return {
        TopicPartition(name, one.partition): one.replicas
        for name, topic in described.items()
        if not isinstance(topic, ApiError)
        for one in topic.partitions
    }


def _listed(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))
