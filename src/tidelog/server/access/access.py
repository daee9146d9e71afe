"""Whether a client may do something: what every handler asks before it acts.

Without an authorizer everything is allowed, and asking costs next to nothing. With one, decisions are kept as long as
the ACLs stay the same: a consumer asks for the same topics with each of its fetches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from tidelog.config.catalogue.authorization import AuthorizationSection
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.security.acls import (
    AUTHORIZATION_ERRORS,
    CLUSTER_NAME,
    SUPPORTED_BITS,
    SUPPORTED_OPERATIONS,
    AclResourceType,
    Operation,
    Resource,
)
from tidelog.security.authorizer import AccessDecision, AclSet, Authorizer, parse_super_users
from tidelog.server.access.audit import Caller, audit, is_audited
from tidelog.server.observability.logs import TRACE

# In replies, where a request did not ask what the client may do.
NOT_ASKED = -(1 << 31)

# Decisions that are kept. When there are more, all are forgotten: clients choose the names that they ask about.
MAX_KEPT = 10_000

_NOBODY: frozenset[str] = frozenset()


class Access:
    """The authorizer of a node, with the ACLs as they are now."""

    def __init__(self, config: AuthorizationSection, acls: Callable[[], AclSet | None]) -> None:
        """`acls` returns None while the node does not know those of the cluster yet: then only super users can be
        decided for."""
        # Whether there is anything to ask.
        self.enforced = bool(config.authorizer_class_name)
        self._acls = acls
        self._super_users = parse_super_users(config.super_users)
        self._allow_everyone = config.allow_everyone_if_no_acl_found
        self._authorizer = self._with(AclSet())
        # By principal and host, then by operation, type and name.
        self._kept: dict[tuple[str, str], dict[tuple[int, int, str], AccessDecision]] = {}
        self._kept_count = 0

    def is_ready_for(self, caller: Caller) -> bool:
        """Whether a decision can be made for this client."""
        return not self.enforced or self._acls() is not None or str(caller.principal) in self._super_users

    # -- questions -----------------------------------------------------------------------------------------------

    def allows(
        self,
        caller: Caller,
        operation: Operation,
        resource_type: AclResourceType,
        name: str,
        *,
        quiet: bool = False,
    ) -> bool:
        """`quiet` is for questions that are not an attempt to do something: no refusal follows from the answer."""
        if not self.enforced:
            return True
        decision = self._decide(caller, operation, resource_type, name)
        denied_level = TRACE if quiet else logging.INFO
        level = logging.DEBUG if decision.allowed else denied_level
        audit(level, caller, operation, resource_type, name, decision)
        return decision.allowed

    def allows_cluster(self, caller: Caller, operation: Operation, *, quiet: bool = False) -> bool:
        return self.allows(caller, operation, AclResourceType.CLUSTER, CLUSTER_NAME, quiet=quiet)

    def forbidden(
        self,
        caller: Caller,
        operation: Operation,
        resource_type: AclResourceType,
        names: Iterable[str],
        *,
        quiet: bool = False,
    ) -> frozenset[str]:
        """Those of the names that the operation is not allowed on; each is decided once."""
        if not self.enforced:
            return _NOBODY
        return frozenset(
            name
            for name in dict.fromkeys(names)
            if not self.allows(caller, operation, resource_type, name, quiet=quiet)
        )

    def allows_some(self, caller: Caller, operation: Operation, resource_type: AclResourceType) -> bool:
        """Whether there may be a resource of the type that the operation is allowed on (KIP-679)."""
        if not self.enforced:
            return True
        authorizer = self._current(caller)
        decision = authorizer.authorize_by_resource_type(caller.principal, caller.acl_host, operation, resource_type)
        level = logging.DEBUG if decision.allowed else logging.INFO
        audit(level, caller, operation, resource_type, "(any)", decision)
        return decision.allowed

    def require_cluster(self, caller: Caller, operation: Operation) -> None:
        """Raises ApiError."""
        if not self.allows_cluster(caller, operation):
            raise cluster_refusal(operation)

    def operations(self, caller: Caller, resource_type: AclResourceType, name: str) -> int:
        """What the client may do with the resource, as bits (KIP-430)."""
        if not self.enforced:
            return SUPPORTED_BITS[resource_type]
        authorizer, resource = self._current(caller), Resource(resource_type, name)
        if is_audited(TRACE):
            for operation in SUPPORTED_OPERATIONS[resource_type]:
                decision = authorizer.authorize(caller.principal, caller.acl_host, operation, resource)
                audit(TRACE, caller, operation, resource_type, name, decision)
        return authorizer.authorized_operations(caller.principal, caller.acl_host, resource)

    def cluster_operations(self, caller: Caller) -> int:
        """Nothing for those who may not describe the cluster."""
        if not self.allows_cluster(caller, Operation.DESCRIBE):
            return 0
        return self.operations(caller, AclResourceType.CLUSTER, CLUSTER_NAME)

    # -- decisions -----------------------------------------------------------------------------------------------

    def _decide(
        self, caller: Caller, operation: Operation, resource_type: AclResourceType, name: str
    ) -> AccessDecision:
        authorizer = self._current(caller)
        principal, host = caller.principal, caller.acl_host
        who = (str(principal), host)
        kept = self._kept.get(who)
        if kept is None:
            kept = self._kept[who] = {}
        question = (operation, resource_type, name)
        decision = kept.get(question)
        if decision is None:
            decision = authorizer.authorize(principal, host, operation, Resource(resource_type, name))
            if self._kept_count >= MAX_KEPT:
                self._forget()
            else:
                kept[question] = decision
                self._kept_count += 1
        return decision

    def _current(self, caller: Caller) -> Authorizer:
        """With the ACLs as they are now. Raises ApiError if they are not known and the client is no super user."""
        acls = self._acls()
        authorizer = self._authorizer
        if acls is None:
            if str(caller.principal) not in self._super_users:
                raise ApiError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, "this node does not know the ACLs of the cluster yet; try again"
                )
        elif acls is not authorizer.acls:
            self._forget()
            authorizer = self._authorizer = self._with(acls)
        return authorizer

    def _with(self, acls: AclSet) -> Authorizer:
        return Authorizer(acls=acls, super_users=self._super_users, allow_everyone_if_no_acl_found=self._allow_everyone)

    def _forget(self) -> None:
        self._kept = {}
        self._kept_count = 0


def cluster_refusal(operation: Operation) -> ApiError:
    code = AUTHORIZATION_ERRORS[AclResourceType.CLUSTER]
    return ApiError(code, f"the client lacks the permission {operation.name} on the cluster")
