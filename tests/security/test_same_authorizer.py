"""The same ACLs and the same questions, given to Apache Kafka's own classes and to ours: every answer is the same.

`tests/support/AclVerdicts.java` asks StandardAuthorizer, AclControlManager and the values around them. The names are
few and short, so that literal names, prefixes and `*` meet all the time. Names that begin with `*` or with a character
below it are left out: with those StandardAuthorizer 4.3 goes wrong (decision 41, and the last test here).
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from support.apache_kafka import TOOL_TIMEOUT_SECONDS, java_command, kafka_jars
from support.download_cache import Unavailable

from tidelog.model.principal import Principal
from tidelog.security.acls import (
    AUTHORIZATION_ERRORS,
    CLUSTER_NAME,
    SUPPORTED_BITS,
    AclBinding,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    acl_binding,
    acl_host,
    binding_problem,
    filter_problem,
)
from tidelog.security.authorizer import AccessDecision, AclSet, Authorizer, Reason, parse_super_users

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

PROGRAM = Path(__file__).parents[1] / "support" / "AclVerdicts.java"

SETS = 700
QUESTIONS_OF_A_SET = 40
SETS_FOR_SOME_RESOURCE = 600
LARGE_SET = 1500
FILTERED_PAIRS = 6000
CREATED = 3000

NAMES = ["", "*", "a", "ab", "abc", "abd", "b", "ba", "h", "hard", "hardcode", CLUSTER_NAME, "a" * 249, "é", "𝔸b"]
USERS = ["User:alice", "User:bob", "User:*", "User:a:b", "Group:alice", "User:"]
CALLERS = [Principal(type=type, name=name) for type, _, name in (user.partition(":") for user in USERS) if name != "*"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1"]
ADDRESSES = HOSTS[1:]
RESOURCE_TYPES = [each for each in AclResourceType if each > AclResourceType.ANY]
OPERATIONS = [each for each in Operation if each > Operation.ANY]
# Operations that imply others, and those that are implied, are asked for more often.
RELATED = [Operation.ALL, Operation.READ, Operation.DESCRIBE, Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS]

T = TypeVar("T")


@dataclass
class Questions:
    """Lines for the program, and for each of them what our code says."""

    asked: list[Any] = field(default_factory=list)
    ours: list[Any] = field(default_factory=list)

    def ask(self, ours: object, *question: object) -> None:
        self.asked.append(question)
        self.ours.append(ours)

    def differences(self, jars: Path) -> list[str]:
        lines = "".join(json.dumps(question) + "\n" for question in self.asked)
        run = subprocess.run(
            java_command(jars, str(PROGRAM)),
            input=lines.encode(),
            capture_output=True,
            timeout=TOOL_TIMEOUT_SECONDS,
            check=False,
        )
        assert run.returncode == 0, run.stderr.decode()[-2000:]
        theirs = [json.loads(line) for line in run.stdout.decode().splitlines()]
        assert len(theirs) == len(self.asked)
        return [
            f"{question}: {their} from Apache Kafka, {our} from us"
            for question, our, their in zip(self.asked, self.ours, theirs, strict=True)
            if our != their
        ]


@pytest.fixture(scope="module")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


def fields(binding: AclBinding) -> list[Any]:
    pattern, entry = binding.pattern, binding.entry
    return [
        int(pattern.resource_type),
        pattern.name,
        int(pattern.pattern_type),
        entry.principal,
        entry.host,
        int(entry.operation),
        int(entry.permission_type),
    ]


def filter_fields(each: AclFilter) -> list[Any]:
    return [
        int(each.resource_type),
        each.name,
        int(each.pattern_type),
        each.principal,
        each.host,
        int(each.operation),
        int(each.permission_type),
    ]


def random_bindings(random: Random, types: list[AclResourceType], names: list[str] = NAMES) -> Iterator[AclBinding]:
    while True:
        yield acl_binding(
            resource_type=random.choice(types),
            resource_name=random.choice(names),
            pattern_type=random.choice([PatternType.LITERAL, PatternType.PREFIXED]),
            principal=random.choice(USERS),
            host=random.choice(HOSTS),
            operation=random.choice(RELATED if random.random() < 0.7 else OPERATIONS),
            permission_type=random.choice([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
        )


def distinct(bindings: Iterator[AclBinding], count: int) -> list[AclBinding]:
    found: dict[AclBinding, None] = {}
    while len(found) < count:
        found[next(bindings)] = None
    return list(found)


class Session:
    """An authorizer of ours, and the questions that bring Apache Kafka's to the same state."""

    def __init__(self, questions: Questions, random: Random) -> None:
        self.questions = questions
        self.random = random
        self.decisions: Counter[tuple[str, Reason, bool]] = Counter()
        self.authorizer = Authorizer(acls=AclSet())

    def configure(self) -> None:
        super_users = self.random.choice(["", "", "User:root", "User:alice; User:root", "Group:alice"])
        everyone = self.random.random() < 0.5
        self.questions.ask("ok", "settings", super_users, everyone)
        self.authorizer = Authorizer(
            acls=AclSet(), super_users=parse_super_users(super_users), allow_everyone_if_no_acl_found=everyone
        )

    def load(self, bindings: list[AclBinding]) -> None:
        acls = AclSet()
        for binding in bindings:
            acls = acls.added(binding)
        self.questions.ask(len(bindings), "snapshot", [fields(each) for each in bindings])
        self._has(acls)

    def add(self, binding: AclBinding) -> None:
        self._has(self.authorizer.acls.added(binding))
        self.questions.ask(len(self.authorizer.acls), "add", fields(binding))

    def remove(self, binding: AclBinding) -> None:
        self._has(self.authorizer.acls.removed(binding))
        self.questions.ask(len(self.authorizer.acls), "remove", fields(binding))

    def _has(self, acls: AclSet) -> None:
        self.authorizer = Authorizer(
            acls=acls,
            super_users=self.authorizer.super_users,
            allow_everyone_if_no_acl_found=self.authorizer.allow_everyone_if_no_acl_found,
        )

    def question(self, resource: Resource) -> None:
        caller, host = self.random.choice(CALLERS), self.random.choice(ADDRESSES)
        operation = self.random.choice(RELATED if self.random.random() < 0.7 else OPERATIONS)
        asked = (caller.type, caller.name, host)
        decision = self.authorizer.authorize(caller, host, operation, resource)
        self._note("authorize", decision)
        self.questions.ask(decision.allowed, "authorize", *asked, int(operation), int(resource.type), resource.name)
        if self.random.random() < 0.3:
            self.ask_by_type((caller, host), operation, resource.type)
        if self.random.random() < 0.2:
            bits = self.authorizer.authorized_operations(caller, host, resource)
            self.questions.ask(bits, "operations", *asked, int(resource.type), resource.name)

    def ask_by_type(self, client: tuple[Principal, str], operation: Operation, resource_type: AclResourceType) -> None:
        caller, host = client
        decision = self.authorizer.authorize_by_resource_type(caller, host, operation, resource_type)
        self._note("by type", decision)
        asked = (caller.type, caller.name, host)
        self.questions.ask(decision.allowed, "by type", *asked, int(operation), int(resource_type))

    def _note(self, kind: str, decision: AccessDecision) -> None:
        self.decisions[kind, decision.reason, decision.allowed] += 1


