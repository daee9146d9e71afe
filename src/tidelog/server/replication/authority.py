"""The port through which leaders ask the active controller for other in-sync sets."""

from __future__ import annotations

from typing import Protocol

from tidelog.protocol.messages.alter_partition_request import AlterPartitionRequest
from tidelog.protocol.messages.alter_partition_response import AlterPartitionResponse
from tidelog.server.quorum.channel import ControllerChannel

# Whoever asks comes back, so one attempt need not wait for a controller that has just died.
ATTEMPT_SECONDS = 2.0


class InSyncAuthority(Protocol):
    """Asks the active controller, wherever it is.

    Raises ApiError or ConnectionProblem if there is no answer: then it is not known whether the request was carried
    out. It never goes back to a controller of an earlier epoch, which could refuse what was granted already.
    """

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse: ...


class QuorumAuthority:
    """The controller that the metadata quorum has elected."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        return await self._channel.try_once(request, AlterPartitionResponse, ATTEMPT_SECONDS)
