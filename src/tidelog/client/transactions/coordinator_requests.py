"""Requests to the coordinators of a transaction and of a group, repeated until they are answered for good.

Coordinators move, load and are busy with the transaction before: all of that is waited out, up to max.block.ms. What an
error code means is decided in `tidelog.client.transactions.verdicts`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.errors import (
    AbortableError,
    ApiTimeout,
    CommitFailed,
    FatalError,
    FencedError,
    NoBrokerAvailable,
    TransactionError,
    api_error,
    known_code,
)
from tidelog.client.offsets.committed import OffsetAndMetadata, committed_by_topic
from tidelog.client.offsets.group_metadata import NO_GENERATION, ConsumerGroupMetadata
from tidelog.client.options import ProducerConfig
from tidelog.client.transactions.verdicts import MAY_BE_DONE, NOT_IN_GROUP, RequestKind, Verdict, judge
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from tidelog.protocol.schema import Message

TRANSACTIONS = "transactions"
TRANSACTION_VERSION = "transaction.version"

# The last versions of the first protocol. Brokers take what comes in a later one as belonging to the second (KIP-890).
_ADD_PARTITIONS_BY_CLIENTS = 3
_TXN_OFFSET_COMMIT_V1 = 4
_END_TXN_V1 = 4
# From this version on the group checks who commits (KIP-447).
_TXN_OFFSET_COMMIT_OF_MEMBER = 3
# From this version on a producer may keep a prepared transaction (KIP-939).
_INIT_TWO_PHASE = 6
# From this version on a producer may say who it is, and get a new epoch for itself (KIP-360).
_INIT_AS_MYSELF = 3

# The markers of the transaction before are mostly written within milliseconds.
CONCURRENT_PAUSE_MS = 20.0

R = TypeVar("R", bound=Message)


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


class Initialized(NamedTuple):
    identity: ProducerIdAndEpoch
    # The transaction that a predecessor has left open, if it was to be kept.
    ongoing: ProducerIdAndEpoch


@dataclass(slots=True)
class Asking:
    """One request on its way to an answer, over all of its tries."""

    request: RequestKind
    # A try may have been carried out although nobody said so.
    may_be_done: bool = False


class CoordinatorRequests:
    def __init__(self, cluster: Cluster, config: ProducerConfig, transactional_id: str) -> None:
        self._cluster = cluster
        self._config = config
        self._id = transactional_id
        # The level of the feature transaction.version, as the coordinator's broker has said last.
        self.transaction_version = 0

    async def initialize(self, *, myself: ProducerIdAndEpoch | None = None, keep_prepared: bool = False) -> Initialized:
        """A producer id and epoch: new, or the next epoch for `myself`."""
        two_phase = self._config.transaction_two_phase_commit_enable
        identity = ProducerIdAndEpoch(-1, -1) if myself is None else myself
        message = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=2**31 - 1 if two_phase else self._config.transaction_timeout_ms,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            enable2_pc=two_phase,
            keep_prepared_txn=keep_prepared,
        )
        needed = _INIT_TWO_PHASE if two_phase or keep_prepared else 0 if myself is None else _INIT_AS_MYSELF
        try:
            reply = await self._ask(
                Asking(RequestKind.INITIALIZE),
                message,
                InitProducerIdResponse,
                lambda reply: (reply.error_code,),
                at_least=needed,
            )
        except FatalError as error:
            raise self._explained(error, keep_prepared) from error.cause
        return Initialized(
            ProducerIdAndEpoch(reply.producer_id, reply.producer_epoch),
            ProducerIdAndEpoch(reply.ongoing_txn_producer_id, reply.ongoing_txn_producer_epoch),
        )

    async def add_partitions(self, identity: ProducerIdAndEpoch, partitions: Collection[TopicPartition]) -> None:
        message = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=numbers)
                for name, numbers in numbers_by_topic(partitions).items()
            ],
        )
        await self._ask(
            Asking(RequestKind.ADD_PARTITIONS),
            message,
            AddPartitionsToTxnResponse,
            lambda reply: [
                result.partition_error_code
                for topic in reply.results_by_topic_v3_and_below
                for result in topic.results_by_partition
            ],
            at_most=_ADD_PARTITIONS_BY_CLIENTS,
        )

    async def add_group(self, identity: ProducerIdAndEpoch, group_id: str) -> None:
        message = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group_id,
        )
        await self._ask(
            Asking(RequestKind.ADD_OFFSETS), message, AddOffsetsToTxnResponse, lambda reply: (reply.error_code,)
        )

    async def commit_offsets(
        self,
        identity: ProducerIdAndEpoch,
        group: ConsumerGroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        second_protocol: bool,
    ) -> None:
        by_topic = committed_by_topic(TxnOffsetCommitRequestPartition, offsets)
        message = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group.group_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=entries) for name, entries in by_topic.items()],
        )
        await self._ask(
            Asking(RequestKind.COMMIT_OFFSETS),
            message,
            TxnOffsetCommitResponse,
            lambda reply: [entry.error_code for topic in reply.topics for entry in topic.partitions],
            at_least=_TXN_OFFSET_COMMIT_OF_MEMBER if group.generation_id != NO_GENERATION else 0,
            at_most=None if second_protocol else _TXN_OFFSET_COMMIT_V1,
            group_id=group.group_id,
        )

    async def end(
        self, asking: Asking, identity: ProducerIdAndEpoch, *, commit: bool, second_protocol: bool
    ) -> ProducerIdAndEpoch:
        """The identity with which to go on."""
        message = EndTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=commit,
        )
        reply = await self._ask(
            asking,
            message,
            EndTxnResponse,
            lambda reply: (reply.error_code,),
            at_most=None if second_protocol else _END_TXN_V1,
        )
        if reply.producer_id < 0:
            return identity
        return ProducerIdAndEpoch(reply.producer_id, reply.producer_epoch)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _ask(
        self,
        asking: Asking,
        message: Message,
        expected: type[R],
        codes_of: Callable[[R], Iterable[int]],
        *,
        at_least: int = 0,
        at_most: int | None = None,
        group_id: str | None = None,
    ) -> R:
        kind, key = (CoordinatorKind.TRANSACTION, self._id) if group_id is None else (CoordinatorKind.GROUP, group_id)
        limit_ms = self._config.max_block_ms
        last: Exception | None = None
        failures = 0
        try:
            async with asyncio.timeout(limit_ms / 1000):
                while True:
                    pause_ms = self._cluster.retry_pause_ms(failures + 1)
                    try:
                        return await self._ask_once(
                            asking, kind, key, message, expected, codes_of, at_least=at_least, at_most=at_most
                        )
                    except AuthenticationError as error:
                        raise FatalError(f"{asking.request.value} of {self._id!r}: {error}", error) from error
                    except (ConnectionProblem, NoBrokerAvailable) as error:
                        self._cluster.forget_coordinator(kind, key)
                        self._cluster.mark_stale()
                        last = error
                    except UnsupportedByBroker as error:
                        raise FatalError(f"{asking.request.value} of {self._id!r}: {error}", error) from error
                    except ApiError as error:
                        match judge(asking.request, error.code):
                            case Verdict.AGAIN:
                                if error.code is ErrorCode.CONCURRENT_TRANSACTIONS:
                                    pause_ms = min(pause_ms, CONCURRENT_PAUSE_MS)
                            case Verdict.ELSEWHERE:
                                self._cluster.forget_coordinator(kind, key)
                            case verdict:
                                raise self._refusal(asking, verdict, error, group_id) from error
                        last = error
                    failures += 1
                    await asyncio.sleep(pause_ms / 1000)
        except TimeoutError as error:
            reason = f"; the last error: {last}" if last is not None else ""
            raise ApiTimeout(
                f"{asking.request.value} of {self._id!r} did not succeed within max.block.ms={limit_ms}{reason}"
            ) from (last or error)

    async def _ask_once(
        self,
        asking: Asking,
        kind: CoordinatorKind,
        key: str,
        message: Message,
        expected: type[R],
        codes_of: Callable[[R], Iterable[int]],
        *,
        at_least: int,
        at_most: int | None,
    ) -> R:
        """Raises ApiError with the worst of the codes in the reply."""
        node = await self._cluster.coordinator(kind, key)
        connection = await self._cluster.connection(node, TRANSACTIONS)
        if kind is CoordinatorKind.TRANSACTION:
            self.transaction_version = connection.features.get(TRANSACTION_VERSION, 0)
        version = connection.version_for(type(message), at_most=at_most)
        if version < at_least:
            raise UnsupportedByBroker(
                f"the broker at {connection.address} serves {asking.request.value} up to version {version}, but "
                f"version {at_least} is needed"
            )
        unclear = asking.may_be_done
        asking.may_be_done = True
        reply = await connection.request(message, expected, version=version)
        code = worst(asking.request, codes_of(reply))
        asking.may_be_done = unclear or code in MAY_BE_DONE
        if code is not ErrorCode.NONE:
            raise api_error(code, f"{asking.request.value} of {self._id!r}")
        return reply

    def _refusal(self, asking: Asking, verdict: Verdict, error: ApiError, group_id: str | None) -> TransactionError:
        what = f"{asking.request.value} of {self._id!r} was refused"
        if verdict is Verdict.FENCED:
            return FencedError(
                f"{what}: another producer with this transactional.id has started since, or the transaction was ended "
                f"by its timeout ({error})",
                error,
            )
        if verdict is Verdict.ABORT:
            cause: Exception = error
            if error.code in NOT_IN_GROUP:
                cause = CommitFailed(
                    f"group {group_id!r} has given this member's partitions to another one ({error}): what it has "
                    "read since its last commit is processed there"
                )
            return AbortableError(f"{what}: {cause}", cause)
        return FatalError(f"{what}: {error}", error)

    def _explained(self, error: FatalError, keep_prepared: bool) -> FatalError:
        """What a broker says about its settings does not tell which one."""
        if not isinstance(error.cause, ApiError):
            return error
        reason = None
        match error.cause.code:
            case ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                reason = (
                    f"transaction.timeout.ms={self._config.transaction_timeout_ms} is above what the brokers allow; "
                    "lower it, or raise their transaction.max.timeout.ms"
                )
            case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if self._config.transaction_two_phase_commit_enable:
                reason = (
                    "transaction.two.phase.commit.enable=true is not allowed here; the brokers' own "
                    "transaction.two.phase.commit.enable is off, or this client may not use it"
                )
            case ErrorCode.UNSUPPORTED_VERSION if keep_prepared:
                reason = "these brokers do not keep prepared transactions (KIP-939); tidelog's can"
        if reason is None:
            return error
        return type(error)(f"{RequestKind.INITIALIZE.value} of {self._id!r} was refused: {reason}", error.cause)


_SEVERITY = (Verdict.DONE, Verdict.AGAIN, Verdict.ELSEWHERE, Verdict.ABORT, Verdict.FATAL, Verdict.FENCED)


def worst(request: RequestKind, codes: Iterable[int]) -> ErrorCode:
    """The code that decides about a reply with several of them."""
    found = [known_code(code) for code in codes]
    # Says of one partition that another one's error stopped it.
    telling = [code for code in found if code is not ErrorCode.OPERATION_NOT_ATTEMPTED] or found
    return max(telling, key=lambda code: _SEVERITY.index(judge(request, code)), default=ErrorCode.NONE)
