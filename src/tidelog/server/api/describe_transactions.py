"""DescribeTransactions: state, producer and partitions of transactional ids that this broker coordinates (KIP-664)."""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import DESCRIBE_TOPIC, DESCRIBE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), permissions=(DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC))


def handle(
    transactions: TransactionCoordinator, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[transactions.describe_transaction(each) for each in request.transactional_ids]
    )
