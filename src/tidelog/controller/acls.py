"""Decides on CreateAcls and DeleteAcls (KIP-140): which ACLs come into being, and which go.

What an ACL may be is in `tidelog.security.acls`. Without an authorizer, which would heed them, there are no ACLs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.config.broker import BrokerConfig
from tidelog.controller.decision import Decision, Refusal, error_fields, require_few
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.snapshot import acl_record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from tidelog.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from tidelog.protocol.messages.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from tidelog.protocol.schema import Message
from tidelog.security.acls import (
    AclBinding,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    acl_binding,
    binding_problem,
    filter_problem,
)


def refusal_without_authorizer(config: BrokerConfig) -> ApiError | None:
    """What every request about ACLs is answered with if nothing heeds them."""
    if config.authorizer_class_name:
        return None
    message = "No Authorizer is configured: set authorizer.class.name on all nodes to use ACLs."
    return ApiError(ErrorCode.SECURITY_DISABLED, message)


def create_acls(
    image: ClusterImage, request: CreateAclsRequest, *, acl_ids: Sequence[Uuid]
) -> Decision[CreateAclsResponse]:
    """An ACL that cannot be is refused, and the others are created. `acl_ids` has one for each ACL of the request.

    What exists already, or comes twice, is a success, and no second record.
    """
    records: list[Message] = []
    results: list[AclCreationResult] = []
    known: set[AclBinding] = set()
    for acl_id, creation in zip(acl_ids, request.creations, strict=True):
        binding = _binding(creation)
        problem = binding_problem(binding)
        if problem is not None:
            results.append(AclCreationResult(error_code=ErrorCode.INVALID_REQUEST, error_message=problem))
            continue
        if binding not in known and binding not in image.acl_set:
            known.add(binding)
            records.append(acl_record(acl_id, binding))
        results.append(AclCreationResult())
    require_few(records)
    return Decision(records=tuple(records), reply=CreateAclsResponse(results=results))


def delete_acls(image: ClusterImage, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
    """What two filters select is in both results, and deleted once."""
    deleted: dict[Uuid, None] = {}
    results: list[DeleteAclsFilterResult] = []
    for each in request.filters:
        selected = acl_filter(each)
        problem = filter_problem(selected)
        if problem is not None:
            refusal = Refusal(code=ErrorCode.INVALID_REQUEST, message=problem)
            results.append(DeleteAclsFilterResult(**error_fields(refusal)))
            continue
        found = {acl_id: binding for acl_id, binding in image.acls.items() if selected.matches(binding)}
        deleted |= dict.fromkeys(found)
        matching = [_deleted(binding) for binding in found.values()]
        results.append(DeleteAclsFilterResult(**error_fields(None), matching_acls=matching))
    records = [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in deleted]
    # Not POLICY_VIOLATION, as everywhere else: this is Kafka's choice.
    require_few(records, ErrorCode.INVALID_REQUEST)
    return Decision(records=tuple(records), reply=DeleteAclsResponse(filter_results=results))


def acl_filter(asked: DeleteAclsFilter | DescribeAclsRequest) -> AclFilter:
    return AclFilter(
        resource_type=AclResourceType(asked.resource_type_filter),
        name=asked.resource_name_filter,
        pattern_type=PatternType(asked.pattern_type_filter),
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=Operation(asked.operation),
        permission_type=PermissionType(asked.permission_type),
    )


def _binding(creation: AclCreation) -> AclBinding:
    return acl_binding(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def _deleted(binding: AclBinding) -> DeleteAclsMatchingAcl:
    pattern, entry = binding.pattern, binding.entry
    return DeleteAclsMatchingAcl(
        **error_fields(None),
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
