"""ACLs: which there are, adding one, and deleting those that somebody has seen before."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from tidelog.client.admin import (
    AclBinding,
    AclFilter,
    AclResourceType,
    Admin,
    Operation,
    PatternType,
    PermissionType,
)
from tidelog.console.findings.security_words import (
    acl_document,
    acl_from,
    filter_for,
    is_without_authorizer,
    named,
    refusal_to_create,
    why_not_told,
)
from tidelog.console.pages.changes import until_seen
from tidelog.console.parts import Parts
from tidelog.console.replies import CONFLICT, ConsoleRefusal, Json, reply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.security.acls import SUPPORTED_OPERATIONS

router = APIRouter()

_MOST_ROWS = 2_000
# In one change. A page never deletes what nobody has seen.
_MOST_DELETED = 500
_LONGEST_NAME = 10_000
# Of what can be chosen: what is empty or left out accepts everything.
_EVERYTHING = "ANY"

Text = Annotated[str, Query(max_length=_LONGEST_NAME)]


@router.get("/security/acls")
async def acls(
    parts: Parts,
    resource_type: Text = _EVERYTHING,
    name: Text = "",
    pattern_type: Text = _EVERYTHING,
    principal: Text = "",
    host: Text = "",
    operation: Text = _EVERYTHING,
    permission_type: Text = _EVERYTHING,
) -> Response:
    """Those that the filter selects, as DescribeAcls understands it. `problem` says why they are not told; `enabled`
    is false if nobody asks for permissions here."""
    selected = AclFilter(
        resource_type=named(AclResourceType, "resource type", resource_type),
        name=name or None,
        pattern_type=named(PatternType, "pattern type", pattern_type),
        principal=principal or None,
        host=host or None,
        operation=named(Operation, "operation", operation),
        permission_type=named(PermissionType, "permission type", permission_type),
    )
    admin = await parts.cluster.admin()
    try:
        found = await admin.describe_acls(selected)
    except (ApiError, UnsupportedByBroker) as error:
        problem = why_not_told("ACLs", "Describe on the cluster", error)
        if problem is None:
            raise
        enabled = not is_without_authorizer(error)
        return reply({"acls": None, "left_out": 0, "problem": problem, "enabled": enabled})
    shown = sorted(found, key=_order)[:_MOST_ROWS]
    return reply(
        {
            "acls": [acl_document(acl) for acl in shown],
            "left_out": len(found) - len(shown),
            "problem": None,
            "enabled": True,
        }
    )


@router.get("/security/acls/choices")
async def choices() -> Response:
    """What an ACL can be made of."""
    return reply(
        {
            "operations": {
                kind.name: [Operation.ALL.name, *(each.name for each in operations)]
                for kind, operations in SUPPORTED_OPERATIONS.items()
            },
            "all_operations": [each.name for each in Operation if each > Operation.ANY],
        }
    )


class AclFields(BaseModel):
    resource_type: str
    name: str = Field(max_length=_LONGEST_NAME)
    pattern_type: str
    principal: str = Field(max_length=_LONGEST_NAME)
    host: str = Field(max_length=_LONGEST_NAME)
    operation: str
    permission_type: str

    def binding(self) -> AclBinding:
        return acl_from(**self.model_dump())


@router.post("/security/acls/add")
async def add(parts: Parts, wanted: AclFields) -> Response:
    acl = wanted.binding()
    problem = refusal_to_create(acl)
    if problem is not None:
        raise ConsoleRefusal(problem)
    admin = await parts.cluster.admin()
    refusal = (await admin.create_acls([acl]))[acl]
    if refusal is not None:
        raise ConsoleRefusal(f"the ACL was not added: {_words(refusal)}", CONFLICT)
    await until_seen(lambda: _is_there(admin, acl, True))
    return reply({"added": acl_document(acl)})


class AclDeletion(BaseModel):
    acls: list[AclFields] = Field(min_length=1, max_length=_MOST_DELETED)


@router.post("/security/acls/delete")
async def delete(parts: Parts, wanted: AclDeletion) -> Response:
    """These ACLs and no others: what a filter selects now may be more than what somebody has seen before."""
    bindings = [each.binding() for each in wanted.acls]
    for acl in bindings:
        # Names such as ANY and MATCH would select what nobody has seen.
        problem = refusal_to_create(acl)
        if problem is not None:
            raise ConsoleRefusal(f"that is no ACL that could be deleted: {problem}")
    admin = await parts.cluster.admin()
    results = await admin.delete_acls([filter_for(acl) for acl in bindings])
    refusals = [result for result in results.values() if isinstance(result, ApiError)]
    deleted: list[Json] = [
        acl_document(acl) for result in results.values() if not isinstance(result, ApiError) for acl in result
    ]
    if refusals:
        raise ConsoleRefusal(f"{len(deleted)} of {len(bindings)} ACLs were deleted: {_words(refusals[0])}", CONFLICT)
    await until_seen(lambda: _is_there(admin, bindings[-1], False))
    return reply({"deleted": deleted})


async def _is_there(admin: Admin, acl: AclBinding, expected: bool) -> bool:
    return (acl in await admin.describe_acls(filter_for(acl))) == expected


def _order(acl: AclBinding) -> tuple[str, ...]:
    return (
        acl.entry.principal,
        acl.pattern.resource_type.name,
        acl.pattern.name,
        acl.pattern.pattern_type.name,
        acl.entry.operation.name,
        acl.entry.permission_type.name,
        acl.entry.host,
    )


def _words(refusal: ApiError) -> str:
    if refusal.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return "this client needs Alter on the cluster"
    return refusal.message or refusal.code.name
