"""DescribeAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.describe_acls_response import DescribeAclsResponse
from tidelog.server.declaration import DESCRIBE_CLUSTER, NO_AUTHORIZER_DIFFERENCES, Api
from tidelog.server.replies.authorized_operations import NO_AUTHORIZER
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.DESCRIBE_ACLS, versions=(1, 3), permissions=(DESCRIBE_CLUSTER,), differences=NO_AUTHORIZER_DIFFERENCES
)


def handle(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
