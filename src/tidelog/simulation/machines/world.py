"""The world of a run: machines with brokers, hosts of clients, the network between them, and the faults that hit them.

Which faults come when is in `tidelog.simulation.faults.plan`; here they are carried out. A world ends healed:
everything that was cut is joined, everything that was killed runs again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from tidelog.model.ids import Uuid
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.faults.plan import FaultKind, PlannedFault
from tidelog.simulation.faults.replacement import is_missed, may_lose_everything
from tidelog.simulation.machines.clock import SeededRandomness, SimulatedClock, draw_from
from tidelog.simulation.machines.disk import SYNC_SECONDS, FlippedByte, flip_byte
from tidelog.simulation.machines.loop import SimulatedLoop
from tidelog.simulation.machines.network import Fabric, ProcessNetwork
from tidelog.simulation.machines.node import NodeFactory, SimulatedNode, real_node
from tidelog.simulation.machines.process import Process

T = TypeVar("T")

EXECUTOR_DELAY_SECONDS = 0.002
# How often it is looked whether others have noticed that a disk was replaced.
NOTICE_SECONDS = 0.1
# After these a node is gone, or counts as gone.
ENDING_FAULTS = frozenset(
    {
        FaultKind.KILL,
        FaultKind.CRASH_IN_CALL,
        FaultKind.POWER_LOSS,
        FaultKind.RESTART,
        FaultKind.PAUSE,
        FaultKind.DISK_ERROR,
        FaultKind.DISK_FULL,
        FaultKind.DIRECTORY_ERROR,
        FaultKind.REPLACED_DISK,
    }
)
LONGEST_CLOCK_JUMP_MS = 60_000
# In the middle of how many calls to the disk a process may be caught.
CALLS_UNTIL_CRASH = 60
SLOW_LINK_SECONDS = (0.02, 0.4)
SLOW_SYNC_SECONDS = (0.02, 0.8)
FLAKY_RESET = 0.05
PACKET_LOSS = 0.1
# How often a process without descriptors gets none at all.
ALL_DESCRIPTORS_REFUSED = 0.2
LOST_ANSWERS = 0.15
# Disk faults leave so many bytes.
ROOM_ON_FULL_DISK_BYTES = 4_096


class SimulatedClient:
    """A process of a client: what its code needs to reach the world."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.process = Process(name, name)
        self.network: Network = ProcessNetwork(world.fabric, self.process)
        chance = draw_from(world.seed, name)
        self.clock: Clock = SimulatedClock(world.loop, skew_ms=chance.randrange(-2_000, 2_000))
        self.randomness: Randomness = SeededRandomness(chance)
        self._loop = world.loop

    def run(self, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run code in the process."""
        return self._loop.create_task(main, context=self.process.context.copy())


class World:
    def __init__(self, seed: int, loop: SimulatedLoop, trace: Trace) -> None:
        self.seed = seed
        self.loop = loop
        self.trace = trace
        self.fabric = Fabric(loop, draw_from(seed, "network"), trace)
        self.nodes: dict[str, SimulatedNode] = {}
        self.clients: dict[str, SimulatedClient] = {}
        self._faults: list[asyncio.Task[None]] = []
        # Not while a node has new disks that others still count as in sync: until they know better, nobody else may go.
        self._noticed = asyncio.Event()
        self._noticed.set()
        # Log directories that were on disks which somebody has taken out.
        self.replaced_directories: set[Uuid] = set()
        # Brokers that were fenced as gone although they were not.
        self.wrong_verdicts: list[str] = []
        self._flipped: dict[str, FlippedByte] = {}
        executor = draw_from(seed, "executor")
        loop.executor_delay = lambda _: executor.random() * EXECUTOR_DELAY_SECONDS

    def add_node(self, node_id: int, properties: Mapping[str, str], factory: NodeFactory = real_node) -> SimulatedNode:
        node = SimulatedNode(self, node_id, properties, factory)
        self.nodes[node.host] = node
        return node

    def add_client(self, name: str) -> SimulatedClient:
        client = self.clients[name] = SimulatedClient(self, name)
        return client

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:9092" for host in self.nodes)

    def broker_fenced_as_gone(self, broker_id: int, epoch: int) -> None:
        """The active controller is certain that the broker's process is gone. Here it can be known."""
        self.trace.event(self.loop.time(), "broker-found-gone", f"broker {broker_id} of epoch {epoch}")
        if self.nodes[f"node-{broker_id}"].serves_as(epoch):
            at = f"{self.loop.time():.3f} s"
            self.wrong_verdicts.append(f"broker {broker_id} was fenced as gone at {at}, but is alive")

    def bury(self) -> None:
        """At the very end: let go of all processes, so that nothing of them runs when Python cleans up."""
        for node in self.nodes.values():
            node.harvest()
            processes = [*node.graveyard, *([node.process] if node.process is not None else [])]
            for process in processes:
                process.kill()
                process.bury()
        for client in self.clients.values():
            client.process.kill()
            client.process.bury()

    # -- faults --------------------------------------------------------------------------------------------------

    def begin_faults(self, plan: Iterable[PlannedFault]) -> None:
        self._faults = [asyncio.ensure_future(self._let_happen(fault)) for fault in plan]

    async def heal(self) -> None:
        """End all faults, and start what is down. Brokers take their time after that."""
        for task in self._faults:
            task.cancel()
        for outcome in await asyncio.gather(*self._faults, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        self._faults = []
        self.trace.event(self.loop.time(), "healed")
        self.fabric.heal()
        for client in self.clients.values():
            self.loop.resume(client.process)
        for node in self.nodes.values():
            if node.process is not None:
                self.loop.resume(node.process)
            if node.spoiled:
                # Its directories are offline for good; somebody repairs the disk and starts the broker again.
                node.kill()
            node.disk.heal()
            self._restore(node)
            if node.filesystem is not None:
                node.filesystem.disarm()
            node.keep_running = True
            node.start()

    async def _let_happen(self, fault: PlannedFault) -> None:
        await asyncio.sleep(fault.at - self.loop.time())
        if not self._noticed.is_set() and fault.kind in ENDING_FAULTS:
            return
        self.trace.event(self.loop.time(), f"fault {fault.kind}", str(fault))
        match fault.kind:
            case FaultKind.CLIENT_PAUSE:
                await self._pause(self.clients[fault.target].process, fault.seconds)
            case FaultKind.CLOCK_JUMP:
                jump = int((2 * fault.choice - 1) * LONGEST_CLOCK_JUMP_MS)
                self.nodes[fault.target].clock.skew_ms += jump
            case FaultKind.RESET:
                self.fabric.break_connections(fault.target, share=fault.choice)
            case FaultKind.PARTITION | FaultKind.ONE_WAY_PARTITION:
                await self._cut(fault)
            case FaultKind.PACKET_LOSS | FaultKind.SLOW_LINK | FaultKind.FLAKY_LINK | FaultKind.DUPLICATION:
                await self._disturb(fault)
            case FaultKind.REPLACED_DISK:
                await self._replace_disk(fault, self.nodes[fault.target])
            case FaultKind.DIRECTORY_ERROR:
                await self._spoil_directory(fault, self.nodes[fault.target])
            case FaultKind.DAMAGE:
                await self._damage(fault, self.nodes[fault.target])
            case FaultKind.NO_DESCRIPTORS:
                await self._take_descriptors(fault, self.nodes[fault.target])
            case FaultKind.DISK_ERROR | FaultKind.DISK_FULL | FaultKind.SLOW_DISK:
                await self._spoil_disk(fault, self.nodes[fault.target])
            case _:
                await self._end_node(fault, self.nodes[fault.target])

    async def _end_node(self, fault: PlannedFault, node: SimulatedNode) -> None:
        process, gone = node.process, node.gone
        if process is None:
            return
        match fault.kind:
            case FaultKind.PAUSE:
                await self._pause(process, fault.seconds)
                return
            case FaultKind.KILL:
                node.kill()
            case FaultKind.POWER_LOSS:
                node.lose_power()
            case FaultKind.RESTART:
                node.stop()
            case FaultKind.CRASH_IN_CALL:
                assert node.filesystem is not None
                node.filesystem.crash_after_calls(int(fault.choice * CALLS_UNTIL_CRASH), node.kill)
        await asyncio.sleep(fault.seconds)
        if fault.kind is FaultKind.CRASH_IN_CALL and node.process is process:
            await self._no_disk_is_missed(node)
            if node.process is process:
                node.kill()
        # A clean end takes as long as it takes.
        await gone.wait()
        node.start()

    async def _damage(self, fault: PlannedFault, node: SimulatedNode) -> None:
        """A byte changes while the broker is stopped. Later somebody restores the file, and starts the broker again."""
        gone = node.gone
        if node.process is None or node.host in self._flipped:
            return
        node.stop()
        await gone.wait()
        if node.process is not None or node.host in self._flipped:
            # Another fault has waited for the same end, has changed a byte or started the broker, or both. Only one
            # byte at a time is known, and restored.
            return
        flipped = flip_byte(node.disk, fault.choice)
        if flipped is not None:
            self.trace.event(self.loop.time(), "damage", f"{node.host}: {flipped}")
            self._flipped[node.host] = flipped
        node.start()
        await asyncio.sleep(fault.seconds)
        await self._no_disk_is_missed(node)
        self._restore(node)
        node.start()

    def _restore(self, node: SimulatedNode) -> None:
        flipped = self._flipped.pop(node.host, None)
        if flipped is not None:
            node.kill()
            flipped.turn_back()

    async def _pause(self, process: Process, seconds: float) -> None:
        self.loop.pause(process)
        await asyncio.sleep(seconds)
        self.loop.resume(process)

    async def _cut(self, fault: PlannedFault) -> None:
        pairs = self._pairs(fault)
        if fault.kind is FaultKind.ONE_WAY_PARTITION:
            # Towards the target, or away from it.
            pairs = [pair for pair in pairs if (pair[0] == fault.target) == (fault.choice < 0.5)]
        for source, target in pairs:
            self.fabric.block(source, target)
        await asyncio.sleep(fault.seconds)
        for source, target in pairs:
            self.fabric.unblock(source, target)

    async def _disturb(self, fault: PlannedFault) -> None:
        pairs = self._pairs(fault)
        if fault.kind is FaultKind.DUPLICATION:
            # Requests get to the target, its answers get lost.
            pairs = [pair for pair in pairs if pair[0] == fault.target]
        links = [self.fabric.link(*pair) for pair in pairs]
        for link in links:
            match fault.kind:
                case FaultKind.PACKET_LOSS:
                    link.loss = PACKET_LOSS
                case FaultKind.FLAKY_LINK:
                    link.reset = FLAKY_RESET
                case FaultKind.DUPLICATION:
                    link.lost_answers = LOST_ANSWERS
                case _:
                    link.latency = SLOW_LINK_SECONDS
        await asyncio.sleep(fault.seconds)
        for link in links:
            link.calm()

    def _pairs(self, fault: PlannedFault) -> list[tuple[str, str]]:
        pairs = []
        for other in fault.others:
            pairs += [(fault.target, other), (other, fault.target)]
        return pairs

    async def _spoil_disk(self, fault: PlannedFault, node: SimulatedNode) -> None:
        disk = node.disk
        node.spoiled = fault.kind is not FaultKind.SLOW_DISK or node.spoiled
        match fault.kind:
            case FaultKind.SLOW_DISK:
                disk.sync_seconds = SLOW_SYNC_SECONDS
            case FaultKind.DISK_FULL:
                disk.fill(int(fault.choice * ROOM_ON_FULL_DISK_BYTES))
            case _:
                kinds = (("sync",), ("write",), ("write", "sync"), ("read", "write", "sync"))
                disk.failing = frozenset(kinds[int(fault.choice * len(kinds))])
        await asyncio.sleep(fault.seconds)
        if fault.kind is FaultKind.SLOW_DISK:
            disk.sync_seconds = SYNC_SECONDS
            return
        if fault.kind is FaultKind.DISK_FULL and not node.lost_directories():
            # There is room again, and the broker goes on.
            disk.heal()
            node.spoiled = node.lost_directories()
            return
        # What was refused stays refused until somebody starts the broker again.
        await self._no_disk_is_missed(node)
        node.kill()
        await asyncio.sleep(fault.seconds)
        disk.heal()
        node.start()

    async def _take_descriptors(self, fault: PlannedFault, node: SimulatedNode) -> None:
        """The process runs out of descriptors, now and then or altogether. Nobody restarts it: it has to cope."""
        node.disk.refused_descriptors = 1.0 if fault.choice < ALL_DESCRIPTORS_REFUSED else fault.choice
        await asyncio.sleep(fault.seconds)
        node.disk.refused_descriptors = 0.0

    async def _spoil_directory(self, fault: PlannedFault, node: SimulatedNode) -> None:
        """One of several log directories fails, and the broker lives on without it, until somebody repairs it."""
        disk = node.disk
        if len(node.directories) < 2 or node.running is None or disk.failing:
            return
        node.spoiled = True
        disk.failing_under = node.directories[-1]
        disk.failing = frozenset({"read", "write", "sync"})
        await asyncio.sleep(fault.seconds)
        await self._no_disk_is_missed(node)
        node.kill()
        disk.heal()
        node.start()

    async def _no_disk_is_missed(self, node: SimulatedNode) -> None:
        """Before a broker that runs is ended so that its disk can be repaired: as long as the loss of another disk has
        not been noticed, this broker may be the one that has the records, and whoever ends without notice leaves the
        in-sync sets."""
        if node.process is not None:
            await self._noticed.wait()

    async def _replace_disk(self, fault: PlannedFault, node: SimulatedNode) -> None:
        """Somebody takes the disks out of a machine and puts new ones in."""
        if not may_lose_everything(node, self.nodes.values()):
            return
        self.trace.counts["replaced disks"] += 1
        assert node.running is not None
        self.replaced_directories.update(node.running.node.image.brokers[node.node_id].directories)
        node.kill()
        # Whatever was wrong with the old disks, or lacked the process that is gone, is not wrong with the new ones.
        node.disk.heal()
        node.replace_disks()
        self._noticed.clear()
        try:
            await asyncio.sleep(fault.seconds)
            node.start()
            noticed = False
            while not noticed:
                await asyncio.sleep(NOTICE_SECONDS)
                noticed = not is_missed(node, self.nodes.values())
        finally:
            self._noticed.set()
