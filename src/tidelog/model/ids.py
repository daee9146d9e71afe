"""Ids of topics and partitions, and the numbers that stand for "none".

Offsets, epochs and sequences are plain integers: nearly every one of them is a sum, in which a type of its own would be
lost. Where two stand next to each other they are passed by keyword, which `tests/model/test_signatures.py` checks.
What is valid as a topic's name lives in `tidelog.model.topics`; error codes live in `tidelog.model.errors`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import NamedTuple, NewType, TypeVar

Topic = TypeVar("Topic")

# Kafka's Uuid: sixteen bytes on the wire, URL-safe base64 without padding wherever people read it. Plain bytes
# hash and compare at C speed, which matters because Fetch and Produce look topics up by id.
Uuid = NewType("Uuid", bytes)

ZERO_UUID = Uuid(bytes(16))

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1


class TopicPartition(NamedTuple):
    """One partition of one topic. Prints, as Kafka does, as the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def numbers_by_topic(partitions: Iterable[tuple[Topic, int]]) -> dict[Topic, list[int]]:
    """Partitions as most requests name them: the numbers behind each topic, which may be a name or an id."""
    numbers: dict[Topic, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return numbers


def format_uuid(value: bytes) -> str:
    """The 22 characters that Kafka's tools print for a topic, cluster or directory id."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def parse_uuid(text: str) -> Uuid:
    """Read what `format_uuid` wrote; raises ValueError that names the text otherwise."""
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not an id: it must be 22 characters of URL-safe base64") from error
    if len(value) != 16:
        raise ValueError(f"{text!r} is not an id: it decodes to {len(value)} bytes, not 16")
    return Uuid(value)