def test_every_decision_is_the_same(jars: Path) -> None:
    random = Random(20261117)
    questions = Questions()
    session = Session(questions, random)
    for _ in range(SETS):
        # Few types, so that the ACLs of a set have to do with each other.
        types = random.sample(RESOURCE_TYPES, 2)
        bindings = distinct(random_bindings(random, types), random.randrange(14))
        session.configure()
        session.load(bindings)
        for _ in range(QUESTIONS_OF_A_SET):
            if bindings and random.random() < 0.1:
                changed = random.choice(bindings)
                (session.remove if changed in session.authorizer.acls else session.add)(changed)
            session.question(Resource(random.choice(types), random.choice(NAMES)))
    _ask_a_large_set(session)
    for _ in range(SETS_FOR_SOME_RESOURCE):
        _ask_for_some_resource(session)

    assert questions.differences(jars) == []
    decided = session.decisions
    assert sum(count for (kind, _, _), count in decided.items() if kind == "authorize") >= 25_000
    assert sum(count for (kind, _, _), count in decided.items() if kind == "by type") >= 7_000
    # All ways to decide were taken, and not just now and then.
    for kind in ("authorize", "by type"):
        assert decided[kind, Reason.ACL, True] >= 500
        assert decided[kind, Reason.ACL, False] >= 200
        assert decided[kind, Reason.SUPER_USER, True] >= 500
        assert decided[kind, Reason.ALLOWED_BY_DEFAULT, True] >= 500
        assert decided[kind, Reason.DENIED_BY_DEFAULT, False] >= 500


