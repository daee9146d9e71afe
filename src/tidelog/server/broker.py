"""`tidelog.Broker`: a whole broker inside a Python program."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import SecurityProtocol
from tidelog.config.single_copy import SINGLE_COPY_PROPERTIES
from tidelog.server.secure_start.first_users import credentials_of, write_first_users
from tidelog.server.secure_start.folder import prepare_folder, write_client_files
from tidelog.server.secure_start.settings import (
    LISTENER,
    SecuritySecrets,
    client_properties,
    librdkafka_properties,
    node_security,
)
from tidelog.server.startup import RunningNode
from tidelog.storage.files.file_names import META_PROPERTIES


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
        security: str = SecurityProtocol.PLAINTEXT.name,
    ) -> None:
        """`security`: SSL, SASL_PLAINTEXT or SASL_SSL, with a certificate and an administrator that the broker makes by
        itself; `client_options` has what clients need then."""
        self._host = host
        self._protocol = _protocol(security)
        self._secrets: SecuritySecrets | None = None
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
    def client_options(self) -> dict[str, str]:
        """What clients need to connect, by Kafka's names; of a secure broker, as its administrator.

        For `config=` of tidelog's clients, for Java and for Spark.
        """
        address = {"bootstrap.servers": self.bootstrap_servers}
        return address if self._secrets is None else {**address, **client_properties(self._secrets)}

    @property
    def librdkafka_options(self) -> dict[str, str]:
        """The same by the names of confluent-kafka and others on librdkafka."""
        address = {"bootstrap.servers": self.bootstrap_servers}
        return address if self._secrets is None else {**address, **librdkafka_properties(self._secrets)}

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
        # In a thread: it makes keys.
        secured = await asyncio.to_thread(self._security)
        properties = single_node_properties(
            host=self._host,
            port=self._port,
            data_dir=self.data_dir,
            properties={**EMBEDDED_PROPERTIES, **secured, **(self._properties or {})},
        )
        running = RunningNode(BrokerConfig.from_properties(properties))
        await running.start()
        self._running = running
        if self._secrets is not None:
            write_client_files(Path(self.data_dir), self._secrets, self.bootstrap_servers)

    def _security(self) -> dict[str, str]:
        if self._protocol is SecurityProtocol.PLAINTEXT:
            return {}
        data_dir = Path(self.data_dir)
        self._secrets = prepare_folder(data_dir, self._host, self._protocol)
        if not (data_dir / META_PROPERTIES).exists():
            write_first_users(data_dir, credentials_of(self._secrets.users))
        host = f"[{self._host}]" if ":" in self._host else self._host
        return {"listeners": f"{LISTENER}://{host}:{self._port}", **node_security(self._secrets, alone=True)}

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


def _protocol(name: str) -> SecurityProtocol:
    try:
        return SecurityProtocol[name.upper()]
    except KeyError:
        raise InvalidConfig(f"security={name}: use one of {', '.join(SecurityProtocol.__members__)}") from None
