"""Each invariant fails when the state is broken on purpose, and says with which values. What was not broken holds."""

from __future__ import annotations

import dataclasses
import random
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.default_settings import MAX_LAG_MS, log_config, replica_settings

from tidelog.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfiguredResource,
    PartitionImage,
    ResourceType,
    TopicImage,
)
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.invariants import InvariantBroken
from tidelog.partition.leader_epochs import EpochEntry
from tidelog.partition.producer_entry import BatchMetadata
from tidelog.partition.producers import AppendOrigin
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.records.batch import parse_header
from tidelog.records.record import encode_batch
from tidelog.server.fetching.sessions import FetchPlan, FetchSession, FetchSessions
from tidelog.server.replicas.replica import Replica
from tidelog.simulation.machines.clock import SeededRandomness
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.local_filesystem import LocalFileSystem

NOW = 1_700_000_000_000
TOPIC = Uuid(b"t" * 16)


class StoppedClock:
    def now_ms(self) -> int:
        return NOW

    def monotonic_ms(self) -> float:
        return 0.0


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    """A leader with three batches in two segments; the last one opens a transaction."""
    directory = LogDirectory.open(str(tmp_path), LocalFileSystem(), SeededRandomness(random.Random(1)))
    config = log_config(segment_bytes=180, index_interval_bytes=1)
    log = directory.open_log(TopicPartition("topic", 0), TOPIC, config, NOW)
    leader = Replica(
        topic_partition=log.topic_partition,
        topic_id=TOPIC,
        broker_id=1,
        log=log,
        settings=replica_settings(),
        clock=StoppedClock(),
        flush_wanted=lambda _: None,
    )
    leader.become_leader(PartitionImage(leader=1, leader_epoch=0, replicas=(1, 2), isr=(1, 2)), MAX_LAG_MS)
    for number in range(3):
        batch = encode_batch(
            [(NOW, None, b"value", ())],
            producer_id=7,
            producer_epoch=0,
            base_sequence=number,
            transactional=True,
        )
        header = parse_header(batch)
        leader.append(batch, [header], origin=AppendOrigin.CLIENT, all_in_sync=False)
    leader.record_fetch(2, broker_epoch=-1, fetch_offset=2, log_start_offset=0)
    assert (log.high_watermark, log.last_stable_offset, log.log_end_offset) == (2, 0, 3)
    assert log.segments.base_offsets == [0, 2]
    return leader


def entry_of(replica: Replica) -> Any:
    entry = replica.log.producer_states.get(7)
    assert entry is not None
    return entry


def put(entries: Any, replica: Replica, **changes: object) -> None:
    entries[7] = entry_of(replica)._replace(**changes)


def exceed_index(replica: Replica) -> None:
    replica.log.segments.first.offset_index.append_offset(1, position=10_000)


