"""DescribeQuorum: who leads the metadata quorum and how far the others are (KIP-836)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    return await ask_controller(node, request, DescribeQuorumResponse)
