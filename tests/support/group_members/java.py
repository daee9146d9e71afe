"""Members of consumer groups by the Java client; the program is `GroupMembers.java` beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.apache_kafka import java_command
from support.clients.json_lines import JsonLinesClient

# librdkafka has names for what Java's client knows by its class.
_STRATEGIES = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
_PROGRAM = Path(__file__).parent / "GroupMembers.java"


class JavaMembers(JsonLinesClient):
    """All members live in one virtual machine, and each has its own thread for heartbeats there."""

    def __init__(self, bootstrap_servers: str, *, jars: Path, log: Path) -> None:
        super().__init__("java", java_command(jars, str(_PROGRAM), bootstrap_servers), log=log)
        self._count = 0

    def open(
        self, group: str, *, topic: str | None = None, pattern: str | None = None, settings: Mapping[str, str]
    ) -> JavaMember:
        self._count += 1
        name = str(self._count)
        strategy = settings.get("partition.assignment.strategy")
        if strategy is not None:
            settings = {**settings, "partition.assignment.strategy": _STRATEGIES.get(strategy, strategy)}
        what = {"topic": topic} if pattern is None else {"pattern": pattern}
        self._call("open", member=name, settings={"group.id": group, **settings}, **what)
        return JavaMember(self, name)

    def describe(self, group: str) -> Any:
        return self._call("describe", group=group)

    def call(self, operation: str, **arguments: Any) -> Any:
        return self._call(operation, **arguments)


class JavaMember:
    def __init__(self, members: JavaMembers, name: str) -> None:
        self._members = members
        self._name = name

    def poll(self) -> list[tuple[int, bytes]]:
        return [(number, value.encode()) for number, value in self._members.call("poll", member=self._name)]

    def assignment(self) -> set[tuple[str, int]]:
        return {(topic, number) for topic, number in self._members.call("assignment", member=self._name)}

    def copy(self, target: str, transactional_id: str, count: int) -> None:
        """Read `count` records, and write them to another topic together with the offsets, in transactions."""
        left = self._members.call(
            "copy", member=self._name, target=target, transactionalId=transactional_id, count=count
        )
        assert left == 0, f"{left} records have not come"

    def commit(self) -> None:
        self._members.call("commit", member=self._name)

    def close(self) -> None:
        self._members.call("close", member=self._name)
