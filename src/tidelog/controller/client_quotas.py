"""Decides on AlterClientQuotas (KIP-546). Who may have which quota is in `tidelog.security.quotas.entities`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.controller.decision import Decision, Refusal, error_fields, require_few
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.snapshot import quota_record
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from tidelog.protocol.messages.alter_client_quotas_request import EntryData as AskedEntry
from tidelog.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData
from tidelog.protocol.schema import Message
from tidelog.security.quotas.entities import (
    IP,
    AddressKind,
    QuotaEntity,
    QuotaRefusal,
    address_kind,
    entity_refusal,
    quota_entity,
    unresolvable,
    value_refusal,
)


def alter_client_quotas(
    image: ClusterImage, request: AlterClientQuotasRequest, *, unknown_hosts: Collection[str] = ()
) -> Decision[AlterClientQuotasResponse]:
    """What is refused is refused alone. `unknown_hosts` are those of `named_hosts` that no name server knows.

    Of an entity that comes more than once, the first change is made, and the reply has an error, as in Kafka.
    """
    records: list[Message] = []
    refusals: dict[QuotaEntity, Refusal | None] = {}
    for entry in request.entries:
        entity = _entity(entry)
        changes = {op.key: None if op.remove else op.value for op in entry.ops}
        if entity in refusals:
            refusals[entity] = _refusal("the entity is in the request more than once; only the first change counts")
        elif len(changes) < len(entry.ops):
            refusals[entity] = _refusal("one quota of the entity is in the request more than once")
        else:
            refused = entity_refusal(entity) or _host_refusal(entity, unknown_hosts) or _values_refusal(entity, changes)
            refusals[entity] = None if refused is None else Refusal(code=refused.code, message=refused.message)
            if refused is None:
                records += _records(image, entity, changes)
    require_few(records)
    entries = [
        EntryData(
            **error_fields(refusal), entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        )
        for entity, refusal in refusals.items()
    ]
    return Decision(
        records=() if request.validate_only else tuple(records), reply=AlterClientQuotasResponse(entries=entries)
    )


def named_hosts(request: AlterClientQuotasRequest) -> list[str]:
    """The host names in the request that stand for addresses. Somebody has to ask whether they can be resolved."""
    names = (dict(_entity(entry)).get(IP) for entry in request.entries)
    return list(dict.fromkeys(name for name in names if name and address_kind(name) is AddressKind.HOST_NAME))


def _entity(entry: AskedEntry) -> QuotaEntity:
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)


def _host_refusal(entity: QuotaEntity, unknown_hosts: Collection[str]) -> QuotaRefusal | None:
    host = dict(entity).get(IP)
    return unresolvable(host) if host is not None and host in unknown_hosts else None


def _values_refusal(entity: QuotaEntity, changes: Mapping[str, float | None]) -> QuotaRefusal | None:
    refused = (value_refusal(entity, key, value) for key, value in changes.items() if value is not None)
    return next((each for each in refused if each is not None), None)


def _records(image: ClusterImage, entity: QuotaEntity, changes: Mapping[str, float | None]) -> list[Message]:
    current = image.client_quotas.get(entity, {})
    return [quota_record(entity, key, value) for key, value in changes.items() if current.get(key) != value]


def _refusal(message: str) -> Refusal:
    return Refusal(code=ErrorCode.INVALID_REQUEST, message=message)
