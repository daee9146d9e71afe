"""Who can have a quota, which one applies to a client, and for whom its usage is counted (KIP-55, KIP-546, KIP-612).

A quota belongs to an entity: a user, a client id, both together, or an IP address; each of them by name or as the
default for all that have none of their own. For a client, the first of these that has a quota applies:

    1  user and client id              5  default user and default client id
    2  user and default client id      6  default user
    3  user                            7  client id
    4  default user and client id      8  default client id

Here are also the checks of AlterClientQuotas and the filters of DescribeClientQuotas. All quotas together are in
`book.py`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum, IntEnum, StrEnum
from typing import TypeVar

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

_MAX_INT = (1 << 31) - 1
# As a floating-point number, which is what quotas are: 2**63.
_MAX_LONG = float((1 << 63) - 1)
# A quota in whole numbers may be this far from one.
_FRACTION = 1e-6

# Pairs of type and name, in the order of the types; a name of None is the default.
QuotaEntity = tuple[tuple[str, str | None], ...]

# For whom usage is counted: a user and a client id. An empty name means that it is counted for all of them together.
Counted = tuple[str, str]

_K = TypeVar("_K")


class QuotaKey(StrEnum):
    PRODUCER_BYTE_RATE = "producer_byte_rate"
    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    REQUEST_PERCENTAGE = "request_percentage"
    CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
    CONNECTION_CREATION_RATE = "connection_creation_rate"


# Those of users and client ids. An IP address has only the other one.
CLIENT_KEYS = (
    QuotaKey.PRODUCER_BYTE_RATE,
    QuotaKey.CONSUMER_BYTE_RATE,
    QuotaKey.REQUEST_PERCENTAGE,
    QuotaKey.CONTROLLER_MUTATION_RATE,
)
_IP_KEYS = (QuotaKey.CONNECTION_CREATION_RATE,)

# The greatest value of the quotas in whole numbers. The others may be fractions.
_WHOLE: Mapping[str, float] = {
    QuotaKey.PRODUCER_BYTE_RATE: _MAX_LONG,
    QuotaKey.CONSUMER_BYTE_RATE: _MAX_LONG,
    QuotaKey.CONNECTION_CREATION_RATE: float(_MAX_INT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRefusal:
    """Why a quota is not set, or a filter not answered."""

    message: str
    code: ErrorCode = ErrorCode.INVALID_REQUEST


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """From pairs of type and name, None for the default. If a type is there twice, the last one counts, as in Kafka."""
    return tuple(sorted(dict(parts).items(), key=lambda part: part[0]))


# -- which quota applies -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """The quotas of one key, by user and client id, by user, and by client id. None stands for the default."""

    pairs: Mapping[tuple[str | None, str | None], float] = field(default_factory=dict)
    users: Mapping[str | None, float] = field(default_factory=dict)
    client_ids: Mapping[str | None, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anybody has a quota. If not, nothing is counted."""
        return bool(self.pairs or self.users or self.client_ids)

    def changed(self, changes: Mapping[QuotaEntity, float | None]) -> ClientLimits:
        """With other quotas for these entities; None removes one."""
        pairs, users, client_ids = dict(self.pairs), dict(self.users), dict(self.client_ids)
        for entity, value in changes.items():
            names = dict(entity)
            if USER in names and CLIENT_ID in names:
                _set(pairs, (names[USER], names[CLIENT_ID]), value)
            elif USER in names:
                _set(users, names[USER], value)
            elif CLIENT_ID in names:
                _set(client_ids, names[CLIENT_ID], value)
        return ClientLimits(pairs=pairs, users=users, client_ids=client_ids)

    def counted_for(self, user: str, client_id: str) -> Counted:
        """Whose usage a client adds to. It is that of the level at which the quota was found.

        A quota for a user is shared by all its client ids; one for client ids by all users. A default is not shared: it
        applies to each user, each client id, or each pair on its own.
        """
        pairs, users = self.pairs, self.users
        # With quotas at one level only, nothing has to be searched.
        if not pairs:
            if not users:
                return "", client_id
            if not self.client_ids:
                return user, ""
        elif not users and not self.client_ids:
            return user, client_id
        if pairs and ((user, client_id) in pairs or (user, None) in pairs):
            return user, client_id
        if user in users:
            return user, ""
        if pairs and ((None, client_id) in pairs or (None, None) in pairs):
            return user, client_id
        if None in users:
            return user, ""
        return "", client_id

    def limit_of(self, counted: Counted) -> float | None:
        """The quota of those whose usage is counted together, or None.

        A client that sends no client id, or an empty one, is counted for its user alone. So it has the user's quota,
        or none: quotas for client ids, defaults included, do not apply to it. Kafka has the same gap.
        """
        user, client_id = counted
        if user and client_id:
            for pair in ((user, client_id), (user, None), (None, client_id), (None, None)):
                limit = self.pairs.get(pair)
                if limit is not None:
                    return limit
            return None
        if user:
            limit = self.users.get(user)
            return self.users.get(None) if limit is None else limit
        if client_id:
            limit = self.client_ids.get(client_id)
            return self.client_ids.get(None) if limit is None else limit
        return None


