"""Access control, credentials and quotas.

Without an authorizer all requests about ACLs are refused in a reply: `CASES`. `GUARDED` are for nodes that have one,
and on which everybody is a super user. Quotas are given to nobody who is there, or too large to matter.
"""

from __future__ import annotations

from typing import Any

from twin.asking import Case, Step, ask, script, step

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


def created(name: str, *creations: dict[str, Any], **options: Any) -> Case:
    return ask(ApiKey.CREATE_ACLS, name, {"creations": creations}, **options)


# -- credentials ---------------------------------------------------------------------------------------------------


def upsertion(name: str = "twin-{run}", **fields: Any) -> dict[str, Any]:
    given = {"name": name, "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return {**given, **fields}


def deletion(name: str = "twin-{run}", mechanism: int = 1) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism}


def altered(name: str, *deletions: dict[str, Any], upsertions: Any = (), **options: Any) -> Case:
    given = {"deletions": deletions, "upsertions": upsertions}
    return ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, name, given, **options)


def _users(*names: str) -> Step:
    return step(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": [{"name": name} for name in names]})


def _set(*upsertions: dict[str, Any]) -> Step:
    return step(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": [], "upsertions": upsertions})


def _unset(*deletions: dict[str, Any]) -> Step:
    return step(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": deletions, "upsertions": []})


CREDENTIALS: list[Case] = [
    altered("one", upsertions=[upsertion()], varied=True),
    altered("none"),
    altered("of a missing user", deletion(), varied=True),
    altered("twice", upsertions=[upsertion(), upsertion()]),
    altered("two mechanisms of one user", upsertions=[upsertion(), upsertion(mechanism=2)]),
    altered("deleted and set", deletion(), upsertions=[upsertion()]),
    altered("deleted twice", deletion(), deletion()),
    altered("some bad", upsertions=[upsertion("twin-a{run}"), upsertion("twin-b{run}", iterations=1), upsertion("")]),
    altered("too many iterations", upsertions=[upsertion(iterations=16385)]),
    altered("as many iterations as may be", upsertions=[upsertion(iterations=16384)]),
    altered("too few iterations", upsertions=[upsertion(iterations=4095)]),
    script(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        "set, changed and deleted",
        _set(upsertion()),
        _users("twin-{run}"),
        _set(upsertion(iterations=8192)),
        _set(upsertion(mechanism=2)),
        _users("twin-{run}"),
        _unset(deletion()),
        _users("twin-{run}"),
        _unset(deletion()),
        _unset(deletion(mechanism=2), deletion("")),
        _users("twin-{run}"),
    ),
    script(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        "set, then twice in one request",
        _set(upsertion()),
        step(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
            {"deletions": [deletion(), deletion()], "upsertions": [upsertion()]},
        ),
        _users("twin-{run}"),
    ),
    ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "missing", {"users": [{"name": "twin-nobody"}]}, varied=True),
    ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "all", {"users": None}),
    ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "none", {"users": []}),
    ask(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        "three times",
        {"users": [{"name": "twin-nobody"}, {"name": ""}, {"name": "twin-nobody"}, {"name": "twin-nobody"}]},
    ),
]

# -- quotas --------------------------------------------------------------------------------------------------------


def entry(entity: dict[str, str | None], *ops: tuple[str, float | None]) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
    }


def quotas(name: str, *entries: dict[str, Any], validate_only: bool = False, **options: Any) -> Case:
    return ask(ApiKey.ALTER_CLIENT_QUOTAS, name, {"entries": entries, "validate_only": validate_only}, **options)


def _alter(*entries: dict[str, Any], validate_only: bool = False) -> Step:
    return step(ApiKey.ALTER_CLIENT_QUOTAS, {"entries": entries, "validate_only": validate_only})


def _describe(*components: tuple[str, int, str | None], strict: bool = False) -> Step:
    given = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in components]
    return step(ApiKey.DESCRIBE_CLIENT_QUOTAS, {"components": given, "strict": strict})


_PRODUCE, _CONSUME, _REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
_MUTATION, _CONNECTION = "controller_mutation_rate", "connection_creation_rate"
_USER: dict[str, str | None] = {"user": "twin-{run}"}
_BOTH: dict[str, str | None] = {"user": "twin-{run}", "client-id": "twin"}
_LARGE = float(1 << 40)

