"""DescribeCluster: the brokers, for tools. Version 1 can ask for controllers, 2 for fenced brokers too (KIP-1073)."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tidelog.security.acls import Operation
from tidelog.server.access.access import NOT_ASKED, Access, cluster_refusal
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, DESCRIBE_CLUSTER, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), permissions=(DESCRIBE_CLUSTER, ALTER_CLUSTER), listeners=BOTH)

BROKERS = 1
CONTROLLERS = 2
FIRST_VERSION_WITH_ENDPOINT_TYPE = 1


def describe_brokers(
    access: Access, metadata: Metadata, broker_id: int, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    """What a broker answers."""
    if request.endpoint_type == CONTROLLERS:
        problem = f"this is a broker's listener; the request asks for endpoint type {request.endpoint_type}"
        return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, problem)
    if request.endpoint_type != BROKERS:
        return _refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"unknown endpoint type {request.endpoint_type}")
    described = []
    for broker in metadata.image.brokers.values():
        endpoint = broker.endpoint_or_first(context.listener)
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
    return _described(access, request, context, metadata, broker_id, described)


def describe_controllers(
    access: Access,
    config: BrokerConfig,
    metadata: Metadata,
    leader_id: Callable[[], int | None],
    request: DescribeClusterRequest,
    context: RequestContext,
) -> DescribeClusterResponse:
    """What a controller answers to clients that connect to controllers (`bootstrap.controllers`, KIP-919): who the
    controllers are. Brokers' addresses are for clients of brokers."""
    if not access.allows_cluster(context, Operation.ALTER):
        refusal = cluster_refusal(Operation.ALTER)
        return _refused(refusal.code, refusal.message)
    brokers_wanted = "this is a controller's listener; the request asks for brokers"
    if context.version < FIRST_VERSION_WITH_ENDPOINT_TYPE:
        return _refused(ErrorCode.INVALID_REQUEST, brokers_wanted)
    if request.endpoint_type == BROKERS:
        return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, brokers_wanted)
    if request.endpoint_type != CONTROLLERS:
        return _refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"unknown endpoint type {request.endpoint_type}")
    leader = leader_id()
    # A node that is its own quorum names no voters.
    own = [(config.node_id, each.host, each.port) for each in config.controller_listeners[:1]]
    voters = [(voter.id, voter.host, voter.port) for voter in config.controller_quorum_voters] or own
    described = [DescribeClusterBroker(broker_id=number, host=host, port=port) for number, host, port in voters]
    return _described(access, request, context, metadata, -1 if leader is None else leader, described)


def _described(
    access: Access,
    request: DescribeClusterRequest,
    context: RequestContext,
    metadata: Metadata,
    controller_id: int,
    described: list[DescribeClusterBroker],
) -> DescribeClusterResponse:
    with_operations = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=metadata.image.cluster_id,
        controller_id=controller_id,
        brokers=described,
        cluster_authorized_operations=access.cluster_operations(context) if with_operations else NOT_ASKED,
    )


def _refused(code: ErrorCode, problem: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=problem, endpoint_type=BROKERS)
