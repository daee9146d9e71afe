"""ApiVersions: what this broker serves. Version 3 and up tell the client's software, and the cluster's features."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.server.replies.advertised_features import finalized_features, supported_features
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    versions = node.advertised_versions()
    if context.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.connection.client_software = (name, version)
    image = node.image
    return ApiVersionsResponse(
        api_keys=versions,
        supported_features=supported_features(context.version),
        finalized_features_epoch=image.offset,
        finalized_features=finalized_features(image),
    )
