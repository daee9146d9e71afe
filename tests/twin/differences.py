"""The differences between the replies of tidelog and of Apache Kafka that are intended: the one list of them.

The twin lets them pass, `docs/reference/differences-from-kafka.md` shows them. An entry that no request of the twin
needs any more fails it, so the list does not grow old.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from twin.comparison import ABSENT, Difference, error_codes
from twin.side import CLOSED

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey

EVERY_API = tuple(ApiKey)


def _always(ours: Any, theirs: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class IntendedDifference:
    """`path` is a regular expression over the whole path of a field; of an element with a name the path has the name
    in braces, of others `[]`. `when` is given both values, and says whether they are the difference that is meant."""

    title: str
    reason: str
    keys: tuple[ApiKey, ...] = EVERY_API
    path: str = ".*"
    when: Callable[[Any, Any], bool] = _always
    # Given both replies instead: what differs is the whole of them.
    replies: Callable[[Any, Any], bool] | None = None
    # Seen only where there are several nodes.
    on_three_nodes: bool = False

    def covers(self, key: ApiKey, found: Difference, ours: Any, theirs: Any) -> bool:
        if key not in self.keys or re.fullmatch(self.path, found.path) is None:
            return False
        return self.when(found.ours, found.theirs) if self.replies is None else self.replies(ours, theirs)


def _has_failed(reply: Any) -> bool:
    return ErrorCode.UNKNOWN_SERVER_ERROR in error_codes(reply)


_ACLS = (ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS)

# APIs that Apache Kafka serves and tidelog does not, and why.
NOT_SERVED: Mapping[str, Mapping[int, str]] = {
    "There are no delegation tokens": {
        38: "CreateDelegationToken",
        39: "RenewDelegationToken",
        40: "ExpireDelegationToken",
        41: "DescribeDelegationToken",
    },
    "There are no share groups (KIP-932)": {
        76: "ShareGroupHeartbeat",
        77: "ShareGroupDescribe",
        78: "ShareFetch",
        79: "ShareAcknowledge",
        83: "InitializeShareGroupState",
        84: "ReadShareGroupState",
        85: "WriteShareGroupState",
        86: "DeleteShareGroupState",
        87: "ReadShareGroupStateSummary",
        90: "DescribeShareGroupOffsets",
        91: "AlterShareGroupOffsets",
        92: "DeleteShareGroupOffsets",
    },
    "There are no groups of Kafka Streams (KIP-1071)": {88: "StreamsGroupHeartbeat", 89: "StreamsGroupDescribe"},
    "The voters of the quorum are fixed": {80: "AddRaftVoter", 81: "RemoveRaftVoter"},
}
# What tidelog's brokers serve and Apache Kafka's do not: there is nothing to compare.
NOT_SERVED_BY_KAFKA = (ApiKey.FETCH_SNAPSHOT,)
_NOT_SERVED_PATH = "|".join(str(key) for keys in NOT_SERVED.values() for key in keys)

_COORDINATED = (
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.SYNC_GROUP,
    ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
)
_BAD_REQUEST = {
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
}

TABLE: tuple[IntendedDifference, ...] = (
    IntendedDifference(
        title="Error messages",
        reason="Where Apache Kafka has a code only, tidelog also says in words which value was wrong.",
        path=r"(.*\.)?error_message",
        when=lambda ours, theirs: ours == "(a message)" and not theirs,
    ),
    IntendedDifference(
        title="Requests that Apache Kafka fails on",
        reason="Values that its code does not expect (an unknown isolation level, a size below zero, a topic without "
        "name and id) end in UNKNOWN_SERVER_ERROR there. tidelog ignores the value, or says what is wrong with it.",
        replies=lambda ours, theirs: _has_failed(theirs) and not _has_failed(ours),
    ),
    IntendedDifference(
        title="Access control lists with unknown values",
        reason="Apache Kafka closes the connection if a resource type, a pattern type, an operation or a permission is "
        "0 (unknown). tidelog answers INVALID_REQUEST, or SECURITY_DISABLED if there is no authorizer.",
        keys=_ACLS,
        replies=lambda ours, theirs: theirs == CLOSED,
    ),
    IntendedDifference(
        title="Advertised APIs",
        reason="What tidelog does not have, it does not advertise: see the end of this page.",
        keys=(ApiKey.API_VERSIONS,),
        path=rf"api_keys\.\{{({_NOT_SERVED_PATH})\}}",
        when=lambda ours, theirs: ours == ABSENT,
    ),
    IntendedDifference(
        title="FetchSnapshot on brokers",
        reason="tidelog's brokers show the metadata log and its snapshots to clients that may do ClusterAction; Apache "
        "Kafka's controllers do.",
        keys=(ApiKey.API_VERSIONS,),
        path=r"api_keys\.\{59\}",
        when=lambda ours, theirs: theirs == ABSENT,
    ),
    IntendedDifference(
        title="InitProducerId version 6",
        reason="tidelog serves prepared transactions (KIP-939), which Apache Kafka has not released.",
        keys=(ApiKey.API_VERSIONS,),
        path=r"api_keys\.\{22\}\.max_version",
        when=lambda ours, theirs: (ours, theirs) == (6, 5),
    ),
    IntendedDifference(
        title="Features that are not there",
        reason="share.version and streams.version belong to groups that tidelog does not have; kraft.version to "
        "quorums whose voters change.",
        keys=(ApiKey.API_VERSIONS,),
        path=r"(finalized|supported)_features\.\{(share|streams|kraft)\.version\}",
        when=lambda ours, theirs: ours == ABSENT,
    ),
    IntendedDifference(
        title="Properties of share groups and groups of Kafka Streams",
        reason="tidelog has no such groups, hence none of their properties.",
        keys=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\.\{(share|streams)\..*\}",
        when=lambda ours, theirs: ours == ABSENT,
    ),
    IntendedDifference(
        title="The documentation of properties",
        reason="It is in tidelog's own words.",
        keys=(ApiKey.DESCRIBE_CONFIGS,),
        path=r"results\[\]\.configs\.\{.*\}\.documentation",
        when=lambda ours, theirs: bool(ours) and bool(theirs),
    ),
    IntendedDifference(
        title="The controllers of a single node",
        reason="A node that is alone needs no listener for controllers, so it has no address of one to show.",
        keys=(ApiKey.DESCRIBE_QUORUM,),
        path=r"nodes(\[\])?",
        when=lambda ours, theirs: not ours,
    ),
    IntendedDifference(
        title="Bad records sent to a node that does not lead the partition",
        reason="tidelog looks for the leader first: NOT_LEADER_OR_FOLLOWER. Apache Kafka has a first look at the "
        "records before that. The leader then says what is wrong with them.",
        keys=(ApiKey.PRODUCE,),
        replies=lambda ours, theirs: (
            ErrorCode.NOT_LEADER_OR_FOLLOWER in error_codes(ours)
            and {ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE} & set(error_codes(theirs)) != set()
        ),
        on_three_nodes=True,
    ),
    IntendedDifference(
        title="Bad requests sent to a node that does not coordinate the group or transaction",
        reason="tidelog sends the client to the coordinator first: NOT_COORDINATOR. Apache Kafka has a first look at "
        "the request before that. The coordinator then says what is wrong with it.",
        keys=_COORDINATED,
        replies=lambda ours, theirs: (
            set(error_codes(ours)) == {ErrorCode.NOT_COORDINATOR}
            and set(error_codes(theirs)) <= _BAD_REQUEST
            and bool(set(error_codes(theirs)))
        ),
        on_three_nodes=True,
    ),
    IntendedDifference(
        title="The sizes of the coordinators' topics",
        reason="They hold what the coordinators write, which is not the same record by record.",
        keys=(ApiKey.DESCRIBE_LOG_DIRS,),
        path=r"results\[\]\.topics\.\{__\w+\}\.partitions\.\{\d+\}\.partition_size",
    ),
    IntendedDifference(
        title="One partition twice in AddPartitionsToTxn",
        reason="It is added once, and answered for once.",
        keys=(ApiKey.ADD_PARTITIONS_TO_TXN,),
        path=r"results_by_topic_v3_and_below(\.\{.*\}.*)?",
        when=lambda ours, theirs: isinstance(theirs, list) and len(theirs) > 1 == len(ours),
    ),
    IntendedDifference(
        title="One partition twice in AlterPartitionReassignments",
        reason="Apache Kafka takes the last of them; tidelog refuses the second with INVALID_REQUEST, since it cannot "
        "know which one is meant.",
        keys=(ApiKey.ALTER_PARTITION_REASSIGNMENTS,),
        path=r"responses\[\]\.partitions\[\]\.error_code",
        when=lambda ours, theirs: ours == ErrorCode.INVALID_REQUEST,
    ),
)


def unneeded(used: Collection[str], *, on_three_nodes: bool) -> set[str]:
    """The titles of entries that should have been seen and were not."""
    return {entry.title for entry in TABLE if entry.on_three_nodes is on_three_nodes} - set(used)
