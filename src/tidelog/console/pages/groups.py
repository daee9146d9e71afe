"""Groups: all of them, of every kind, with their lag. One group is in `group`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin, GroupDescription, GroupListing
from tidelog.console.feeds import Pace
from tidelog.console.findings.lag import PartitionLag, TotalLag, total_lag
from tidelog.console.lags.group_lags import MOST_COUNTED_OFFSETS, MOST_GROUPS, GroupLagReading, GroupLags, Lags
from tidelog.console.listings import listed_groups
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json
from tidelog.model.errors import ApiError

router = APIRouter()

_PACE = Pace(seconds=2.0)
# Members come and go without a new state of their group.
_SLOW_SECONDS = 10.0
# The kinds of groups that brokers describe to this client; older brokers do not tell the kind.
DESCRIBED = ("classic", "consumer", "")


@router.get("/groups/live")
async def groups(parts: Parts, named: str = "") -> Response:
    """Those with `named` in their names."""
    return parts.feeds.stream(("groups", named), lambda: GroupsReader(parts, named).read, _PACE)


class GroupsReader:
    """It remembers descriptions: a group is described again when its state has changed, and now and then."""

    def __init__(self, parts: ConsoleParts, named: str = "") -> None:
        self._parts = parts
        self._named = named.lower()
        self._lags = GroupLags()
        self._described: dict[str, tuple[GroupListing, GroupDescription | None]] = {}
        self._slow_at: float | None = None

    async def read(self) -> Json:
        admin, browser = await asyncio.gather(self._parts.cluster.watcher(), self._parts.cluster.log_browser())
        groups = await listed_groups(admin)
        listed = [group for group in groups.found if self._named in group.group_id.lower()]
        shown = listed[:MOST_GROUPS]
        lags, _ = await asyncio.gather(self._lags.read(admin, browser, shown), self._describe(admin, shown))
        return {
            "groups": [self._group(group, lags) for group in shown],
            "left_out": len(listed) - len(shown),
            "silent": list(groups.silent),
            "leaderless": groups.leaderless,
            "counted_up_to": MOST_COUNTED_OFFSETS,
        }

    async def _describe(self, admin: Admin, shown: Sequence[GroupListing]) -> None:
        now = time.monotonic()
        if self._slow_at is None or now - self._slow_at >= _SLOW_SECONDS:
            self._slow_at = now
            self._described.clear()
        kept = {
            group.group_id: known
            for group in shown
            if (known := self._described.get(group.group_id)) is not None and known[0] == group
        }
        wanted = [group for group in shown if group.group_id not in kept]
        described = await _descriptions(admin, wanted)
        self._described = kept | {group.group_id: (group, described.get(group.group_id)) for group in wanted}

    def _group(self, group: GroupListing, reading: GroupLagReading) -> dict[str, Json]:
        _, described = self._described[group.group_id]
        committed = reading.committed.get(group.group_id)
        lags = reading.lags.get(group.group_id)
        return {
            "id": group.group_id,
            "kind": group.kind.lower(),
            "protocol_type": group.protocol_type,
            "state": group.state,
            "coordinator": group.coordinator,
            "members": None if described is None else len(described.members),
            "partitions": None if lags is None else len(lags),
            "topics": None if lags is None else len({partition.topic for partition in lags}),
            "lag": None if not lags else total_document(total_lag(lags.values())),
            "lost": sum(lag.lost > 0 for lag in _known(lags)),
            "beyond": sum(lag.beyond > 0 for lag in _known(lags)),
            "problem": str(committed) if isinstance(committed, ApiError) else None,
        }


async def _descriptions(admin: Admin, groups: Collection[GroupListing]) -> dict[str, GroupDescription]:
    """Of those that can be described, and may be."""
    wanted = [group.group_id for group in groups if group.kind.lower() in DESCRIBED]
    if not wanted:
        return {}
    try:
        found = await admin.describe_groups(wanted)
    except EXPECTED_FAILURES:
        return {}
    return {group: one for group, one in found.items() if not isinstance(one, ApiError)}


def _known(lags: Lags | None) -> list[PartitionLag]:
    return [lag for lag in (lags or {}).values() if lag is not None]


def total_document(total: TotalLag) -> dict[str, Json]:
    return {
        "records": total.records,
        "exact": total.exact,
        "largest": total.largest,
        "waits": total.waits,
        "known": total.known,
        "unknown": total.unknown,
    }
