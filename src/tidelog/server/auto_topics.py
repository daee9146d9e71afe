"""Topics that come into being because somebody asks for them: those of users, and those of the coordinators."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidelog.controller.automatic import automatic_topic
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse

if TYPE_CHECKING:
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)


async def create_missing(node: Node, names: list[str]) -> dict[str, ErrorCode]:
    """Create these topics as the configuration says; the errors of those that cannot be. Raises ApiError."""
    wanted = [automatic_topic(name, node.config) for name in names if name not in node.image.topics]
    if not wanted:
        return {}
    response = await node.controller.ask(CreateTopicsRequest(topics=wanted), CreateTopicsResponse)
    failed = {}
    for result in response.topics:
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            # Somebody else was faster, which is as good.
            continue
        if result.error_code:
            logger.warning("cannot create %s: %s", result.name, result.error_message)
            failed[result.name] = ErrorCode(result.error_code)
        else:
            logger.info("created %s because a client asked for it", result.name)
    return failed
