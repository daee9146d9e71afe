"""Quotas of users, client ids and addresses: describe and alter (KIP-546, KIP-612)."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import ask_for_each
from tidelog.client.errors import outcome, raise_for_code
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tidelog.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from tidelog.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from tidelog.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from tidelog.security.quotas.entities import QuotaEntity, QuotaMatch, quota_entity


class QuotaAdmin:
    _cluster: Cluster

    async def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[QuotaEntity, ApiError | None]:
        """Set these quotas, or remove those whose value is None. An entity is made by `quota_entity`:

            {quota_entity({"user": "ann"}.items()): {"producer_byte_rate": 1_000_000}}

        The types are user, client-id and ip; the name None stands for all that have no quota of their own.
        """
        wanted = {quota_entity(entity): changes for entity, changes in alterations.items()}

        async def ask(left: list[QuotaEntity]) -> Mapping[QuotaEntity, ApiError | None]:
            request = AlterClientQuotasRequest(
                entries=[_entry(entity, wanted[entity]) for entity in left], validate_only=validate_only
            )
            reply = await self._cluster.ask_controller(request, AlterClientQuotasResponse)
            return {
                quota_entity((part.entity_type, part.entity_name) for part in entry.entity): outcome(
                    entry.error_code, entry.error_message, None
                )
                for entry in reply.entries
            }

        return await ask_for_each(self._cluster, "altering quotas", wanted, ask, timeout_ms=timeout_ms)

    async def describe_client_quotas(
        self,
        selected: Mapping[str, str | QuotaMatch] | None = None,
        *,
        strict: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of all entities, or of those that have these types.

        Each type is given with a name, or with QuotaMatch.DEFAULT or QuotaMatch.ANY: `{"user": "ann"}`. If `strict`,
        entities that have other types as well are left out.
        """
        components = [_component(kind, name) for kind, name in (selected or {}).items()]

        async def attempt() -> dict[QuotaEntity, dict[str, float]]:
            request = DescribeClientQuotasRequest(components=components, strict=strict)
            reply = await self._cluster.ask_any(request, DescribeClientQuotasResponse)
            raise_for_code(reply.error_code, reply.error_message)
            return {
                quota_entity((part.entity_type, part.entity_name) for part in entry.entity): {
                    each.key: each.value for each in entry.values
                }
                for entry in reply.entries or ()
            }

        return await self._cluster.retry("describing quotas", attempt, timeout_ms=timeout_ms)


def _entry(entity: QuotaEntity, changes: Mapping[str, float | None]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            OpData(key=key, value=0.0 if value is None else float(value), remove=value is None)
            for key, value in changes.items()
        ],
    )


def _component(kind: str, name: str | QuotaMatch) -> ComponentData:
    if isinstance(name, QuotaMatch):
        return ComponentData(entity_type=kind, match_type=name, match=None)
    return ComponentData(entity_type=kind, match_type=QuotaMatch.EXACT, match=name)