def _ask_a_large_set(session: Session) -> None:
    random = session.random
    names = ["".join(random.choices("ab.", k=random.randrange(1, 12))) for _ in range(LARGE_SET)]
    session.configure()
    session.load(distinct(random_bindings(random, [AclResourceType.TOPIC], names), LARGE_SET))
    for name in names:
        session.question(Resource(AclResourceType.TOPIC, name + random.choice(["", "", "a", ".b"])))


def _ask_for_some_resource(session: Session) -> None:
    """Where ACLs for one operation allow and deny nearly the same."""
    random = session.random
    bindings = random_bindings(random, [AclResourceType.TOPIC], ["*", "a", "ab", "abc", "b", "hardcode"])
    near = (
        replace(each, entry=replace(each.entry, operation=random.choice([Operation.WRITE, Operation.ALL]), host="*"))
        for each in bindings
        if each.entry.principal in ("User:alice", "User:*")
    )
    session.configure()
    session.load(distinct(near, random.randrange(1, 6)))
    for caller in CALLERS:
        session.ask_by_type((caller, "10.0.0.1"), Operation.WRITE, AclResourceType.TOPIC)


def test_filters_select_the_same_acls(jars: Path) -> None:
    random = Random(7)
    questions = Questions()
    matching = 0
    for binding in islice(random_bindings(random, RESOURCE_TYPES), FILTERED_PAIRS):
        selected = _random_filter(random, binding)
        matches = selected.matches(binding)
        matching += matches
        questions.ask(matches, "matches", filter_fields(selected), fields(binding))

    assert questions.differences(jars) == []
    assert FILTERED_PAIRS // 5 < matching < FILTERED_PAIRS * 4 // 5


def _random_filter(random: Random, binding: AclBinding) -> AclFilter:
    """One that has something to do with the binding."""
    pattern, entry = binding.pattern, binding.entry

    def one_of(near: T, *others: T) -> T:
        return near if random.random() < 0.8 else random.choice(others)

    return AclFilter(
        resource_type=one_of(pattern.resource_type, *AclResourceType),
        name=one_of(random.choice([None, pattern.name, pattern.name, pattern.name + "a"]), *NAMES),
        pattern_type=one_of(random.choice([PatternType.ANY, PatternType.MATCH, pattern.pattern_type]), *PatternType),
        principal=one_of(None, entry.principal, *USERS),
        host=one_of(None, entry.host, *HOSTS),
        operation=one_of(Operation.ANY, entry.operation, *Operation),
        permission_type=one_of(PermissionType.ANY, entry.permission_type, *PermissionType),
    )


