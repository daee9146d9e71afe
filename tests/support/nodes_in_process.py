"""A cluster of real nodes in this process: real sockets, real files, one event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from support.processes import HANG_SECONDS, free_port

from tidelog.config.broker import BrokerConfig
from tidelog.model.ids import Uuid
from tidelog.server.startup import RunningNode, system_ports
from tidelog.storage.directories.meta_properties import MetaProperties, write_meta_properties
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.files.local_filesystem import LocalFileSystem

CLUSTER_ID = "AAAAAAAAQACAAAAAAAAAAA"

# Short enough for tests, long enough for a machine that is busy with other things.
QUICK = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "300",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "300",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "replica.lag.time.max.ms": "3000",
}


class Nodes:
    """Nodes are numbered from 1. Those that are running are in `running`."""

    def __init__(self, directory: Path, roles: dict[int, str], properties: dict[str, str] | None = None) -> None:
        self._directory = directory
        self._roles = roles
        self._properties = properties or {}
        self._ports = {number: (free_port(), free_port()) for number in roles}
        self.running: dict[int, RunningNode] = {}
        # Of nodes that are to have a file system of their own, or more than one log directory.
        self.filesystems: dict[int, FileSystem] = {}
        self.more_directories: dict[int, list[Path]] = {}
        # Properties of single nodes.
        self.own_properties: dict[int, dict[str, str]] = {}
        for number in roles:
            self.format(number, CLUSTER_ID)

    def format(self, number: int, cluster_id: str) -> None:
        directory = self.log_directory(number)
        directory.mkdir(parents=True, exist_ok=True)
        meta = MetaProperties(cluster_id=cluster_id, node_id=number, directory_id=Uuid(os.urandom(16)))
        write_meta_properties(LocalFileSystem(), str(directory), meta)

    def log_directory(self, number: int) -> Path:
        return self._directory / f"node-{number}"

    def address(self, number: int) -> str:
        return f"127.0.0.1:{self._ports[number][0]}"

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.address(number) for number, roles in self._roles.items() if "broker" in roles)

    def config(self, number: int) -> BrokerConfig:
        client_port, controller_port = self._ports[number]
        roles = self._roles[number]
        listeners = [f"PLAINTEXT://127.0.0.1:{client_port}"] if "broker" in roles else []
        listeners += [f"CONTROLLER://127.0.0.1:{controller_port}"] if "controller" in roles else []
        voters = [each for each, its_roles in self._roles.items() if "controller" in its_roles]
        return BrokerConfig.from_properties(
            {
                "node.id": str(number),
                "process.roles": roles,
                "listeners": ",".join(listeners),
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": ",".join(f"{each}@127.0.0.1:{self._ports[each][1]}" for each in voters),
                "log.dirs": ",".join(map(str, [self.log_directory(number), *self.more_directories.get(number, [])])),
                "default.replication.factor": str(min(3, len(self._roles))),
                "offsets.topic.replication.factor": str(min(3, len(self._roles))),
                "transaction.state.log.replication.factor": str(min(3, len(self._roles))),
                "transaction.state.log.min.isr": "1",
                **QUICK,
                **self._properties,
                **self.own_properties.get(number, {}),
            }
        )

    async def start(self, *numbers: int) -> None:
        """All of them, or these; at once, since a quorum needs its majority."""

        async def begin(number: int) -> None:
            filesystem = self.filesystems.get(number)
            ports = system_ports() if filesystem is None else replace(system_ports(), filesystem=filesystem)
            node = RunningNode(self.config(number), ports)
            await node.start()
            self.running[number] = node

        await asyncio.gather(*(begin(number) for number in numbers or self._roles))

    async def stop(self, number: int) -> None:
        await self.running.pop(number).stop()

    async def kill(self, number: int) -> None:
        """As kill -9 would: nothing is flushed, nobody is told."""
        await self.running.pop(number).abandon()

    async def close(self) -> None:
        await asyncio.gather(*(node.abandon() for node in self.running.values()), return_exceptions=True)

    def controller(self) -> int | None:
        """The node that says of itself that it is the active controller."""
        for number, node in self.running.items():
            if node.is_active_controller:
                return number
        return None

    async def until(self, condition: Callable[[], bool], what: str, within_seconds: float = HANG_SECONDS) -> None:
        try:
            async with asyncio.timeout(within_seconds):
                while not condition():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{what} did not happen within {within_seconds} s") from None


@asynccontextmanager
async def nodes(directory: Path, roles: dict[int, str], **properties: str) -> AsyncIterator[Nodes]:
    """`properties` with underscores for dots."""
    cluster = Nodes(directory, roles, {name.replace("_", "."): value for name, value in properties.items()})
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.close()
