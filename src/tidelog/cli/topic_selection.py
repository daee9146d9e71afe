"""Which topics and partitions a command is about, as people choose them with options."""

from __future__ import annotations

import re
from collections.abc import Collection

import typer

from tidelog.client.admin import Admin
from tidelog.model.ids import TopicPartition


def compile_pattern(pattern: str, option: str) -> re.Pattern[str]:
    """A regular expression in which commas stand for alternatives, as in Kafka's tools."""
    try:
        return re.compile(pattern.strip().replace(",", "|"))
    except re.error as error:
        raise typer.BadParameter(f"{pattern!r} is not a regular expression: {error}", param_hint=option) from error


async def partitions_of(admin: Admin, topics: Collection[str]) -> list[TopicPartition]:
    """All partitions of these topics in order. Raises ApiError for a topic that does not exist."""
    described = Admin.raise_any(await admin.describe_topics(topics)) if topics else {}
    return sorted(
        TopicPartition(name, entry.partition) for name, topic in described.items() for entry in topic.partitions
    )
