"""Which quota applies to a client, for whom its usage is counted, what may be set, and what a filter finds."""

from __future__ import annotations

import itertools
import math

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.security.quotas.entities import (
    CLIENT_KEYS,
    AddressKind,
    ClientLimits,
    QuotaEntity,
    QuotaFilter,
    QuotaKey,
    QuotaMatch,
    QuotaRefusal,
    address_kind,
    canonical_address,
    entity_refusal,
    quota_entity,
    quota_filter,
    value_refusal,
)

# In the order in which they take precedence, with those for whom usage is counted then.
LEVELS: list[tuple[QuotaEntity, tuple[str, str]]] = [
    ((("client-id", "app"), ("user", "alice")), ("alice", "app")),
    ((("client-id", None), ("user", "alice")), ("alice", "app")),
    ((("user", "alice"),), ("alice", "")),
    ((("client-id", "app"), ("user", None)), ("alice", "app")),
    ((("client-id", None), ("user", None)), ("alice", "app")),
    ((("user", None),), ("alice", "")),
    ((("client-id", "app"),), ("", "app")),
    ((("client-id", None),), ("", "app")),
]


@pytest.mark.parametrize("chosen", range(1, 1 << len(LEVELS)))
def test_the_first_level_that_has_a_quota_applies(chosen: int) -> None:
    levels = [number for number in range(len(LEVELS)) if chosen & 1 << number]
    limits = ClientLimits().changed({LEVELS[number][0]: 100.0 + number for number in levels})
    counted = limits.counted_for("alice", "app")
    assert counted == LEVELS[levels[0]][1]
    assert limits.limit_of(counted) == 100.0 + levels[0]
    # The quotas of others make no difference.
    others = {
        quota_entity(parts): 7.0
        for parts in ([("user", "bob")], [("user", "bob"), ("client-id", "app")], [("client-id", "other")])
    }
    with_others = limits.changed(others)
    assert with_others.limit_of(with_others.counted_for("alice", "app")) == 100.0 + levels[0]


def test_without_quotas_nothing_applies() -> None:
    limits = ClientLimits()
    assert not limits
    assert limits.limit_of(limits.counted_for("alice", "app")) is None


def test_a_default_applies_to_each_on_its_own() -> None:
    limits = ClientLimits().changed({quota_entity([("user", None)]): 5.0})
    assert limits.counted_for("alice", "app") == ("alice", "")
    assert limits.counted_for("bob", "app") == ("bob", "")
    assert limits.limit_of(("bob", "")) == 5.0


def test_a_quota_that_is_removed_leaves_the_next_level() -> None:
    own, default = quota_entity([("user", "alice")]), quota_entity([("user", None)])
    limits = ClientLimits().changed({own: 1.0, default: 2.0})
    removed = limits.changed({own: None})
    assert removed.limit_of(("alice", "")) == 2.0
    # The old value is as it was.
    assert limits.limit_of(("alice", "")) == 1.0
    assert not removed.changed({default: None})


def test_a_client_without_client_id_has_the_quota_of_its_user_or_none() -> None:
    pair = quota_entity([("user", "alice"), ("client-id", None)])
    limits = ClientLimits().changed({pair: 1.0})
    assert limits.limit_of(limits.counted_for("alice", "")) is None
    limits = limits.changed({quota_entity([("user", "alice")]): 2.0})
    assert limits.limit_of(limits.counted_for("alice", "")) == 2.0
    limits = ClientLimits().changed({quota_entity([("client-id", None)]): 3.0})
    assert limits.limit_of(limits.counted_for("alice", "")) is None


def test_a_client_id_that_looks_like_the_default_is_an_ordinary_one() -> None:
    limits = ClientLimits().changed({quota_entity([("client-id", "<default>")]): 3.0})
    assert limits.limit_of(limits.counted_for("alice", "app")) is None
    assert limits.limit_of(limits.counted_for("alice", "<default>")) == 3.0


