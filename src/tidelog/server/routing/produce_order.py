"""The order of produces on one connection: everything about it is here.

A producer sends its next requests before it has the replies to the last ones, and expects them to be appended in the
order in which it sent them. Four places take part:

- The connection begins a request while its predecessor still waits only if `may_overtake` says so, which it does for
  Produce: an append is done before the waiting for other replicas begins.
- Most produces are appended in the call that begins them. One that cannot be, because its records have to be unpacked
  off the event loop or because a coordinator has to be asked first, takes a turn in `ProduceOrder`.
- While a request has a turn on the connection, later ones take one too, and append when the one before them has
  appended or failed.
- Replies are sent in the order of the requests in any case; the connection ensures that.
"""

from __future__ import annotations

import asyncio

from tidelog.network.frame_receiver import Frame
from tidelog.network.server_connection import ServerConnection
from tidelog.protocol.messages import ApiKey

_PRODUCE_KEY = ApiKey.PRODUCE.to_bytes(2, "big")


def may_overtake(frame: Frame) -> bool:
    """Whether a request may be begun while its predecessor on the same connection waits."""
    return bytes(frame[:2]) == _PRODUCE_KEY


class ProduceOrder:
    """Requests that have yet to append, on all connections."""

    def __init__(self) -> None:
        # The last turn of each connection that has any.
        self._last: dict[ServerConnection, Turn] = {}

    def is_free(self, connection: ServerConnection) -> bool:
        """Whether a request that arrives now may append at once."""
        return connection not in self._last

    def take_turn(self, connection: ServerConnection) -> Turn:
        """To be taken when the request arrives, before anything is awaited."""
        turn = Turn(self, connection, self._last.get(connection))
        self._last[connection] = turn
        return turn

    def _ended(self, connection: ServerConnection, turn: Turn) -> None:
        if self._last.get(connection) is turn:
            del self._last[connection]


class Turn:
    __slots__ = ("_before", "_connection", "_done", "_order")

    def __init__(self, order: ProduceOrder, connection: ServerConnection, before: Turn | None) -> None:
        self._order = order
        self._connection = connection
        self._before = before
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def comes(self) -> None:
        """Returns when the one before has ended."""
        if self._before is not None:
            await self._before._done
            self._before = None

    def end(self) -> None:
        """The request has appended, or will not."""
        self._order._ended(self._connection, self)
        if not self._done.done():
            self._done.set_result(None)
