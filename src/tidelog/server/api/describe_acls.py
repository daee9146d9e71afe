"""DescribeAcls: the ACLs that a filter selects, together where they are about the same resources (KIP-140).

Version 1 has patterns other than literal names (KIP-290), 3 the resource type USER.
"""

from __future__ import annotations

from tidelog.controller.acls import acl_filter, refusal_without_authorizer
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource, DescribeAclsResponse
from tidelog.security.acls import AclBinding, ResourcePattern
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.declaration import BOTH, DESCRIBE_CLUSTER, UNKNOWN_ACL_VALUES, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.DESCRIBE_ACLS,
    versions=(1, 3),
    permissions=(DESCRIBE_CLUSTER,),
    listeners=BOTH,
    differences=(UNKNOWN_ACL_VALUES,),
)

_UNKNOWN = 0


def handle(
    metadata: Metadata, configuration: Configuration, request: DescribeAclsRequest, context: RequestContext
) -> DescribeAclsResponse:
    refusal = refusal_without_authorizer(configuration.config)
    if refusal is not None:
        return DescribeAclsResponse(error_code=refusal.code, error_message=refusal.message)
    codes = (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
    if _UNKNOWN in codes:
        message = "0 (UNKNOWN) selects nothing; 1 (ANY) stands for all types, operations and permissions"
        return DescribeAclsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    selected = acl_filter(request)
    found: dict[ResourcePattern, list[AclBinding]] = {}
    for binding in metadata.image.acls.values():
        if selected.matches(binding):
            found.setdefault(binding.pattern, []).append(binding)
    resources = [_resource(pattern, bindings) for pattern, bindings in found.items()]
    return DescribeAclsResponse(resources=resources)


def _resource(pattern: ResourcePattern, bindings: list[AclBinding]) -> DescribeAclsResource:
    return DescribeAclsResource(
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        acls=[
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
            for entry in (binding.entry for binding in bindings)
        ],
    )
