"""What access control is about: resources, operations, and the ACLs that allow or deny an operation on resources.

The words, the numbers and the meaning are those of Apache Kafka (KIP-11, KIP-140; prefixed names: KIP-290). Here are
the values, which ACLs may be created, and which a filter selects. What a set of ACLs means for a request is decided in
`tidelog.security.authorizer`; which permissions an API needs is declared in the API's own module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from types import MappingProxyType
from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass

# As the name of a resource: every resource of the type. As a host: every host.
WILDCARD = "*"
# Everybody, of whatever type of principal.
WILDCARD_PRINCIPAL = "User:*"
# The one name that the resource of the type CLUSTER has.
CLUSTER_NAME = "kafka-cluster"


class _Code(IntEnum):
    """A number that this version does not know counts as 0, UNKNOWN, as in Kafka: a newer node may have written it."""

    @classmethod
    def _missing_(cls, value: object) -> _Code | None:
        return cls(0) if isinstance(value, int) else None


class AclResourceType(_Code):
    """What can be protected. The types of the config APIs are others, with other numbers: `metadata.image`."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

    @property
    def title(self) -> str:
        """In words, as documentation has it."""
        return self.name.lower().replace("_", " ")


class PatternType(_Code):
    """How a name is to be read. ACLs are LITERAL or PREFIXED; the others are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(_Code):
    """By the numbers of Kafka's AclOperation, which are also the bits in which replies report what a client may do."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PermissionType(_Code):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


def operation_bits(operations: Iterable[Operation]) -> int:
    """As the replies have them that report what a client may do (KIP-430)."""
    return sum(1 << operation for operation in set(operations))


# What can be done with a resource of each type. Only these operations are reported to clients. An ACL with another
# operation may be created all the same: it has no effect.
SUPPORTED_OPERATIONS: Mapping[AclResourceType, tuple[Operation, ...]] = MappingProxyType(
    {
        AclResourceType.TOPIC: (
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        ),
        AclResourceType.GROUP: (
            Operation.READ,
            Operation.DELETE,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        ),
        AclResourceType.CLUSTER: (
            Operation.CREATE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
        ),
        AclResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
        AclResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
        AclResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
    }
)
SUPPORTED_BITS: Mapping[AclResourceType, int] = MappingProxyType(
    {type: operation_bits(operations) for type, operations in SUPPORTED_OPERATIONS.items()}
)

