"""Groups and transactional ids of all coordinators, as far as they answer.

Each broker knows those that it coordinates and nothing of the others. One that is silent leaves a hole in the list,
which pages tell, instead of keeping the whole list from people who want to know what the others do. So does a partition
of the coordinators' log that has no leader: a broker that has crashed is soon not among the brokers any more, and then
nobody coordinates what it has coordinated until its replica, or another one, leads the partition again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Generic, TypeVar

from tidelog.client.admin import Admin, GroupListing, TransactionListing
from tidelog.client.admin.transactions import ANY_DURATION
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.cluster.coordinator_topic import coordinator_topic
from tidelog.client.errors import ApiTimeout
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Generic[T]):
    """`silent` are the brokers that have not answered, `leaderless` is how many partitions of the coordinators' log
    have no leader. What these would coordinate is not in the list."""

    found: list[T]
    silent: tuple[int, ...]
    leaderless: int

    @property
    def is_whole(self) -> bool:
        return not self.silent and not self.leaderless


async def listed_groups(admin: Admin) -> Listed[GroupListing]:
    """By name. Raises ApiError where groups may not be seen, and ApiTimeout where no broker answers."""
    leaderless = await _leaderless(admin, CoordinatorKind.GROUP)
    answers = await admin.list_groups_by_broker()
    listed = _listed(answers, leaderless)
    listed.found.sort(key=attrgetter("group_id"))
    return listed


async def listed_transactions(
    admin: Admin, *, producer_ids: Collection[int] = (), longer_than_ms: int = ANY_DURATION
) -> Listed[TransactionListing]:
    """By transactional id; raises what `listed_groups` raises."""
    leaderless = await _leaderless(admin, CoordinatorKind.TRANSACTION)
    answers = await admin.list_transactions_by_broker(producer_ids=producer_ids, longer_than_ms=longer_than_ms)
    listed = _listed(answers, leaderless)
    listed.found.sort(key=attrgetter("transactional_id"))
    return listed


async def _leaderless(admin: Admin, kind: CoordinatorKind) -> int:
    """Looked up before brokers are asked, so that one that has just come back is among them."""
    return len((await coordinator_topic(admin.cluster, kind)).leaderless)


def _listed(answers: Mapping[int, list[T] | ApiError], leaderless: int) -> Listed[T]:
    found: list[T] = []
    silent: list[int] = []
    for node, answer in answers.items():
        if not isinstance(answer, ApiError):
            found.extend(answer)
        elif answer.code is ErrorCode.REQUEST_TIMED_OUT:
            silent.append(node)
        else:
            raise answer
    if silent and len(silent) == len(answers):
        raise ApiTimeout(f"no broker has answered: {answers[silent[0]]}")
    return Listed(found=found, silent=tuple(silent), leaderless=leaderless)
