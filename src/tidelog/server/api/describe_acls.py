"""DescribeAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.describe_acls_response import DescribeAclsResponse
from tidelog.server.replies.authorized_operations import NO_AUTHORIZER
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
