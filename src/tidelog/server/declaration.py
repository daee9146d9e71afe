"""What an API declares about itself: one `Api` in the module of its handler, from which everything else is derived.

Which versions are advertised and accepted, on which listeners, what brokers pass on to the controller, how a request is
refused, and the page `docs/reference/compatibility.md`: all of that comes from these values. The docstring of each
module says what its API does and what its versions brought.

The permissions are those that Kafka's authorizer checks. Where an API needs one on the cluster and nothing else,
`tidelog.server.access.guards` checks it for every request. Otherwise the handler checks them, in the order that
decision 41 gives; a test holds that each of them makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.frame_receiver import Frame
from tidelog.network.server_connection import Reply
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_response import ApiVersion
from tidelog.protocol.schema import Versions
from tidelog.security.acls import AclResourceType, Operation


class ListenerKind(Enum):
    """Who listens: a broker for clients and other brokers, or a controller for the quorum, brokers and clients."""

    BROKER = "broker"
    CONTROLLER = "controller"


BROKERS = frozenset({ListenerKind.BROKER})
CONTROLLERS = frozenset({ListenerKind.CONTROLLER})
BOTH = BROKERS | CONTROLLERS


class Forwarding(Enum):
    """What a broker passes on to the active controller (KIP-590)."""

    NOTHING = "no"
    # What does not concern only the broker that receives the request.
    A_PART = "partly"
    ALL = "yes"


class FrameSize(Enum):
    """What a request may contain, which decides how large its frame may be."""

    CONTROL = "control"
    RECORDS = "records"
    ENVELOPE = "another request"


class Permission(NamedTuple):
    """What a caller needs. Where several are declared, each is for a part of what a request may ask for, or takes the
    place of another: decision 41 has the whole story."""

    operation: Operation
    resource: AclResourceType


READ_TOPIC = Permission(Operation.READ, AclResourceType.TOPIC)
WRITE_TOPIC = Permission(Operation.WRITE, AclResourceType.TOPIC)
CREATE_TOPIC = Permission(Operation.CREATE, AclResourceType.TOPIC)
DELETE_TOPIC = Permission(Operation.DELETE, AclResourceType.TOPIC)
ALTER_TOPIC = Permission(Operation.ALTER, AclResourceType.TOPIC)
DESCRIBE_TOPIC = Permission(Operation.DESCRIBE, AclResourceType.TOPIC)
READ_GROUP = Permission(Operation.READ, AclResourceType.GROUP)
DESCRIBE_CONFIGS_OF_TOPIC = Permission(Operation.DESCRIBE_CONFIGS, AclResourceType.TOPIC)
DELETE_GROUP = Permission(Operation.DELETE, AclResourceType.GROUP)
DESCRIBE_GROUP = Permission(Operation.DESCRIBE, AclResourceType.GROUP)
WRITE_TRANSACTIONAL_ID = Permission(Operation.WRITE, AclResourceType.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTIONAL_ID = Permission(Operation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID)
TWO_PHASE_COMMIT = Permission(Operation.TWO_PHASE_COMMIT, AclResourceType.TRANSACTIONAL_ID)
CREATE_CLUSTER = Permission(Operation.CREATE, AclResourceType.CLUSTER)
DELETE_CLUSTER = Permission(Operation.DELETE, AclResourceType.CLUSTER)
ALTER_CLUSTER = Permission(Operation.ALTER, AclResourceType.CLUSTER)
DESCRIBE_CLUSTER = Permission(Operation.DESCRIBE, AclResourceType.CLUSTER)
CLUSTER_ACTION = Permission(Operation.CLUSTER_ACTION, AclResourceType.CLUSTER)
IDEMPOTENT_WRITE = Permission(Operation.IDEMPOTENT_WRITE, AclResourceType.CLUSTER)

# AddPartitionsToTxn: brokers verify transactions with it, for several producers at once (KIP-890).
_VERIFYING_FROM = 4

_CONFIGURED = (AclResourceType.CLUSTER, AclResourceType.TOPIC, AclResourceType.GROUP)
DESCRIBE_CONFIGS = tuple(Permission(Operation.DESCRIBE_CONFIGS, each) for each in _CONFIGURED)
ALTER_CONFIGS = tuple(Permission(Operation.ALTER_CONFIGS, each) for each in _CONFIGURED)

# Differences that several APIs have.
COORDINATOR_FIRST = (
    "A node that is not the coordinator answers NOT_COORDINATOR before it looks at more than permissions."
)
UNKNOWN_ACL_VALUES = (
    "A type, an operation or a permission that is 0 (UNKNOWN) is refused with INVALID_REQUEST; Kafka closes the "
    "connection."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalShape:
    """How a reply reports one error for a whole request, if the schemas do not say (`replies/error_replies.py`)."""

    # Where what a reply lists or names stands in the request, as a path of attributes, if not under the same name or in
    # the request's first list. Several paths are separated by commas; a name that is in more than one is
    # answered once.
    asked_as: Mapping[str, str] = field(default_factory=dict)
    # Whether an error of the whole reply is repeated for each thing that was asked for.
    for_each_too: bool = False
    # Whether a reply that has no error of its own is empty for those who may not ask.
    hides_what_is_forbidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    key: ApiKey
    # Both included. A version stands here only if it is implemented whole.
    versions: Versions
    permissions: tuple[Permission, ...]
    listeners: frozenset[ListenerKind] = BROKERS
    forwarding: Forwarding = Forwarding.NOTHING
    frame_size: FrameSize = FrameSize.CONTROL
    refusal: RefusalShape = RefusalShape()
    # Lower than the first version, if older ones are advertised, and how these are refused: given a frame, its version
    # and correlation id, the reply that such clients understand.
    advertised_from: int | None = None
    refuse_older: Callable[[Frame, int, int], Reply] | None = None
    # Whether a request gets a reply.
    is_answered: Callable[[Any], bool] = lambda request: True
    # Those of Apache Kafka 4.3, where they are not the same.
    kafka_versions: Versions | None = None
    # From Kafka, one sentence each.
    differences: tuple[str, ...] = ()

    @property
    def advertised(self) -> Versions:
        first, last = self.versions
        return (first if self.advertised_from is None else self.advertised_from), last

    def is_between_nodes(self, version: int) -> bool:
        """Whether only brokers and controllers send it, in this version."""
        if self.key == ApiKey.ADD_PARTITIONS_TO_TXN:
            return version >= _VERIFYING_FROM
        return self.permissions[:1] == (CLUSTER_ACTION,)

    @property
    def is_forwarded(self) -> bool:
        return self.forwarding is not Forwarding.NOTHING


def advertised_versions(apis: Iterable[Api]) -> list[ApiVersion]:
    """What ApiVersions returns."""
    return [ApiVersion(api_key=api.key, min_version=api.advertised[0], max_version=api.advertised[1]) for api in apis]