def _set(table: dict[_K, float], key: _K, value: float | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


# -- what AlterClientQuotas may set ------------------------------------------------------------------------------------


class AddressKind(Enum):
    ADDRESS = "address"
    # Whether it can be resolved is for the caller to find out.
    HOST_NAME = "host name"
    NEITHER = "neither"


_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*\.?")
_NUMBERS = re.compile(r"[0-9.]+")


def canonical_address(text: str) -> str | None:
    """One way of writing for each IP address, None if it is none.

    An IPv4 address inside an IPv6 one is that IPv4 address, and the zone of an IPv6 address does not count: Java
    compares addresses so.
    """
    try:
        address = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(address if mapped is None else mapped)


def address_kind(text: str) -> AddressKind:
    if canonical_address(text) is not None:
        return AddressKind.ADDRESS
    # 10.1 is not taken for 10.0.0.1, as Java does, nor asked of a name server.
    if _NUMBERS.fullmatch(text) is None and _HOST_NAME.fullmatch(text) is not None:
        return AddressKind.HOST_NAME
    return AddressKind.NEITHER


def entity_refusal(entity: QuotaEntity) -> QuotaRefusal | None:
    """What is wrong with an entity. Whether the host name of an IP entity can be resolved is not checked here."""
    if not entity:
        return QuotaRefusal(message="the entity is empty; name a user, a client-id, both, or an ip")
    names = dict(entity)
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            return QuotaRefusal(message=f"{kind!r} is not a type of quota entities; use user, client-id or ip")
        if name == "":
            return QuotaRefusal(message=f"the name of the {kind} is empty; use the null name for the default {kind}")
    if IP not in names:
        return None
    if len(names) > 1:
        return QuotaRefusal(message="an ip cannot be combined with a user or a client-id; set their quotas one by one")
    address = names[IP]
    if address is not None and address_kind(address) is AddressKind.NEITHER:
        return unresolvable(address)
    return None


def unresolvable(name: str) -> QuotaRefusal:
    """Also for whoever has asked a name server in vain."""
    return QuotaRefusal(message=f"{name!r} is neither an IP address nor a host name that can be resolved")


def value_refusal(entity: QuotaEntity, key: str, value: float) -> QuotaRefusal | None:
    """What is wrong with a quota of a valid entity. Removing one needs no check: what is not there is not removed."""
    keys = _IP_KEYS if IP in dict(entity) else CLIENT_KEYS
    if key not in keys:
        return QuotaRefusal(message=f"{key!r} is not a quota of this entity; it may have {', '.join(keys)}")
    # Kafka accepts it, and then throttles every request, for 0 ms.
    if value != value:
        return QuotaRefusal(message=f"{key} is not a number; give one that is greater than 0")
    if value <= 0:
        return QuotaRefusal(
            message=f"{key} is {value}, but must be greater than 0; remove the quota if there should be none"
        )
    largest = _WHOLE.get(key)
    if largest is None:
        return None
    if value > largest:
        return QuotaRefusal(message=f"{key} is {value}, but must be at most {int(largest)}")
    if value % 1.0 > _FRACTION:
        return QuotaRefusal(message=f"{key} is {value}, but must be a whole number")
    return None


# -- what DescribeClientQuotas asks for --------------------------------------------------------------------------------


class QuotaMatch(IntEnum):
    """By the numbers of the protocol."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFilter:
    """Entities that have these types: some with a certain name (None for the default), some with any."""

    names: Mapping[str, str | None]
    types: frozenset[str]
    # Whether the entity may have no other types.
    strict: bool

    def matches(self, entity: QuotaEntity) -> bool:
        parts = dict(entity)
        if self.strict and len(parts) != len(self.names) + len(self.types):
            return False
        if not self.types <= parts.keys():
            return False
        return all(kind in parts and parts[kind] == name for kind, name in self.names.items())


def quota_filter(components: Iterable[tuple[str, int, str | None]], *, strict: bool) -> QuotaFilter | QuotaRefusal:
    """From the type, the kind of match and the name of each component. Without components everything matches,
    unless the filter is strict: no entity is without types."""
    names: dict[str, str | None] = {}
    types: set[str] = set()
    for kind, match, name in components:
        refusal = _component_refusal(kind, match, name)
        if refusal is not None:
            return refusal
        if kind in names or kind in types:
            return QuotaRefusal(message=f"the type {kind} is in the filter more than once")
        if match == QuotaMatch.ANY:
            types.add(kind)
        else:
            names[kind] = name
    asked = names.keys() | types
    if IP in asked and len(asked) > 1:
        return QuotaRefusal(message="a filter for ip cannot ask for user or client-id as well; send two requests")
    return QuotaFilter(names=names, types=frozenset(types), strict=strict)


def _component_refusal(kind: str, match: int, name: str | None) -> QuotaRefusal | None:
    if not kind:
        return QuotaRefusal(message="a component of the filter has no type; use user, client-id or ip")
    if kind not in (USER, CLIENT_ID, IP):
        return QuotaRefusal(
            code=ErrorCode.UNSUPPORTED_VERSION,
            message=f"{kind!r} is not a type of quota entities; use user, client-id or ip",
        )
    if match not in (QuotaMatch.EXACT, QuotaMatch.DEFAULT, QuotaMatch.ANY):
        return QuotaRefusal(message=f"{match} is not a kind of match; use 0 (exact), 1 (default) or 2 (any)")
    if match == QuotaMatch.EXACT and name is None:
        return QuotaRefusal(message=f"an exact match of {kind} needs a name; use the kind 1 for the default")
    if match != QuotaMatch.EXACT and name is not None:
        return QuotaRefusal(message=f"only an exact match has a name, but {kind} has the kind {match} and {name!r}")
    return None
