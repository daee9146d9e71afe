"""All quotas of the cluster, as one immutable value that follows the metadata log.

Each change gives a new book; who reads the old one goes on reading it. What a new book shares with the old one is not
copied. Which quota applies to whom is decided in `entities.py`, and what has been used is counted in `usage.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord
from tidelog.security.quotas.entities import (
    CLIENT_ID,
    CLIENT_KEYS,
    IP,
    USER,
    ClientLimits,
    QuotaEntity,
    QuotaFilter,
    QuotaKey,
    canonical_address,
    quota_entity,
)

_NO_LIMITS: Mapping[QuotaKey, ClientLimits] = {key: ClientLimits() for key in CLIENT_KEYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChange:
    """One quota of one entity; None where there is none."""

    entity: QuotaEntity
    key: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRates:
    """How many connections per second each IP address may open (KIP-612). Fractions are cut off, as in Kafka."""

    rates: Mapping[str, int] = field(default_factory=dict)
    default: int | None = None
    # Names that somebody has to resolve before their quotas take effect.
    host_names: Mapping[str, int] = field(default_factory=dict)

    def of(self, address: str) -> int | None:
        """The quota of an address that is written canonically."""
        return self.rates.get(address, self.default)

    def resolved(self, addresses: Mapping[str, str]) -> AddressRates:
        """With the addresses of host names. An address that has a quota of its own keeps it."""
        found = {
            address: rate
            for name, rate in self.host_names.items()
            if (address := canonical_address(addresses.get(name, ""))) is not None
        }
        return AddressRates(rates={**found, **self.rates}, default=self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaBook:
    """`quotas` is what the log says, with everything that has no effect; the rest is derived from it."""

    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    limits: Mapping[QuotaKey, ClientLimits] = field(default_factory=lambda: _NO_LIMITS)
    addresses: AddressRates = AddressRates()

    def replay(self, records: Iterable[ClientQuotaRecord]) -> QuotaBook:
        """The book after these records. It costs the least if records of one batch come together."""
        quotas = dict(self.quotas)
        touched: dict[tuple[QuotaEntity, str], None] = {}
        for record in records:
            entity = quota_entity((part.entity_type, part.entity_name) for part in record.entity)
            own = dict(quotas.get(entity, {}))
            if record.remove:
                own.pop(record.key, None)
            else:
                own[record.key] = record.value
            if own:
                quotas[entity] = own
            else:
                quotas.pop(entity, None)
            touched[entity, record.key] = None
        return self._derived(quotas, touched)

    def adopt(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> QuotaBook:
        """The book of the quotas that a `ClusterImage` has."""
        changes = _differences(self.quotas, quotas)
        return self._derived(quotas, {(change.entity, change.key): None for change in changes})

    def limit(self, key: QuotaKey, user: str, client_id: str) -> float | None:
        """The quota that applies to a client, or None. On the hot path, `usage.py` asks the limits itself."""
        limits = self.limits[key]
        return limits.limit_of(limits.counted_for(user, client_id))

    def matching(self, wanted: QuotaFilter) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
        """What DescribeClientQuotas returns, in the order in which the entities got their first quota."""
        return ((entity, quotas) for entity, quotas in self.quotas.items() if wanted.matches(entity))

    def changes_since(self, before: QuotaBook) -> tuple[QuotaChange, ...]:
        """What has changed for whom."""
        return tuple(_differences(before.quotas, self.quotas))

    def without_effect(self) -> Iterator[tuple[QuotaEntity, str]]:
        """Quotas that nobody enforces: of types or with keys that are unknown here, perhaps from a later version."""
        for entity, quotas in self.quotas.items():
            yield from ((entity, key) for key in quotas if not _has_effect(entity, key))

    def _derived(
        self, quotas: Mapping[QuotaEntity, Mapping[str, float]], touched: Iterable[tuple[QuotaEntity, str]]
    ) -> QuotaBook:
        by_key: dict[str, dict[QuotaEntity, float | None]] = {}
        for entity, key in touched:
            if _has_effect(entity, key):
                by_key.setdefault(key, {})[entity] = quotas.get(entity, {}).get(key)
        limits = dict(self.limits)
        for key in CLIENT_KEYS:
            if key in by_key:
                limits[key] = limits[key].changed(by_key[key])
        addresses = self.addresses
        if QuotaKey.CONNECTION_CREATION_RATE in by_key:
            addresses = _address_rates(quotas)
        return QuotaBook(quotas=quotas, limits=limits, addresses=addresses)


def _has_effect(entity: QuotaEntity, key: str) -> bool:
    names = dict(entity)
    if IP in names:
        return key == QuotaKey.CONNECTION_CREATION_RATE
    return key in CLIENT_KEYS and (USER in names or CLIENT_ID in names)


def _address_rates(quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> AddressRates:
    rates: dict[str, int] = {}
    host_names: dict[str, int] = {}
    default: int | None = None
    for entity, own in quotas.items():
        rate = own.get(QuotaKey.CONNECTION_CREATION_RATE)
        names = dict(entity)
        if rate is None or IP not in names:
            continue
        name = names[IP]
        if name is None:
            default = int(rate)
        elif (address := canonical_address(name)) is not None:
            rates[address] = int(rate)
        else:
            host_names[name] = int(rate)
    return AddressRates(rates=rates, default=default, host_names=host_names)


def _differences(
    before: Mapping[QuotaEntity, Mapping[str, float]], after: Mapping[QuotaEntity, Mapping[str, float]]
) -> Iterator[QuotaChange]:
    # Sets would do for the union, but their order differs from process to process.
    for entity in {**before, **after}:
        old, new = before.get(entity, {}), after.get(entity, {})
        # Most entities share their quotas with the book before.
        if old is new:
            continue
        for key in {**old, **new}:
            if old.get(key) != new.get(key):
                yield QuotaChange(entity=entity, key=key, before=old.get(key), after=new.get(key))
