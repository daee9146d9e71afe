"""The values of access control: which ACLs may be created, what they cover, and which of them a filter selects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidelog.security.acls import (
    CLUSTER_NAME,
    CLUSTER_RESOURCE,
    SUPPORTED_BITS,
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourcePattern,
    acl_binding,
    acl_host,
    binding_problem,
    filter_problem,
    operation_bits,
)

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

ENTRY = AccessControlEntry(
    principal="User:alice", host="10.0.0.1", operation=Operation.READ, permission_type=PermissionType.ALLOW
)


def binding(name: str, pattern_type: PatternType = LITERAL, resource_type: AclResourceType = TOPIC) -> AclBinding:
    pattern = ResourcePattern(resource_type=resource_type, name=name, pattern_type=pattern_type)
    return AclBinding(pattern=pattern, entry=ENTRY)


# --------------------------------------------------------------------------------------------------------------
# Numbers.


@pytest.mark.parametrize("kind", [AclResourceType, PatternType, Operation, PermissionType])
def test_a_number_that_is_not_known_counts_as_unknown(
    kind: type[AclResourceType] | type[PatternType] | type[Operation] | type[PermissionType],
) -> None:
    assert kind(0).name == "UNKNOWN"
    assert kind(99) is kind(0)
    assert kind(-1) is kind(0)
    assert kind(3) is not kind(0)


def test_what_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="READ"):
        Operation("READ")  # type: ignore[arg-type]


def test_a_binding_is_made_from_the_fields_of_records_and_requests() -> None:
    made = acl_binding(
        resource_type=3,
        resource_name="g",
        pattern_type=4,
        principal="User:a",
        host="*",
        operation=8,
        permission_type=2,
    )

    assert made == AclBinding(
        pattern=ResourcePattern(resource_type=GROUP, name="g", pattern_type=PREFIXED),
        entry=AccessControlEntry(
            principal="User:a", host="*", operation=Operation.DESCRIBE, permission_type=PermissionType.DENY
        ),
    )


def test_operations_are_reported_as_the_bits_of_their_numbers() -> None:
    assert operation_bits([]) == 0
    assert operation_bits([Operation.READ, Operation.DESCRIBE, Operation.READ]) == 0b1_0000_1000
    # What Apache Kafka reports to a super user.
    assert SUPPORTED_BITS[TOPIC] == 3576
    assert SUPPORTED_BITS[GROUP] == 3400
    assert SUPPORTED_BITS[CLUSTER] == 8096
    assert SUPPORTED_BITS[AclResourceType.TRANSACTIONAL_ID] == 33040


# --------------------------------------------------------------------------------------------------------------
# Patterns.


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        (("orders", LITERAL), "orders", True),
        (("orders", LITERAL), "orders-1", False),
        (("orders", LITERAL), "order", False),
        (("orders", PREFIXED), "orders", True),
        (("orders", PREFIXED), "orders-1", True),
        (("orders", PREFIXED), "order", False),
        (("*", LITERAL), "orders", True),
        (("*", LITERAL), "*", True),
        (("*", LITERAL), "", True),
        (("*", PREFIXED), "orders", False),
        (("*", PREFIXED), "*orders", True),
        (("", PREFIXED), "orders", True),
        (("orders", PatternType.UNKNOWN), "orders", False),
    ],
)
def test_a_pattern_covers_resources(pattern: tuple[str, PatternType], name: str, covered: bool) -> None:
    name_of_pattern, pattern_type = pattern
    acl = ResourcePattern(resource_type=TOPIC, name=name_of_pattern, pattern_type=pattern_type)

    assert acl.covers(Resource(TOPIC, name)) is covered
    assert not acl.covers(Resource(GROUP, name))


# --------------------------------------------------------------------------------------------------------------
# Filters.


@pytest.mark.parametrize(
    ("selected", "acl", "matches"),
    [
        (AclFilter(), binding("a"), True),
        (AclFilter(resource_type=TOPIC), binding("a"), True),
        (AclFilter(resource_type=GROUP), binding("a"), False),
        # A name alone selects exactly this name, whichever way it is to be read.
        (AclFilter(name="ab"), binding("ab"), True),
        (AclFilter(name="ab"), binding("ab", PREFIXED), True),
        (AclFilter(name="ab"), binding("a", PREFIXED), False),
        (AclFilter(name="ab"), binding("*"), False),
        (AclFilter(name="*"), binding("*"), True),
        (AclFilter(name="*"), binding("ab"), False),
        (AclFilter(name="ab", pattern_type=LITERAL), binding("ab"), True),
        (AclFilter(name="ab", pattern_type=LITERAL), binding("ab", PREFIXED), False),
        (AclFilter(name="ab", pattern_type=LITERAL), binding("*"), False),
        (AclFilter(name="ab", pattern_type=PREFIXED), binding("ab", PREFIXED), True),
        (AclFilter(name="ab", pattern_type=PREFIXED), binding("a", PREFIXED), False),
        (AclFilter(pattern_type=PREFIXED), binding("ab", PREFIXED), True),
        (AclFilter(pattern_type=PREFIXED), binding("ab"), False),
        # MATCH selects what is about the resource with this name.
        (AclFilter(name="ab", pattern_type=PatternType.MATCH), binding("ab"), True),
        (AclFilter(name="ab", pattern_type=PatternType.MATCH), binding("*"), True),
        (AclFilter(name="ab", pattern_type=PatternType.MATCH), binding("a", PREFIXED), True),
        (AclFilter(name="ab", pattern_type=PatternType.MATCH), binding("abc", PREFIXED), False),
        (AclFilter(name="ab", pattern_type=PatternType.MATCH), binding("a"), False),
        (AclFilter(pattern_type=PatternType.MATCH), binding("a"), True),
        (AclFilter(name="ab", pattern_type=PatternType.UNKNOWN), binding("ab"), False),
        (AclFilter(principal="User:alice"), binding("a"), True),
        (AclFilter(principal="User:bob"), binding("a"), False),
        # The wildcards of ACLs are texts like others here.
        (AclFilter(principal="User:*"), binding("a"), False),
        (AclFilter(host="10.0.0.1"), binding("a"), True),
        (AclFilter(host="*"), binding("a"), False),
        (AclFilter(operation=Operation.READ), binding("a"), True),
        (AclFilter(operation=Operation.ALL), binding("a"), False),
        (AclFilter(operation=Operation.DESCRIBE), binding("a"), False),
        (AclFilter(permission_type=PermissionType.ALLOW), binding("a"), True),
        (AclFilter(permission_type=PermissionType.DENY), binding("a"), False),
    ],
)
def test_a_filter_selects_acls(selected: AclFilter, acl: AclBinding, matches: bool) -> None:
    assert selected.matches(acl) is matches


@pytest.mark.parametrize(
    ("selected", "named"),
    [
        (AclFilter(resource_type=AclResourceType.UNKNOWN), "resource type"),
        (AclFilter(pattern_type=PatternType.UNKNOWN), "pattern type"),
        (AclFilter(operation=Operation.UNKNOWN), "operation"),
        (AclFilter(permission_type=PermissionType.UNKNOWN), "permission type"),
    ],
)
def test_nothing_is_deleted_by_a_filter_with_an_unknown_part(selected: AclFilter, named: str) -> None:
    problem = filter_problem(selected)

    assert problem is not None
    assert named in problem
    assert filter_problem(AclFilter()) is None


# --------------------------------------------------------------------------------------------------------------
# What may be created.


@pytest.mark.parametrize(
    "acl", [binding("a"), binding("a", PREFIXED), binding("*"), binding(CLUSTER_NAME, LITERAL, CLUSTER)]
)
def test_ordinary_acls_may_be_created(acl: AclBinding) -> None:
    assert binding_problem(acl) is None


def test_an_operation_that_makes_no_sense_for_the_type_may_be_created() -> None:
    acl = binding("a")

    assert binding_problem(replace(acl, entry=replace(ENTRY, operation=Operation.IDEMPOTENT_WRITE))) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"resource_type": 0}, "resource type of an ACL must be one of TOPIC, GROUP"),
        ({"resource_type": 1}, "not ANY"),
        ({"resource_type": 77}, "not UNKNOWN"),
        ({"resource_type": CLUSTER}, "'kafka-cluster', not 'a'"),
        ({"resource_name": ""}, "empty"),
        ({"pattern_type": 1}, "pattern type of an ACL must be one of LITERAL, PREFIXED, not ANY"),
        ({"pattern_type": 2}, "not MATCH"),
        ({"operation": 1}, "operation of an ACL must be one of ALL, READ"),
        ({"operation": 0}, "not UNKNOWN"),
        ({"permission_type": 1}, "permission type of an ACL must be one of DENY, ALLOW, not ANY"),
        ({"principal": "alice"}, "'User:alice'"),
        ({"principal": ""}, "'User:alice'"),
    ],
)
def test_a_refusal_names_the_value_and_the_remedy(change: dict[str, object], named: str) -> None:
    good: dict[str, object] = {
        "resource_type": 2,
        "resource_name": "a",
        "pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    assert binding_problem(acl_binding(**good)) is None  # type: ignore[arg-type]

    problem = binding_problem(acl_binding(**good | change))  # type: ignore[arg-type]

    assert problem is not None
    assert named in problem


# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::10", "2001:db8:0:0:0:0:0:10"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("broker-1", "broker-1"),
        ("", ""),
    ],
)
def test_addresses_are_written_as_acls_name_them(address: str, host: str) -> None:
    assert acl_host(address) == host
    assert acl_host(host) == host


def test_the_cluster_is_one_resource() -> None:
    assert binding(CLUSTER_NAME, LITERAL, CLUSTER).pattern.covers(CLUSTER_RESOURCE)
    assert CLUSTER_RESOURCE.type.title == "cluster"
    assert AclResourceType.TRANSACTIONAL_ID.title == "transactional id"
