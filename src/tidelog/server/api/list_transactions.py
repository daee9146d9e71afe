"""ListTransactions: the transactional ids that this broker coordinates (KIP-664).

Version 1 lets those through that have been running for longer than a time (KIP-994), 2 those whose transactional id
matches a regular expression (KIP-1152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.coordinators.patterns import PatternProblem, compile_pattern
from tidelog.coordinators.transactions.listing import ListFilter
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    pattern = request.transactional_id_pattern
    try:
        matches = compile_pattern(pattern) if pattern else None
    except PatternProblem:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    return node.transactions.list_transactions(
        ListFilter(
            state_names=request.state_filters,
            producer_ids=frozenset(request.producer_id_filters),
            longer_than_ms=request.duration_filter,
            matches=matches,
        )
    )
