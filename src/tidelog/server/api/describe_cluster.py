"""DescribeCluster: the brokers, for tools. Version 1 can ask for controllers, 2 for fenced brokers too (KIP-1073)."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import HostPort
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, DESCRIBE_CLUSTER, Api
from tidelog.server.replies.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), permissions=(DESCRIBE_CLUSTER, ALTER_CLUSTER), listeners=BOTH)

BROKERS = 1
CONTROLLERS = 2
FIRST_VERSION_WITH_ENDPOINT_TYPE = 1


class DescribeClusterHandler:
    """What a broker answers."""

    def __init__(self, *, metadata: Metadata, broker_id: int) -> None:
        self._metadata = metadata
        self._broker_id = broker_id

    def handle(self, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
        if request.endpoint_type == CONTROLLERS:
            problem = f"this is a broker's listener; endpoint type {request.endpoint_type} is asked for"
            return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, problem)
        if request.endpoint_type != BROKERS:
            return _refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there is no endpoint type {request.endpoint_type}")
        described = []
        for broker in self._metadata.image.brokers.values():
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
            cluster_id=self._metadata.image.cluster_id,
            controller_id=self._broker_id,
            brokers=described,
            cluster_authorized_operations=(
                CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
            ),
        )


class DescribeControllersHandler:
    """What a controller answers clients that connect to controllers (`bootstrap.controllers`, KIP-919): who the
    controllers are. Brokers' addresses are for clients of brokers."""

    def __init__(self, *, config: BrokerConfig, metadata: Metadata, leader_id: Callable[[], int | None]) -> None:
        self._config = config
        self._metadata = metadata
        self._leader_id = leader_id

    def handle(self, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
        brokers_wanted = "this is a controller's listener; brokers are asked for"
        if context.version < FIRST_VERSION_WITH_ENDPOINT_TYPE:
            return _refused(ErrorCode.INVALID_REQUEST, brokers_wanted)
        if request.endpoint_type == BROKERS:
            return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, brokers_wanted)
        if request.endpoint_type != CONTROLLERS:
            return _refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there is no endpoint type {request.endpoint_type}")
        leader = self._leader_id()
        return DescribeClusterResponse(
            endpoint_type=CONTROLLERS,
            cluster_id=self._metadata.image.cluster_id,
            controller_id=-1 if leader is None else leader,
            brokers=[
                DescribeClusterBroker(broker_id=number, host=address.host, port=address.port)
                for number, address in self._addresses().items()
            ],
            cluster_authorized_operations=(
                CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
            ),
        )

    def _addresses(self) -> dict[int, HostPort]:
        voters = {
            voter.id: HostPort(host=voter.host, port=voter.port) for voter in self._config.controller_quorum_voters
        }
        if voters:
            return voters
        # A node that is its own quorum.
        own = [HostPort(host=each.host, port=each.port) for each in self._config.controller_listeners]
        return {self._config.node_id: own[0]} if own else {}


def _refused(code: ErrorCode, problem: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=problem, endpoint_type=BROKERS)
