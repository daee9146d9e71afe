"""What all clients of a run have in common: a process to run in, a history to write to, and a sign to stop."""

from __future__ import annotations

import asyncio

from tidelog.simulation.checks.history import History
from tidelog.simulation.machines.world import SimulatedClient


class Work:
    """What one client does until `stop` is set. To be made in the loop of the run."""

    def __init__(self, client: SimulatedClient, history: History) -> None:
        self._client = client
        self._history = history
        self._loop = asyncio.get_running_loop()
        self.stop = asyncio.Event()

    @property
    def name(self) -> str:
        """In the history; no other client has it."""
        return self._client.name

    @property
    def host(self) -> str:
        return self._client.name

    async def run(self) -> None:
        raise NotImplementedError