# How the state is broken, with the names that stand for its parts, and what is said about it.
BROKEN_REPLICAS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a watermark behind the end": (lambda it: it.log.__setattr__("high_watermark", 9), "high watermark.*at=9"),
    "a start above the watermark": (lambda it: it.log.__setattr__("log_start_offset", 3), "high watermark"),
    "a recovery point behind the end": (
        lambda it: it.log.flusher.__setattr__("recovery_point", 4),
        "flushed.*recovery_point=4",
    ),
    "cleaned behind the end": (lambda it: it.log.__setattr__("cleaned_up_to", 4), "cleaned.*up_to=4"),
    "no segment": (
        lambda it: (it.log.segments._segments.clear(), it.log.segments._offsets.clear()),
        "there is a segment.*offsets=\\[\\]",
    ),
    "segments out of order": (
        lambda it: (it.log.segments._segments.reverse(), it.log.segments._offsets.reverse()),
        "segments are in the order",
    ),
    "a segment under another offset": (lambda it: it.log.segments._offsets.__setitem__(1, 1), "found by its first"),
    "a log before its segments": (
        lambda it: it.log.segments.remove(it.log.segments.first),
        "lies in its segments: start=0, end=3",
    ),
    "a size that no batch ends at": (lambda it: it.log.segments.active.__setattr__("size", 7), "ends the segment"),
    "an index entry behind the segment": (exceed_index, "points into the log: entry=\\(1, 10000\\)"),
    "checked more than there is": (
        lambda it: it.log.segments.first.__setattr__("_checked_to", 10_000),
        "checked_to=10000",
    ),
    "an epoch behind the log": (lambda it: it.log.leader_epochs.assign(1, start_offset=9), "end=3"),
    "epochs that fall": (
        lambda it: it.log.leader_epochs._entries.extend([EpochEntry(3, 1), EpochEntry(2, 2)]),
        "epochs and their start offsets grow",
    ),
    "an epoch of the future": (lambda it: it.log.leader_epochs.assign(5, start_offset=3), "later leader: epoch=0"),
    "producers that lag": (lambda it: it.log.producer_states.__setattr__("end_offset", 2), "known up to.*known=2"),
    "a producer under another id": (
        lambda it: it.log.producer_states._entries.__setitem__(8, entry_of(it)),
        "found under its id: found_under=8",
    ),
    "an epoch below 0": (lambda it: put(it.log.producer_states._entries, it, epoch=-1), "known: epoch=-1"),
    "too many batches": (
        lambda it: put(it.log.producer_states._entries, it, batches=entry_of(it).batches * 2),
        "count=6",
    ),
    "batches out of order": (
        lambda it: put(it.log.producer_states._entries, it, batches=entry_of(it).batches[::-1]),
        "batches are in the order",
    ),
    "a sequence that there is not": (
        lambda it: put(it.log.producer_states._entries, it, batches=(BatchMetadata(2**31, 0, 0, NOW),)),
        "within their ranges",
    ),
    "a batch behind the log": (
        lambda it: put(it.log.producer_states._entries, it, batches=(BatchMetadata(0, 3, 0, NOW),)),
        "batches lie in the log",
    ),
    "a transaction that nobody has": (
        lambda it: put(it.log.producer_states._entries, it, transaction_first_offset=-1),
        "those of the producers: expected=\\{\\}",
    ),
    "a transaction from another offset": (
        lambda it: put(it.log.producer_states._entries, it, transaction_first_offset=1),
        "expected=\\{1: 7\\}",
    ),
    "a marker before its records": (
        lambda it: it.log.producer_states.transactions._unreplicated.append((2, 1)),
        "a marker follows",
    ),
    "a leader that is not in sync": (lambda it: it.progress.confirm([2], 0), "in_sync is.*members=frozenset\\(\\{2\\}"),
    "in sync without a replica": (lambda it: it.progress.confirm([1, 3], 0), "in_sync is the leader and other"),
    "proposed without the leader": (lambda it: it.progress.propose([2]), "proposed is the leader"),
    "no followers": (lambda it: it.progress._followers.clear(), "followers are"),
    "a watermark below 0": (lambda it: it.progress.__setattr__("high_watermark", -1), "mark=-1"),
    "a watermark that only the leader knows": (
        lambda it: it.progress.__setattr__("high_watermark", 3),
        "promises no more.*mark=3",
    ),
    "leading for another": (lambda it: it.__setattr__("leader_id", 2), "leader=2"),
}


@pytest.mark.parametrize("name", BROKEN_REPLICAS)
def test_a_broken_replica_is_noticed(name: str, replica: Replica) -> None:
    replica.check_invariants()
    break_it, words = BROKEN_REPLICAS[name]
    break_it(replica)
    with pytest.raises(InvariantBroken, match=words):
        replica.check_invariants()


@pytest.mark.plain_python
def test_a_stable_offset_above_the_watermark_is_noticed(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(replica.log), "last_stable_offset", property(lambda self: self.log_end_offset))
    with pytest.raises(InvariantBroken, match="stable=3, mark=2"):
        replica.check_invariants()


PARTITION = PartitionImage(replicas=(1, 2, 3), isr=(1, 2), leader=1, eligible_leaders=(3,))
TOPIC_IMAGE = TopicImage(name="t", id=TOPIC, partitions={0: PARTITION})
IMAGE = ClusterImage(
    cluster_id="cluster",
    offset=5,
    brokers={1: BrokerImage(id=1, epoch=4, incarnation_id=Uuid(bytes(16)))},
    topics={"t": TOPIC_IMAGE},
    topics_by_id={TOPIC: TOPIC_IMAGE},
    configs={ConfiguredResource(ResourceType.TOPIC, "t"): {"retention.ms": "1"}},
)


def with_topic(topic: TopicImage) -> ClusterImage:
    return dataclasses.replace(IMAGE, topics={topic.name: topic}, topics_by_id={topic.id: topic})


def with_partition(**changes: Any) -> ClusterImage:
    partition = dataclasses.replace(PARTITION, **changes)
    return with_topic(dataclasses.replace(TOPIC_IMAGE, partitions={0: partition}))


