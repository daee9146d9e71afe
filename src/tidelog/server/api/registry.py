"""Which APIs are served, in which versions, and by which module.

A version stands here only if it is implemented whole. The ranges are those of Apache Kafka 4.3, with one exception:
Produce is advertised from 0, because librdkafka before 2.10 turns compression off otherwise; versions 0 to 2 are
answered with UNSUPPORTED_VERSION.

A handler is a module of this package, named after its API, with a function

    def handle(node: Node, request: SomeRequest, context: RequestContext) -> SomeResponse

It may be asynchronous; if it can answer at once it should not be, since a plain call costs no task. A plain function
that cannot answer at once returns a `Later`. None means that the request gets no reply. Modules are imported when their
API is called for the first time.

APIs that the active controller answers alone have no module: `tidelog.server.routing.forwarding` passes them on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.network.later import Later
from tidelog.protocol.api import ApiKey, request_class
from tidelog.protocol.schema import Message, Versions, covers
from tidelog.server.quorum.envelope import FORWARDED
from tidelog.server.routing import forwarding

if TYPE_CHECKING:
    from tidelog.server.node import Node
    from tidelog.server.routing.context import RequestContext

Outcome = Message | Later[Message | None] | Coroutine[Any, Any, Message | None] | None
Handler = Callable[["Node", Any, "RequestContext"], Outcome]

SERVED: dict[ApiKey, Versions] = {
    ApiKey.PRODUCE: (3, 13),
    ApiKey.FETCH: (4, 18),
    ApiKey.LIST_OFFSETS: (1, 11),
    ApiKey.METADATA: (0, 13),
    ApiKey.OFFSET_COMMIT: (2, 10),
    ApiKey.OFFSET_FETCH: (1, 10),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 6),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.DELETE_TOPICS: (1, 6),
    ApiKey.DELETE_RECORDS: (0, 2),
    ApiKey.INIT_PRODUCER_ID: (0, 6),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
    ApiKey.END_TXN: (0, 5),
    ApiKey.WRITE_TXN_MARKERS: (1, 2),
    ApiKey.TXN_OFFSET_COMMIT: (0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    ApiKey.DESCRIBE_ACLS: (1, 3),
    ApiKey.CREATE_ACLS: (1, 3),
    ApiKey.DELETE_ACLS: (1, 3),
    ApiKey.DESCRIBE_CONFIGS: (1, 4),
    ApiKey.ALTER_CONFIGS: (0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (1, 5),
    ApiKey.CREATE_PARTITIONS: (0, 3),
    ApiKey.DELETE_GROUPS: (0, 2),
    ApiKey.ELECT_LEADERS: (0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    ApiKey.OFFSET_DELETE: (0, 0),
    ApiKey.DESCRIBE_QUORUM: (0, 2),
    ApiKey.DESCRIBE_CLUSTER: (0, 2),
    ApiKey.DESCRIBE_PRODUCERS: (0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: (0, 0),
    ApiKey.LIST_TRANSACTIONS: (0, 2),
    ApiKey.UPDATE_FEATURES: (0, 2),
    ApiKey.UNREGISTER_BROKER: (0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, 1),
    ApiKey.LIST_CONFIG_RESOURCES: (0, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}

# Advertised below what is served, and refused in a reply that such clients understand.
ADVERTISED_MINIMUM = {ApiKey.PRODUCE: 0}


# Forwarded, except for what concerns only the broker that is asked.
_PARTLY_HERE = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What the router needs for one version of one API."""

    api_key: ApiKey
    version: int
    request: type[Message]
    flexible: bool
    handle: Handler


@lru_cache(maxsize=512)
def route(api_key: int, version: int) -> Route | None:
    """None for an API or version that is not served."""
    try:
        key = ApiKey(api_key)
    except ValueError:
        return None
    served = SERVED.get(key)
    if served is None or not covers(served, version):
        return None
    request = request_class(key)
    return Route(
        api_key=key,
        version=version,
        request=request,
        flexible=covers(request.SCHEMA.flexible, version),
        handle=_handler(key),
    )


def _handler(key: ApiKey) -> Handler:
    if key in FORWARDED and key not in _PARTLY_HERE:
        return forwarding.handle
    handler: Handler = import_module(f"tidelog.server.api.{key.name.lower()}").handle
    return handler
