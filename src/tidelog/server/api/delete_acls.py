"""DeleteAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.delete_acls_request import DeleteAclsRequest
from tidelog.protocol.messages.delete_acls_response import DeleteAclsFilterResult, DeleteAclsResponse
from tidelog.server.declaration import ALTER_CLUSTER, NO_AUTHORIZER_DIFFERENCES, Api
from tidelog.server.replies.authorized_operations import NO_AUTHORIZER
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DELETE_ACLS, versions=(1, 3), permissions=(ALTER_CLUSTER,), differences=NO_AUTHORIZER_DIFFERENCES)


def handle(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse:
    refused = DeleteAclsFilterResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
