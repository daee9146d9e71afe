"""What the transaction tests ask of a Kafka client, whatever its language: small steps, so that tests interleave them.

One class per client: `confluent`, `kafka_python`, `aiokafka_client`, and `json_lines` for Java and Node.js. Producers
are kept by name until they are closed.
"""

from __future__ import annotations

from typing import Protocol

STEP_TIMEOUT_SECONDS = 30


class Fenced(Exception):
    """The client says that another producer has taken over its transactional id."""


class Refused(Exception):
    """The client says that the step failed, in its own words."""


class TransactionalClient(Protocol):
    """Every method raises Fenced or Refused."""

    name: str
    # The second version of the protocol (KIP-890), where the broker offers it.
    speaks_second_version: bool
    # Whether consumers tell their group's generation with the offsets of a transaction (KIP-447).
    sends_group_metadata: bool

    def init(self, producer: str, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        """Open a producer and initialise it."""

    def begin(self, producer: str) -> None: ...

    def send(self, producer: str, topic: str, value: str, *, partition: int = 0) -> None:
        """Write, and wait until the broker has it."""

    def send_offsets(self, producer: str, group: str, topic: str, offset: int, *, partition: int = 0) -> None:
        """Offsets of a group that has no members."""

    def commit(self, producer: str) -> None: ...

    def abort(self, producer: str) -> None: ...

    def close(self, producer: str) -> None:
        """As far as it can be closed; nothing that goes wrong is reported."""

    def copy(self, producer: str, group: str, source: str, target: str, *, count: int) -> None:
        """Consume, process, produce: as a member of `group`, copy `count` records, one transaction for each poll."""

    def read(self, topic: str, *, committed: bool, count: int, partition: int = 0) -> list[str]:
        """The first `count` values; Refused if there are not so many within the time for a step."""

    def close_all(self) -> None: ...