# -- what may be set ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([], "the entity is empty"),
        ([("group", "g")], "'group' is not a type of quota entities; use user, client-id or ip"),
        ([("user", "")], "the name of the user is empty; use the null name for the default user"),
        ([("user", "a"), ("client-id", "")], "the name of the client-id is empty"),
        ([("ip", "10.0.0.1"), ("user", "a")], "an ip cannot be combined"),
        ([("ip", None), ("client-id", None)], "an ip cannot be combined"),
        ([("ip", "not a host")], "'not a host' is neither an IP address nor a host name"),
        ([("ip", "256.0.0.1")], "'256.0.0.1' is neither"),
        ([("ip", "10.1")], "'10.1' is neither"),
    ],
)
def test_an_entity_that_cannot_have_quotas_is_refused(parts: list[tuple[str, str | None]], problem: str) -> None:
    refusal = entity_refusal(quota_entity(parts))
    assert refusal is not None
    assert refusal.code is ErrorCode.INVALID_REQUEST
    assert problem in refusal.message


@pytest.mark.parametrize(
    "parts",
    [
        [("user", None)],
        [("user", "a"), ("client-id", None)],
        [("client-id", "x y")],
        [("ip", None)],
        [("ip", "::1")],
        [("ip", "host.example")],
    ],
)
def test_an_entity_that_can_have_quotas_is_accepted(parts: list[tuple[str, str | None]]) -> None:
    assert entity_refusal(quota_entity(parts)) is None


def test_of_a_type_that_is_there_twice_the_last_counts() -> None:
    assert quota_entity([("user", "a"), ("client-id", "x"), ("user", "b")]) == (("client-id", "x"), ("user", "b"))


USER_ENTITY = quota_entity([("user", "a")])
IP_ENTITY = quota_entity([("ip", None)])


@pytest.mark.parametrize(
    ("entity", "key", "value", "problem"),
    [
        (USER_ENTITY, "speed", 1.0, "'speed' is not a quota of this entity; it may have producer_byte_rate, consumer"),
        (USER_ENTITY, "connection_creation_rate", 1.0, "is not a quota of this entity"),
        (IP_ENTITY, "producer_byte_rate", 1.0, "it may have connection_creation_rate"),
        (USER_ENTITY, "producer_byte_rate", 0.0, "producer_byte_rate is 0.0, but must be greater than 0"),
        (USER_ENTITY, "request_percentage", -3.5, "request_percentage is -3.5, but must be greater than 0"),
        (USER_ENTITY, "request_percentage", math.nan, "request_percentage is not a number"),
        (USER_ENTITY, "producer_byte_rate", 1048576.5, "producer_byte_rate is 1048576.5, but must be a whole number"),
        (USER_ENTITY, "consumer_byte_rate", 1e19, "must be at most 9223372036854775808"),
        (IP_ENTITY, "connection_creation_rate", 2147483648.0, "must be at most 2147483647"),
        (IP_ENTITY, "connection_creation_rate", 0.5, "must be a whole number"),
    ],
)
def test_a_quota_that_cannot_be_set_is_refused_with_the_reason(
    entity: QuotaEntity, key: str, value: float, problem: str
) -> None:
    refusal = value_refusal(entity, key, value)
    assert refusal is not None
    assert refusal.code is ErrorCode.INVALID_REQUEST
    assert problem in refusal.message


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        *((USER_ENTITY, key, 1.0) for key in CLIENT_KEYS),
        (USER_ENTITY, "request_percentage", 0.01),
        (USER_ENTITY, "controller_mutation_rate", 1.5),
        (USER_ENTITY, "request_percentage", math.inf),
        # Nobody can write this number, so being so close to one is near enough.
        (USER_ENTITY, "producer_byte_rate", 1.0000001),
        (IP_ENTITY, "connection_creation_rate", 2147483647.0),
    ],
)
def test_a_quota_that_can_be_set_is_accepted(entity: QuotaEntity, key: str, value: float) -> None:
    assert value_refusal(entity, key, value) is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("[2001:DB8:0::7]", "2001:db8::7"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("host", None),
        ("10.1", None),
        ("", None),
    ],
)
def test_an_address_is_written_in_one_way(text: str, canonical: str | None) -> None:
    assert canonical_address(text) == canonical


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("10.0.0.1", AddressKind.ADDRESS),
        ("broker-1.example", AddressKind.HOST_NAME),
        ("localhost", AddressKind.HOST_NAME),
        ("my_host.", AddressKind.HOST_NAME),
        ("1.2.3", AddressKind.NEITHER),
        ("-x", AddressKind.NEITHER),
        ("a..b", AddressKind.NEITHER),
        ("a b", AddressKind.NEITHER),
        ("a" * 64, AddressKind.NEITHER),
        ("", AddressKind.NEITHER),
    ],
)
def test_addresses_host_names_and_neither(text: str, kind: AddressKind) -> None:
    assert address_kind(text) is kind


