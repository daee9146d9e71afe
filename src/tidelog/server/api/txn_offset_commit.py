"""TxnOffsetCommit: offsets of a group that take effect when the producer's transaction is committed.

Version 3 says which member of the group commits, and in which generation (KIP-447). Version 4 knows
TRANSACTION_ABORTABLE; version 5 is of the second protocol version: the commit itself adds the partition of
`__consumer_offsets` to the transaction (KIP-890). Whether the group accepts the offsets is decided in
`tidelog.coordinators.groups.offset_commit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import NO_SEQUENCE
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tidelog.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tidelog.protocol.schema import Message, replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Admit, Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.verification import Admission, ClientLevel, Write, is_coordinator_away
from tidelog.server.declaration import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID, Api
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), permissions=(WRITE_TRANSACTIONAL_ID, READ_GROUP, READ_TOPIC))

_ABORTABLE_FROM = 4
_SECOND_PROTOCOL_VERSION_FROM = 5
# Before, clients looked for another coordinator instead of waiting for this one.
_KNOWS_LOADING_FROM = 2
NO_CODES: Mapping[str, ErrorCode] = {}


class TxnOffsetCommitHandler:
    def __init__(
        self, *, access: Access, admit: Admit, metadata: Metadata, replicas: Replicas, groups: GroupCoordinator
    ) -> None:
        self._access = access
        self._admit = admit
        self._metadata = metadata
        self._replicas = replicas
        self._groups = groups

    def handle(self, request: TxnOffsetCommitRequest, context: RequestContext) -> Message | Later[Message]:
        transactional_id = request.transactional_id
        if not self._access.allows(context, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
            return _refused(request, context.version, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if not self._access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
            return _refused(request, context.version, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        if not request.group_id:
            return _refused(request, context.version, ErrorCode.INVALID_GROUP_ID)
        missing = self._not_to_be_committed(request, context)
        if missing and len(missing) == len({topic.name for topic in request.topics}):
            return _refused(request, context.version, ErrorCode.NONE, missing)
        level = _level(context.version)
        replica = self._replicas.leader(CONSUMER_OFFSETS_TOPIC, self._groups.partition_of(request.group_id))
        if isinstance(replica, ErrorCode):
            return _refused(request, context.version, ErrorCode.NOT_COORDINATOR, missing)
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        admission = self._admit(request.transactional_id, producer, [Write(replica, NO_SEQUENCE)], level)
        if isinstance(admission, Admission):
            return self._commit(request, context, replica, admission, missing)

        async def commit_when_admitted(asked: Later[Admission]) -> Message:
            outcome = self._commit(request, context, replica, await asked, missing)
            return outcome if isinstance(outcome, Message) else await outcome

        return Later.run(commit_when_admitted(admission))

    def _not_to_be_committed(self, request: TxnOffsetCommitRequest, context: RequestContext) -> dict[str, ErrorCode]:
        """The topics that the client may not read, and those that do not exist."""
        names = [topic.name for topic in request.topics]
        forbidden = self._access.forbidden(context, Operation.READ, AclResourceType.TOPIC, names)
        missing = (name for name in names if name not in self._metadata.image.topics)
        return dict.fromkeys(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) | dict.fromkeys(
            forbidden, ErrorCode.TOPIC_AUTHORIZATION_FAILED
        )

    def _commit(
        self,
        request: TxnOffsetCommitRequest,
        context: RequestContext,
        replica: Replica,
        admission: Admission,
        missing: dict[str, ErrorCode],
    ) -> Message | Later[Message]:
        code = admission.refused.get(replica.topic_partition)
        if code is None and not _still_open(replica, request, admission):
            # A marker was written since the coordinator's answer: the answer was about a transaction that has ended.
            code = ErrorCode.INVALID_TXN_STATE
        if code is not None:
            return _refused(request, context.version, _for_group_client(code, context.version), missing)
        unknown: Sequence[TxnOffsetCommitResponseTopic] = ()
        if missing:
            absent = replaced(request, topics=[topic for topic in request.topics if topic.name in missing])
            unknown = _refused(absent, context.version, ErrorCode.NONE, missing).topics
            request = replaced(request, topics=[topic for topic in request.topics if topic.name not in missing])
        # The group's decision is appended before anything else can happen, so the check above still holds.
        outcome = self._groups.ask(request.group_id, request, context)
        if isinstance(outcome, Message):
            return _finish(outcome, unknown, context.version)
        return outcome.then(lambda reply: _finish(reply, unknown, context.version))


def _level(version: int) -> ClientLevel:
    if version >= _SECOND_PROTOCOL_VERSION_FROM:
        return ClientLevel.V2
    return ClientLevel.V1_ABORTABLE if version >= _ABORTABLE_FROM else ClientLevel.V1


def _still_open(replica: Replica, request: TxnOffsetCommitRequest, admission: Admission) -> bool:
    guard = admission.guards.get(replica.topic_partition)
    if guard is None:
        # Verification is turned off.
        return True
    states = replica.log.producer_states
    is_open = states.has_open_transaction(request.producer_id, epoch=request.producer_epoch)
    return is_open or states.verifications.accepts(request.producer_id, guard)


def _for_group_client(code: ErrorCode, version: int) -> ErrorCode:
    """If the transaction coordinator is unavailable, the client of a group coordinator has to wait."""
    if not is_coordinator_away(code, _level(version)):
        return code
    return _understood(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, version)


def _understood(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _KNOWS_LOADING_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _finish(outcome: Message, unknown: Sequence[TxnOffsetCommitResponseTopic], version: int) -> TxnOffsetCommitResponse:
    assert isinstance(outcome, TxnOffsetCommitResponse)
    topics = outcome.topics
    if not unknown and version >= _KNOWS_LOADING_FROM:
        return outcome
    if version < _KNOWS_LOADING_FROM:
        topics = [replaced(topic, partitions=_in_older_words(topic.partitions, version)) for topic in topics]
    return TxnOffsetCommitResponse(topics=[*topics, *unknown])


def _in_older_words(
    partitions: Sequence[TxnOffsetCommitResponsePartition], version: int
) -> list[TxnOffsetCommitResponsePartition]:
    return [replaced(each, error_code=_understood(ErrorCode(each.error_code), version)) for each in partitions]


def _refused(
    request: TxnOffsetCommitRequest, version: int, code: ErrorCode, others: Mapping[str, ErrorCode] = NO_CODES
) -> TxnOffsetCommitResponse:
    """With this code for all topics, but for those that have one of their own."""
    topics: list[TxnOffsetCommitResponseTopic] = []
    for topic in request.topics:
        error = ApiError(others.get(topic.name, code))
        reply = refused(API, replaced(request, topics=[topic]), version, error)
        assert isinstance(reply, TxnOffsetCommitResponse)
        topics += reply.topics
    return TxnOffsetCommitResponse(topics=topics)
