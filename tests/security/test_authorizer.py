"""Decisions over ACLs: tables for the rules, and properties that compare with a walk through all ACLs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tidelog.model.principal import ANONYMOUS, Principal
from tidelog.security.acls import (
    CLUSTER_RESOURCE,
    SUPPORTED_BITS,
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourcePattern,
)
from tidelog.security.authorizer import AclSet, Authorizer, Reason, parse_super_users

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
READ, WRITE, DESCRIBE, ALL = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL

ALICE = Principal(type="User", name="alice")
HOST = "10.0.0.1"


def acl(
    name: str = "orders",
    pattern_type: PatternType = LITERAL,
    *,
    resource_type: AclResourceType = TOPIC,
    principal: str = "User:alice",
    host: str = "*",
    operation: Operation = READ,
    permission: PermissionType = ALLOW,
) -> AclBinding:
    return AclBinding(
        pattern=ResourcePattern(resource_type=resource_type, name=name, pattern_type=pattern_type),
        entry=AccessControlEntry(principal=principal, host=host, operation=operation, permission_type=permission),
    )


def acl_set(bindings: Iterable[AclBinding]) -> AclSet:
    acls = AclSet()
    for binding in bindings:
        acls = acls.added(binding)
    return acls


def authorizer(*bindings: AclBinding, **options: Any) -> Authorizer:
    return Authorizer(acls=acl_set(bindings), **options)


# --------------------------------------------------------------------------------------------------------------
# The rules.


@pytest.mark.parametrize(
    ("bindings", "allowed"),
    [
        ([], False),
        ([acl()], True),
        ([acl(operation=ALL)], True),
        ([acl(operation=WRITE)], False),
        ([acl(resource_type=GROUP)], False),
        ([acl("orders-1")], False),
        ([acl("order")], False),
        ([acl("ord", PREFIXED)], True),
        ([acl("orders", PREFIXED)], True),
        ([acl("orders-", PREFIXED)], False),
        ([acl("*")], True),
        ([acl("*", PREFIXED)], False),
        ([acl(principal="User:*")], True),
        ([acl(principal="User:bob")], False),
        ([acl(principal="Group:alice")], False),
        ([acl(principal="Group:*")], False),
        ([acl(host=HOST)], True),
        ([acl(host="10.0.0.2")], False),
        ([acl(), acl(permission=DENY)], False),
        ([acl(), acl("*", permission=DENY)], False),
        ([acl("*"), acl(permission=DENY)], False),
        ([acl(), acl("o", PREFIXED, principal="User:*", permission=DENY)], False),
        ([acl(operation=ALL), acl(operation=ALL, permission=DENY, host=HOST)], False),
        ([acl(), acl(permission=DENY, host="10.0.0.2")], True),
        ([acl(), acl(permission=DENY, operation=WRITE)], True),
        ([acl(), acl(permission=DENY, principal="User:bob")], True),
        ([acl(), acl("orders-1", permission=DENY)], True),
    ],
)
def test_reading_a_topic(bindings: list[AclBinding], allowed: bool) -> None:
    decision = authorizer(*bindings).authorize(ALICE, HOST, READ, Resource(TOPIC, "orders"))

    assert decision.allowed is allowed


IMPLYING = {
    DESCRIBE: {READ, WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}


@pytest.mark.parametrize("granted", [each for each in Operation if each > Operation.ANY])
def test_an_allow_implies_and_a_deny_does_not(granted: Operation) -> None:
    for asked in Operation:
        if asked <= ALL:
            continue
        same = granted in (ALL, asked)
        resource = Resource(TOPIC, "orders")
        allowing = authorizer(acl(operation=granted))
        denying = authorizer(acl(operation=ALL), acl(operation=granted, permission=DENY))

        implied = granted in IMPLYING.get(asked, set())
        assert allowing.authorize(ALICE, HOST, asked, resource).allowed is (same or implied), asked.name
        assert denying.authorize(ALICE, HOST, asked, resource).allowed is not same, asked.name


@pytest.mark.parametrize(
    ("bindings", "allowed"),
    [
        ([], True),
        ([acl("payments", permission=DENY)], True),
        ([acl("order")], True),
        ([acl(resource_type=GROUP, permission=DENY)], True),
        # Whatever an ACL says: once the resource has one, nothing is allowed by default any more.
        ([acl(principal="User:bob")], False),
        ([acl(host="10.0.0.2")], False),
        ([acl(operation=WRITE)], False),
        ([acl("ord", PREFIXED, principal="User:bob")], False),
        ([acl("*", principal="User:bob")], False),
        ([acl(operation=WRITE, permission=DENY)], False),
        ([acl()], True),
    ],
)
def test_everyone_is_allowed_what_has_no_acl(bindings: list[AclBinding], allowed: bool) -> None:
    open_authorizer = authorizer(*bindings, allow_everyone_if_no_acl_found=True)

    assert open_authorizer.authorize(ALICE, HOST, READ, Resource(TOPIC, "orders")).allowed is allowed


def test_super_users_may_do_everything() -> None:
    denying = authorizer(
        acl("*", principal="User:*", operation=ALL, permission=DENY), super_users=frozenset({"User:alice"})
    )

    assert denying.authorize(ALICE, HOST, READ, Resource(TOPIC, "orders")).allowed
    assert denying.authorize_by_resource_type(ALICE, HOST, WRITE, TOPIC).allowed
    assert denying.authorized_operations(ALICE, HOST, Resource(TOPIC, "orders")) == SUPPORTED_BITS[TOPIC]
    assert not denying.authorize(ANONYMOUS, HOST, READ, Resource(TOPIC, "orders")).allowed
    assert denying.authorized_operations(ANONYMOUS, HOST, Resource(TOPIC, "orders")) == 0


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("", set()),
        ("User:a", {"User:a"}),
        (" User:a ; ;User:b;", {"User:a", "User:b"}),
        ("User:CN=a,O=b;User:c", {"User:CN=a,O=b", "User:c"}),
    ],
)
def test_super_users_are_separated_by_semicolons(text: str, users: set[str]) -> None:
    assert parse_super_users(text) == users


def test_a_super_user_without_a_type_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'alice'.*'User:alice'"):
        parse_super_users("User:bob;alice")


# --------------------------------------------------------------------------------------------------------------
# What the audit log says.


def test_a_decision_names_what_decided() -> None:
    resource = Resource(TOPIC, "orders")
    allowing, denying = acl(), acl("o", PREFIXED, permission=DENY)

    def decide(*bindings: AclBinding, **options: Any) -> tuple[Reason, AclBinding | None, str]:
        decision = authorizer(*bindings, **options).authorize(ALICE, HOST, READ, resource)
        return decision.reason, decision.binding, decision.rule

    assert decide() == (Reason.DENIED_BY_DEFAULT, None, "DefaultDeny")
    assert decide(allow_everyone_if_no_acl_found=True) == (Reason.ALLOWED_BY_DEFAULT, None, "DefaultAllow")
    assert decide(denying, super_users=frozenset({"User:alice"})) == (Reason.SUPER_USER, None, "SuperUser")
    assert decide(allowing)[:2] == (Reason.ACL, allowing)
    assert decide(allowing, denying) == (
        Reason.ACL,
        denying,
        "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=o, patternType=PREFIXED, "
        "principal=User:alice, host=*, operation=READ, permissionType=DENY])",
    )


def test_of_several_acls_the_narrowest_is_named() -> None:
    nested = [
        acl(host=HOST),
        acl(),
        acl(operation=ALL),
        acl(principal="User:*"),
        acl("orders", PREFIXED),
        acl("ord", PREFIXED),
        acl("*"),
    ]

    for first in range(len(nested)):
        for bindings in (nested[first:], nested[first:][::-1]):
            decision = authorizer(*bindings).authorize(ALICE, HOST, READ, Resource(TOPIC, "orders"))
            assert decision.binding == nested[first]


# --------------------------------------------------------------------------------------------------------------
# Some resource of a type.


@pytest.mark.parametrize(
    ("bindings", "allowed"),
    [
        ([], False),
        ([acl("a", operation=WRITE)], True),
        ([acl("a", PREFIXED, operation=WRITE)], True),
        ([acl("a", operation=ALL)], True),
        ([acl("a", operation=READ)], False),
        ([acl("a", operation=WRITE, resource_type=GROUP)], False),
        ([acl("a", operation=WRITE, host="10.0.0.2")], False),
        ([acl("a", operation=WRITE, principal="User:bob")], False),
        ([acl("a", operation=WRITE), acl("a", operation=WRITE, permission=DENY)], False),
        ([acl("a", operation=WRITE), acl("b", operation=WRITE, permission=DENY)], True),
        ([acl("ab", operation=WRITE), acl("a", PREFIXED, operation=ALL, permission=DENY)], False),
        ([acl("ab", PREFIXED, operation=WRITE), acl("ab", PREFIXED, operation=WRITE, permission=DENY)], False),
        # Something with the prefix is left.
        ([acl("ab", PREFIXED, operation=WRITE), acl("ab", operation=WRITE, permission=DENY)], True),
        ([acl("a", PREFIXED, operation=WRITE), acl("ab", PREFIXED, operation=WRITE, permission=DENY)], True),
        ([acl("a", operation=WRITE), acl("*", operation=WRITE, permission=DENY)], False),
        ([acl("*", operation=WRITE), acl("*", operation=WRITE, permission=DENY)], False),
        ([acl("*", operation=WRITE), acl("a", PREFIXED, operation=WRITE, permission=DENY)], True),
        # The name that is asked for first is denied, others are not.
        ([acl("*", operation=WRITE), acl("hardcode", operation=WRITE, permission=DENY)], True),
    ],
)
def test_writing_to_some_topic(bindings: list[AclBinding], allowed: bool) -> None:
    decision = authorizer(*bindings).authorize_by_resource_type(ALICE, HOST, WRITE, TOPIC)

    assert decision.allowed is allowed


def test_what_others_imply_does_not_count_for_some_resource() -> None:
    reader = authorizer(acl("a"))

    assert reader.authorize(ALICE, HOST, DESCRIBE, Resource(TOPIC, "a")).allowed
    assert not reader.authorize_by_resource_type(ALICE, HOST, DESCRIBE, TOPIC).allowed


def test_everyone_may_write_to_some_topic_where_no_acl_is_found() -> None:
    assert authorizer(allow_everyone_if_no_acl_found=True).authorize_by_resource_type(ALICE, HOST, WRITE, TOPIC).allowed


# --------------------------------------------------------------------------------------------------------------
# Compared with a walk through all ACLs.

NAMES = st.sampled_from(["", "*", "*a", "a", "ab", "abc", "abd", "b", "hard", "hardcode", "!", "$a", "é", "𝔸"])
TYPES = st.sampled_from([TOPIC, GROUP, AclResourceType.TRANSACTIONAL_ID])
USERS = ["User:alice", "User:bob", "User:*", "User:a:b", "Other:alice"]
ADDRESSES = ["10.0.0.1", "10.0.0.2"]
OPERATIONS = st.sampled_from([each for each in Operation if each > Operation.ANY])
BINDINGS = st.builds(
    acl,
    NAMES,
    st.sampled_from([LITERAL, PREFIXED]),
    resource_type=TYPES,
    principal=st.sampled_from(USERS),
    host=st.sampled_from(["*", *ADDRESSES]),
    operation=OPERATIONS,
    permission=st.sampled_from([ALLOW, DENY]),
)
ACLS = st.lists(BINDINGS, max_size=12, unique=True)
CALLERS = st.sampled_from([Principal(type="User", name=name) for name in ("alice", "bob", "a:b", "eve")])
SUPER_USERS = st.sampled_from([frozenset[str](), frozenset({"User:bob"})])


class Walk:
    """The definition, one ACL after the other."""

    def __init__(self, bindings: list[AclBinding], super_users: frozenset[str], everyone: bool) -> None:
        self._bindings = bindings
        self._super_users = super_users
        self._everyone = everyone

    def allows(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> bool:
        if str(principal) in self._super_users:
            return True
        covering = [each.entry for each in self._bindings if each.pattern.covers(resource)]
        concerning = [
            entry for entry in covering if entry.principal in (str(principal), "User:*") and entry.host in ("*", host)
        ]
        if any(entry.permission_type == DENY and entry.operation in (ALL, operation) for entry in concerning):
            return False
        enough = {ALL, operation} | IMPLYING.get(operation, set())
        if any(entry.permission_type == ALLOW and entry.operation in enough for entry in concerning):
            return True
        return self._everyone and not covering

    def allows_some(self, principal: Principal, host: str, operation: Operation, kind: AclResourceType) -> bool:
        if self.allows(principal, host, operation, Resource(kind, "hardcode")):
            return True
        concerning = [
            each
            for each in self._bindings
            if each.pattern.resource_type == kind
            and each.entry.principal in (str(principal), "User:*")
            and each.entry.host in ("*", host)
            and each.entry.operation in (ALL, operation)
        ]
        denied = [each.pattern for each in concerning if each.entry.permission_type == DENY]
        allowed = [each.pattern for each in concerning if each.entry.permission_type == ALLOW]
        if any(_is_everything(pattern) for pattern in denied):
            return False
        return any(_is_everything(allow) or not any(_rules_out(deny, allow) for deny in denied) for allow in allowed)


def _is_everything(pattern: ResourcePattern) -> bool:
    return pattern.pattern_type == LITERAL and pattern.name == "*"


def _rules_out(denied: ResourcePattern, allowed: ResourcePattern) -> bool:
    if denied.pattern_type == LITERAL:
        return allowed.pattern_type == LITERAL and denied.name == allowed.name
    # No ACL may have the empty prefix; Kafka does not look for it here.
    return denied.name != "" and allowed.name.startswith(denied.name)


@settings(max_examples=400, deadline=None)
@given(ACLS, SUPER_USERS, st.booleans(), CALLERS, st.sampled_from(ADDRESSES), OPERATIONS, TYPES, NAMES)
def test_a_decision_is_that_of_a_walk_through_all_acls(
    bindings: list[AclBinding],
    super_users: frozenset[str],
    everyone: bool,
    principal: Principal,
    host: str,
    operation: Operation,
    kind: AclResourceType,
    name: str,
) -> None:
    walk = Walk(bindings, super_users, everyone)
    ours = authorizer(*bindings, super_users=super_users, allow_everyone_if_no_acl_found=everyone)
    resource = Resource(kind, name)

    decision = ours.authorize(principal, host, operation, resource)
    assert decision.allowed is walk.allows(principal, host, operation, resource)
    if decision.binding is not None:
        assert decision.binding in bindings
        alone = authorizer(decision.binding).authorize(principal, host, operation, resource)
        assert alone == decision
    by_type = ours.authorize_by_resource_type(principal, host, operation, kind)
    assert by_type.allowed is walk.allows_some(principal, host, operation, kind)
    bits = ours.authorized_operations(principal, host, resource)
    assert bits == sum(1 << each for each in SUPPORTED_OPERATIONS[kind] if walk.allows(principal, host, each, resource))


@settings(max_examples=200, deadline=None)
@given(ACLS, st.data())
def test_sets_are_what_was_added_and_not_removed(bindings: list[AclBinding], data: st.DataObject) -> None:
    before = acl_set(bindings)
    removed = data.draw(st.lists(st.sampled_from(bindings), unique=True)) if bindings else []
    after = before
    for binding in removed:
        after = after.removed(binding)

    left = [each for each in bindings if each not in removed]
    assert len(before) == len(bindings)
    assert len(after) == len(left)
    for kind in (TOPIC, GROUP):
        for name in ("", "a", "ab", "abcd", "*", "hardcode", "$a"):
            resource = Resource(kind, name)
            # The order of what is added, and what was there in between, makes no difference.
            assert after.rules_of(resource) == acl_set(reversed(left)).rules_of(resource)
            assert before.rules_of(resource) == acl_set(bindings).rules_of(resource)
    for binding in bindings:
        assert binding in before
        assert (binding in after) is (binding in left)
        with pytest.raises(ValueError, match="exists already"):
            before.added(binding)
    for binding in removed:
        with pytest.raises(ValueError, match="no such ACL"):
            after.removed(binding)


# --------------------------------------------------------------------------------------------------------------
# Many ACLs.

MANY = 10_000


def _lines_run(action: Callable[[], object]) -> int:
    """A measure of work that no other process on the machine disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def _many(count: int) -> AclSet:
    """Prefixes within prefixes, literal names, and many principals for one name."""
    sorts: list[Callable[[int], AclBinding]] = [
        lambda number: acl(f"team-{number % 50}.app-{number}", operation=WRITE, principal=f"User:{number}"),
        lambda number: acl(f"team-{number % 50}.app-{number}.", PREFIXED, principal=f"User:{number}"),
        lambda number: acl("*", operation=DESCRIBE, principal=f"User:{number}"),
        lambda number: acl(f"topic-{number}", permission=DENY, principal=f"User:{number}"),
    ]
    return acl_set(sorts[number % len(sorts)](number) for number in range(count))


