"""DescribeCluster: the brokers, for tools. Version 1 can ask for controllers, 2 for fenced brokers too (KIP-1073)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tidelog.server.replies.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

BROKERS = 1
CONTROLLERS = 2


def handle(node: Node, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"there is no endpoint type {request.endpoint_type}",
            endpoint_type=BROKERS,
        )
    if request.endpoint_type != BROKERS:
        known = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"this is a broker's listener; endpoint type {request.endpoint_type} is asked for",
            endpoint_type=BROKERS,
        )
    described = []
    for broker in node.image.brokers.values():
        endpoint = broker.endpoint(context.listener) or (broker.endpoints[0] if broker.endpoints else None)
        if endpoint is not None and (request.include_fenced_brokers or not broker.fenced):
            described.append(
                DescribeClusterBroker(
                    broker_id=broker.id,
                    host=endpoint.host,
                    port=endpoint.port,
                    rack=broker.rack,
                    is_fenced=broker.fenced,
                )
            )
    return DescribeClusterResponse(
        cluster_id=node.image.cluster_id,
        controller_id=node.controller_id,
        brokers=described,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
