"""How long the event loop is busy with a coroutine: the time of its steps, without that of what it waits for.

Used only while some client has a quota of request time (KIP-124).
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

from tidelog.model.ports import Clock
from tidelog.server.routing.context import RequestContext

T_co = TypeVar("T_co", covariant=True)


class MeasuredCoroutine(Coroutine[Any, Any, T_co]):
    """The same coroutine. Each of its steps adds its time to that of the request.

    Not a coroutine that awaits the other one: that would never begin it if it were cancelled before its first step.
    """

    def __init__(self, work: Coroutine[Any, Any, T_co], context: RequestContext, clock: Clock) -> None:
        self._work = work
        self._context = context
        self._clock = clock

    def send(self, value: Any) -> Any:
        began_ms = self._clock.monotonic_ms()
        try:
            return self._work.send(value)
        finally:
            self._context.was_busy(self._clock.monotonic_ms() - began_ms)

    def throw(self, kind: Any, value: BaseException | object = None, traceback: TracebackType | None = None) -> Any:
        began_ms = self._clock.monotonic_ms()
        try:
            return self._work.throw(kind) if value is None else self._work.throw(kind, value, traceback)
        finally:
            self._context.was_busy(self._clock.monotonic_ms() - began_ms)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self._work.__await__()
