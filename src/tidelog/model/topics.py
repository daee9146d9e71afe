"""What is valid as a topic's name, and the names that belong to the system itself."""

from __future__ import annotations

import re

CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
CLUSTER_METADATA_TOPIC = "__cluster_metadata"

# Of no use but to commit offsets for it: those are the notes of what the sink for Spark has published.
SPARK_NOTE_TOPIC = "tidelog-spark-markers"

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC})

MAX_TOPIC_NAME_LENGTH = 249

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_problem(name: str) -> str | None:
    """Why `name` cannot name a topic, or None if it can.

    249 characters leave room for the partition number and a suffix within the 255 bytes that file systems give
    the name of a directory.
    """
    if not name:
        return "the topic name is empty"
    if name in (".", ".."):
        return f"the topic name {name!r} has a meaning of its own in file systems"
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        return f"the topic name has {len(name)} characters, more than the {MAX_TOPIC_NAME_LENGTH} allowed: {name!r}"
    if not _LEGAL_NAME.fullmatch(name):
        return f"the topic name {name!r} may only contain ASCII letters, digits, '.', '_' and '-'"
    return None


# A name with none of these collides with no other.
COLLIDING = "._"


def colliding_name(name: str) -> str:
    """Names that are equal under this mapping would give metrics of one name: Kafka refuses the second one."""
    return name.replace(".", "_")
