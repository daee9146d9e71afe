"""The check of APIs that need one permission on the cluster for everything that can be asked with them.

What such a request asks for is refused as a whole, before its handler sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import response_class
from tidelog.protocol.schema import Message, covers
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access, cluster_refusal
from tidelog.server.access.audit import Caller
from tidelog.server.declaration import Api
from tidelog.server.replies.error_replies import refused

Outcome = TypeVar("Outcome")


class VersionedCaller(Caller, Protocol):
    """Who asks, and in which version of the API: the context of a request knows it."""

    @property
    def version(self) -> int: ...


Guarded = TypeVar("Guarded", bound=VersionedCaller)


def whole_operation(api: Api) -> Operation | None:
    """The operation on the cluster without which nothing can be asked for; None if there is no such one."""
    if len(api.permissions) != 1 or api.permissions[0].resource is not AclResourceType.CLUSTER:
        return None
    return api.permissions[0].operation


def guarded(
    access: Access, api: Api, operation: Operation, handler: Callable[[Any, Guarded], Outcome]
) -> Callable[[Any, Guarded], Outcome | Message]:
    """The handler, for those who may do this on the cluster."""
    if not access.enforced:
        return handler

    def handle(request: Any, context: Guarded) -> Outcome | Message:
        if not access.allows_cluster(context, operation):
            return _forbidden(api, request, context.version, operation)
        return handler(request, context)

    return handle


def _forbidden(api: Api, request: Message, version: int, operation: Operation) -> Message:
    if api.refusal.hides_what_is_forbidden:
        kind = response_class(api.key)
        if not any(field.name == "error_code" and covers(field.versions, version) for field in kind.SCHEMA.fields):
            return kind()
    return refused(api, request, version, cluster_refusal(operation))


def when_ready(
    access: Access, api: Api, handler: Callable[[Any, Guarded], Outcome]
) -> Callable[[Any, Guarded], Outcome | Message]:
    """The handler, once decisions can be made for whoever asks: controllers answer before they know the ACLs."""
    if not access.enforced:
        return handler

    def handle(request: Any, context: Guarded) -> Outcome | Message:
        if not access.is_ready_for(context):
            error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "this node does not know the ACLs yet; try again")
            return refused(api, request, context.version, error)
        return handler(request, context)

    return handle