BAD_ENTRIES = {
    "no entity": entry({}, (_PRODUCE, 5.0)),
    "an unknown type": entry({"group": "g"}, (_PRODUCE, 5.0)),
    "an empty name": entry({"user": ""}, (_PRODUCE, 5.0)),
    "ip and user": entry({"ip": "1.2.3.4", "user": "twin"}, (_CONNECTION, 5.0)),
    "ip and client id": entry({"ip": "1.2.3.4", "client-id": "twin"}, (_CONNECTION, 5.0)),
    "a host that is not there": entry({"ip": "no-such-host.invalid"}, (_CONNECTION, 5.0)),
    "no host": entry({"ip": "a b"}, (_CONNECTION, 5.0)),
    "a quota of clients for an ip": entry({"ip": "1.2.3.4"}, (_PRODUCE, 5.0)),
    "a quota of addresses for a user": entry(_USER, (_CONNECTION, 5.0)),
    "an unknown quota": entry(_USER, ("a_quota", 5.0)),
    "zero": entry(_USER, (_PRODUCE, 0.0)),
    "below zero": entry(_USER, (_REQUEST, -1.0)),
    "a fraction of a byte": entry(_USER, (_CONSUME, 1.5)),
    "too many bytes": entry(_USER, (_PRODUCE, 1e300)),
    "too many connections": entry({"ip": "1.2.3.4"}, (_CONNECTION, 1e10)),
    "one quota twice": entry(_USER, (_PRODUCE, 5.0), (_PRODUCE, 6.0)),
    "set and removed": entry(_USER, (_PRODUCE, 5.0), (_PRODUCE, None)),
    "a good and a bad one": entry(_USER, (_PRODUCE, 5.0), (_CONNECTION, 6.0)),
}
GOOD_ENTRIES = {
    "all of a user": entry(_USER, (_PRODUCE, 5.0), (_CONSUME, 6.0), (_REQUEST, 0.5), (_MUTATION, 0.25)),
    "user and client id": entry(_BOTH, (_PRODUCE, 5.0)),
    "default client id of a user": entry({"user": "twin-{run}", "client-id": None}, (_PRODUCE, 5.0)),
    "an address": entry({"ip": "10.1.2.3"}, (_CONNECTION, 5.0)),
    "an IPv6 address": entry({"ip": "::7"}, (_CONNECTION, 5.0)),
    "a host": entry({"ip": "localhost"}, (_CONNECTION, 100_000.0)),
    "all addresses": entry({"ip": None}, (_CONNECTION, 100_000.0)),
    "all client ids": entry({"client-id": None}, (_PRODUCE, _LARGE)),
    "removed what is not there": entry(_USER, (_PRODUCE, None), ("a_quota", None)),
    "nothing": entry(_USER),
}
QUOTAS: list[Case] = [
    *(quotas(name, each) for name, each in (BAD_ENTRIES | GOOD_ENTRIES).items()),
    *(quotas(f"{name}, tried", each, validate_only=True) for name, each in (BAD_ENTRIES | GOOD_ENTRIES).items()),
    quotas("a user, varied", entry(_USER, (_PRODUCE, 5.0)), validate_only=True, varied=True),
    quotas("a pair, varied", entry(_BOTH, (_REQUEST, 5.0)), validate_only=True, varied=True),
    quotas("an address, varied", entry({"ip": "1.2.3.4"}, (_CONNECTION, 5.0)), validate_only=True, varied=True),
    quotas("no entries"),
    script(
        ApiKey.ALTER_CLIENT_QUOTAS,
        "set, changed and removed",
        _alter(entry(_USER, (_PRODUCE, 5.0)), entry(_BOTH, (_CONSUME, 7.0)), BAD_ENTRIES["no entity"]),
        _describe(("user", 0, "twin-{run}")),
        _alter(entry(_USER, (_PRODUCE, 6.0), (_MUTATION, 1.0)), validate_only=True),
        _describe(("user", 0, "twin-{run}"), strict=True),
        _alter(entry(_USER, (_PRODUCE, 6.0), (_MUTATION, 1.0))),
        _describe(("user", 0, "twin-{run}")),
        _alter(entry(_USER, (_PRODUCE, None), (_MUTATION, None)), entry(_BOTH, (_CONSUME, None))),
        _describe(("user", 0, "twin-{run}")),
    ),
    script(
        ApiKey.ALTER_CLIENT_QUOTAS,
        "an entity twice",
        _alter(entry(_USER, (_PRODUCE, 5.0)), entry(_USER, (_PRODUCE, 6.0)), entry(_USER, (_CONSUME, 7.0))),
        _describe(("user", 0, "twin-{run}")),
    ),
    *(
        ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, name, dict(_describe(*components, strict=strict).given))
        for name, components, strict in (
            ("all", (), False),
            ("all, strict", (), True),
            ("default client id", (("client-id", 1, None),), False),
            ("any user", (("user", 2, None),), False),
            ("any user alone", (("user", 2, None),), True),
            ("any address", (("ip", 2, None),), False),
            ("address and user", (("ip", 2, None), ("user", 2, None)), False),
            ("an unknown type", (("group", 2, None),), False),
            ("no type", (("", 2, None),), False),
            ("a type twice", (("user", 2, None), ("user", 0, "twin")), False),
            ("an unknown match", (("user", 3, None),), False),
            ("exactly nobody", (("user", 0, None),), False),
            ("a default with a name", (("user", 1, "twin"),), False),
            ("any with a name", (("user", 2, "twin"),), False),
        )
    ),
    ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, "varied", dict(_describe(("user", 0, "twin")).given), varied=True),
]

# -- access control ------------------------------------------------------------------------------------------------

