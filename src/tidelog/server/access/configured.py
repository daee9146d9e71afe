"""Which resource of ACLs stands for something that has properties, and how it is refused."""

from __future__ import annotations

from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ApiError
from tidelog.security.acls import AUTHORIZATION_ERRORS, CLUSTER_RESOURCE, AclResourceType, Operation, Resource
from tidelog.server.access.access import Access
from tidelog.server.access.audit import Caller


def configured_refusal(
    access: Access, caller: Caller, operation: Operation, resource_type: int, name: str
) -> ApiError | None:
    """None if the operation is allowed, or if properties cannot belong to such a thing at all.

    Brokers, their loggers and subscriptions to client metrics belong to the cluster.
    """
    match resource_type:
        case ResourceType.TOPIC:
            resource = Resource(AclResourceType.TOPIC, name)
        case ResourceType.GROUP:
            resource = Resource(AclResourceType.GROUP, name)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER | ResourceType.CLIENT_METRICS:
            resource = CLUSTER_RESOURCE
        case _:
            return None
    if access.allows(caller, operation, resource.type, resource.name):
        return None
    title = resource.type.title if resource is CLUSTER_RESOURCE else f"{resource.type.title} {name!r}"
    return ApiError(
        AUTHORIZATION_ERRORS[resource.type], f"the client lacks the permission {operation.name} on the {title}"
    )
