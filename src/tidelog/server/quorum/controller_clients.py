"""What a controller answers clients that connect to controllers (`bootstrap.controllers`, KIP-919) from what it knows
itself, be it the active one or not: who the controllers are, which properties hold, and its log levels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import HostPort
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.protocol.messages.describe_configs_response import DescribeConfigsResponse
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.protocol.schema import Message
from tidelog.server.configuration.alteration import join_incremental, split_incremental
from tidelog.server.configuration.description import describe_configs
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.replies.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED

BROKERS = 1
CONTROLLERS = 2
FIRST_VERSION_WITH_ENDPOINT_TYPE = 1


class ControllerClients:
    def __init__(self, config: BrokerConfig, metadata: MetadataFollower, quorum: QuorumRuntime) -> None:
        self._config = config
        self._metadata = metadata
        self._quorum = quorum

    def describe_cluster(self, request: DescribeClusterRequest, version: int) -> DescribeClusterResponse:
        """The controllers; brokers' addresses are for clients of brokers."""
        if version < FIRST_VERSION_WITH_ENDPOINT_TYPE:
            code, problem = ErrorCode.INVALID_REQUEST, "this is a controller's listener; brokers are asked for"
        elif request.endpoint_type == CONTROLLERS:
            return self._controllers(request)
        elif request.endpoint_type == BROKERS:
            code, problem = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a controller's listener; brokers are asked for"
        else:
            code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            problem = f"there is no endpoint type {request.endpoint_type}"
        return DescribeClusterResponse(error_code=code, error_message=problem, endpoint_type=BROKERS)

    def _controllers(self, request: DescribeClusterRequest) -> DescribeClusterResponse:
        leader = self._quorum.leader_id
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

    def describe_configs(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        image = self._metadata.image
        config = self._config.with_dynamic(
            cluster=image.cluster_config(), broker=image.broker_config(self._config.node_id)
        )
        return describe_configs(request, image=image, config=config)

    async def alter_configs(
        self, request: IncrementalAlterConfigsRequest, ask_controller: Callable[[Message], Awaitable[Message]]
    ) -> IncrementalAlterConfigsResponse:
        """Log levels here, everything else as the active controller says."""
        split = split_incremental(request, self._config.node_id, brokers=False)

        async def forward(rest: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
            return cast(IncrementalAlterConfigsResponse, await ask_controller(rest))

        return await join_incremental(request, split, forward)
