"""Access control. Neither side has an authorizer, so all of it is refused in a reply."""

from __future__ import annotations

from typing import Any

from twin.asking import Case, ask

from tidelog.protocol.messages import ApiKey


def acl_filter(**fields: Any) -> dict[str, Any]:
    return {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
        **fields,
    }


def creation(**fields: Any) -> dict[str, Any]:
    return {
        "resource_type": 2,
        "resource_name": "twin",
        "resource_pattern_type": 3,
        "principal": "User:twin",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
        **fields,
    }


CASES: list[Case] = [
    ask(ApiKey.DESCRIBE_ACLS, "all", acl_filter(), varied=True),
    ask(ApiKey.DESCRIBE_ACLS, "of a topic", acl_filter(resource_type_filter=2, resource_name_filter="twin")),
    ask(ApiKey.CREATE_ACLS, "one", {"creations": [creation()]}, varied=True),
    ask(ApiKey.CREATE_ACLS, "two", {"creations": [creation(), creation(resource_name="other")]}),
    ask(ApiKey.CREATE_ACLS, "a bad principal", {"creations": [creation(principal="nobody")]}),
    ask(ApiKey.CREATE_ACLS, "none", {"creations": []}),
    ask(ApiKey.DELETE_ACLS, "all", {"filters": [acl_filter()]}, varied=True),
    ask(ApiKey.DELETE_ACLS, "two", {"filters": [acl_filter(), acl_filter(resource_type_filter=2)]}),
    ask(ApiKey.DELETE_ACLS, "none", {"filters": []}),
]