BROKEN_IMAGES: dict[str, tuple[ClusterImage, str]] = {
    "a topic without an id": (dataclasses.replace(IMAGE, topics_by_id={}), "names=\\['t'\\]"),
    "an id of another topic": (
        dataclasses.replace(IMAGE, topics_by_id={TOPIC: dataclasses.replace(TOPIC_IMAGE, name="u")}),
        "found by its name and its id",
    ),
    "a topic under another name": (dataclasses.replace(IMAGE, topics={"u": TOPIC_IMAGE}), "name='u'"),
    "partitions with a gap": (with_topic(dataclasses.replace(TOPIC_IMAGE, partitions={1: PARTITION})), "\\[1\\]"),
    "no replicas": (with_partition(replicas=(), isr=()), "distinct"),
    "a replica twice": (with_partition(replicas=(1, 1, 2)), "distinct"),
    "in sync without a replica": (with_partition(isr=(1, 4)), "isr are replicas: members=\\(1, 4\\)"),
    "adding no replica": (with_partition(adding_replicas=(4,)), "adding are replicas"),
    "removing no replica": (with_partition(removing_replicas=(4,)), "removing are replicas"),
    "eligible without a replica": (with_partition(eligible_leaders=(4,)), "eligible are replicas"),
    "eligible and in sync": (with_partition(eligible_leaders=(2,)), "need not be eligible"),
    "a leader that is not in sync": (with_partition(leader=3), "in sync: leader=3"),
    "an epoch below 0": (with_partition(leader_epoch=-1), "not negative"),
    "a partition epoch below 0": (with_partition(partition_epoch=-1), "not negative"),
    "a replica without a directory": (with_partition(directories=(TOPIC,)), "has a directory"),
    "a broker under another id": (dataclasses.replace(IMAGE, brokers={2: IMAGE.brokers[1]}), "found by its id: id=2"),
    "properties of no topic": (
        dataclasses.replace(IMAGE, configs={ConfiguredResource(ResourceType.TOPIC, "gone"): {}}),
        "only topics that exist.*gone",
    ),
    "producer ids below 0": (dataclasses.replace(IMAGE, next_producer_id=-1), "numbers=\\(5, -1\\)"),
}


@pytest.mark.parametrize("name", BROKEN_IMAGES)
def test_a_broken_image_is_noticed(name: str) -> None:
    IMAGE.check_invariants()
    image, words = BROKEN_IMAGES[name]
    with pytest.raises(InvariantBroken, match=words):
        image.check_invariants(IMAGE)


def test_an_image_does_not_go_back() -> None:
    with pytest.raises(InvariantBroken, match=re.escape("images follow each other: offset=4, before=5")):
        dataclasses.replace(IMAGE, offset=4).check_invariants(IMAGE)


def fetch_sessions() -> tuple[FetchSessions, FetchSession]:
    sessions = FetchSessions(slots=2, randomness=SeededRandomness(random.Random(1)))
    topic = FetchTopic(topic_id=TOPIC, partitions=(FetchPartition(partition=3),))
    plan = sessions.plan(FetchRequest(session_id=0, session_epoch=0, topics=(topic,)), 13)
    assert isinstance(plan, FetchPlan)
    assert plan.session is not None
    return sessions, plan.session


def only(session: FetchSession) -> Any:
    return next(iter(session.partitions.values()))


BROKEN_SESSIONS: dict[str, tuple[Callable[[Any, FetchSession], object], str]] = {
    "more than slots": (lambda all_, one: all_.__setattr__("_slots", 0), "no more than slots: count=1"),
    "under another id": (lambda all_, one: setattr(one, "session_id", 5), "found by its id: id=5"),
    "an epoch below 1": (lambda all_, one: setattr(one, "epoch", 0), "epoch=0"),
    "names where ids are used": (
        lambda all_, one: setattr(one, "partitions", OrderedDict({("t", bytes(16), 3): only(one)})),
        "what names it",
    ),
    "another partition": (
        lambda all_, one: setattr(one, "partitions", OrderedDict({("", TOPIC, 4): only(one)})),
        "what names it",
    ),
    "a log that starts behind its end": (
        lambda all_, one: setattr(only(one), "log_start_offset", 5),
        "start=5, mark=-1",
    ),
}


@pytest.mark.parametrize("name", BROKEN_SESSIONS)
def test_a_broken_fetch_session_is_noticed(name: str) -> None:
    sessions, session = fetch_sessions()
    sessions.check_invariants()
    break_it, words = BROKEN_SESSIONS[name]
    break_it(sessions, session)
    with pytest.raises(InvariantBroken, match=words):
        sessions.check_invariants()
