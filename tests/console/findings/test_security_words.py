"""Why something is not told, and ACLs as texts."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.console.findings.security_words import (
    acl_document,
    acl_from,
    entity_in_words,
    filter_for,
    own_user,
    refusal_to_create,
    why_not_told,
)
from tidelog.console.replies import ConsoleRefusal
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import UnsupportedByBroker

FIELDS = {
    "resource_type": "TOPIC",
    "name": "orders",
    "pattern_type": "PREFIXED",
    "principal": "User:ann",
    "host": "*",
    "operation": "READ",
    "permission_type": "ALLOW",
}


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer"), "tidelog up --secure"),
        (ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), "This client may not see ACLs: it needs Describe"),
        (UnsupportedByBroker("the broker is too old"), "This cluster does not tell about ACLs: the broker is too old."),
    ],
)
def test_what_cannot_be_told_has_a_sentence(error: Any, part: str) -> None:
    assert part in (why_not_told("ACLs", "Describe on the cluster", error) or "")


def test_other_failures_are_failures() -> None:
    assert why_not_told("ACLs", "Describe", ApiError(ErrorCode.NOT_CONTROLLER)) is None


def test_an_acl_goes_to_the_page_and_back() -> None:
    acl = acl_from(**FIELDS)
    assert acl_document(acl) == FIELDS
    assert filter_for(acl).matches(acl)
    for field, value in (("name", "order"), ("principal", "User:bob"), ("operation", "WRITE"), ("host", "10.0.0.1")):
        assert not filter_for(acl).matches(acl_from(**{**FIELDS, field: value}))


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
def test_a_word_that_does_not_exist_is_refused_with_those_that_do(field: str) -> None:
    with pytest.raises(ConsoleRefusal, match=rf"the {field.replace('_', ' ')} must be one of ANY, .* but is 'NOPE'"):
        acl_from(**{**FIELDS, field: "NOPE"})


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"operation": "ANY"}, "the operation of an ACL must be one of ALL"),
        ({"pattern_type": "MATCH"}, "the pattern type of an ACL must be one of LITERAL, PREFIXED"),
        ({"principal": "ann"}, "'User:ann'"),
        ({"name": ""}, "the name of the resource is empty"),
        ({"host": ""}, "the host is empty"),
        ({"resource_type": "CLUSTER", "pattern_type": "LITERAL"}, "kafka-cluster"),
    ],
)
def test_an_acl_that_no_broker_would_take_is_refused(change: dict[str, str], part: str) -> None:
    assert part in (refusal_to_create(acl_from(**{**FIELDS, **change})) or "")


def test_an_acl_that_is_all_right_is_not_refused() -> None:
    assert refusal_to_create(acl_from(**FIELDS)) is None


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="planted-secret";'


@pytest.mark.parametrize(
    ("properties", "user"),
    [
        ({}, None),
        ({"sasl.username": "bob", "sasl.jaas.config": JAAS}, "bob"),
        ({"sasl.jaas.config": JAAS}, "ann"),
        ({"sasl.jaas.config": "nonsense"}, None),
        ({"sasl.jaas.config": "Module required;"}, None),
    ],
)
def test_as_whom_the_console_logs_in(properties: dict[str, str], user: str | None) -> None:
    assert own_user(properties) == user


def test_entities_of_quotas_have_words() -> None:
    assert entity_in_words((("client-id", None), ("user", "ann"))) == "the default client-id and user 'ann'"
