"""Producer ids for this broker, requested from the controller in blocks so that each one is assigned once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import field

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tidelog.server.quorum.channel import ControllerChannel


@dataclass(slots=True, kw_only=True, eq=False)
class ProducerIds:
    broker_id: int
    broker_epoch: Callable[[], int]
    controller: ControllerChannel
    # What is left of the last block.
    _block: Iterator[int] = field(default_factory=lambda: iter(range(0)), init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def next(self) -> int:
        """Raises ApiError if the controller cannot be reached."""
        async with self._lock:
            given = next(self._block, None)
            if given is None:
                self._block = iter(await self._allocate())
                given = next(self._block)
            return given

    async def _allocate(self) -> range:
        request = AllocateProducerIdsRequest(broker_id=self.broker_id, broker_epoch=self.broker_epoch())
        response = await self.controller.ask(request, AllocateProducerIdsResponse)
        if response.error_code:
            raise ApiError(ErrorCode(response.error_code), "the controller did not allocate producer ids")
        return range(response.producer_id_start, response.producer_id_start + response.producer_id_len)
