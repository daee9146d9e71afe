"""ApiVersions: what this listener serves. Version 3 and up tell the client's software, and the cluster's features."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import BOTH, Api, advertised_versions
from tidelog.server.replies.advertised_features import finalized_features, supported_features
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


class ApiVersionsHandler:
    def __init__(self, *, apis: Iterable[Api], metadata: Metadata) -> None:
        self._versions = advertised_versions(apis)
        self._metadata = metadata

    def handle(self, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
        if context.version >= 3:
            name, version = request.client_software_name, request.client_software_version
            if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
            context.connection.client_software = (name, version)
        image = self._metadata.image
        return ApiVersionsResponse(
            api_keys=self._versions,
            supported_features=supported_features(context.version),
            finalized_features_epoch=image.offset,
            finalized_features=finalized_features(image),
        )
