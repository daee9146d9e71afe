"""I12: what one client asks costs no other client its coordinator.

A decision that raises answers one request with an unknown server error, which no request of a client may come to. That
it cost more than this shows only with others: they are refused although nothing is broken.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.model.errors import ErrorCode
from tidelog.simulation.checks.history import AnsweredRequest, History


def disturbances(history: History, *, calm: bool) -> Iterator[str]:
    """`calm` says that nothing was broken in the run: then whoever was served once is served for ever."""
    served: set[str] = set()
    for event in history.events:
        if not isinstance(event, AnsweredRequest):
            continue
        if event.codes is not None and ErrorCode.UNKNOWN_SERVER_ERROR in event.codes:
            yield f"{event.client} at {event.time:.3f} s: {event.request} comes to an unknown server error"
        elif calm and event.codes is None:
            yield f"{event.client} at {event.time:.3f} s: {event.request} is not answered"
        elif event.group is None:
            continue
        elif not event.codes:
            served.add(event.group)
        elif calm and event.group in served:
            names = ", ".join(ErrorCode(code).name for code in sorted(event.codes or ()))
            yield f"{event.group} at {event.time:.3f} s: {event.request} is refused with {names}"
