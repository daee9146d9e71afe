"""DescribeClientQuotas: the quotas of the entities that a filter selects (KIP-546).

The filters are those of `tidelog.security.quotas.entities`.
"""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from tidelog.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from tidelog.security.quotas.entities import QuotaRefusal, quota_filter
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import DESCRIBE_CONFIGS, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), permissions=DESCRIBE_CONFIGS[:1])


def handle(
    metadata: Metadata, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    components = ((each.entity_type, each.match_type, each.match) for each in request.components)
    selected = quota_filter(components, strict=request.strict)
    if isinstance(selected, QuotaRefusal):
        return DescribeClientQuotasResponse(error_code=selected.code, error_message=selected.message, entries=None)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in quotas.items()],
        )
        for entity, quotas in metadata.image.client_quotas.items()
        if selected.matches(entity)
    ]
    return DescribeClientQuotasResponse(entries=entries)
