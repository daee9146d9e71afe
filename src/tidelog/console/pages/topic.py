"""One topic: how far each replica is, who has written what, who is in sync, and the segments of the log.

All partitions are read at each reading, as far as there are not too many; leader epochs and segments only of the one
that the page shows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from starlette.responses import Response

from tidelog.client.admin import Admin, ConfigResource, ReplicaOffsets, ReplicaSegments, ResourceType
from tidelog.client.admin.topics import PartitionDescription, TopicDescription
from tidelog.client.errors import raise_any
from tidelog.console.feeds import Pace
from tidelog.console.findings.in_sync import FollowerWatch
from tidelog.console.findings.rates import Rates
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json, reply
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition, format_uuid

router = APIRouter()

V = TypeVar("V")

_PACE = Pace(seconds=1.0)
_SLOW_SECONDS = 15.0
# Of larger topics only the partition that is shown is asked for at each reading.
MOST_PARTITIONS = 50
MOST_EPOCHS = 50
_REPLICA_PATIENCE_MS = 2_000
_SETTINGS = ("cleanup.policy", "retention.ms", "retention.bytes", "segment.bytes", "min.insync.replicas")
_LAG_TIME = "replica.lag.time.max.ms"

_Offsets = Mapping[int, ReplicaOffsets | ApiError]


@router.get("/topic/live")
async def topic(parts: Parts, name: str, partition: Annotated[int, Query(ge=0)] = 0) -> Response:
    return parts.feeds.stream(("topic", name, partition), lambda: TopicReader(parts, name, partition).read, _PACE)


@router.get("/topic")
async def partitions(parts: Parts, name: str) -> Response:
    """For the views that only need to know which partitions there are."""
    admin = await parts.cluster.admin()
    described = raise_any(await admin.describe_topics([name]))[name]
    return reply({"name": name, "partitions": [each.partition for each in described.partitions]})


class TopicReader:
    """What it remembers is of one topic: of the same name after a deletion it begins again."""

    def __init__(self, parts: ConsoleParts, name: str, shown: int) -> None:
        self._parts = parts
        self._name = name
        self._shown = TopicPartition(name, shown)
        self._topic_id = b""
        self._begin()

    def _begin(self) -> None:
        self._rates: Rates[TopicPartition] = Rates()
        self._watches: dict[int, FollowerWatch] = {}
        self._slow_at: float | None = None
        self._settings: dict[str, str | None] | None = None
        self._lag_time_max_ms: int | None = None
        self._epochs: Json = None
        self._epochs_of: tuple[object, ...] = ()

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        described = raise_any(await admin.describe_topics([self._name]))[self._name]
        if described.topic_id != self._topic_id:
            self._topic_id = described.topic_id
            self._begin()
        many = len(described.partitions) > MOST_PARTITIONS
        wanted = [
            TopicPartition(self._name, each.partition)
            for each in described.partitions
            if not many or each.partition == self._shown.partition
        ]
        offsets, _ = await asyncio.gather(
            admin.describe_replica_offsets(wanted, timeout_ms=_REPLICA_PATIENCE_MS),
            self._read_slowly(admin, described),
        )
        now = time.monotonic()
        self._rates.note(now, _leader_ends(described, offsets))
        shown = next((each for each in described.partitions if each.partition == self._shown.partition), None)
        return {
            "name": described.name,
            "id": format_uuid(described.topic_id),
            "internal": described.internal,
            "settings": self._settings,
            "lag_time_max_ms": self._lag_time_max_ms,
            "left_out": len(described.partitions) - len(wanted),
            "partitions": [
                self._partition(each, _given(offsets, TopicPartition(self._name, each.partition)), int(now * 1000))
                for each in described.partitions
            ],
            "shown": None if shown is None else await self._details(admin, shown, offsets),
        }

    async def _read_slowly(self, admin: Admin, described: TopicDescription) -> None:
        now = time.monotonic()
        if self._slow_at is not None and now - self._slow_at < _SLOW_SECONDS:
            return
        self._slow_at = now
        self._settings = await _configs(admin, ConfigResource(type=ResourceType.TOPIC, name=self._name), _SETTINGS)
        leader = next((each.leader for each in described.partitions if each.leader is not None), None)
        if leader is not None:
            broker = ConfigResource(type=ResourceType.BROKER, name=str(leader))
            found = await _configs(admin, broker, (_LAG_TIME,))
            text = (found or {}).get(_LAG_TIME)
            self._lag_time_max_ms = None if text is None else int(text)

    def _partition(self, partition: PartitionDescription, offsets: _Offsets | None, now_ms: int) -> dict[str, Json]:
        ends: dict[int, int] = {}
        for broker, found in (offsets or {}).items():
            if not isinstance(found, ApiError):
                ends[broker] = found.log_end_offset
        watch = self._watches.setdefault(partition.partition, FollowerWatch())
        followers = watch.note(
            now_ms,
            leader=partition.leader,
            log_ends=ends,
            in_sync=partition.in_sync,
            lag_time_max_ms=self._lag_time_max_ms,
        )
        replicas: list[Json] = []
        for broker in partition.replicas:
            answer = None if offsets is None else offsets.get(broker)
            follower = followers.get(broker)
            replicas.append(
                {
                    "broker": broker,
                    "leader": broker == partition.leader,
                    "in_sync": broker in partition.in_sync,
                    "offline": broker in partition.offline,
                    "offsets": _marks(answer),
                    "problem": str(answer) if isinstance(answer, ApiError) else None,
                    "behind": None if follower is None or broker not in ends else follower.behind,
                    "behind_for_ms": None if follower is None else follower.behind_for_ms,
                    "leaves_in_ms": None if follower is None else follower.leaves_in_ms,
                }
            )
        return {
            "partition": partition.partition,
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "eligible": None if partition.eligible_leaders is None else list(partition.eligible_leaders),
            "rate": self._rates.per_second(TopicPartition(self._name, partition.partition)),
            "replicas": replicas,
        }

    async def _details(
        self, admin: Admin, partition: PartitionDescription, offsets: Mapping[TopicPartition, _Offsets | ApiError]
    ) -> dict[str, Json]:
        segments, _ = await asyncio.gather(self._segments(admin), self._read_epochs(admin, partition, offsets))
        return {"partition": partition.partition, "epochs": self._epochs, "segments": segments}

    async def _read_epochs(
        self, admin: Admin, partition: PartitionDescription, offsets: Mapping[TopicPartition, _Offsets | ApiError]
    ) -> None:
        """Anew when there may be another one: the end of the last one is known from the leader's log end."""
        answered = _given(offsets, self._shown) or {}
        leader = None if partition.leader is None else answered.get(partition.leader)
        if not isinstance(leader, ReplicaOffsets):
            # It would not answer this question either.
            return
        is_empty = leader.log_end_offset == leader.log_start_offset
        state = (partition.leader, partition.leader_epoch, leader.log_start_offset, is_empty)
        if state == self._epochs_of:
            return
        try:
            ranges = await admin.describe_leader_epochs(self._shown, most=MOST_EPOCHS)
        except EXPECTED_FAILURES:
            return
        self._epochs_of = state
        self._epochs = [{"epoch": each.epoch, "start": each.start_offset, "end": each.end_offset} for each in ranges]

    async def _segments(self, admin: Admin) -> list[Json]:
        """By broker: its segments, or None where the broker does not tell, which only tidelog does."""
        try:
            answers = await admin.describe_log_segments([self._shown], timeout_ms=_REPLICA_PATIENCE_MS)
        except EXPECTED_FAILURES:
            return []
        found = answers[self._shown]
        if isinstance(found, ApiError):
            return []
        return [_segments_of(broker, answer) for broker, answer in sorted(found.items())]


