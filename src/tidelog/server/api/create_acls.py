"""CreateAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_acls_request import CreateAclsRequest
from tidelog.protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from tidelog.server.replies.authorized_operations import NO_AUTHORIZER
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    refused = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))
