"""The requests of a quorum replica to other nodes: each in a task of its own, whose outcome becomes an event."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import field

from tidelog.consensus.effects import Send
from tidelog.consensus.messages import Answered, Event, Failed
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.wire import QuorumWire
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import CannotConnect, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.api import response_class
from tidelog.server.quorum.peers import Peers

logger = logging.getLogger(__name__)

# Voters that are found gone twice in a row, so far apart, are not merely being restarted.
LOOKS_BEFORE_DESERTED = 2
DESERTION_CHECK_SECONDS = 0.1


@dataclass(slots=True, kw_only=True, eq=False)
class QuorumTalks:
    """Knows which nodes answer."""

    settings: QuorumSettings
    wire: QuorumWire
    peers: Peers
    # Nodes that did not answer the last request to them.
    _silent: dict[int, None] = field(default_factory=dict, init=False)
    _under_way: dict[asyncio.Task[None], None] = field(default_factory=dict, init=False)

    def begin(self, send: Send, report: Callable[[Event], None]) -> None:
        talk = asyncio.create_task(self._talk(send, report))
        self._under_way[talk] = None
        talk.add_done_callback(self._under_way.pop)

    async def _talk(self, send: Send, report: Callable[[Event], None]) -> None:
        message = self.wire.write_request(send.destination, send.request)
        expected = response_class(message.SCHEMA.api_key)
        timeout_ms = self.settings.request_timeout_ms + getattr(send.request, "max_wait_ms", 0)
        event: Event = Failed(request_id=send.request_id)
        try:
            response = await self.peers.ask(send.destination, message, expected, timeout_ms)
            answer = self.wire.read_answer(response)
            self._silent.pop(send.destination, None)
            if answer is not None:
                event = Answered(request_id=send.request_id, answer=answer)
        except (ConnectionProblem, UnsupportedByBroker) as problem:
            self._silent[send.destination] = None
            logger.debug("node %d: %s", send.destination, problem)
            # Probed once more, because the failure does not say how each address of the node has answered.
            if isinstance(problem, CannotConnect) and await self.peers.refuses(send.destination):
                event = Failed(request_id=send.request_id, refused=True)
        report(event)

    async def stop(self) -> None:
        talks = list(self._under_way)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        self.peers.close()

    def silent_voters(self) -> list[int]:
        """Those that did not answer what this node last asked them."""
        return [voter for voter in self._silent if voter in self.settings.voters]

    async def deserted(self) -> None:
        """Returns when so many other voters are gone that no majority is left. For a quorum of one that never happens.

        A voter is gone if no process listens where it did. One that does not answer may only be slow.
        """
        settings = self.settings
        spare = len(settings.voters) - settings.majority
        looks = 0
        while looks < LOOKS_BEFORE_DESERTED:
            refusals = await asyncio.gather(*(self.peers.refuses(voter) for voter in settings.other_voters))
            looks = looks + 1 if sum(refusals) > spare else 0
            await asyncio.sleep(DESERTION_CHECK_SECONDS)