def test_the_same_acls_may_be_created_and_deleted(jars: Path) -> None:
    random = Random(8)
    questions = Questions()
    refused = 0
    for _ in range(CREATED):

        def one_of(usual: list[Any], *others: Any) -> Any:
            return random.choice(usual) if random.random() < 0.85 else random.choice(others)

        asked = {
            "resource_type": one_of([2, 3, 4, 5, 6, 7], 0, 1, 8, 99),
            "resource_name": one_of([CLUSTER_NAME, "a", "*"], ""),
            "pattern_type": one_of([3, 4], 0, 1, 2, 5),
            "principal": one_of(USERS, "", "alice", ":", "alice:"),
            "host": one_of(HOSTS, "", "not a host"),
            "operation": one_of(list(range(2, 16)), 0, 1, 16),
            "permission_type": one_of([2, 3], 0, 1, 4),
        }
        allowed = binding_problem(acl_binding(**asked)) is None
        refused += not allowed
        questions.ask(allowed, "may be created", list(asked.values()))
        selected = AclFilter(
            resource_type=AclResourceType(asked["resource_type"]),
            name=random.choice([None, asked["resource_name"]]),
            pattern_type=PatternType(asked["pattern_type"]),
            operation=Operation(asked["operation"]),
            permission_type=PermissionType(asked["permission_type"]),
        )
        questions.ask(filter_problem(selected) is None, "may delete", filter_fields(selected))

    assert questions.differences(jars) == []
    assert CREATED // 5 < refused < CREATED * 4 // 5


def test_values_are_read_and_written_the_same(jars: Path) -> None:
    random = Random(9)
    questions = Questions()
    questions.ask(
        {
            "resource types": {each.name: int(each) for each in AclResourceType},
            "pattern types": {each.name: int(each) for each in PatternType},
            "operations": {each.name: int(each) for each in Operation},
            "permission types": {each.name: int(each) for each in PermissionType},
            "supported": {each.name: bits for each, bits in SUPPORTED_BITS.items()},
            "errors": {each.name: int(code) for each, code in AUTHORIZATION_ERRORS.items()},
        },
        "codes",
    )
    for binding in islice(random_bindings(random, RESOURCE_TYPES), 200):
        decision = AccessDecision(allowed=True, reason=Reason.ACL, binding=binding)
        questions.ask(decision.rule, "rule", fields(binding))
        address = ":".join(f"{random.choice([0, 0, random.randrange(1 << 16)]):x}" for _ in range(8))
        questions.ask(acl_host(address), "host", address)
    for address in ("127.0.0.1", "::1", "::", "::ffff:10.1.2.3", "fe80::1", "2001:DB8::10", "::10.1.2.3"):
        questions.ask(acl_host(address), "host", address)
    for text in ("", ";", "User:a", " User:a ;User:b;;", "User:a b", "User:", ":a", "a:b:c", "User:a\t;\u00a0User:b"):
        questions.ask(sorted(parse_super_users(text)), "super users", text)
    for text in ("alice", "User:a;bob", "User:a,b;x"):
        with pytest.raises(ValueError, match=r"super\.users"):
            parse_super_users(text)
        questions.ask("refused", "super users", text)

    assert questions.differences(jars) == []


def test_the_wildcard_covers_names_that_begin_like_it_with_us(jars: Path) -> None:
    """StandardAuthorizer takes `*` for an ordinary name there, so that `*` denies or allows nothing for `*a`."""
    user, host = Principal(type="User", name="alice"), "10.0.0.1"
    resource = Resource(AclResourceType.GROUP, "*a")
    wildcard = acl_binding(
        resource_type=3,
        resource_name="*",
        pattern_type=3,
        principal=str(user),
        host="*",
        operation=3,
        permission_type=3,
    )
    ours = Authorizer(acls=AclSet().added(wildcard)).authorize(user, host, Operation.READ, resource)
    questions = Questions()
    questions.ask("ok", "settings", "", False)
    questions.ask(1, "snapshot", [fields(wildcard)])
    questions.ask(True, "authorize", user.type, user.name, host, 3, 3, "other")
    questions.ask(ours.allowed, "authorize", user.type, user.name, host, 3, 3, resource.name)

    assert ours.allowed
    (difference,) = questions.differences(jars)
    assert "'*a'" in difference
