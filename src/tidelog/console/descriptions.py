"""Groups and transactional ids by their names, without a trace in the cluster.

Brokers create the log of coordinators for the first client that asks who coordinates a name, whatever the name is. In a
cluster that has no such log there are no groups or ids, and nobody has to be asked: to look at one changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.client.admin import Admin, GroupDescription, TransactionDescription
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.cluster.coordinator_topic import coordinator_topic
from tidelog.model.errors import ApiError, ErrorCode


async def described_groups(admin: Admin, group_ids: Collection[str]) -> dict[str, GroupDescription | ApiError]:
    """A group that does not exist has GROUP_ID_NOT_FOUND."""
    if await _have_no_topic(admin, CoordinatorKind.GROUP):
        return {name: ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {name!r}") for name in group_ids}
    return await admin.describe_groups(group_ids)


async def described_transactions(
    admin: Admin, transactional_ids: Collection[str]
) -> dict[str, TransactionDescription | ApiError]:
    """An id that nobody knows has TRANSACTIONAL_ID_NOT_FOUND."""
    if await _have_no_topic(admin, CoordinatorKind.TRANSACTION):
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return {name: ApiError(code, f"transactional id {name!r}") for name in transactional_ids}
    return await admin.describe_transactions(transactional_ids)


async def _have_no_topic(admin: Admin, kind: CoordinatorKind) -> bool:
    """False where nobody tells this client."""
    return (await coordinator_topic(admin.cluster, kind)).exists is False
