"""ListPartitionReassignments: which replicas are being moved (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tidelog.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(
    node: Node, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return await ask_controller(node, request, ListPartitionReassignmentsResponse, request.timeout_ms)
