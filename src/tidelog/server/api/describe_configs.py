"""DescribeConfigs: the properties of topics, brokers, groups and the like, and where each value comes from.

Version 1 brought synonyms, 3 the type and the documentation of a property.
"""

from __future__ import annotations

from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.protocol.messages.describe_configs_response import DescribeConfigsResponse
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.configuration.description import describe_configs
from tidelog.server.declaration import BOTH, DESCRIBE_CONFIGS, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.DESCRIBE_CONFIGS,
    versions=(1, 4),
    permissions=DESCRIBE_CONFIGS,
    listeners=BOTH,
    differences=(
        "There are no properties of share groups and of groups of Kafka Streams.",
        "The documentation of properties is in tidelog's own words.",
    ),
)


class DescribeConfigsHandler:
    def __init__(self, *, metadata: Metadata, configuration: Configuration) -> None:
        self._metadata = metadata
        self._configuration = configuration

    def handle(self, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
        return describe_configs(request, image=self._metadata.image, config=self._configuration.config)
