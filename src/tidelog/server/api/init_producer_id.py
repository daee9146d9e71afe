"""InitProducerId: a number for an idempotent producer, and the start of a transactional one.

Version 3 lets a producer ask for a new epoch of its own id after it lost track (KIP-360). Version 6 brings two-phase
commit (KIP-939). Ids come from the blocks that the controller allocates, so that no two brokers ever assign the same
one. With a transactional id the coordinator decides, in `tidelog.coordinators.transactions.init_producer_id`.
"""

from __future__ import annotations

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.producer_ids import ProducerIds
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import (
    COORDINATOR_FIRST,
    IDEMPOTENT_WRITE,
    TWO_PHASE_COMMIT,
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
    Api,
)
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.INIT_PRODUCER_ID,
    versions=(0, 6),
    permissions=(WRITE_TRANSACTIONAL_ID, IDEMPOTENT_WRITE, WRITE_TOPIC, TWO_PHASE_COMMIT),
    kafka_versions=(0, 5),
    differences=(
        "Version 6 serves prepared transactions (KIP-939), which Apache Kafka has not released.",
        COORDINATOR_FIRST,
    ),
)


def handle(
    access: Access,
    transactions: TransactionCoordinator,
    producer_ids: ProducerIds,
    request: InitProducerIdRequest,
    context: RequestContext,
) -> Message | Later[Message]:
    problem = _refusal(access, request, context)
    if problem:
        return _refused(problem)
    if request.transactional_id is None:
        return Later.run(_give(producer_ids))
    if not request.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    return transactions.ask(request.transactional_id, request, context.version)


def _refusal(access: Access, request: InitProducerIdRequest, context: RequestContext) -> ErrorCode:
    transactional_id = request.transactional_id
    if transactional_id is None:
        # Whoever may write to some topic may do so idempotently (KIP-679).
        allowed = access.allows_cluster(context, Operation.IDEMPOTENT_WRITE, quiet=True) or access.allows_some(
            context, Operation.WRITE, AclResourceType.TOPIC
        )
        return ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    needed = (Operation.WRITE, Operation.TWO_PHASE_COMMIT) if request.enable2_pc else (Operation.WRITE,)
    for operation in needed:
        if not access.allows(context, operation, AclResourceType.TRANSACTIONAL_ID, transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE


async def _give(producer_ids: ProducerIds) -> InitProducerIdResponse:
    # Without a transactional id nobody can be fenced: a new id is as good as a new epoch, and Kafka returns one too.
    try:
        producer_id = await producer_ids.next()
    except ApiError as error:
        return _refused(error.code)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=-1)
