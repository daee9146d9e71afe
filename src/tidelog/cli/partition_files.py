"""JSON files that say something for each of several partitions, as Kafka's tools read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tidelog.cli.failures import CommandFailure
from tidelog.model.ids import TopicPartition

V = TypeVar("V")


def read_partition_file(path: Path, example: str, value: Callable[[Any], V]) -> dict[TopicPartition, V]:
    """`value` takes what is said for one partition; `example` shows the form of a file."""
    try:
        content: Any = json.loads(path.read_text())
        if content.get("version", 1) != 1:
            raise CommandFailure(f"{path}: version {content['version']} is unknown: it must be 1")
        entries = content["partitions"]
        found = {TopicPartition(str(one["topic"]), int(one["partition"])): value(one) for one in entries}
    except OSError as error:
        raise CommandFailure(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandFailure(f"{path} is not of the form {example}: {error!r}") from error
    if len(found) != len(entries):
        raise CommandFailure(f"{path} names a partition twice")
    return found
