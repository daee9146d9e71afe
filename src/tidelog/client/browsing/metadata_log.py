"""`MetadataLog`: reads pages of the cluster metadata log, `__cluster_metadata`, up to its high watermark.

tidelog's brokers show their own copy of the log; of Apache Kafka the controller that leads the quorum is asked, which
the client must be able to reach. Either way the client needs ClusterAction on the cluster where there are ACLs.

To show what a record changes, everything before it has been replayed: from a snapshot, from the log's first record, or
from a position that an earlier page has left. Whoever follows the log reads each record once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from tidelog.client.admin import Admin
from tidelog.client.browsing.image_parts import configs_of
from tidelog.client.browsing.metadata_page import (
    MetadataEntry,
    MetadataPosition,
    beginning_of,
    position_of_snapshot,
    read_entries,
    skip,
)
from tidelog.client.errors import ApiTimeout, ClientError, NoBrokerAvailable, api_error, raise_for_code
from tidelog.consensus.messages import FetchAnswer, FetchSnapshotAnswer, SnapshotId
from tidelog.consensus.wire_answers import METADATA_TOPIC_ID, read_answer
from tidelog.metadata.image import ConfiguredResource
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.network.client_connection import CannotConnect, ClientConnection, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages import fetch_snapshot_request as snapshots
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from tidelog.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from tidelog.records.batch import CorruptBatch

_SESSIONLESS_EPOCH = -1
_FETCH_BYTES = 1 << 20
_TIMEOUT_MS = 15_000
# Positions share what did not change between their images, but each change copies the table that it is in.
_MOST_POSITIONS = 32

A = TypeVar("A")

_FORBIDDEN = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


class MetadataLogUnavailable(ClientError):
    """The metadata log cannot be read now. The message is one sentence for people: why, and what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPage:
    """Some records of the metadata log. The next page begins at `next_offset`; nothing is committed behind
    `high_watermark` yet. What was before `log_start_offset` is only in a snapshot."""

    entries: tuple[MetadataEntry, ...]
    next_offset: int
    log_start_offset: int
    high_watermark: int
    leader: int | None
    leader_epoch: int
    # Who was asked: "broker 1", "controller 3".
    source: str


class _Source(NamedTuple):
    name: str
    connection: ClientConnection
    leader_epoch: int