# -- filters -----------------------------------------------------------------------------------------------------------

ENTITIES = [
    quota_entity(parts)
    for parts in itertools.chain(
        [[("user", name)] for name in ("a", "b", None)],
        [[("client-id", name)] for name in ("x", None)],
        [[("user", user), ("client-id", client)] for user in ("a", None) for client in ("x", None)],
        [[("ip", name)] for name in ("10.0.0.1", None)],
    )
]


def found(components: list[tuple[str, int, str | None]], *, strict: bool) -> list[str]:
    wanted = quota_filter(components, strict=strict)
    assert isinstance(wanted, QuotaFilter)
    matching = (entity for entity in ENTITIES if wanted.matches(entity))
    return [" ".join(f"{kind}={name}" for kind, name in entity) for entity in matching]


def test_an_open_filter_allows_other_types() -> None:
    assert found([("user", QuotaMatch.EXACT, "a")], strict=False) == [
        "user=a",
        "client-id=x user=a",
        "client-id=None user=a",
    ]
    assert found([("user", QuotaMatch.DEFAULT, None)], strict=False) == [
        "user=None",
        "client-id=x user=None",
        "client-id=None user=None",
    ]
    assert len(found([("client-id", QuotaMatch.ANY, None)], strict=False)) == 6
    assert len(found([], strict=False)) == len(ENTITIES)


def test_a_strict_filter_does_not() -> None:
    assert found([("user", QuotaMatch.EXACT, "a")], strict=True) == ["user=a"]
    assert found([("user", QuotaMatch.ANY, None)], strict=True) == ["user=a", "user=b", "user=None"]
    both: list[tuple[str, int, str | None]] = [
        ("user", QuotaMatch.ANY, None),
        ("client-id", QuotaMatch.DEFAULT, None),
    ]
    assert found(both, strict=True) == ["client-id=None user=a", "client-id=None user=None"]
    assert found([("ip", QuotaMatch.EXACT, "10.0.0.1")], strict=True) == ["ip=10.0.0.1"]
    assert found([], strict=True) == []


@pytest.mark.parametrize(
    ("components", "code", "problem"),
    [
        ([("", 0, "a")], ErrorCode.INVALID_REQUEST, "has no type"),
        ([("group", 0, "a")], ErrorCode.UNSUPPORTED_VERSION, "'group' is not a type"),
        ([("user", 0, None)], ErrorCode.INVALID_REQUEST, "an exact match of user needs a name"),
        ([("user", 1, "a")], ErrorCode.INVALID_REQUEST, "only an exact match has a name"),
        ([("user", 2, "a")], ErrorCode.INVALID_REQUEST, "only an exact match has a name"),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST, "3 is not a kind of match"),
        ([("user", 0, "a"), ("user", 2, None)], ErrorCode.INVALID_REQUEST, "user is in the filter more than once"),
        ([("user", 0, "a"), ("ip", 2, None)], ErrorCode.INVALID_REQUEST, "a filter for ip cannot ask for user"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    components: list[tuple[str, int, str | None]], code: ErrorCode, problem: str
) -> None:
    refusal = quota_filter(components, strict=False)
    assert isinstance(refusal, QuotaRefusal)
    assert refusal.code is code
    assert problem in refusal.message


def test_keys_of_clients_and_of_addresses_are_all_keys() -> None:
    assert {*CLIENT_KEYS, QuotaKey.CONNECTION_CREATION_RATE} == set(QuotaKey)
