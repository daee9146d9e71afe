"""DescribeConfigs: the properties of topics, brokers, groups and the like, and where each value comes from.

Version 1 brought synonyms, 3 the type and the documentation of a property.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.protocol.messages.describe_configs_response import DescribeConfigsResponse
from tidelog.server.configuration.description import describe_configs
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    return describe_configs(request, image=node.image, config=node.config)
