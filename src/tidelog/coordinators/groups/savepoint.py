"""What a decision of the group coordinator may touch, so that one that fails can be undone."""

from __future__ import annotations

from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.savepoint import Captured


class GroupSavepoint:
    """Set before a decision; `cover` the groups that it is about before they are touched."""

    __slots__ = ("_captured", "_expiry_backlog", "_groups", "_state")

    def __init__(self, state: GroupTable) -> None:
        self._state = state
        self._captured: list[Captured] = []
        # The classic ones, which come to be before the log says so.
        self._groups: dict[str, bool] = {}
        self._expiry_backlog: list[str] | None = None
        state.timers.set_savepoint()
        state.consumer.timers.set_savepoint()

    def cover(self, group_id: str) -> None:
        group = self._state.groups.get(group_id)
        self._groups[group_id] = group is not None
        for each in (group, self._state.consumer.groups.get(group_id)):
            if each is not None:
                self._captured.append(Captured(each))

    def cover_expiry(self) -> None:
        self._expiry_backlog = self._state.expiry_backlog.copy()

    def roll_back(self) -> None:
        state = self._state
        for captured in self._captured:
            captured.put_back()
        for group_id, existed in self._groups.items():
            state.downgraded.pop(group_id, None)
            if not existed:
                state.groups.pop(group_id, None)
        if self._expiry_backlog is not None:
            state.expiry_backlog = self._expiry_backlog
        state.timers.roll_back()
        state.consumer.timers.roll_back()
