"""What a controller's own listener answers: the quorum among itself, brokers that ask the controller, and clients that
connect to controllers (KIP-919)."""

from __future__ import annotations

import logging

from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.network.frame_receiver import Frame
from tidelog.network.later import Later
from tidelog.network.server_connection import Reply, ServerConnection
from tidelog.protocol.api import ApiKey, request_class
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.frames import parse_request_header, peek_request, response_frame
from tidelog.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.schema import Message, covers
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.answers import answer_envelope, answer_request
from tidelog.server.quorum.controller_clients import ControllerClients
from tidelog.server.quorum.envelope import ENVELOPE_ROOM_BYTES, FORWARDED
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.replies.advertised_features import finalized_features, supported_features

logger = logging.getLogger(__name__)

MAX_FRAME_BYTES = 16 * 1024 * 1024

_QUORUM_APIS = frozenset(
    {
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.FETCH,
        ApiKey.FETCH_SNAPSHOT,
    }
)
# What brokers ask for themselves.
_BROKER_APIS = frozenset(
    {
        ApiKey.ALTER_PARTITION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
    }
)
# What clients ask any controller.
_CLIENT_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_CONFIGS})
SERVED = {
    key: request_class(key).SCHEMA.valid
    for key in sorted({ApiKey.ENVELOPE, *_CLIENT_APIS, *_QUORUM_APIS, *_BROKER_APIS, *FORWARDED})
}
_ENVELOPE_KEY = ApiKey.ENVELOPE.to_bytes(2, "big")


class ControllerService:
    """The `RequestService` of a controller's listener."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        quorum: QuorumRuntime,
        metadata: MetadataFollower,
        controller: ActiveController,
    ) -> None:
        self._quorum = quorum
        self._metadata = metadata
        self._controller = controller
        self._clients = ControllerClients(config, metadata, quorum)
        self._connections: dict[ServerConnection, None] = {}

    def frame_limit(self, first_bytes: memoryview) -> int:
        # A broker takes control requests of this size from its clients; in an envelope they are a little larger.
        if len(first_bytes) < 2 or first_bytes == _ENVELOPE_KEY:
            return MAX_FRAME_BYTES + ENVELOPE_ROOM_BYTES
        return MAX_FRAME_BYTES

    def may_pipeline(self, frame: Frame) -> bool:
        # A fetch that waits for records must not hold up a vote or a heartbeat behind it.
        return True

    def connected(self, connection: ServerConnection) -> bool:
        self._connections[connection] = None
        return True

    def disconnected(self, connection: ServerConnection) -> None:
        self._connections.pop(connection, None)
        self._controller.absent_brokers.connection_ended(connection)

    def close(self) -> None:
        for connection in list(self._connections):
            connection.close()

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        api_key, version, correlation_id = peek_request(frame)
        if api_key == ApiKey.API_VERSIONS:
            return self._api_versions(version, correlation_id)
        served = SERVED.get(ApiKey(api_key)) if api_key in SERVED else None
        if served is None or not covers(served, version):
            raise ProtocolError(f"API key {api_key} version {version} is not served by controllers")
        kind = request_class(api_key)
        view = memoryview(frame)
        header = parse_request_header(view, flexible=covers(kind.SCHEMA.flexible, version))
        request, _ = decode(kind, view, version, header.body_at)
        if isinstance(request, BrokerHeartbeatRequest):
            self._controller.absent_brokers.heartbeat_came(request, connection)
        return Later.run(self._answer(api_key, version, correlation_id, request))

    async def _answer(self, api_key: int, version: int, correlation_id: int, request: Message) -> Reply:
        response = await (
            self._quorum.ask(request) if api_key in _QUORUM_APIS else self._answer_message(version, request)
        )
        return response_frame(api_key, version, correlation_id, response)

    async def _answer_message(self, version: int, request: Message) -> Message:
        match request:
            case EnvelopeRequest():
                return await answer_envelope(self._controller, request)
            case DescribeClusterRequest():
                return self._clients.describe_cluster(request, version)
            case DescribeConfigsRequest():
                return self._clients.describe_configs(request)
            case IncrementalAlterConfigsRequest():
                return await self._clients.alter_configs(
                    request, lambda rest: answer_request(self._controller, rest, version)
                )
        return await answer_request(self._controller, request, version)

    def _api_versions(self, version: int, correlation_id: int) -> Reply:
        known = covers(SERVED[ApiKey.API_VERSIONS], version)
        response = ApiVersionsResponse(
            error_code=ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION,
            api_keys=[
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in SERVED.items()
            ],
            supported_features=supported_features(version),
            finalized_features_epoch=self._metadata.image.offset,
            finalized_features=finalized_features(self._metadata.image),
        )
        return response_frame(ApiKey.API_VERSIONS, version if known else 0, correlation_id, response)