def test_a_decision_does_not_walk_through_all_acls() -> None:
    few, many = Authorizer(acls=_many(100)), Authorizer(acls=_many(MANY))

    def ask(of: Authorizer) -> None:
        for name in ("team-1.app-1.orders", "team-1.app-1", "topic-3", "other"):
            of.authorize(Principal(type="User", name="1"), HOST, READ, Resource(TOPIC, name))
            of.authorize_by_resource_type(Principal(type="User", name="1"), HOST, WRITE, TOPIC)

    assert many.authorize(Principal(type="User", name="1"), HOST, READ, Resource(TOPIC, "team-1.app-1.a")).allowed
    assert _lines_run(lambda: ask(many)) < 2 * _lines_run(lambda: ask(few))


def test_a_change_does_not_copy_all_acls() -> None:
    few, many = _many(100), _many(MANY)
    new = acl("team-7.app-7.audit", principal="User:7")

    work = _lines_run(lambda: many.added(new).removed(new))

    assert work < 2 * _lines_run(lambda: few.added(new).removed(new))
    assert len(many) == MANY
    # Everything that is not on the way to the name is the same object.
    changed = many.added(new)
    elsewhere = Resource(TOPIC, "topic-3")
    assert all(
        ours is theirs for ours, theirs in zip(changed.rules_of(elsewhere), many.rules_of(elsewhere), strict=True)
    )


