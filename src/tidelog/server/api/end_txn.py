"""EndTxn: commit or abort. Decided in `tidelog.coordinators.transactions.end_transaction`.

Version 2 knows PRODUCER_FENCED, 5 ends transactions of the second protocol version and returns the next epoch
(KIP-890).
"""

from __future__ import annotations

from tidelog.network.later import Later
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, WRITE_TRANSACTIONAL_ID, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.END_TXN, versions=(0, 5), permissions=(WRITE_TRANSACTIONAL_ID,), differences=(COORDINATOR_FIRST,))


class EndTxnHandler:
    def __init__(self, *, transactions: TransactionCoordinator) -> None:
        self._transactions = transactions

    def handle(self, request: EndTxnRequest, context: RequestContext) -> Message | Later[Message]:
        return self._transactions.ask(request.transactional_id, request, context.version)
