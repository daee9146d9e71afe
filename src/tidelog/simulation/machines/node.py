"""One simulated machine with a broker on it: its disk and clock stay, its processes come and go."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from typing import Protocol

from tidelog.config.broker import BrokerConfig
from tidelog.model.ids import Uuid
from tidelog.server.ports import Ports
from tidelog.server.startup import RunningNode, start_unless, until_its_end
from tidelog.simulation.checks.invariants import InvariantWatch
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.machines.clock import SeededRandomness, SimulatedClock, draw_from
from tidelog.simulation.machines.disk import Disk
from tidelog.simulation.machines.filesystem import ProcessFileSystem
from tidelog.simulation.machines.loop import SimulatedLoop
from tidelog.simulation.machines.network import Fabric, ProcessNetwork
from tidelog.simulation.machines.process import Process
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.meta_properties import MetaProperties

# Who watches over the broker gives it so long to end, and tries so soon again when a start has failed.
STOP_SECONDS = 30.0
RETRY_START_SECONDS = 1.0

# Called with the number and the epoch of a broker that was fenced because its process is gone.
BrokerGone = Callable[[int, int], None]
NodeFactory = Callable[[Mapping[str, str], Ports, BrokerGone], RunningNode]


def real_node(properties: Mapping[str, str], ports: Ports, broker_gone: BrokerGone) -> RunningNode:
    """The broker as users run it."""
    return RunningNode(BrokerConfig.from_properties(properties), ports, broker_gone)


class Surroundings(Protocol):
    """What a machine is part of."""

    @property
    def seed(self) -> int: ...

    @property
    def loop(self) -> SimulatedLoop: ...

    @property
    def fabric(self) -> Fabric: ...

    @property
    def trace(self) -> Trace: ...

    def broker_fenced_as_gone(self, broker_id: int, epoch: int) -> None: ...


class SimulatedNode:
    """Between `start` and the next end there is a process; `running` is set once the broker serves."""

    def __init__(
        self, world: Surroundings, node_id: int, properties: Mapping[str, str], factory: NodeFactory = real_node
    ) -> None:
        self.node_id = node_id
        self.host = f"node-{node_id}"
        self.properties = properties
        chance = draw_from(world.seed, self.host)
        self.clock = SimulatedClock(world.loop, skew_ms=chance.randrange(-2_000, 2_000))
        self.disk = Disk(draw_from(world.seed, self.host, "disk"), self.clock.now_ms)
        # Where the broker keeps its data is there before the broker is: somebody has mounted a disk.
        self.directories = properties["log.dirs"].split(",")
        for path in self.directories:
            self.disk.make_directory(path)
        self.cluster_id = ""
        self._formats = 0
        self.process: Process | None = None
        self.filesystem: ProcessFileSystem | None = None
        self.running: RunningNode | None = None
        # The same from the moment at which its process begins.
        self._begun: RunningNode | None = None
        self.graveyard: list[Process] = []
        self._outside = contextvars.copy_context()
        self._world = world
        self._factory = factory
        self._starts = 0
        self._stop: asyncio.Event | None = None
        # Whether a process that has ended is started again at once.
        self.keep_running = False
        # Whether the disk has refused, or may have, since the last start.
        self.spoiled = False
        # Set when the process of the last start has ended.
        self.gone = asyncio.Event()

    def __repr__(self) -> str:
        return f"<{self.host} {self.process}>"

    @property
    def alive(self) -> bool:
        return self.process is not None

    @property
    def stopping(self) -> bool:
        """Whether somebody has ended it in order; it may still be at it."""
        return self._stop is not None and self._stop.is_set()

    # -- its disks -----------------------------------------------------------------------------------------------

    def format(self, cluster_id: str) -> None:
        """As `tidelog format` does: nodes that are to find each other must agree on a cluster id beforehand."""
        self.cluster_id = cluster_id
        self._formats += 1
        # What was on the first disk has its name from before there were others.
        name = f"{self.host}.format" if self._formats == 1 else f"{self.host}.format.{self._formats}"
        process = Process(name, self.host)
        randomness = SeededRandomness(draw_from(self._world.seed, process.name))
        filesystem = ProcessFileSystem(self.disk, process, self._world.trace)
        for path in self.directories:
            directory = LogDirectory.open(path, filesystem, randomness)
            directory.format(
                MetaProperties(
                    cluster_id=cluster_id, node_id=self.node_id, directory_id=Uuid(randomness.random_bytes(16))
                )
            )
            directory.abandon()

    def replace_disks(self) -> None:
        """All of them, while no process uses them."""
        assert self.process is None
        self._world.trace.event(self._world.loop.time(), "disks-replaced", self.host)
        for path in self.directories:
            self.disk.replace(path)
        self.format(self.cluster_id)

    def serves_as(self, epoch: int) -> bool:
        """Whether the broker's incarnation of this epoch is alive, be it paused or cut off, and has not been ended.

        One that has failed ends itself: it listens no more, but may have to wait for a slow disk before it is gone.
        """
        begun = self._begun
        return begun is not None and begun.broker_epoch == epoch and begun.failure is None and not self.stopping

    # -- beginning and ending ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a process; nothing if there is one. A start that fails is tried again."""
        if self.process is not None:
            return
        self._starts += 1
        self.spoiled = bool(self.disk.failing) or self.disk.full
        self.gone = asyncio.Event()
        world = self._world
        process = self.process = Process(
            f"{self.host}.{self._starts}", self.host, after_event=InvariantWatch(lambda: self.running).check
        )
        world.fabric.machine_started(self.host)
        self.filesystem = ProcessFileSystem(self.disk, process, world.trace)
        ports = Ports(
            clock=self.clock,
            randomness=SeededRandomness(draw_from(world.seed, process.name)),
            filesystem=self.filesystem,
            network=ProcessNetwork(world.fabric, process),
        )
        world.trace.event(world.loop.time(), "node-start", process.name)
        self._stop = asyncio.Event()
        world.loop.create_task(self._serve(process, ports, self._stop), context=process.context.copy())

    async def _serve(self, process: Process, ports: Ports, stop: asyncio.Event) -> None:
        running = self._begun = self._factory(self.properties, ports, self._world.broker_fenced_as_gone)
        try:
            started = await start_unless(stop, running)
        except Exception as error:
            self._world.trace.event(self._world.loop.time(), "node-start-failed", f"{process.name}: {error}")
            self._end(process)
            self._world.loop.call_later(RETRY_START_SECONDS, self.start, context=self._outside)
            return
        if not started:
            self._world.trace.event(self._world.loop.time(), "node-stopped", f"{process.name}, before it had started")
            self._ended(process)
            return
        self.running = running
        self._world.trace.event(self._world.loop.time(), "node-started", process.name)
        await until_its_end(stop, running)
        if running.failure is not None:
            # The process ends by itself, and whoever watches over it starts it again.
            self._world.trace.event(self._world.loop.time(), "node-failed", f"{process.name}: {running.failure}")
            await running.abandon()
            self._end(process)
            self._world.loop.call_later(RETRY_START_SECONDS, self.start, context=self._outside)
            return
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await running.stop()
            self._world.trace.event(self._world.loop.time(), "node-stopped", process.name)
        except TimeoutError:
            self._world.trace.event(self._world.loop.time(), "node-stop-timed-out", process.name)
        self._ended(process)

    def _ended(self, process: Process) -> None:
        self._end(process)
        if self.keep_running:
            self._world.loop.call_later(RETRY_START_SECONDS, self.start, context=self._outside)

    def stop(self) -> None:
        """End in order, as with SIGTERM. The process is gone some time later."""
        if self._stop is not None:
            self._stop.set()

    def kill(self) -> None:
        """As kill -9: the kernel still has what was written, and closes the connections."""
        if self.process is not None:
            self._world.trace.event(self._world.loop.time(), "node-killed", self.process.name)
            self._end(self.process)

    def lost_directories(self) -> bool:
        """Whether a directory of the broker is offline for good, or the broker does not serve."""
        if self.running is None or self.running.failed.is_set():
            return True
        return any(directory.failure is not None for directory in self.running.node.replicas.directories)

    def lose_power(self) -> None:
        """Nothing is left but what the device has; nobody is notified."""
        process = self.process
        if process is not None:
            self._world.trace.event(self._world.loop.time(), "node-lost-power", process.name)
            self._retire(process)
            self._world.fabric.power_lost(process)
            self.disk.lose_power()

    def _end(self, process: Process) -> None:
        self._retire(process)
        self._world.fabric.process_killed(process)

    def _retire(self, process: Process) -> None:
        self.harvest()
        process.kill()
        self.graveyard.append(process)
        if self.process is process:
            self.process = self.filesystem = self.running = self._begun = self._stop = None
            self.gone.set()

    # -- looking in ----------------------------------------------------------------------------------------------

    def harvest(self) -> None:
        """Take over what the broker has counted, before it is forgotten."""
        if self.running is None:
            return
        for metric in self.running.node.metrics.registry().collect():
            for sample in metric.samples:
                if sample.name == "tidelog_errors_total":
                    self._world.trace.counts[f"error {sample.labels['error']}"] += int(sample.value)
