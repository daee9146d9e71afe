"""CreateAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.create_acls_request import CreateAclsRequest
from tidelog.protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from tidelog.server.declaration import ALTER_CLUSTER, NO_AUTHORIZER_DIFFERENCES, Api
from tidelog.server.replies.authorized_operations import NO_AUTHORIZER
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.CREATE_ACLS, versions=(1, 3), permissions=(ALTER_CLUSTER,), differences=NO_AUTHORIZER_DIFFERENCES)


def handle(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    refused = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))
