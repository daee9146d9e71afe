"""`tidelog.Broker`: a whole broker inside a Python program."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tidelog.config.broker import BrokerConfig
from tidelog.config.single_copy import SINGLE_COPY_PROPERTIES
from tidelog.server.startup import RunningNode


def single_node_properties(
    *, host: str, port: int, data_dir: str, properties: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What `tidelog up` and `tidelog.Broker` start with; `properties` take precedence."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        **SINGLE_COPY_PROPERTIES,
        "listeners": f"PLAINTEXT://{host}:{port}",
        "log.dirs": data_dir,
        **(properties or {}),
    }


# Fifty partitions of each internal topic make sense where they are spread over brokers; in a program or a test they
# only cost time when the first group or transaction begins.
EMBEDDED_PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


class Broker:
    """`async with tidelog.Broker(port=0) as broker:` then `broker.bootstrap_servers`.

    Without `data_dir` the broker keeps its data in a temporary directory that is removed at the end. `properties` are
    Kafka's, such as {"num.partitions": "3"}.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._given_data_dir = data_dir
        self._properties = properties
        self._data_dir = data_dir
        self._running: RunningNode | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, such as "127.0.0.1:45123"."""
        return ",".join(f"{host}:{port}" for host, port in self.running.addresses)

    @property
    def data_dir(self) -> str:
        assert self._data_dir is not None, "the broker has not been started"
        return self._data_dir

    @property
    def running(self) -> RunningNode:
        if self._running is None:
            raise RuntimeError("the broker is not running: use it in `async with`, or call start() first")
        return self._running

    async def start(self) -> None:
        if self._given_data_dir is None:
            self._data_dir = tempfile.mkdtemp(prefix="tidelog-")
        properties = single_node_properties(
            host=self._host,
            port=self._port,
            data_dir=self.data_dir,
            properties={**EMBEDDED_PROPERTIES, **(self._properties or {})},
        )
        running = RunningNode(BrokerConfig.from_properties(properties))
        await running.start()
        self._running = running

    async def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.stop()
        if self._given_data_dir is None and self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
