"""Whether there may be transactional ids that this client does not see.

Coordinators list the ids that a client may describe, and say nothing of the others (KIP-664). So what is not listed has
expired, or is hidden. Only where there is no authorizer nothing is.
"""

from __future__ import annotations

from tidelog.client.admin import AclFilter, Admin
from tidelog.console.replies import EXPECTED_FAILURES
from tidelog.model.errors import ApiError, ErrorCode

# The answer to such a question is small.
_NARROW = AclFilter(name="tidelog-console", principal="User:tidelog-console")


async def ids_may_be_hidden(admin: Admin) -> bool:
    try:
        await admin.describe_acls(_NARROW)
    except EXPECTED_FAILURES as problem:
        return not (isinstance(problem, ApiError) and problem.code is ErrorCode.SECURITY_DISABLED)
    return True
