"""What the interop tests ask of a Kafka client, whatever its language.

One class per client adapts it to this contract with the client's public API only, so that every client runs through
the same tests: `confluent`, `kafka_python`, `aiokafka_client`, and `json_lines` for Java and Node.js.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# A client that takes longer for one operation of the contract hangs, on however busy a machine.
OPERATION_TIMEOUT_SECONDS = 90

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A record as a client gives it or gets it. `offset` and `partition` matter only for what was read."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[Header, ...] = ()
    partition: int = 0
    offset: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as a client describes it. `cluster_id` is None where a client does not tell."""

    cluster_id: str | None
    controller_id: int
    brokers: frozenset[tuple[int, str, int]]


class ForeignClient(Protocol):
    """Every operation opens what it needs and closes it again, so that no state leaks from one test to the next."""

    name: str
    # Some clients cannot write, or even read, a header without a value.
    writes_null_headers: bool
    reads_null_headers: bool

    def create_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
        """Return Kafka's error code, 0 if the topic was created."""

    def delete_topic(self, topic: str) -> int: ...

    def partition_count(self, topic: str) -> int:
        """From the metadata; 0 if the topic does not exist."""

    def describe_topic(self, topic: str) -> Mapping[str, str | None]:
        """The topic's configuration."""

    def describe_cluster(self) -> ClusterView: ...

    def produce(
        self, topic: str, messages: Sequence[Message], *, compression: str = "none", idempotent: bool = False
    ) -> list[int]:
        """Write with acks=all, in order; return the offsets that the broker acknowledged."""

    def read(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> list[Message]:
        """`count` messages of one partition from offset `start` on, without a group's committed offsets."""

    def offset_for_time(self, topic: str, timestamp_ms: int, *, partition: int = 0) -> int | None:
        """The first offset with that timestamp or a later one; None if there is none."""

    def read_in_group(self, topic: str, group: str, *, count: int) -> list[Message]:
        """Subscribe, read `count` messages (from the earliest where nothing is committed), commit, leave."""

    def committed_offset(self, topic: str, group: str, *, partition: int = 0) -> int | None: ...

    def close(self) -> None: ...
