"""Questions about access: what is asked of the authorizer, how often, and what is logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tidelog.config.broker import BrokerConfig
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.principal import Principal
from tidelog.protocol.messages import ApiKey
from tidelog.security.acls import SUPPORTED_BITS, AclResourceType, Operation, acl_binding, operation_bits
from tidelog.security.authorizer import AclSet
from tidelog.server.access import access as access_module
from tidelog.server.access.access import Access
from tidelog.server.observability.logs import AUTHORIZER_LOGGER, TRACE

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
LITERAL, PREFIXED, DENY, ALLOW = 3, 4, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str = "alice"
    acl_host: str = "127.0.0.1"
    api_key: int = ApiKey.FETCH
    client_id: str | None = None

    @property
    def principal(self) -> Principal:
        return Principal(type="User", name=self.name)


ALICE, ADMIN = Client(), Client(name="admin")


def acls(*entries: tuple[AclResourceType, str, Operation]) -> AclSet:
    found = AclSet()
    for kind, name, operation in entries:
        binding = acl_binding(
            resource_type=kind,
            resource_name=name,
            pattern_type=LITERAL,
            principal="User:alice",
            host="*",
            operation=operation,
            permission_type=ALLOW,
        )
        found = found.added(binding)
    return found


class Node:
    """What an authorizer is asked on; `known` are its ACLs."""

    def __init__(self, known: AclSet | None, **properties: str) -> None:
        self.known = known
        self.asked = 0
        config = BrokerConfig.from_properties(
            {
                "node.id": "1",
                "authorizer.class.name": STANDARD_AUTHORIZER,
                "super.users": "User:admin",
                **{name.replace("_", "."): value for name, value in properties.items()},
            }
        )
        self.access = Access(config, self._acls)

    def _acls(self) -> AclSet | None:
        self.asked += 1
        return self.known


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(TRACE, logger=AUTHORIZER_LOGGER):
        yield caplog


def test_without_an_authorizer_everything_is_allowed_and_nobody_is_asked() -> None:
    node = Node(None, authorizer_class_name="")
    assert not node.access.enforced
    assert node.access.allows(ALICE, Operation.WRITE, TOPIC, "orders")
    assert node.access.allows_cluster(ALICE, Operation.CLUSTER_ACTION)
    assert node.access.allows_some(ALICE, Operation.WRITE, TOPIC)
    assert node.access.forbidden(ALICE, Operation.READ, TOPIC, ["orders"]) == frozenset()
    assert node.access.operations(ALICE, GROUP, "g") == SUPPORTED_BITS[GROUP]
    assert node.access.cluster_operations(ALICE) == SUPPORTED_BITS[CLUSTER]
    assert node.access.is_ready_for(ALICE)
    assert node.asked == 0


def test_only_what_an_acl_allows_is_allowed() -> None:
    node = Node(acls((TOPIC, "orders", Operation.READ)))
    assert node.access.allows(ALICE, Operation.READ, TOPIC, "orders")
    assert not node.access.allows(ALICE, Operation.WRITE, TOPIC, "orders")
    assert not node.access.allows(Client(name="bob"), Operation.READ, TOPIC, "orders")
    assert node.access.allows(ADMIN, Operation.WRITE, TOPIC, "anything")
    assert node.access.forbidden(ALICE, Operation.READ, TOPIC, ["orders", "other", "orders"]) == {"other"}


def test_a_decision_holds_until_the_acls_are_others() -> None:
    node = Node(acls())
    assert not node.access.allows(ALICE, Operation.READ, TOPIC, "orders")
    node.known = acls((TOPIC, "orders", Operation.READ))
    assert node.access.allows(ALICE, Operation.READ, TOPIC, "orders")
    node.known = acls()
    assert not node.access.allows(ALICE, Operation.READ, TOPIC, "orders")


def test_decisions_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "MAX_KEPT", 10)
    node = Node(acls((GROUP, "g7", Operation.READ)))
    for number in range(100):
        assert node.access.allows(ALICE, Operation.READ, GROUP, f"g{number}") == (number == 7)
        assert node.access.allows(Client(name=f"u{number}"), Operation.READ, GROUP, "g7") is False
        kept = node.access._kept
        assert sum(map(len, kept.values())) <= 10
        assert len(kept) <= 11


def test_before_the_acls_are_known_only_super_users_are_decided_for() -> None:
    node = Node(None, allow_everyone_if_no_acl_found="true")
    assert node.access.is_ready_for(ADMIN)
    assert node.access.allows_cluster(ADMIN, Operation.CLUSTER_ACTION)
    assert not node.access.is_ready_for(ALICE)
    with pytest.raises(ApiError) as caught:
        node.access.allows(ALICE, Operation.READ, TOPIC, "orders")
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(ApiError):
        node.access.operations(ALICE, TOPIC, "orders")
    node.known = AclSet()
    assert node.access.is_ready_for(ALICE)
    assert node.access.allows(ALICE, Operation.READ, TOPIC, "orders")


def test_everybody_may_use_what_no_acl_is_about_if_the_property_says_so() -> None:
    known = acls((TOPIC, "orders", Operation.READ))
    node = Node(known, allow_everyone_if_no_acl_found="true")
    assert node.access.allows(Client(name="bob"), Operation.WRITE, TOPIC, "other")
    assert not node.access.allows(Client(name="bob"), Operation.WRITE, TOPIC, "orders")


def test_a_producer_may_be_idempotent_if_it_may_write_somewhere() -> None:
    node = Node(acls((TOPIC, "orders", Operation.WRITE)))
    assert node.access.allows_some(ALICE, Operation.WRITE, TOPIC)
    assert not node.access.allows_some(ALICE, Operation.WRITE, GROUP)
    assert not node.access.allows_some(Client(name="bob"), Operation.WRITE, TOPIC)


def test_what_a_client_may_do_with_the_cluster_is_for_those_who_may_describe_it() -> None:
    node = Node(acls((CLUSTER, "kafka-cluster", Operation.CREATE)))
    assert node.access.operations(ALICE, CLUSTER, "kafka-cluster") == operation_bits([Operation.CREATE])
    assert node.access.cluster_operations(ALICE) == 0
    node.known = acls((CLUSTER, "kafka-cluster", Operation.ALTER))
    expected = operation_bits([Operation.ALTER, Operation.DESCRIBE])
    assert node.access.cluster_operations(ALICE) == expected


def test_each_decision_is_logged_with_kafkas_words_and_level(log: pytest.LogCaptureFixture) -> None:
    node = Node(acls((TOPIC, "orders", Operation.READ)))
    node.access.allows(ALICE, Operation.READ, TOPIC, "orders")
    node.access.allows(ALICE, Operation.READ, TOPIC, "other")
    node.access.allows(ALICE, Operation.DESCRIBE, GROUP, "g", quiet=True)
    node.access.allows(ADMIN, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, "t")
    assert [(record.levelno, record.getMessage()) for record in log.records] == [
        (
            logging.DEBUG,
            "Principal = User:alice is Allowed operation = READ from host = 127.0.0.1 on resource = "
            "Topic:LITERAL:orders for request = Fetch based on rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, "
            "resourceName=orders, patternType=LITERAL, principal=User:alice, host=*, operation=READ, "
            "permissionType=ALLOW])",
        ),
        (
            logging.INFO,
            "Principal = User:alice is Denied operation = READ from host = 127.0.0.1 on resource = "
            "Topic:LITERAL:other for request = Fetch based on rule DefaultDeny",
        ),
        (
            TRACE,
            "Principal = User:alice is Denied operation = DESCRIBE from host = 127.0.0.1 on resource = "
            "Group:LITERAL:g for request = Fetch based on rule DefaultDeny",
        ),
        (
            logging.DEBUG,
            "Principal = User:admin is Allowed operation = WRITE from host = 127.0.0.1 on resource = "
            "TransactionalId:LITERAL:t for request = Fetch based on rule SuperUser",
        ),
    ]


def test_what_a_client_may_do_is_logged_at_the_lowest_level_alone(log: pytest.LogCaptureFixture) -> None:
    node = Node(acls((TOPIC, "orders", Operation.READ)))
    node.access.operations(ALICE, TOPIC, "orders")
    assert {record.levelno for record in log.records} == {TRACE}
    assert len(log.records) == SUPPORTED_BITS[TOPIC].bit_count()


def test_a_name_cannot_write_lines_into_the_log(log: pytest.LogCaptureFixture) -> None:
    node = Node(acls())
    node.access.allows(ALICE, Operation.READ, GROUP, "g\n[2024-01-01] INFO Principal = User:admin is Allowed")
    node.access.allows(ALICE, Operation.READ, GROUP, "x" * 30_000)
    first, second = (record.getMessage() for record in log.records)
    assert "\n" not in first
    assert len(second) < 1000
