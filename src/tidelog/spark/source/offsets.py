"""Offsets as Spark writes them, `{"topic": {"0": 23}}`, and the places in a topic that options can name. No I/O.

Which ranges follow from offsets is decided in `tidelog.spark.source.ranges`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST

LARGEST_OFFSET = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1

PartitionOffsets = Mapping[TopicPartition, int]


class InvalidOffsets(ValueError):
    """Text that is not the JSON that was expected; says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earliest:
    """The first offset that each partition still has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The end of each partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOffsets:
    """An offset for each partition, or LATEST or EARLIEST."""

    offsets: PartitionOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTimestamps:
    """The first record of each partition from its time on, in milliseconds."""

    timestamps: PartitionOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTimestamp:
    """The first record of each partition from one time on, in milliseconds."""

    timestamp: int


Place = Earliest | Latest | AtOffsets | AtTimestamps | AtTimestamp


def offsets_to_json(offsets: PartitionOffsets) -> dict[str, dict[str, int]]:
    """What Spark keeps in its checkpoint; in order, so that equal offsets are equal text."""
    document: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        document.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return document


def offsets_from_json(document: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """The opposite of `offsets_to_json`, for a document that Spark has kept."""
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in document.items()
        for number, offset in partitions.items()
    }


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """`{"topic": {"0": 23, "1": -2}}` as people write it: -1 is the latest, -2 the earliest offset."""
    return _parse_numbers(text, lambda offset: EARLIEST <= offset <= LARGEST_OFFSET, "an offset, -1 or -2")


def parse_timestamps(text: str) -> dict[TopicPartition, int]:
    """`{"topic": {"0": 1700000000000}}`, in milliseconds."""
    return _parse_numbers(text, lambda time: 0 <= time <= LARGEST_OFFSET, "a time in milliseconds")


def parse_partitions(text: str) -> frozenset[TopicPartition]:
    """`{"topic": [0, 1]}`."""
    found: set[TopicPartition] = set()
    for topic, numbers in _parse_object(text).items():
        if not isinstance(numbers, list):
            raise InvalidOffsets(f"topic {topic!r} has {numbers!r}, which must be a list of partitions")
        for number in numbers:
            if not _is_integer(number) or not 0 <= number <= LARGEST_PARTITION:
                raise InvalidOffsets(f"topic {topic!r} has {number!r}, which is not the number of a partition")
            found.add(TopicPartition(topic, number))
    if not found:
        raise InvalidOffsets("it names no partition")
    return frozenset(found)


def _parse_numbers(text: str, allowed: Callable[[int], bool], expected: str) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic, partitions in _parse_object(text).items():
        if not isinstance(partitions, dict):
            raise InvalidOffsets(f"topic {topic!r} has {partitions!r}, which must be an object of partitions")
        for number, value in partitions.items():
            if not (number.isascii() and number.isdigit() and int(number) <= LARGEST_PARTITION):
                raise InvalidOffsets(f"topic {topic!r} has {number!r}, which is not the number of a partition")
            if not _is_integer(value) or not allowed(value):
                raise InvalidOffsets(f"partition {topic}-{number} has {value!r}, which is not {expected}")
            found[TopicPartition(topic, int(number))] = value
    if not found:
        raise InvalidOffsets("it names no partition")
    return found


def _parse_object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidOffsets(f"it is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidOffsets("it is not a JSON object of topics")
    return document


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
