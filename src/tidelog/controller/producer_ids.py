"""Gives producer ids to brokers in blocks (KIP-730), so that a new producer costs no write to the metadata log."""

from __future__ import annotations

from tidelog.controller.decision import Decision
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord

PRODUCER_IDS_PER_BLOCK = 1000
_MAX_PRODUCER_ID = (1 << 63) - 1


def allocate_producer_ids(
    image: ClusterImage, request: AllocateProducerIdsRequest
) -> Decision[AllocateProducerIdsResponse]:
    """The next block. A block that a broker does not use up before it stops is lost, which is cheap."""
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return _refuse(ErrorCode.STALE_BROKER_EPOCH)
    start = image.next_producer_id
    if start > _MAX_PRODUCER_ID - PRODUCER_IDS_PER_BLOCK:
        return _refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + PRODUCER_IDS_PER_BLOCK,
    )
    reply = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=PRODUCER_IDS_PER_BLOCK)
    return Decision(records=(record,), reply=reply)


def _refuse(code: ErrorCode) -> Decision[AllocateProducerIdsResponse]:
    reply = AllocateProducerIdsResponse(error_code=code, producer_id_start=-1, producer_id_len=0)
    return Decision(records=(), reply=reply)
