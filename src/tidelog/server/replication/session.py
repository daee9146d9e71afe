"""The numbers of a follower's fetch session (KIP-227): the leader learns once which partitions are fetched, and then
only what has changed. The leader's side is in `tidelog.server.fetching.sessions`, what has changed in `followed`.

A session ends with its connection, and whenever the leader does not know it (any more); the next request then names
everything again.
"""

from __future__ import annotations

NO_SESSION = 0
_FIRST_EPOCH = 0
_LARGEST_EPOCH = (1 << 31) - 1


class FollowerSession:
    """What the next request has to carry. Pure."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = _FIRST_EPOCH

    def accepted(self, session_id: int) -> bool:
        """The leader has answered; 0 if it keeps no session. Whether it knows what it was told."""
        if session_id == NO_SESSION:
            self.reset()
            return False
        if self.session_id == session_id:
            self.epoch = 1 if self.epoch == _LARGEST_EPOCH else self.epoch + 1
        else:
            self.session_id = session_id
            self.epoch = 1
        return True

    def reset(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = _FIRST_EPOCH