class MetadataLog:
    """`page = await MetadataLog(admin).page(0)`, then `page(page.next_offset)`, again and again."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._cluster = admin.cluster
        # By offset, the one that was used last at the end.
        self._positions: dict[int, MetadataPosition] = {}
        # The highest one that was seen: another broker may be behind.
        self._high_watermark = 0

    async def configs(self, *, timeout_ms: float = _TIMEOUT_MS) -> dict[ConfiguredResource, Mapping[str, str | None]]:
        """All properties that are set while the cluster runs, of all resources; secrets are hidden. Costs the brokers
        nothing but the records that were not read before. Raises MetadataLogUnavailable.
        """
        await self.page(None, 1, timeout_ms=timeout_ms)
        return configs_of(self._nearest(None).image)

    async def page(
        self, offset: int | None = None, max_records: int = 100, *, timeout_ms: float = _TIMEOUT_MS
    ) -> MetadataPage:
        """Up to `max_records` records from `offset` on, or the last ones. An offset that is no longer there stands for
        the first one that is, one that is not there yet for the end. Raises MetadataLogUnavailable.
        """
        try:
            return await self._cluster.retry(
                "reading the metadata log", lambda: self._page(offset, max_records), timeout_ms=timeout_ms
            )
        except ApiError as error:
            if error.code in _FORBIDDEN:
                reason = (
                    "This client may not read the metadata log: it needs ClusterAction on the cluster, and Describe to "
                    "find the controllers."
                )
            elif error.code == ErrorCode.INCONSISTENT_CLUSTER_ID:
                self._forget()
                reason = "The brokers belong to another cluster than before: connect again."
            else:
                reason = f"The cluster refuses to show its metadata log: {error}."
            raise MetadataLogUnavailable(reason) from error
        except UnsupportedByBroker as error:
            raise MetadataLogUnavailable(f"The cluster cannot show its metadata log: {error}.") from error
        except (ConnectionProblem, NoBrokerAvailable, ApiTimeout) as error:
            raise MetadataLogUnavailable(f"The metadata log cannot be read at the moment: {error}.") from error
        except CorruptBatch as error:
            raise MetadataLogUnavailable(f"What was received of the metadata log cannot be read: {error}.") from error

    # -- one page ------------------------------------------------------------------------------------------------

    async def _page(self, offset: int | None, max_records: int) -> MetadataPage:
        source = await self._source()
        position = self._nearest(offset)
        answer = await self._fetch(source, position)
        wanted = self._wanted(offset, max_records, answer)
        if position.offset > wanted:
            position = self._nearest(wanted)
            answer = await self._fetch(source, position)
        entries: list[MetadataEntry] = []
        while True:
            end, before = answer.high_watermark or 0, position
            if answer.diverging is not None:
                # What was committed is not in this log: it is another one, which is read from its beginning.
                if position.offset == 0:
                    raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{source.name} does not know the log's beginning")
                self._forget()
                entries, position = [], self._nearest(0)
            elif answer.snapshot_id is not None:
                position = await self._install(source, answer.snapshot_id, position)
                wanted = max(wanted, position.offset)
            else:
                if position.offset < wanted:
                    stop = min(wanted, end)
                    position = await asyncio.to_thread(skip, position, answer.records, end_offset=stop)
                if position.offset == wanted + len(entries):
                    self._keep(position)
                    more, position = read_entries(
                        position, answer.records, end_offset=end, max_entries=max_records - len(entries)
                    )
                    entries += more
                if position is before or len(entries) >= max_records:
                    break
            answer = await self._fetch(source, position)
        self._keep(position)
        return MetadataPage(
            entries=tuple(entries),
            next_offset=max(position.offset, wanted),
            log_start_offset=answer.log_start_offset,
            high_watermark=self._high_watermark,
            leader=answer.leader_id,
            leader_epoch=answer.epoch,
            source=source.name,
        )

    def _wanted(self, offset: int | None, max_records: int, answer: FetchAnswer) -> int:
        self._high_watermark = max(self._high_watermark, answer.high_watermark or 0)
        asked = self._high_watermark - max_records if offset is None else offset
        return min(max(asked, answer.log_start_offset, 0), self._high_watermark)

    # -- positions -----------------------------------------------------------------------------------------------

    def _nearest(self, offset: int | None) -> MetadataPosition:
        """The last known position that is not behind `offset`."""
        known = [each for each in self._positions if offset is None or each <= offset]
        if not known:
            return beginning_of(self._cluster.metadata.cluster_id or "")
        return self._positions[max(known)]

    def _keep(self, position: MetadataPosition) -> None:
        self._positions.pop(position.offset, None)
        self._positions[position.offset] = position
        while len(self._positions) > _MOST_POSITIONS:
            self._positions.pop(next(iter(self._positions)))

    def _forget(self) -> None:
        self._positions.clear()
        self._high_watermark = 0

    # -- asking --------------------------------------------------------------------------------------------------

    async def _source(self) -> _Source:
        """A broker that answers, or the controller that leads. Raises MetadataLogUnavailable, ConnectionProblem."""
        await self._cluster.refresh_if_stale()
        problem: ConnectionProblem = CannotConnect("no broker is known")
        for node_id in sorted(self._cluster.metadata.brokers):
            try:
                connection = await self._cluster.connection(node_id)
            except ConnectionProblem as error:
                problem = error
                continue
            if ApiKey.FETCH_SNAPSHOT in connection.versions:
                return _Source(f"broker {node_id}", connection, 0)
            return await self._controller()
        raise problem

    async def _controller(self) -> _Source:
        quorum = await self._admin.describe_quorum()
        leader = quorum.leader
        if leader is None:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the metadata quorum has no leader")
        address = quorum.voter_addresses.get(leader)
        if address is None:
            raise MetadataLogUnavailable(
                "The cluster does not say where its controllers listen, which Apache Kafka does from version 3.9 on."
            )
        try:
            connection = await self._cluster.connection_to(*address)
        except CannotConnect as error:
            raise MetadataLogUnavailable(
                f"Only the controllers show the metadata log, and this client cannot reach controller {leader} at "
                f"{address[0]}:{address[1]}: {error}."
            ) from error
        return _Source(f"controller {leader}", connection, quorum.leader_epoch)

    async def _fetch(self, source: _Source, position: MetadataPosition) -> FetchAnswer:
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=source.leader_epoch,
            fetch_offset=position.offset,
            last_fetched_epoch=position.epoch,
            partition_max_bytes=_FETCH_BYTES,
        )
        topic = FetchTopic(topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        request = FetchRequest(
            cluster_id=self._cluster.metadata.cluster_id,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_FETCH_BYTES,
            session_epoch=_SESSIONLESS_EPOCH,
            topics=[topic],
        )
        reply = await source.connection.request(request, FetchResponse)
        raise_for_code(reply.error_code, source.name)
        return _understood(read_answer(reply), FetchAnswer, source)

    async def _install(self, source: _Source, snapshot_id: SnapshotId, before: MetadataPosition) -> MetadataPosition:
        """The position behind the snapshot, or `before` if it was replaced by another one meanwhile."""
        data = bytearray()
        while True:
            partition = snapshots.PartitionSnapshot(
                partition=0,
                current_leader_epoch=source.leader_epoch,
                snapshot_id=snapshots.SnapshotId(**snapshot_id._asdict()),
                position=len(data),
            )
            topic = snapshots.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])
            request = FetchSnapshotRequest(
                cluster_id=self._cluster.metadata.cluster_id, max_bytes=_FETCH_BYTES, topics=[topic]
            )
            reply = await source.connection.request(request, FetchSnapshotResponse)
            raise_for_code(reply.error_code, source.name)
            try:
                answer = _understood(read_answer(reply), FetchSnapshotAnswer, source)
            except ApiError as error:
                if error.code == ErrorCode.SNAPSHOT_NOT_FOUND:
                    return before
                raise
            data += answer.data
            if len(data) >= answer.size or not answer.data:
                break
        cluster_id = self._cluster.metadata.cluster_id or ""
        position = await asyncio.to_thread(position_of_snapshot, cluster_id, data, **snapshot_id._asdict())
        self._keep(position)
        return position


def _understood(answer: object, kind: type[A], source: _Source) -> A:
    if not isinstance(answer, kind):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{source.name} answers what nobody asked for")
    code = getattr(answer, "error", ErrorCode.NONE)
    if code != ErrorCode.NONE:
        raise api_error(code, source.name)
    return answer
