"""A follower's side of a fetch session (KIP-227): the leader learns once which partitions are fetched, and then only
what has changed. The leader's side is in `tidelog.server.fetching.sessions`.

Pure: it only says what the next request has to hold. A session ends with its connection, and whenever the leader does
not know it (any more); the next request then names everything again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

NO_SESSION = 0
_FIRST_EPOCH = 0
_LARGEST_EPOCH = (1 << 31) - 1

Key = TypeVar("Key", bound=Hashable)
# Everything that a request says about one partition, in a form that can be compared.
Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStep(Generic[Key, Wanted]):
    """What to send: the partitions that are new or different, and those that are no longer wanted."""

    session_id: int
    session_epoch: int
    changed: Mapping[Key, Wanted]
    forgotten: tuple[Key, ...]


class FollowerSession(Generic[Key, Wanted]):
    """What the leader of one connection knows."""

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = _FIRST_EPOCH
        self._told: dict[Key, Wanted] = {}

    def step(self, wanted: Mapping[Key, Wanted]) -> SessionStep[Key, Wanted]:
        """The next request, for exactly these partitions."""
        if self._session_id == NO_SESSION:
            self._told = dict(wanted)
            return SessionStep(session_id=NO_SESSION, session_epoch=_FIRST_EPOCH, changed=wanted, forgotten=())
        told = self._told
        changed = {key: value for key, value in wanted.items() if told.get(key) != value}
        forgotten = tuple(key for key in told if key not in wanted)
        for key in forgotten:
            del told[key]
        told.update(changed)
        return SessionStep(session_id=self._session_id, session_epoch=self._epoch, changed=changed, forgotten=forgotten)

    def accepted(self, session_id: int) -> None:
        """The leader has answered in this session; 0 if it keeps none, which only means to name everything again."""
        if session_id == NO_SESSION:
            self.reset()
        elif self._session_id == session_id:
            self._epoch = 1 if self._epoch == _LARGEST_EPOCH else self._epoch + 1
        else:
            self._session_id = session_id
            self._epoch = 1

    def reset(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = _FIRST_EPOCH
        self._told = {}
