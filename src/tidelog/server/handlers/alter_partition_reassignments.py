"""AlterPartitionReassignments: moves replicas to other brokers, or stops that (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tidelog.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(
    node: Node, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    return await ask_controller(node, request, AlterPartitionReassignmentsResponse, request.timeout_ms)
