"""What the driver asks the brokers for: which partitions there are, where they begin and where they end.

Spark calls from ordinary code, one call at a time. So the client's event loop runs only while something is asked.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import ClusterMetadata, TopicMetadata
from tidelog.client.offsets.listing import list_offsets
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.spark.source.offsets import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest, PartitionOffsets, Place
from tidelog.spark.source.options import NamedTopics, Partitions, Selection, SourceOptions, TopicPattern

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A topic that was made a moment ago may not be known to all brokers yet.
_TOPIC_ATTEMPTS = 5
_TOPIC_PAUSE_SECONDS = 0.2


class SourceProblem(Exception):
    """The query cannot be answered as it was asked; the message says why, and what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The partitions that the query reads now, and the ids of their topics."""

    partitions: frozenset[TopicPartition]
    topic_ids: Mapping[str, Uuid]
    # Topics that were asked for by name and do not exist.
    missing: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """`at_end` are the partitions whose offset is just where they end now."""

    offsets: PartitionOffsets
    at_end: frozenset[TopicPartition]


class SourceCluster:
    """Connects when it is first asked something. Use with `with`, or `close`."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._config = options.consumer_config
        self._runner: asyncio.Runner | None = None
        self._cluster: Cluster | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        runner, cluster = self._runner, self._cluster
        self._runner = self._cluster = None
        if runner is not None:
            if cluster is not None:
                runner.run(cluster.close())
            runner.close()

    def select(self, *, known: Collection[str] = ()) -> Selected:
        """Topics that are not there are looked for some more, unless they are `known` to have existed."""
        return self._run(lambda: self._select(self._options.selection, known))

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._run(lambda: self._list(dict.fromkeys(partitions, EARLIEST)))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Ends as a reader sees them: with read_committed the last stable offset."""
        return self._run(lambda: self._list(dict.fromkeys(partitions, LATEST)))

    def latest_from(self, partitions: Iterable[TopicPartition], known: PartitionOffsets) -> dict[TopicPartition, int]:
        """As `latest`. A broker that has just become leader may know less than is `known` for a moment: ask again."""
        wanted = list(partitions)
        for attempt in range(self._options.fetch_offset_retries + 1):
            found = self.latest(wanted)
            behind = [partition for partition in found if found[partition] < known.get(partition, 0)]
            if not behind or attempt == self._options.fetch_offset_retries:
                break
            self._run(lambda: asyncio.sleep(self._options.fetch_offset_retry_interval_ms / 1000))
        return found

    def resolve(self, place: Place, partitions: frozenset[TopicPartition], *, starting: bool) -> Resolved:
        """The offsets of a place that an option names."""
        resolved = self._run(lambda: self._resolve(place, partitions, starting=starting))
        if not isinstance(place, AtOffsets):
            return resolved
        named = {partition: offset for partition, offset in place.offsets.items() if offset >= 0}
        ends = self.latest_from(named, named)
        beyond = {partition: end for partition, end in ends.items() if end < named[partition]}
        if not beyond:
            return resolved
        problem = _beyond_the_end("startingOffsets" if starting else "endingOffsets", named, beyond)
        if self._options.fail_on_data_loss:
            raise SourceProblem(f"{problem}; or set failOnDataLoss=false, which uses the end instead")
        logger.warning("%s. The query uses the end, since failOnDataLoss=false", problem)
        return Resolved(offsets={**resolved.offsets, **beyond}, at_end=resolved.at_end)

    # -- inside --------------------------------------------------------------------------------------------------

    def _run(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(self._ask(question))

    async def _ask(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._cluster is None:
            cluster = Cluster(self._config)
            await cluster.start()
            self._cluster = cluster
        return await question()

    async def _select(self, selection: Selection, known: Collection[str]) -> Selected:
        match selection:
            case NamedTopics(names=names):
                return await self._select_topics(names, known)
            case Partitions(partitions=partitions):
                found = await self._select_topics({partition.topic for partition in partitions}, known)
                for partition in sorted(partitions):
                    if partition.topic not in found.missing and partition not in found.partitions:
                        raise SourceProblem(f"assign names partition {partition}, which does not exist")
                return replace(found, partitions=partitions & found.partitions)
            case TopicPattern(pattern=pattern):
                matches = re.compile(pattern).fullmatch
                metadata = await self._metadata(None)
                wanted = {name for name, topic in metadata.topics.items() if not topic.internal and matches(name)}
                return _selected(metadata.topics, wanted)

    async def _select_topics(self, names: Collection[str], known: Collection[str]) -> Selected:
        for attempt in range(_TOPIC_ATTEMPTS):
            metadata = await self._metadata(names)
            for name, code in metadata.topic_errors.items():
                if code not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
                    raise SourceProblem(f"topic {name!r} cannot be read: {code.name}")
            selected = _selected(metadata.topics, names)
            if not selected.missing - set(known) or attempt == _TOPIC_ATTEMPTS - 1:
                break
            await asyncio.sleep(_TOPIC_PAUSE_SECONDS)
        return selected

    async def _metadata(self, names: Collection[str] | None) -> ClusterMetadata:
        assert self._cluster is not None
        cluster = self._cluster
        return await cluster.retry("asking for topics", lambda: cluster.fetch_metadata(names))

    async def _list(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        if not times:
            return {}
        assert self._cluster is not None
        found = await list_offsets(self._cluster, times, read_committed=self._config.read_committed)
        offsets: dict[TopicPartition, int] = {}
        for partition, answer in found.items():
            if isinstance(answer, ApiError):
                raise SourceProblem(f"the offsets of partition {partition} cannot be listed: {answer}") from answer
            offsets[partition] = answer.offset
        return offsets

    async def _resolve(self, place: Place, partitions: frozenset[TopicPartition], *, starting: bool) -> Resolved:
        match place:
            case Earliest():
                wanted = dict.fromkeys(partitions, EARLIEST)
            case Latest():
                wanted = dict.fromkeys(partitions, LATEST)
            case AtOffsets(offsets=offsets):
                _check_all_named(offsets, partitions, "startingOffsets" if starting else "endingOffsets")
                wanted = dict(offsets)
            case AtTimestamps(timestamps=timestamps):
                name = "startingOffsetsByTimestamp" if starting else "endingOffsetsByTimestamp"
                _check_all_named(timestamps, partitions, name)
                wanted = await self._at_times(timestamps, starting=starting)
            case AtTimestamp(timestamp=timestamp):
                wanted = await self._at_times(dict.fromkeys(partitions, timestamp), starting=starting)
        symbolic = {partition: offset for partition, offset in wanted.items() if offset in (EARLIEST, LATEST)}
        found = await self._list(symbolic)
        at_end = frozenset(partition for partition, offset in symbolic.items() if offset == LATEST)
        return Resolved(offsets={**wanted, **found}, at_end=at_end)

    async def _at_times(self, times: PartitionOffsets, *, starting: bool) -> dict[TopicPartition, int]:
        found = await self._list(times)
        for partition, offset in found.items():
            if offset >= 0:
                continue
            if starting and self._options.when_no_match == "error":
                raise SourceProblem(
                    f"partition {partition} has no record from the time {times[partition]} on. To begin at its end in "
                    "such a case, set startingOffsetsByTimestampStrategy=latest"
                )
            found[partition] = LATEST
        return found


def _selected(topics: Mapping[str, TopicMetadata], names: Collection[str]) -> Selected:
    there = {name: topics[name] for name in names if name in topics and topics[name].partitions}
    return Selected(
        partitions=frozenset(
            TopicPartition(name, part.partition) for name, topic in there.items() for part in topic.partitions
        ),
        topic_ids={name: topic.topic_id for name, topic in there.items()},
        missing=frozenset(names) - there.keys(),
    )


def _beyond_the_end(option: str, named: PartitionOffsets, ends: PartitionOffsets) -> str:
    named_offsets = ", and ".join(
        f"offset {named[partition]} of partition {partition}, which ends at {ends[partition]}"
        for partition in sorted(ends)
    )
    return (
        f"{option} names {named_offsets}. Name an offset up to the end, or -1 for the end itself; if the records were "
        "there once, the topic was deleted and recreated, or the offset is from another cluster"
    )


def _check_all_named(given: PartitionOffsets, partitions: frozenset[TopicPartition], option: str) -> None:
    if given.keys() == partitions:
        return
    unnamed = ", ".join(str(partition) for partition in sorted(partitions - given.keys()))
    unknown = ", ".join(str(partition) for partition in sorted(given.keys() - partitions))
    parts = [f"it does not name {unnamed}"] if unnamed else []
    parts += [f"it names {unknown}, which the query does not read"] if unknown else []
    raise SourceProblem(
        f"{option} must name each partition that is read, with -1 for the latest and -2 for the earliest offset: "
        f"{'; '.join(parts)}"
    )
