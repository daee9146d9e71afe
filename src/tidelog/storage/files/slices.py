"""Files of which parts can be sent without being read. Others, such as those of a simulated disk, are only read."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from tidelog.model.unread import UnreadBytes


@mypyc_attr(allow_interpreted_subclasses=True)
class SliceableFile:
    __slots__ = ()

    def slice(self, position: int, size: int) -> UnreadBytes | None:
        """None if the file is shorter than that. Raises OSError."""
        raise NotImplementedError