def test_prefixes_may_be_nested_deeper_than_the_stack() -> None:
    depth = sys.getrecursionlimit() + 100
    bindings = [acl("a" * length, PREFIXED) for length in range(1, depth)]
    acls = acl_set(bindings)

    assert len(acls.rules_of(Resource(TOPIC, "a" * depth))) == depth - 1
    for binding in bindings:
        acls = acls.removed(binding)
    assert len(acls) == 0
    assert acls.rules_of(Resource(TOPIC, "a" * depth)) == []


def test_acls_that_are_gone_cost_nothing() -> None:
    name = "a" * 200
    fresh = acl_set([acl(name)])
    used = fresh
    prefixes = [acl(name[:length], PREFIXED) for length in range(1, len(name))]
    for binding in prefixes:
        used = used.added(binding)
    for binding in prefixes:
        used = used.removed(binding)

    resource = Resource(TOPIC, name)
    assert used.rules_of(resource) == fresh.rules_of(resource)
    assert _lines_run(lambda: used.rules_of(resource)) == _lines_run(lambda: fresh.rules_of(resource))


def test_an_acl_that_this_version_does_not_understand_covers_nothing() -> None:
    newer = acl("*", PatternType.UNKNOWN)
    acls = acl_set([newer])

    assert newer in acls
    assert not Authorizer(acls=acls).authorize(ALICE, HOST, READ, Resource(TOPIC, "*")).allowed
    assert not Authorizer(acls=acls).authorize_by_resource_type(ALICE, HOST, READ, TOPIC).allowed
    assert len(acls.removed(newer)) == 0


def test_the_cluster_is_a_resource_like_others() -> None:
    administrator = authorizer(
        acl("kafka-cluster", resource_type=AclResourceType.CLUSTER, operation=Operation.ALTER),
    )

    bits = administrator.authorized_operations(ALICE, HOST, CLUSTER_RESOURCE)
    assert bits == 1 << Operation.ALTER | 1 << DESCRIBE
