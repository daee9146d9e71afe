"""DescribeTransactions: state, producer and partitions of transactional ids that this broker coordinates (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: DescribeTransactionsRequest, context: RequestContext) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[node.transactions.describe_transaction(each) for each in request.transactional_ids]
    )
