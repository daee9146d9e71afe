"""ApiVersions: what this listener serves. From version 3 on, replies have the cluster's features."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidelog.controller.features import SUPPORTED_FEATURES
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import BOTH, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.API_VERSIONS,
    versions=(0, 4),
    permissions=(),
    listeners=BOTH,
    differences=(
        "Only what is served is advertised, and of the features only those that are there: no share.version, "
        "streams.version or kraft.version.",
    ),
)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


# Clients of older versions cannot read a minimum of 0 (KIP-1022).
_ZERO_FROM = 4


def handle(
    versions: Sequence[ApiVersion], metadata: Metadata, request: ApiVersionsRequest, context: RequestContext
) -> ApiVersionsResponse:
    if context.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    image = metadata.image
    return ApiVersionsResponse(
        api_keys=versions,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
            if low > 0 or context.version >= _ZERO_FROM
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in image.features.items()
            if name in SUPPORTED_FEATURES
        ],
    )
