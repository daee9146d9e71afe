"""AddOffsetsToTxn: a producer of the first protocol version is about to commit offsets of a group in its transaction.

To the coordinator that is one more partition: the one of `__consumer_offsets` that holds the group.
"""

from __future__ import annotations

from tidelog.coordinators.transactions.replies import understood
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import CreateMissing, Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, WRITE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.ADD_OFFSETS_TO_TXN,
    versions=(0, 4),
    permissions=(WRITE_TRANSACTIONAL_ID, READ_GROUP),
    differences=(COORDINATOR_FIRST,),
)

_KNOWS_FENCING_FROM = 2
# The newest version in which AddPartitionsToTxn is of the first protocol version, and that knows all errors.
_AS_ADD_PARTITIONS_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxnHandler:
    access: Access
    metadata: Metadata
    create_missing: CreateMissing
    groups: GroupCoordinator
    transactions: TransactionCoordinator

    def handle(
        self, request: AddOffsetsToTxnRequest, context: RequestContext
    ) -> AddOffsetsToTxnResponse | Later[AddOffsetsToTxnResponse]:
        transactional_id = request.transactional_id
        if not self.access.allows(context, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
            return AddOffsetsToTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if not self.access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
            return AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        if CONSUMER_OFFSETS_TOPIC not in self.metadata.image.topics:
            # Its markers would have nowhere to go.
            return Later.run(self._create_and_add(request, context))
        outcome = self._add(request)
        if isinstance(outcome, Message):
            return _as_response(outcome, context.version)
        return outcome.then(lambda reply: _as_response(reply, context.version))

    async def _create_and_add(
        self, request: AddOffsetsToTxnRequest, context: RequestContext
    ) -> AddOffsetsToTxnResponse:
        try:
            failed = await self.create_missing([CONSUMER_OFFSETS_TOPIC])
        except ApiError as error:
            return AddOffsetsToTxnResponse(error_code=error.code)
        if failed:
            return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        outcome = self._add(request)
        return _as_response(outcome if isinstance(outcome, Message) else await outcome, context.version)

    def _add(self, request: AddOffsetsToTxnRequest) -> Message | Later[Message]:
        partition = self.groups.partition_of(request.group_id)
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            topics=[AddPartitionsToTxnTopic(name=CONSUMER_OFFSETS_TOPIC, partitions=[partition])],
        )
        message = AddPartitionsToTxnRequest(transactions=[transaction])
        return self.transactions.ask_patiently(request.transactional_id, message, _AS_ADD_PARTITIONS_VERSION)


def _as_response(outcome: Message, version: int) -> AddOffsetsToTxnResponse:
    assert isinstance(outcome, AddPartitionsToTxnResponse)
    (result,) = outcome.results_by_transaction
    (topic,) = result.topic_results
    (partition,) = topic.results_by_partition
    code = ErrorCode(partition.partition_error_code)
    return AddOffsetsToTxnResponse(error_code=understood(code, version, _KNOWS_FENCING_FROM))
