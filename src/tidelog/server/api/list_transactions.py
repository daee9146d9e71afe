"""ListTransactions: the transactional ids that this broker coordinates (KIP-664).

Version 1 filters by how long a transaction has been running (KIP-994), 2 by a regular expression that the transactional
id must match (KIP-1152).
"""

from __future__ import annotations

from tidelog.coordinators.patterns import PatternProblem, compile_pattern
from tidelog.coordinators.transactions.listing import ListFilter
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.protocol.schema import replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import DESCRIBE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.LIST_TRANSACTIONS, versions=(0, 2), permissions=(DESCRIBE_TRANSACTIONAL_ID,))


def handle(
    access: Access,
    transactions: TransactionCoordinator,
    request: ListTransactionsRequest,
    context: RequestContext,
) -> ListTransactionsResponse:
    pattern = request.transactional_id_pattern
    try:
        matches = compile_pattern(pattern) if pattern else None
    except PatternProblem:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    listed = transactions.list_transactions(
        ListFilter(
            state_names=request.state_filters,
            producer_ids=frozenset(request.producer_id_filters),
            longer_than_ms=request.duration_filter,
            matches=matches,
        )
    )
    ids = (each.transactional_id for each in listed.transaction_states)
    hidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, ids)
    if not hidden:
        return listed
    visible = [each for each in listed.transaction_states if each.transactional_id not in hidden]
    return replaced(listed, transaction_states=visible)