# What a client receives that may not do something with a resource. There is none for users: what may not be done with
# those is refused as what may not be done with tokens.
AUTHORIZATION_ERRORS: Mapping[AclResourceType, ErrorCode] = MappingProxyType(
    {
        AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
        AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        AclResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)


class Resource(NamedTuple):
    """Something that a request is about: one topic, one group, ..."""

    type: AclResourceType
    name: str


CLUSTER_RESOURCE = Resource(AclResourceType.CLUSTER, CLUSTER_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePattern:
    """The resources that an ACL is about."""

    resource_type: AclResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def covers(self, resource: Resource) -> bool:
        """The definition; `tidelog.security.authorizer` finds the patterns of a resource without asking each."""
        if self.resource_type != resource.type:
            return False
        if self.pattern_type == PatternType.LITERAL:
            return self.name in (resource.name, WILDCARD)
        return self.pattern_type == PatternType.PREFIXED and resource.name.startswith(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntry:
    """Who may, or may not, do what, and from where. The principal is written as its type, a colon and its name."""

    principal: str
    operation: Operation
    permission_type: PermissionType
    host: str = WILDCARD


@dataclass(frozen=True, slots=True, kw_only=True)
class AclBinding:
    """One ACL: an entry, and the resources that it is for."""

    pattern: ResourcePattern
    entry: AccessControlEntry


def acl_binding(
    *,
    resource_type: int,
    resource_name: str,
    pattern_type: int,
    principal: str,
    host: str,
    operation: int,
    permission_type: int,
) -> AclBinding:
    """From the fields that records and requests have. It may be one that must not be created: `binding_problem`."""
    pattern = ResourcePattern(
        resource_type=AclResourceType(resource_type), name=resource_name, pattern_type=PatternType(pattern_type)
    )
    entry = AccessControlEntry(
        principal=principal,
        host=host,
        operation=Operation(operation),
        permission_type=PermissionType(permission_type),
    )
    return AclBinding(pattern=pattern, entry=entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """Selects ACLs, to be described or deleted. None and ANY accept everything.

    With a name, ANY selects the ACLs that have exactly this name. MATCH selects those that are about the resource with
    this name: by that name, by a prefix of it, or by the wildcard.
    """

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission_type: PermissionType = PermissionType.ANY

    def matches(self, binding: AclBinding) -> bool:
        entry = binding.entry
        return (
            self._matches_pattern(binding.pattern)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission_type in (PermissionType.ANY, entry.permission_type)
        )

    def _matches_pattern(self, pattern: ResourcePattern) -> bool:
        if self.resource_type not in (AclResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type == PatternType.MATCH:
            return pattern.covers(Resource(pattern.resource_type, self.name))
        return self.name == pattern.name


# --------------------------------------------------------------------------------------------------------------
# What may be created and deleted.

_RESOURCE_TYPES = frozenset(AclResourceType) - {AclResourceType.UNKNOWN, AclResourceType.ANY}
_PATTERN_TYPES = frozenset({PatternType.LITERAL, PatternType.PREFIXED})
_OPERATIONS = frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY}
_PERMISSION_TYPES = frozenset({PermissionType.DENY, PermissionType.ALLOW})


def binding_problem(binding: AclBinding) -> str | None:
    """Why an ACL must not be created; Kafka's code for all of these is INVALID_REQUEST.

    Whether the operation makes sense for the type of resource is not asked, as in Kafka. Nor is whether the resource,
    the principal or the host exists: ACLs may be there before what they are about.
    """
    pattern, entry = binding.pattern, binding.entry
    if pattern.resource_type == AclResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return f"the only resource of the type CLUSTER is {CLUSTER_NAME!r}, not {pattern.name!r}"
    if not pattern.name:
        return f"the name of the resource is empty; {WILDCARD!r} stands for all resources of a type"
    for what, value, valid in (
        ("resource type", pattern.resource_type, _RESOURCE_TYPES),
        ("pattern type", pattern.pattern_type, _PATTERN_TYPES),
        ("operation", entry.operation, _OPERATIONS),
        ("permission type", entry.permission_type, _PERMISSION_TYPES),
    ):
        if value not in valid:
            names = ", ".join(each.name for each in sorted(valid))
            return f"the {what} of an ACL must be one of {names}, not {value.name}"
    if ":" not in entry.principal:
        return f"the principal {entry.principal!r} has no type; write it as in 'User:{entry.principal or 'alice'}'"
    return None


def filter_problem(selected: AclFilter) -> str | None:
    """Why no ACLs can be deleted by this filter; Kafka's code for all of these is INVALID_REQUEST."""
    for what, value in (
        ("resource type", selected.resource_type),
        ("pattern type", selected.pattern_type),
        ("operation", selected.operation),
        ("permission type", selected.permission_type),
    ):
        if value.name == "UNKNOWN":
            return f"the {what} of the filter is not known to this version; ANY stands for all of them"
    return None


# --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def acl_host(address: str) -> str:
    """The address of a client as ACLs have to name it: in the form that Java gives to addresses.

    Java does not shorten IPv6 addresses ("::1" is "0:0:0:0:0:0:0:1"), and writes those that stand for an IPv4 address
    as that one. What is no address stays as it is.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    groups = ":".join(f"{int.from_bytes(parsed.packed[at : at + 2], 'big'):x}" for at in range(0, 16, 2))
    return groups if parsed.scope_id is None else f"{groups}%{parsed.scope_id}"