CASES: list[Case] = [
    ask(ApiKey.DESCRIBE_ACLS, "all", acl_filter(), varied=True),
    ask(ApiKey.DESCRIBE_ACLS, "of a topic", acl_filter(resource_type_filter=2, resource_name_filter="twin")),
    created("one", creation(), varied=True),
    created("two", creation(), creation(resource_name="other")),
    created("a bad principal", creation(principal="nobody")),
    created("none"),
    ask(ApiKey.DELETE_ACLS, "all", {"filters": [acl_filter()]}, varied=True),
    ask(ApiKey.DELETE_ACLS, "two", {"filters": [acl_filter(), acl_filter(resource_type_filter=2)]}),
    ask(ApiKey.DELETE_ACLS, "none", {"filters": []}),
    # On a listener that asks nobody who it is.
    ask(ApiKey.SASL_HANDSHAKE, "a mechanism", {"mechanism": "PLAIN"}, varied=True),
    ask(ApiKey.SASL_AUTHENTICATE, "a token", {"auth_bytes": b"\0twin\0twin"}, varied=True),
    *CREDENTIALS,
    *QUOTAS,
]


def _create(*creations: dict[str, Any]) -> Step:
    return step(ApiKey.CREATE_ACLS, {"creations": creations})


def _list(**fields: Any) -> Step:
    return step(ApiKey.DESCRIBE_ACLS, acl_filter(**fields))


def _delete(*filters: dict[str, Any]) -> Step:
    return step(ApiKey.DELETE_ACLS, {"filters": filters})


_MINE = "twin-{run}"
_SEVERAL = (
    creation(resource_name=_MINE),
    creation(resource_name=_MINE, operation=4, principal="User:other"),
    creation(resource_name=_MINE, resource_pattern_type=4, permission_type=2, host="1.2.3.4"),
    creation(resource_name="*", operation=8),
    creation(resource_type=3, resource_name=_MINE, operation=2),
    creation(resource_type=4, resource_name="kafka-cluster", operation=12),
    creation(resource_type=5, resource_name=_MINE, operation=4),
    creation(resource_type=6, resource_name=_MINE, operation=8),
    creation(resource_type=7, resource_name="User:{run}", operation=13),
)

GUARDED: list[Case] = [
    created("one", creation(resource_name=_MINE), varied=True),
    created("a prefix", creation(resource_name=_MINE, resource_pattern_type=4), varied=True),
    created("none"),
    created("the cluster by another name", creation(resource_type=4, resource_name="twin"), creation()),
    created("no name", creation(resource_name=""), creation()),
    created("a bad principal", creation(principal="nobody")),
    created("the same twice", creation(resource_name=_MINE), creation(resource_name=_MINE)),
    created("what has no effect", creation(resource_name=_MINE, operation=9)),
    script(
        ApiKey.CREATE_ACLS,
        "several, created twice, listed and deleted",
        _create(*_SEVERAL),
        _create(*_SEVERAL),
        _list(resource_name_filter=_MINE),
        _list(resource_name_filter=_MINE, pattern_type_filter=2),
        _list(resource_name_filter=f"{_MINE}-longer", pattern_type_filter=2),
        _list(resource_name_filter=_MINE, pattern_type_filter=3, resource_type_filter=2),
        _list(resource_name_filter=_MINE, pattern_type_filter=4),
        _list(resource_name_filter=_MINE, principal_filter="User:other"),
        _list(resource_name_filter=_MINE, host_filter="1.2.3.4"),
        _list(resource_name_filter=_MINE, operation=2),
        _list(resource_name_filter=_MINE, permission_type=2),
        _delete(
            acl_filter(resource_name_filter=_MINE, operation=3),
            acl_filter(resource_name_filter=_MINE, resource_type_filter=2),
            acl_filter(resource_name_filter=_MINE, operation=99),
            acl_filter(resource_name_filter="twin-nothing"),
        ),
        _list(resource_name_filter=_MINE),
        _delete(acl_filter(resource_name_filter=_MINE)),
        _list(resource_name_filter=_MINE),
    ),
    ask(ApiKey.DESCRIBE_ACLS, "all", acl_filter(), varied=True),
    ask(ApiKey.DESCRIBE_ACLS, "of a topic", acl_filter(resource_type_filter=2, resource_name_filter="twin")),
    ask(ApiKey.DELETE_ACLS, "nothing", {"filters": [acl_filter(resource_name_filter="twin-nothing")]}, varied=True),
    ask(ApiKey.DELETE_ACLS, "none", {"filters": []}),
    script(
        ApiKey.CREATE_ACLS,
        "more than one request may create or delete",
        _create(*(creation(resource_name=f"many-{number}") for number in range(10_001))),
        _list(resource_name_filter="many-0"),
        _create(*(creation(resource_name=f"many-{number}") for number in range(10_000))),
        _create(creation(resource_name="many-10000")),
        _delete(acl_filter(), acl_filter(resource_name_filter="many-1")),
        _list(resource_name_filter="many-1"),
        _delete(acl_filter(resource_name_filter="many-1")),
        versions=(3, 3),
    ),
]
