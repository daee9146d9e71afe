"""FindCoordinator: which broker coordinates a group or a transactional id.

It is the leader of the partition that the key hashes to, of `__consumer_offsets` or `__transaction_state`; these topics
are created when they are first asked for. Version 1 asks for transactional ids as well, 4 for several keys at once
(KIP-699), 6 knows share groups, which this broker does not.
"""

from __future__ import annotations

from contextlib import suppress

from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tidelog.security.acls import AUTHORIZATION_ERRORS, AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import CreateMissing, Metadata
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.FIND_COORDINATOR,
    versions=(0, 6),
    permissions=(DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID),
    differences=("Share groups have no coordinator here: their keys are answered with INVALID_REQUEST.",),
)

GROUP = 0
TRANSACTION = 1

_TOPICS = {GROUP: CONSUMER_OFFSETS_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC}
_ACL_TYPES = {GROUP: AclResourceType.GROUP, TRANSACTION: AclResourceType.TRANSACTIONAL_ID}
_SEVERAL_KEYS_FROM = 4


def handle(
    access: Access,
    metadata: Metadata,
    create_missing: CreateMissing,
    request: FindCoordinatorRequest,
    context: RequestContext,
) -> FindCoordinatorResponse | Later[FindCoordinatorResponse]:
    topic = _TOPICS.get(request.key_type)
    keys = request.coordinator_keys if context.version >= _SEVERAL_KEYS_FROM else [request.key]
    forbidden: frozenset[str] = frozenset()
    if topic is not None:
        forbidden = access.forbidden(context, Operation.DESCRIBE, _ACL_TYPES[request.key_type], keys)
    if topic is None or topic in metadata.image.topics or forbidden.issuperset(keys):
        return _find_all(metadata, topic, forbidden, request, context)

    async def create_and_find() -> FindCoordinatorResponse:
        # If it fails the reason is in the log; to the client this is "not yet", and it will retry.
        with suppress(ApiError):
            await create_missing([topic])
        return _find_all(metadata, topic, forbidden, request, context)

    return Later.run(create_and_find())


def _find_all(
    metadata: Metadata,
    topic: str | None,
    forbidden: frozenset[str],
    request: FindCoordinatorRequest,
    context: RequestContext,
) -> FindCoordinatorResponse:
    def find(key: str) -> Coordinator:
        if key in forbidden:
            code = AUTHORIZATION_ERRORS[_ACL_TYPES[request.key_type]]
            return _nobody(key, code, f"the client may not describe {key!r}")
        return _find(metadata, topic, key, context)

    if context.version >= _SEVERAL_KEYS_FROM:
        return FindCoordinatorResponse(coordinators=[find(key) for key in request.coordinator_keys])
    found = find(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        # The one place where Apache Kafka says by name that there is no error.
        error_message=found.error_message if found.error_code else ErrorCode.NONE.name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(metadata: Metadata, topic: str | None, key: str, context: RequestContext) -> Coordinator:
    if topic is None:
        return _nobody(key, ErrorCode.INVALID_REQUEST, "only groups and transactional ids have coordinators here")
    image = metadata.image.topics.get(topic)
    if image is None:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic} does not exist yet")
    number = partition_for(key, len(image.partitions))
    leader = image.partitions[number].leader
    broker = metadata.image.brokers.get(leader)
    if broker is None or broker.fenced:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}-{number} has no leader")
    endpoint = broker.endpoint_or_first(context.listener)
    if endpoint is None:
        return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"broker {leader} has no address")
    return Coordinator(key=key, node_id=leader, host=endpoint.host, port=endpoint.port)


def _nobody(key: str, code: ErrorCode, reason: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=reason)
