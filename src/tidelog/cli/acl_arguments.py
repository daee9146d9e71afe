"""`acls`: the arguments of Kafka's kafka-acls, and the ACLs that they stand for.

--producer and --consumer stand for the operations that a producer or a consumer needs; everything else is said by
--operation, for each resource that is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

import typer

from tidelog.client.admin import (
    AccessControlEntry,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from tidelog.config.definitions import nearest_name
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, WILDCARD

_CLUSTER = ResourcePattern(resource_type=AclResourceType.CLUSTER, name=CLUSTER_NAME)
_PRODUCER_ON_TOPIC = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
_PRODUCER_ON_TRANSACTIONAL_ID = (Operation.WRITE, Operation.DESCRIBE)
_CONSUMER_ON_TOPIC = (Operation.READ, Operation.DESCRIBE)
_CONSUMER_ON_GROUP = (Operation.READ,)

# A pattern may be a filter: of a type that only filters have.
Entries = dict[ResourcePattern, list[AccessControlEntry]]


def operation_name(operation: Operation) -> str:
    """As Kafka's tools write it: ClusterAction."""
    return operation.name.title().replace("_", "")


_OPERATIONS = {operation_name(each).lower(): each for each in Operation if each > Operation.ANY}
_PATTERN_TYPES = {each.name.lower(): each for each in PatternType if each != PatternType.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedResources:
    """What the ACLs are about."""

    topics: Collection[str] = ()
    groups: Collection[str] = ()
    transactional_ids: Collection[str] = ()
    delegation_tokens: Collection[str] = ()
    users: Collection[str] = ()
    cluster: bool = False
    pattern_type: PatternType = PatternType.LITERAL

    def patterns(self) -> list[ResourcePattern]:
        named = {
            AclResourceType.TOPIC: self.topics,
            AclResourceType.GROUP: self.groups,
            AclResourceType.TRANSACTIONAL_ID: self.transactional_ids,
            AclResourceType.DELEGATION_TOKEN: self.delegation_tokens,
            AclResourceType.USER: self.users,
        }
        patterns = [
            ResourcePattern(resource_type=kind, name=name, pattern_type=self.pattern_type)
            for kind, names in named.items()
            for name in names
        ]
        # The cluster has no names that could have a prefix in common.
        if self.cluster and self.pattern_type == PatternType.LITERAL:
            patterns.append(_CLUSTER)
        return patterns


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPrincipals:
    """Whom they allow or deny something, and from where."""

    allowed: Collection[str] = ()
    denied: Collection[str] = ()
    allowed_hosts: Collection[str] = field(default=(WILDCARD,))
    denied_hosts: Collection[str] = field(default=(WILDCARD,))

    def entries(self, operations: Iterable[Operation]) -> list[AccessControlEntry]:
        said = (
            (PermissionType.ALLOW, self.allowed, self.allowed_hosts),
            (PermissionType.DENY, self.denied, self.denied_hosts),
        )
        wanted = list(operations)
        return [
            AccessControlEntry(principal=principal, operation=operation, permission_type=permission, host=host)
            for permission, principals, hosts in said
            for principal in principals
            for operation in wanted
            for host in hosts
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False


def entries_of(
    resources: NamedResources, principals: NamedPrincipals, operations: Collection[Operation], roles: Roles
) -> Entries:
    """The entries for each resource; none for a resource means all that it has. Raises typer.BadParameter."""
    found: Entries = {}
    for pattern in resources.patterns():
        if roles.producer or roles.consumer:
            wanted = _of_roles(pattern.resource_type, roles)
            if wanted:
                found[pattern] = principals.entries(wanted)
        else:
            _require_supported(pattern.resource_type, operations)
            found[pattern] = principals.entries(operations)
    if roles.producer and roles.idempotent:
        found[_CLUSTER] = principals.entries([Operation.IDEMPOTENT_WRITE])
    if not found:
        raise typer.BadParameter(
            "name at least one resource: --topic, --group, --cluster, --transactional-id, --delegation-token or "
            "--user-principal"
        )
    return found


def _of_roles(kind: AclResourceType, roles: Roles) -> list[Operation]:
    producer: Mapping[AclResourceType, Collection[Operation]] = {
        AclResourceType.TOPIC: _PRODUCER_ON_TOPIC,
        AclResourceType.TRANSACTIONAL_ID: _PRODUCER_ON_TRANSACTIONAL_ID,
    }
    consumer: Mapping[AclResourceType, Collection[Operation]] = {
        AclResourceType.TOPIC: _CONSUMER_ON_TOPIC,
        AclResourceType.GROUP: _CONSUMER_ON_GROUP,
    }
    wanted = [*(producer.get(kind, ()) if roles.producer else ()), *(consumer.get(kind, ()) if roles.consumer else ())]
    return list(dict.fromkeys(wanted))


def _require_supported(kind: AclResourceType, operations: Iterable[Operation]) -> None:
    supported = (*SUPPORTED_OPERATIONS[kind], Operation.ALL)
    for operation in operations:
        if operation not in supported:
            names = ", ".join(map(operation_name, supported))
            raise typer.BadParameter(
                f"{operation_name(operation)} has no meaning for a {kind.title}; it must be one of {names}",
                param_hint="--operation",
            )


def parse_operation(text: str) -> Operation:
    found = _OPERATIONS.get(text.strip().replace("_", "").lower())
    if found is None:
        names = [operation_name(each) for each in _OPERATIONS.values()]
        close = nearest_name(text, names)
        meant = f"; did you mean {close}?" if close else f"; it must be one of {', '.join(names)}"
        raise typer.BadParameter(f"{text!r} is not an operation{meant}", param_hint="--operation")
    return found


def parse_pattern_type(text: str) -> PatternType:
    found = _PATTERN_TYPES.get(text.strip().lower())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is not a type of pattern; it must be one of {', '.join(_PATTERN_TYPES)}",
            param_hint="--resource-pattern-type",
        )
    return found


def parse_principal(text: str, option: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not (kind and colon and name):
        raise typer.BadParameter(f"{text!r} has no type; write it as User:{text.strip() or 'alice'}", param_hint=option)
    return text.strip()


def pattern_text(pattern: ResourcePattern) -> str:
    """In the words of Kafka's tool."""
    kind, name, type_name = pattern.resource_type.name, pattern.name, pattern.pattern_type.name
    return f"ResourcePattern(resourceType={kind}, name={name}, patternType={type_name})"


def entry_text(entry: AccessControlEntry) -> str:
    """In the words of Kafka's tool."""
    return (
        f"(principal={entry.principal}, host={entry.host}, operation={entry.operation.name}, "
        f"permissionType={entry.permission_type.name})"
    )
