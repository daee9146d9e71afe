"""Access control: who may do what, create, describe and delete (KIP-140). What an ACL is: `tidelog.security.acls`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import ask_for_each
from tidelog.client.errors import outcome, raise_for_code
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.create_acls_response import CreateAclsResponse
from tidelog.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from tidelog.protocol.messages.delete_acls_response import DeleteAclsMatchingAcl, DeleteAclsResponse
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.describe_acls_response import DescribeAclsResponse
from tidelog.security.acls import AclBinding, AclFilter, acl_binding

_EVERY_ACL = AclFilter()


class AclAdmin:
    _cluster: Cluster

    async def create_acls(
        self, acls: Collection[AclBinding], *, timeout_ms: float | None = None
    ) -> dict[AclBinding, ApiError | None]:
        """Add ACLs. One that exists already is a success."""

        async def ask(left: list[AclBinding]) -> Mapping[AclBinding, ApiError | None]:
            request = CreateAclsRequest(creations=[_creation(acl) for acl in left])
            reply = await self._cluster.ask_controller(request, CreateAclsResponse)
            return {
                acl: outcome(result.error_code, result.error_message, None)
                for acl, result in zip(left, reply.results, strict=False)
            }

        return await ask_for_each(self._cluster, "creating ACLs", dict.fromkeys(acls), ask, timeout_ms=timeout_ms)

    async def describe_acls(
        self, selected: AclFilter = _EVERY_ACL, *, timeout_ms: float | None = None
    ) -> tuple[AclBinding, ...]:
        """The ACLs that a filter selects; all of them if there is none."""

        async def attempt() -> tuple[AclBinding, ...]:
            request = DescribeAclsRequest(
                resource_type_filter=selected.resource_type,
                resource_name_filter=selected.name,
                pattern_type_filter=selected.pattern_type,
                principal_filter=selected.principal,
                host_filter=selected.host,
                operation=selected.operation,
                permission_type=selected.permission_type,
            )
            reply = await self._cluster.ask_any(request, DescribeAclsResponse)
            raise_for_code(reply.error_code, reply.error_message)
            return tuple(
                acl_binding(
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                    pattern_type=resource.pattern_type,
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
                for resource in reply.resources
                for acl in resource.acls
            )

        return await self._cluster.retry("describing ACLs", attempt, timeout_ms=timeout_ms)

    async def delete_acls(
        self, filters: Collection[AclFilter], *, timeout_ms: float | None = None
    ) -> dict[AclFilter, tuple[AclBinding, ...] | ApiError]:
        """Delete the ACLs that these filters select. The result has, for each filter, what it has deleted."""

        async def ask(left: list[AclFilter]) -> Mapping[AclFilter, tuple[AclBinding, ...] | ApiError]:
            request = DeleteAclsRequest(filters=[_filter(each) for each in left])
            reply = await self._cluster.ask_controller(request, DeleteAclsResponse)
            return {
                selected: outcome(result.error_code, result.error_message, tuple(map(_deleted, result.matching_acls)))
                for selected, result in zip(left, reply.filter_results, strict=False)
            }

        return await ask_for_each(self._cluster, "deleting ACLs", dict.fromkeys(filters), ask, timeout_ms=timeout_ms)


def _creation(acl: AclBinding) -> AclCreation:
    pattern, entry = acl.pattern, acl.entry
    return AclCreation(
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        resource_pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def _filter(selected: AclFilter) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=selected.resource_type,
        resource_name_filter=selected.name,
        pattern_type_filter=selected.pattern_type,
        principal_filter=selected.principal,
        host_filter=selected.host,
        operation=selected.operation,
        permission_type=selected.permission_type,
    )


def _deleted(acl: DeleteAclsMatchingAcl) -> AclBinding:
    return acl_binding(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
