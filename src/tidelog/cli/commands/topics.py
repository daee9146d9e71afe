"""`tidelog topics`: the options of Kafka's kafka-topics, and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.properties import split_properties
from tidelog.cli.session import run
from tidelog.cli.topic_selection import compile_pattern
from tidelog.cli.topics_description import PartitionReport, describe_lines
from tidelog.client.admin import Admin, ConfigEntry, ConfigResource, NewTopic, ResourceType, TopicDescription
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import format_uuid


@with_groups
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create a topic.")] = False,
    list_topics: Annotated[bool, typer.Option("--list", help="List the names of all topics.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="Show partitions, leaders and replicas.")] = False,
    alter: Annotated[bool, typer.Option("--alter", help="Raise the number of partitions.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete topics.")] = False,
    topic: Annotated[
        str | None,
        typer.Option("--topic", help="The topic; except with --create also a regular expression or a list."),
    ] = None,
    partitions: Annotated[int | None, typer.Option("--partitions", min=1, help="How many partitions.")] = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", min=1, help="How many replicas each partition has.")
    ] = None,
    replica_assignment: Annotated[
        str | None,
        typer.Option(
            "--replica-assignment", metavar="1:2,2:3,...", help="The brokers of each partition, assigned manually."
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="NAME=VALUE", help="With --create: a property of the topic. Repeatable."),
    ] = None,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="With --alter, --describe, --delete: no error if it does not exist.")
    ] = False,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="With --create: no error if the topic already exists.")
    ] = False,
    exclude_internal: Annotated[bool, typer.Option("--exclude-internal", help="Leave out internal topics.")] = False,
    *,
    report: PartitionReport,
    cluster: ClusterOptions,
) -> None:
    """Create, list, describe, alter and delete topics, with the options of kafka-topics.

    \b
    Examples:
      tidelog topics --create --topic orders --partitions 3 --config retention.ms=3600000
      tidelog topics --list
      tidelog topics --describe --topic orders
      tidelog topics --alter --topic orders --partitions 6
      tidelog topics --delete --topic 'test-.*'
    """
    if [create, list_topics, describe, alter, delete].count(True) != 1:
        raise typer.BadParameter("exactly one of --create, --list, --describe, --alter and --delete is needed")
    if create:
        new_topic = _new_topic(topic, partitions, replication_factor, replica_assignment, config or ())
        run(_create(cluster, new_topic, if_not_exists))
    elif list_topics:
        run(_list(cluster, topic, exclude_internal))
    elif describe:
        run(_describe(cluster, topic, exclude_internal, if_exists, report))
    elif alter:
        if config:
            raise typer.BadParameter(
                f"use `tidelog configs --alter --entity-type topics --add-config {config[0]}`",
                param_hint="--config",
            )
        if topic is None or partitions is None:
            raise typer.BadParameter("--alter needs --topic and --partitions")
        placed = None if replica_assignment is None else _parse_assignment(replica_assignment)
        run(_alter(cluster, topic, partitions, placed, if_exists))
    else:
        if topic is None:
            raise typer.BadParameter("--delete needs --topic")
        run(_delete(cluster, topic, if_exists))


def _new_topic(
    name: str | None,
    partitions: int | None,
    replication_factor: int | None,
    replica_assignment: str | None,
    configs: Sequence[str],
) -> NewTopic:
    if name is None:
        raise typer.BadParameter("--create needs --topic")
    assignment: dict[int, list[int]] = {}
    if replica_assignment is not None:
        if partitions is not None or replication_factor is not None:
            raise typer.BadParameter(
                "it gives the numbers of partitions and replicas: leave out --partitions and --replication-factor",
                param_hint="--replica-assignment",
            )
        assignment = dict(enumerate(_parse_assignment(replica_assignment)))
    return NewTopic(
        name=name,
        partitions=-1 if partitions is None else partitions,
        replication_factor=-1 if replication_factor is None else replication_factor,
        assignment=assignment,
        configs=dict(split_properties("--config", configs)),
    )


def _parse_assignment(text: str) -> list[list[int]]:
    try:
        placed = [[int(node) for node in replicas.split(":")] for replicas in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} must be broker ids, with colons between replicas and commas between partitions: 1:2,2:3",
            param_hint="--replica-assignment",
        ) from None
    for number, replicas in enumerate(placed):
        if len(set(replicas)) != len(replicas):
            raise typer.BadParameter(f"partition {number} names a broker twice", param_hint="--replica-assignment")
        if len(replicas) != len(placed[0]):
            raise typer.BadParameter(
                f"partition {number} has {len(replicas)} replicas, partition 0 has {len(placed[0])}",
                param_hint="--replica-assignment",
            )
    return placed


async def _create(cluster: ClusterOptions, topic: NewTopic, if_not_exists: bool) -> None:
    async with cluster.admin() as admin:
        result = (await admin.create_topics([topic]))[topic.name]
    if isinstance(result, ApiError):
        if result.code == ErrorCode.TOPIC_ALREADY_EXISTS and if_not_exists:
            cluster.show({"topic": topic.name, "created": False}, ())
            return
        if result.code == ErrorCode.TOPIC_ALREADY_EXISTS:
            raise CommandFailure(f"topic {topic.name!r} already exists; use --if-not-exists to accept that") from result
        raise result
    document = {
        "topic": result.name,
        "topicId": format_uuid(result.topic_id),
        "partitions": result.partitions,
        "replicationFactor": result.replication_factor,
        "created": True,
    }
    cluster.show(document, [f"Created topic {topic.name}."])


async def _list(cluster: ClusterOptions, pattern: str | None, exclude_internal: bool) -> None:
    async with cluster.admin() as admin:
        names = await _matching(admin, pattern, exclude_internal)
    cluster.show(names, names)


async def _describe(
    cluster: ClusterOptions,
    pattern: str | None,
    exclude_internal: bool,
    if_exists: bool,
    report: PartitionReport,
) -> None:
    async with cluster.admin() as admin:
        names = await _matching(admin, pattern, exclude_internal)
        _require(names, pattern, if_exists)
        if not names:
            return
        described = Admin.raise_any(await admin.describe_topics(names))
        resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}
        configs = Admin.raise_any(await admin.describe_configs(list(resources.values())))
        live = {node.node_id for node in (await admin.describe_cluster()).nodes}
    found = [(described[name], configs[resource]) for name, resource in resources.items()]
    lines = (line for topic, entries in found for line in describe_lines(topic, entries, report, live))
    cluster.show([_as_json(topic, entries) for topic, entries in found], lines)


def _as_json(topic: TopicDescription, configs: Sequence[ConfigEntry]) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topicId": format_uuid(topic.topic_id),
        "internal": topic.internal,
        "partitionCount": len(topic.partitions),
        "replicationFactor": topic.replication_factor,
        "configs": {entry.name: entry.value for entry in configs if not entry.is_default},
        "partitions": [asdict(part) for part in topic.partitions],
    }


async def _alter(
    cluster: ClusterOptions, pattern: str, partitions: int, placed: list[list[int]] | None, if_exists: bool
) -> None:
    async with cluster.admin() as admin:
        names = await _matching(admin, pattern, False)
        _require(names, pattern, if_exists)
        assignments = None
        if placed is not None:
            described = Admin.raise_any(await admin.describe_topics(names))
            assignments = {name: placed[len(described[name].partitions) :] for name in names}
        Admin.raise_any(await admin.create_partitions(dict.fromkeys(names, partitions), assignments=assignments))
    cluster.show([{"topic": name, "partitions": partitions} for name in names], ())


async def _delete(cluster: ClusterOptions, pattern: str, if_exists: bool) -> None:
    async with cluster.admin() as admin:
        names = await _matching(admin, pattern, False)
        _require(names, pattern, if_exists)
        Admin.raise_any(await admin.delete_topics(names))
    cluster.show([{"topic": name, "deleted": True} for name in names], ())


async def _matching(admin: Admin, pattern: str | None, exclude_internal: bool) -> list[str]:
    names = [topic.name for topic in await admin.list_topics(internal=not exclude_internal)]
    if pattern is None:
        return names
    expression = compile_pattern(pattern, "--topic")
    return [name for name in names if expression.fullmatch(name)]


def _require(names: Sequence[str], pattern: str | None, if_exists: bool) -> None:
    if pattern is not None and not names and not if_exists:
        raise CommandFailure(f"topic {pattern!r} does not exist; `tidelog topics --list` shows those that do")
