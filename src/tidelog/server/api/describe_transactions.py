"""DescribeTransactions: state, producer and partitions of transactional ids that this broker coordinates (KIP-664)."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState
from tidelog.protocol.schema import replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import DESCRIBE_TOPIC, DESCRIBE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), permissions=(DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC))


def handle(
    access: Access,
    transactions: TransactionCoordinator,
    request: DescribeTransactionsRequest,
    context: RequestContext,
) -> DescribeTransactionsResponse:
    ids = request.transactional_ids
    forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, ids)

    def describe(transactional_id: str) -> TransactionState:
        if transactional_id in forbidden:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return TransactionState(transactional_id=transactional_id, error_code=code)
        found = transactions.describe_transaction(transactional_id)
        names = (topic.topic for topic in found.topics)
        hidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, names)
        if not hidden:
            return found
        return replaced(found, topics=[topic for topic in found.topics if topic.topic not in hidden])

    return DescribeTransactionsResponse(transaction_states=[describe(each) for each in ids])
