"""Java and Node.js under the transactional contract: one step per line of JSON.

The programs are `TransactionalClient.java` and `transactional_client.cjs` beside this file; how they are spoken to is
in `support.clients.json_lines`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.apache_kafka import java_command
from support.clients.json_lines import JsonLinesClient
from support.processes import ProcessFailed
from support.transactional.contract import Fenced, Refused

_FOLDER = Path(__file__).parent
_FENCING = ("ProducerFencedException", "InvalidProducerEpochException", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")


class JsonLinesTransactions(JsonLinesClient):
    sends_group_metadata = True

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        second_version: bool,
        group_metadata: bool,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, command, log=log, environment=environment)
        self.speaks_second_version = second_version
        self.sends_group_metadata = group_metadata

    def init(self, producer: str, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        self._step("init", producer=producer, transactionalId=transactional_id, timeoutMs=timeout_ms)

    def begin(self, producer: str) -> None:
        self._step("begin", producer=producer)

    def send(self, producer: str, topic: str, value: str, *, partition: int = 0) -> None:
        self._step("send", producer=producer, topic=topic, value=value, partition=partition)

    def send_offsets(self, producer: str, group: str, topic: str, offset: int, *, partition: int = 0) -> None:
        self._step("sendOffsets", producer=producer, group=group, topic=topic, offset=offset, partition=partition)

    def commit(self, producer: str) -> None:
        self._step("commit", producer=producer)

    def abort(self, producer: str) -> None:
        self._step("abort", producer=producer)

    def close(self, producer: str = "") -> None:
        with suppress(Fenced, Refused):
            self._step("close", producer=producer)

    def copy(self, producer: str, group: str, source: str, target: str, *, count: int) -> None:
        self._step("copy", producer=producer, group=group, source=source, target=target, count=count)

    def read(  # type: ignore[override]
        self, topic: str, *, committed: bool, count: int, partition: int = 0
    ) -> list[str]:
        return list(self._step("read", topic=topic, committed=committed, count=count, partition=partition))

    def close_all(self) -> None:
        super().close()

    def _step(self, operation: str, **arguments: Any) -> Any:
        try:
            return self._call(operation, **arguments)
        except ProcessFailed as problem:
            what = str(problem).split("\n", 1)[0]
            raise (Fenced if any(name in what for name in _FENCING) else Refused)(str(problem)) from problem


def java_transactions(bootstrap_servers: str, *, jars: Path, log: Path) -> JsonLinesTransactions:
    command = java_command(jars, str(_FOLDER / "TransactionalClient.java"), bootstrap_servers)
    return JsonLinesTransactions("java", command, log=log, second_version=True, group_metadata=True)


def kafkajs_transactions(bootstrap_servers: str, *, node_modules: Path, log: Path) -> JsonLinesTransactions:
    command = ("node", str(_FOLDER / "transactional_client.cjs"), bootstrap_servers)
    return JsonLinesTransactions(
        "kafkajs",
        command,
        log=log,
        second_version=False,
        group_metadata=False,
        environment={"NODE_PATH": str(node_modules)},
    )
