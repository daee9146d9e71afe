"""EndTxn: commit or abort. Decided in `tidelog.coordinators.transactions.end_transaction`.

Version 2 knows PRODUCER_FENCED, 5 ends transactions of the second protocol version and returns the next epoch
(KIP-890).
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, WRITE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.END_TXN, versions=(0, 5), permissions=(WRITE_TRANSACTIONAL_ID,), differences=(COORDINATOR_FIRST,))


def handle(
    access: Access, transactions: TransactionCoordinator, request: EndTxnRequest, context: RequestContext
) -> Message | Later[Message]:
    transactional_id = request.transactional_id
    if not access.allows(context, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
        return EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return transactions.ask(transactional_id, request, context.version)
