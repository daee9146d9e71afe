"""The part of Produce that concerns transactions: what the coordinator is asked, and what its answers mean here.

Up to version 11 the producer has added the partitions before; from version 12 on its write does that (KIP-890). How the
coordinator is asked is in `tidelog.server.coordination.verification`.
"""

from __future__ import annotations

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.later import Later
from tidelog.partition.verification import NO_GUARD, VerificationGuard
from tidelog.protocol.messages.produce_request import ProduceRequest
from tidelog.records.batch import CorruptBatch, parse_header
from tidelog.server.api.ports import Admit
from tidelog.server.coordination.verification import Admission, ClientLevel, Write, is_coordinator_away
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica

_ABORTABLE_FROM = 11
_SECOND_PROTOCOL_VERSION_FROM = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRefusal:
    code: ErrorCode
    message: str


def admit_produce(
    request: ProduceRequest,
    version: int,
    *,
    replicas: Replicas,
    image: ClusterImage,
    admit: Admit,
    forbidden: frozenset[str],
) -> Admission | Later[Admission]:
    """Ask for all transactional batches of a request at once, but for those of forbidden topics. Their other errors
    are found later.

    Most of them continue a transaction that is open in their partition, and need no verification.
    """
    to_ask: list[Write] = []
    partitions: list[TopicPartition] = []
    producers: set[ProducerIdentity] = set()
    for topic in request.topic_data:
        name = image.name_of(topic.name, topic.topic_id)
        if name in forbidden:
            continue
        for partition in topic.partition_data:
            replica = ErrorCode.UNKNOWN_TOPIC_ID if name is None else replicas.leader(name, partition.index)
            if not isinstance(replica, Replica) or partition.records is None:
                continue
            try:
                header = parse_header(partition.records)
            except CorruptBatch:
                continue
            if header.is_transactional and header.producer_id >= 0:
                producers.add(ProducerIdentity(header.producer_id, header.producer_epoch))
                partitions.append(replica.topic_partition)
                states = replica.log.producer_states
                if not states.has_open_transaction(header.producer_id, epoch=header.producer_epoch):
                    to_ask.append(Write(replica, header.base_sequence))
    if len(producers) > 1:
        return Admission(refused=dict.fromkeys(partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    if not to_ask:
        return Admission()
    assert request.transactional_id is not None
    return admit(request.transactional_id, producers.pop(), to_ask, _level(version))


def guard_to_show(
    partition: TopicPartition, admission: Admission | None, version: int, *, verifies: bool
) -> VerificationGuard | WriteRefusal | None:
    """The guard that the append of a transactional batch presents; None where nobody is asked.

    `verifies` is whether this broker asks coordinators.
    """
    if admission is None or (partition not in admission.guards and partition not in admission.refused):
        # Nobody was asked, because the transaction is already open in the partition, or because the request names no
        # transactional id: then the append refuses it.
        return NO_GUARD if verifies else None
    code = admission.refused.get(partition)
    if code is None:
        return admission.guards[partition]
    if is_coordinator_away(code, _level(version)):
        # Older producers know few errors that mean "try again". This is the one on which they do nothing else besides.
        return WriteRefusal(
            code=ErrorCode.NOT_ENOUGH_REPLICAS,
            message=f"the coordinator could not say whether {partition} belongs to the transaction: {code.name}",
        )
    if code is ErrorCode.INVALID_TXN_STATE:
        return WriteRefusal(code=code, message=f"{partition} was not added to the transaction")
    return WriteRefusal(code=code, message=f"{partition} cannot be written to in this transaction: {code.name}")


def _level(version: int) -> ClientLevel:
    if version >= _SECOND_PROTOCOL_VERSION_FROM:
        return ClientLevel.V2
    return ClientLevel.V1_ABORTABLE if version >= _ABORTABLE_FROM else ClientLevel.V1
