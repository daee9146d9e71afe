"""EndTxn: commit or abort. Decided in `tidelog.coordinators.transactions.end_transaction`.

Version 2 knows PRODUCER_FENCED, 5 ends transactions of the second protocol version and returns the next epoch
(KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.network.later import Later
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.schema import Message
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: EndTxnRequest, context: RequestContext) -> Message | Later[Message]:
    return node.transactions.ask(request.transactional_id, request, context.version)
