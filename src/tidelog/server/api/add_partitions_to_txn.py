"""AddPartitionsToTxn: the partitions that a transaction writes to.

Up to version 3 a producer asks for its one transaction. From version 4 on brokers ask for many at once, and may only
want to know whether a partition was added (KIP-890); version 5 adds the partitions of producers that speak the second
protocol version. Partitions that do not exist are refused here, and then none of the others is added; the rest is
decided in `tidelog.coordinators.transactions.add_partitions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.coordinators.transactions import replies
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Metadata
from tidelog.server.configuration.topic_settings import writable_by_clients
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import CLUSTER_ACTION, COORDINATOR_FIRST, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.ADD_PARTITIONS_TO_TXN,
    versions=(0, 5),
    permissions=(WRITE_TRANSACTIONAL_ID, WRITE_TOPIC, CLUSTER_ACTION),
    differences=(COORDINATOR_FIRST, "A partition that is named twice is added once and answered for once."),
)

_SEVERAL_TRANSACTIONS_FROM = 4


def handle(
    access: Access,
    transactions: TransactionCoordinator,
    metadata: Metadata,
    request: AddPartitionsToTxnRequest,
    context: RequestContext,
) -> AddPartitionsToTxnResponse | Later[AddPartitionsToTxnResponse]:
    several = context.version >= _SEVERAL_TRANSACTIONS_FROM
    asked = request.transactions if several else [_from_old_form(request)]
    if several:
        if not access.allows_cluster(context, Operation.CLUSTER_ACTION):
            return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        outcomes = [_add(transactions, metadata, each, context.version, frozenset()) for each in asked]
    else:
        outcomes = [_add_for_client(access, transactions, metadata, each, context) for each in asked]
    if all(isinstance(outcome, Message) for outcome in outcomes):
        return _joined([outcome for outcome in outcomes if isinstance(outcome, Message)], several=several)
    return Later.run(_joined_later(outcomes, several=several))


def _add_for_client(
    access: Access,
    transactions: TransactionCoordinator,
    metadata: Metadata,
    transaction: AddPartitionsToTxnTransaction,
    context: RequestContext,
) -> Message | Later[Message]:
    transactional_id, partitions = transaction.transactional_id, replies.partitions_of(transaction)
    if not access.allows(context, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
        codes = dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return replies.added(transactional_id, codes, context.version)
    # Nobody is asked for these, and nobody may.
    internal = frozenset(each.topic for each in partitions if not writable_by_clients(each.topic))
    names = (each.topic for each in partitions if each.topic not in internal)
    forbidden = access.forbidden(context, Operation.WRITE, AclResourceType.TOPIC, names)
    return _add(transactions, metadata, transaction, context.version, forbidden | internal)


def _add(
    transactions: TransactionCoordinator,
    metadata: Metadata,
    transaction: AddPartitionsToTxnTransaction,
    version: int,
    forbidden: frozenset[str],
) -> Message | Later[Message]:
    partitions = replies.partitions_of(transaction)
    refused: dict[TopicPartition, ErrorCode] = {}
    for partition in partitions:
        if partition.topic in forbidden:
            refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif metadata.image.partition(*partition) is None:
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if refused:
        codes = {partition: refused.get(partition, ErrorCode.OPERATION_NOT_ATTEMPTED) for partition in partitions}
        return replies.added(transaction.transactional_id, codes, version)
    single = AddPartitionsToTxnRequest(transactions=[transaction])
    if version < _SEVERAL_TRANSACTIONS_FROM:
        return transactions.ask_patiently(transaction.transactional_id, single, version)
    # On the connection of a broker the requests of many producers queue up.
    return transactions.ask(transaction.transactional_id, single, version)


def _from_old_form(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


async def _joined_later(outcomes: Sequence[Message | Later[Message]], *, several: bool) -> AddPartitionsToTxnResponse:
    replies = [each if isinstance(each, Message) else await each for each in outcomes]
    return _joined(replies, several=several)


def _joined(outcomes: Sequence[Message], *, several: bool) -> AddPartitionsToTxnResponse:
    results: list[AddPartitionsToTxnResult] = []
    for outcome in outcomes:
        assert isinstance(outcome, AddPartitionsToTxnResponse)
        results += outcome.results_by_transaction
    if several:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
