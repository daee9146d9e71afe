"""WriteTxnMarkers: a coordinator, or an administrator who ends a hanging transaction, writes the ends of transactions.

Version 2 says under which protocol version a transaction ended, so that a late marker can be distinguished from one
that is due (KIP-1228).
"""

from __future__ import annotations

from itertools import groupby

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from tidelog.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from tidelog.protocol.schema import Message
from tidelog.records.control import EndTransactionMarker
from tidelog.security.acls import Operation
from tidelog.server.access.access import Access, cluster_refusal
from tidelog.server.coordination.markers import AppendedMarker, MarkerAppends, known_at_once, when_committed
from tidelog.server.declaration import ALTER_CLUSTER, CLUSTER_ACTION, Api
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), permissions=(CLUSTER_ACTION, ALTER_CLUSTER))

Outcomes = dict[TopicPartition, AppendedMarker]


def handle(
    access: Access, marker_appends: MarkerAppends, request: WriteTxnMarkersRequest, context: RequestContext
) -> Message | Later[WriteTxnMarkersResponse]:
    may_alter = access.allows_cluster(context, Operation.ALTER, quiet=True)
    if not may_alter and not access.allows_cluster(context, Operation.CLUSTER_ACTION):
        return refused(API, request, context.version, cluster_refusal(Operation.CLUSTER_ACTION))
    written = [(marker.producer_id, _write(marker_appends, marker)) for marker in request.markers]
    at_once = [
        (producer_id, codes) for producer_id, outcomes in written if (codes := known_at_once(outcomes)) is not None
    ]
    if len(at_once) == len(written):
        return _response(at_once)
    return Later.run(_response_later(written))


def _write(marker_appends: MarkerAppends, marker: WritableTxnMarker) -> Outcomes:
    producer = ProducerIdentity(marker.producer_id, marker.producer_epoch)
    end = EndTransactionMarker(commit=marker.transaction_result, coordinator_epoch=marker.coordinator_epoch)
    return {
        TopicPartition(topic.name, number): marker_appends.append(
            TopicPartition(topic.name, number), producer, end, transaction_version=marker.transaction_version
        )
        for topic in marker.topics
        for number in topic.partition_indexes
    }


async def _response_later(written: list[tuple[int, Outcomes]]) -> WriteTxnMarkersResponse:
    return _response([(producer_id, await when_committed(outcomes)) for producer_id, outcomes in written])


def _response(written: list[tuple[int, dict[TopicPartition, ErrorCode]]]) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=at.partition, error_code=codes[at])
                            for at in partitions
                        ],
                    )
                    for topic, partitions in groupby(sorted(codes), key=lambda at: at.topic)
                ],
            )
            for producer_id, codes in written
        ]
    )
