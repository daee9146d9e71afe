"""Which requests to other voters are under way: at most one to each at a time, with a pause after a failure.

One fetch at a time is more than thrift: two could bring the same records twice.
"""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(slots=True)
class _Conversation:
    """`request_id` is None during the pause after a failure."""

    request_id: int | None
    until_ms: float


class Conversations:
    __slots__ = ("_by_voter", "_last_request_id", "_request_timeout_ms", "_retry_backoff_ms")

    def __init__(self, request_timeout_ms: float, retry_backoff_ms: float) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._last_request_id = 0
        self._by_voter: dict[int, _Conversation] = {}

    def ready_at_ms(self, voter: int, now_ms: float) -> float:
        """When the next request may be sent: `now_ms` if that is now."""
        conversation = self._by_voter.get(voter)
        return now_ms if conversation is None else max(now_ms, conversation.until_ms)

    def waiting_until_ms(self, now_ms: float) -> float:
        """When the last of the requests under way is given up: `now_ms` if there is none."""
        waiting = [entry.until_ms for entry in self._by_voter.values() if entry.request_id is not None]
        return max([now_ms, *waiting])

    def begin(self, voter: int, now_ms: float) -> int:
        """A request is being sent; the number for it."""
        self._last_request_id += 1
        self._by_voter[voter] = _Conversation(self._last_request_id, now_ms + self._request_timeout_ms)
        return self._last_request_id

    def end(self, request_id: int) -> int | None:
        """The voter that was asked, or None if nobody waits for this any more: given up, or answered twice."""
        for voter, conversation in self._by_voter.items():
            if conversation.request_id == request_id:
                del self._by_voter[voter]
                return voter
        return None

    def pause(self, voter: int, now_ms: float) -> None:
        self._by_voter[voter] = _Conversation(None, now_ms + self._retry_backoff_ms)

    def forget_requests(self) -> None:
        """After a change of role. Numbers go on, so that late answers are recognised as such. Pauses go on too."""
        for voter in [voter for voter, entry in self._by_voter.items() if entry.request_id is not None]:
            del self._by_voter[voter]