def _segments_of(broker: int, answer: ReplicaSegments | ApiError | None) -> dict[str, Json]:
    if answer is None or isinstance(answer, ApiError):
        return {"broker": broker, "segments": None, "problem": None if answer is None else str(answer)}
    return {
        "broker": broker,
        "problem": None,
        "omitted": answer.omitted_count,
        "segments": [
            {
                "base": each.base_offset,
                "next": each.next_offset,
                "size": each.size_in_bytes,
                "newest_ms": each.largest_timestamp,
                "state": each.state.name.lower(),
            }
            for each in answer.segments
        ],
    }


def _marks(answer: ReplicaOffsets | ApiError | None) -> Json:
    if not isinstance(answer, ReplicaOffsets):
        return None
    return {
        "start": answer.log_start_offset,
        "stable": answer.last_stable_offset,
        "watermark": answer.high_watermark,
        "end": answer.log_end_offset,
    }


def _leader_ends(
    described: TopicDescription, offsets: Mapping[TopicPartition, _Offsets | ApiError]
) -> dict[TopicPartition, int]:
    ends: dict[TopicPartition, int] = {}
    for partition in described.partitions:
        place = TopicPartition(described.name, partition.partition)
        answer = None if partition.leader is None else (_given(offsets, place) or {}).get(partition.leader)
        if isinstance(answer, ReplicaOffsets):
            ends[place] = answer.log_end_offset
    return ends


def _given(answers: Mapping[TopicPartition, V | ApiError], partition: TopicPartition) -> V | None:
    found = answers.get(partition)
    return None if isinstance(found, ApiError) else found


async def _configs(admin: Admin, resource: ConfigResource, names: tuple[str, ...]) -> dict[str, str | None] | None:
    """None where they may not be seen."""
    try:
        found = (await admin.describe_configs([resource], names=names))[resource]
    except EXPECTED_FAILURES:
        return None
    if isinstance(found, ApiError):
        return None
    return {entry.name: entry.value for entry in found}
