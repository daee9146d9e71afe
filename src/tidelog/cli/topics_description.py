"""The lines of `tidelog topics --describe`, column by column those of Kafka's tool. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from tidelog.cli.output import comma_separated
from tidelog.client.admin import ConfigEntry, PartitionDescription, TopicDescription
from tidelog.config.definitions import ConfigSource
from tidelog.model.ids import ZERO_UUID, format_uuid
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """Which partitions to show: all, or (any of these) those with a problem."""

    under_replicated: Annotated[
        bool, typer.Option("--under-replicated-partitions", help="Describe only under-replicated partitions.")
    ] = False
    unavailable: Annotated[
        bool, typer.Option("--unavailable-partitions", help="Describe partitions without a leader.")
    ] = False
    under_min_in_sync: Annotated[
        bool, typer.Option("--under-min-isr-partitions", help="Describe partitions below min.insync.replicas.")
    ] = False
    at_min_in_sync: Annotated[
        bool, typer.Option("--at-min-isr-partitions", help="Describe partitions exactly at min.insync.replicas.")
    ] = False
    only_with_overrides: Annotated[
        bool, typer.Option("--topics-with-overrides", help="Describe only topics with configuration overrides.")
    ] = False

    @property
    def selects_partitions(self) -> bool:
        return self.under_replicated or self.unavailable or self.under_min_in_sync or self.at_min_in_sync


def describe_lines(
    topic: TopicDescription, configs: Sequence[ConfigEntry], report: PartitionReport, live_brokers: Collection[int]
) -> list[str]:
    lines: list[str] = []
    # As Kafka's tool has it, also what the cluster sets for all topics, such as min.insync.replicas.
    shown = [f"{entry.name}={entry.value}" for entry in configs if not entry.is_default]
    has_overrides = any(entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG for entry in configs)
    if not report.selects_partitions and (has_overrides or not report.only_with_overrides):
        lines.append(_topic_line(topic, shown))
    if report.only_with_overrides:
        return lines
    min_in_sync = _min_in_sync(configs)
    for partition in topic.partitions:
        if not report.selects_partitions or _has_problem(partition, report, min_in_sync, live_brokers):
            lines.append(_partition_line(topic.name, partition))
    return lines


def _topic_line(topic: TopicDescription, shown: Sequence[str]) -> str:
    parts = [f"Topic: {topic.name}"]
    if topic.topic_id != ZERO_UUID:
        parts.append(f"TopicId: {format_uuid(topic.topic_id)}")
    parts.append(f"PartitionCount: {len(topic.partitions)}")
    parts.append(f"ReplicationFactor: {topic.replication_factor}")
    parts.append(f"Configs: {','.join(shown)}")
    return "\t".join(parts)


def _partition_line(topic: str, partition: PartitionDescription) -> str:
    return "\t" + "\t".join(
        (
            f"Topic: {topic}",
            f"Partition: {partition.partition}",
            f"Leader: {'none' if partition.leader is None else partition.leader}",
            f"Replicas: {_numbers(partition.replicas)}",
            f"Isr: {_numbers(partition.in_sync)}",
            f"Elr: {_numbers(partition.eligible_leaders)}",
            f"LastKnownElr: {_numbers(partition.last_known_eligible)}",
        )
    )


def _numbers(numbers: Sequence[int] | None) -> str:
    return "N/A" if numbers is None else comma_separated(numbers)


def _min_in_sync(configs: Sequence[ConfigEntry]) -> int:
    for entry in configs:
        if entry.name == "min.insync.replicas" and entry.value is not None:
            return int(entry.value)
    return 1


def _has_problem(
    partition: PartitionDescription, report: PartitionReport, min_in_sync: int, live_brokers: Collection[int]
) -> bool:
    in_sync = len(partition.in_sync)
    leaderless = partition.leader is None
    return (
        (report.under_replicated and in_sync < len(partition.replicas))
        or (report.unavailable and (leaderless or partition.leader not in live_brokers))
        or (report.under_min_in_sync and (leaderless or in_sync < min_in_sync))
        or (report.at_min_in_sync and in_sync == min_in_sync)
    )
