"""Producer ids for this broker, taken from the controller in blocks so that each one is given out once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tidelog.server.quorum.channel import ControllerChannel

# (first id, how many)
Block = tuple[int, int]


class ProducerIdBlocks:
    """Asks the controller for blocks."""

    def __init__(self, *, broker_id: int, broker_epoch: Callable[[], int], controller: ControllerChannel) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._controller = controller

    async def allocate(self) -> Block:
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        response = await self._controller.ask(request, AllocateProducerIdsResponse)
        if response.error_code:
            raise ApiError(ErrorCode(response.error_code), "the controller gives out no producer ids")
        return response.producer_id_start, response.producer_id_len


class ProducerIds:
    def __init__(self, allocate: Callable[[], Awaitable[Block]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._end = 0
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        """Raises ApiError if the controller cannot be asked."""
        async with self._lock:
            if self._next >= self._end:
                first, count = await self._allocate()
                self._next, self._end = first, first + count
            given = self._next
            self._next += 1
            return given
