"""Which rows of an outbox in PostgreSQL may be read, and in which order, so that none is lost and none comes twice.

A sequence number is taken before its transaction commits, so `sequence > last` would pass over rows that become
visible later. Each row therefore carries the id of its transaction (`xid8`). All transactions below
`pg_snapshot_xmin(pg_current_snapshot())` have ended, but an id may come again: after a crash PostgreSQL gives out the
ids of transactions of which nothing had reached the disk. So the bound is the `xmin` that a transaction of the reader
has seen which then commits durably (it writes a mark, see `marks`). Its own id is not below that bound, log records
reach the disk in order, and the next id after a crash is above every id in the log: no id below the bound comes again,
and what is visible below it is on disk. The rows of those ids are a set that never changes. Such a range of ids is a
window; windows follow each other without a gap.

Inside of a window rows are read by sequence number. Of two transactions that wait for each other's locks the later one
takes its number later, though it may have the lower transaction id: events of one aggregate come in the right order.
They cannot lie in two windows the wrong way round: an earlier window closes only when everything in it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """All transactions below `low` have been read, and of those in [low, high) the rows up to sequence `after`.

    Between two windows `low` equals `high`, and `after` has no meaning.
    """

    low: int
    high: int
    after: int = 0

    @property
    def inside_window(self) -> bool:
        return self.low < self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Rows with a transaction in [low, high) and a sequence in (after, up_to]; without `up_to` to the window's end."""

    low: int
    high: int
    after: int
    up_to: int | None


START = Position(low=0, high=0)

# Below every sequence number: 0 and negative ones are numbers like others.
BEFORE_ALL = -(2**63)


def position_from(stored: Mapping[str, int | str]) -> Position:
    return Position(low=int(stored["low"]), high=int(stored["high"]), after=int(stored["after"]))


def open_window(start: Position, bound: int) -> Slice:
    """What can be read from here on. A window that was begun is finished first, with the bound that it had."""
    if start.inside_window:
        return Slice(low=start.low, high=start.high, after=start.after, up_to=None)
    return Slice(low=start.low, high=max(start.low, bound), after=BEFORE_ALL, up_to=None)


def end_of(window: Slice, last_within_limit: int | None) -> Position:
    """Where a batch ends: behind the window, or (where a limit cuts it) behind the last row that fits."""
    if last_within_limit is None:
        return Position(low=window.high, high=window.high)
    return Position(low=window.low, high=window.high, after=last_within_limit)


def slice_between(start: Position, end: Position) -> Slice | None:
    """The rows of a batch; None for none. Both positions are in the same window: `open_window` sees to it."""
    if start == end:
        return None
    return Slice(
        low=start.low,
        high=end.high,
        after=start.after if start.inside_window else BEFORE_ALL,
        up_to=end.after if end.inside_window else None,
    )
