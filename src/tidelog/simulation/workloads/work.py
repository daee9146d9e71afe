"""What all clients of a run have in common: a process to run in, a history to write to, and a sign to stop."""

from __future__ import annotations

import asyncio
from dataclasses import field

from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem
from tidelog.simulation.checks.history import History, Isolation, Read
from tidelog.simulation.machines.world import SimulatedClient

# What a client may raise when brokers are away or refuse.
EXPECTED = (ApiError, ClientError, ConnectionProblem, TimeoutError, OSError)

RETRY_SECONDS = 0.5


@dataclass(eq=False, repr=False)
class Work:
    """What one client does until `stop` is set. To be made in the loop of the run."""

    client: SimulatedClient
    history: History
    stop: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(init=False, default_factory=asyncio.get_running_loop)

    @property
    def name(self) -> str:
        """In the history; no other client has it."""
        return self.client.name

    @property
    def host(self) -> str:
        return self.client.name

    async def run(self) -> None:
        """Work, and begin again after a failure."""
        while not self.stop.is_set():
            try:
                await self._work()
            except EXPECTED:
                await asyncio.sleep(RETRY_SECONDS)

    async def _work(self) -> None:
        """Until something fails or `stop` is set."""
        raise NotImplementedError

    def _note_read(self, record: ConsumerRecord, isolation: Isolation) -> None:
        assert record.value is not None
        time, partition = self.loop.time(), record.topic_partition
        self.history.add(Read(time, self.name, partition, record.offset, record.value, isolation))
