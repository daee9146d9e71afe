"""Why something about users, ACLs and quotas is not told, in one sentence; ACLs as texts and back. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeVar

from tidelog.client.admin import (
    AclBinding,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    QuotaEntity,
)
from tidelog.console.replies import ConsoleRefusal, Json
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.security.acls import acl_binding, binding_problem
from tidelog.security.jaas import InvalidJaasConfig, parse_jaas_config

HOW_TO_SECURE = (
    "No authorizer is configured, so there are no ACLs: whoever can connect may do everything. With tidelog, "
    "tidelog up --secure starts brokers that secure themselves, as docs/guide/security.md shows. Elsewhere set "
    "authorizer.class.name to org.apache.kafka.metadata.authorizer.StandardAuthorizer on all nodes, and restart them."
)

E = TypeVar("E", bound=IntEnum)


def why_not_told(what: str, needed: str, error: ApiError | UnsupportedByBroker) -> str | None:
    """None if the failure is of another kind: the cluster is away, or something is wrong."""
    if isinstance(error, UnsupportedByBroker):
        return f"This cluster does not tell about {what}: {error}."
    if error.code == ErrorCode.SECURITY_DISABLED:
        return HOW_TO_SECURE
    if "AUTHORIZATION" in error.code.name:
        return f"This client may not see {what}: it needs {needed}."
    return None


def own_user(properties: Mapping[str, object]) -> str | None:
    """As whom the console logs in, of properties of its client. None if it does not, or by other ways than a name."""
    name, config = properties.get("sasl.username"), properties.get("sasl.jaas.config")
    if isinstance(name, str):
        return name
    if not isinstance(config, str):
        return None
    try:
        return next((entry.options.get("username") for entry in parse_jaas_config(config)), None)
    except InvalidJaasConfig:
        return None


def is_without_authorizer(error: ApiError | UnsupportedByBroker) -> bool:
    return isinstance(error, ApiError) and error.code == ErrorCode.SECURITY_DISABLED


# -- ACLs --------------------------------------------------------------------------------------------------------------


def acl_document(acl: AclBinding) -> dict[str, Json]:
    """By the names of Kafka's enumerations, as `acl_from` takes them."""
    return {
        "resource_type": acl.pattern.resource_type.name,
        "name": acl.pattern.name,
        "pattern_type": acl.pattern.pattern_type.name,
        "principal": acl.entry.principal,
        "host": acl.entry.host,
        "operation": acl.entry.operation.name,
        "permission_type": acl.entry.permission_type.name,
    }


def acl_from(
    *,
    resource_type: str,
    name: str,
    pattern_type: str,
    principal: str,
    host: str,
    operation: str,
    permission_type: str,
) -> AclBinding:
    """Raises ConsoleRefusal."""
    return acl_binding(
        resource_type=named(AclResourceType, "resource type", resource_type),
        resource_name=name,
        pattern_type=named(PatternType, "pattern type", pattern_type),
        principal=principal,
        host=host,
        operation=named(Operation, "operation", operation),
        permission_type=named(PermissionType, "permission type", permission_type),
    )


def refusal_to_create(acl: AclBinding) -> str | None:
    """What every broker would say. None if nothing is wrong with the ACL."""
    if not acl.entry.host:
        return "the host is empty; * stands for all hosts"
    return binding_problem(acl)


def filter_for(acl: AclBinding) -> AclFilter:
    """Selects this ACL and no other one."""
    return AclFilter(
        resource_type=acl.pattern.resource_type,
        name=acl.pattern.name,
        pattern_type=acl.pattern.pattern_type,
        principal=acl.entry.principal,
        host=acl.entry.host,
        operation=acl.entry.operation,
        permission_type=acl.entry.permission_type,
    )


def named(kind: type[E], what: str, name: str) -> E:
    """Raises ConsoleRefusal."""
    if name not in kind.__members__:
        names = ", ".join(each.name for each in kind if each.value > 0)
        raise ConsoleRefusal(f"the {what} must be one of {names}, but is {name!r}")
    return kind[name]


# -- quotas ------------------------------------------------------------------------------------------------------------


def entity_in_words(entity: QuotaEntity) -> str:
    return " and ".join(f"the default {kind}" if name is None else f"{kind} {name!r}" for kind, name in entity)
