"""What a follower tells its leader: everything once, then only what has changed, and never more than it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.default_settings import log_config, replica_settings
from support.log_harness import NOW, PARTITION, Harness, UnsyncedFileSystem

from tidelog.metadata.image import PartitionImage
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.followed import Asked, FetchStep, Followed, FollowedReplicas, Key
from tidelog.server.replication.session import NO_SESSION, FollowerSession

LEADER, FOLLOWER = 1, 2


class _StandingClock:
    def now_ms(self) -> int:
        return NOW

    def monotonic_ms(self) -> float:
        return 0.0


class Partition:
    """A replica with a log of its own in files."""

    def __init__(self, number: int, directory: Path) -> None:
        directory.mkdir()
        self.topic_id = bytes([number]) * 16
        self.harness = Harness(str(directory), UnsyncedFileSystem(), log_config())
        self.harness.open()
        self.replica = self.new_replica()

    def new_replica(self, leader_epoch: int = 3) -> Replica:
        replica = Replica(
            topic_partition=PARTITION,
            topic_id=self.topic_id,
            broker_id=FOLLOWER,
            log=self.harness.log,
            settings=replica_settings(),
            clock=_StandingClock(),
            flush_wanted=lambda _: None,
        )
        replica.become_follower(self.image(leader_epoch))
        return replica

    def image(self, leader_epoch: int) -> PartitionImage:
        return PartitionImage(
            leader=LEADER, leader_epoch=leader_epoch, replicas=(LEADER, FOLLOWER), isr=(LEADER, FOLLOWER)
        )

    @property
    def key(self) -> Key:
        return self.topic_id, PARTITION.partition

    def asked(self) -> Asked:
        log = self.replica.log
        return Asked(self.replica.leader_epoch, log.log_end_offset, log.latest_epoch, log.log_start_offset)


class Leader:
    """What a leader knows from the requests of one session."""

    def __init__(self) -> None:
        self.followed = FollowedReplicas()
        self.session = FollowerSession()
        self.known: dict[Key, Asked] = {}

    def step(self) -> FetchStep | None:
        """Sent and received; the answer is still to come."""
        step = self.followed.step(self.session, now_ms=0.0)
        if step is not None:
            if step.session_id == NO_SESSION:
                self.known = {}
            for key in step.forgotten:
                del self.known[key]
            self.known.update(step.changed)
        return step

    def answers(self, session_id: int = 5) -> None:
        if not self.session.accepted(session_id):
            self.followed.forget_session()

    def is_lost(self) -> None:
        self.session.reset()
        self.followed.forget_session()


@pytest.fixture
def partitions(tmp_path: Path) -> Iterator[list[Partition]]:
    made = [Partition(number, tmp_path / str(number)) for number in range(3)]
    yield made
    for each in made:
        each.harness.crash()


def follow(leader: Leader, partition: Partition) -> Followed:
    return leader.followed.add(partition.replica)


def test_the_first_request_names_everything_and_the_next_ones_only_news(partitions: list[Partition]) -> None:
    leader = Leader()
    a, b, c = partitions
    follow(leader, a)
    follow(leader, b)
    first = leader.step()
    assert first is not None
    assert (first.session_id, first.session_epoch) == (NO_SESSION, 0)
    assert (first.changed, list(first.forgotten)) == ({a.key: a.asked(), b.key: b.asked()}, [])
    leader.answers()
    b.harness.append(b"more")
    follow(leader, c)
    second = leader.step()
    assert second is not None
    assert (second.session_id, second.session_epoch, second.changed) == (5, 1, {b.key: b.asked(), c.key: c.asked()})
    leader.answers()
    leader.followed.remove(b.replica)
    third = leader.step()
    assert third is not None
    assert (third.session_epoch, third.changed, list(third.forgotten)) == (2, {}, [b.key])


def test_without_a_session_everything_is_named_each_time(partitions: list[Partition]) -> None:
    leader = Leader()
    follow(leader, partitions[0])
    for _ in range(3):
        step = leader.step()
        assert step is not None
        assert step.changed.keys() == {partitions[0].key}
        leader.answers(NO_SESSION)


def test_a_log_that_somebody_else_has_cut_is_not_reported_as_longer_than_it_is(partitions: list[Partition]) -> None:
    leader = Leader()
    (a, _, _) = partitions
    for _ in range(3):
        a.harness.append(b"value")
    follow(leader, a)
    leader.step()
    leader.answers()
    a.harness.directory.truncate(PARTITION, 1, now_ms=NOW)
    leader.step()
    assert leader.known[a.key].fetch_offset == 1


def test_another_leader_epoch_is_reported_although_the_log_is_the_same(partitions: list[Partition]) -> None:
    leader = Leader()
    (a, _, _) = partitions
    follow(leader, a)
    leader.step()
    leader.answers()
    a.replica.become_follower(a.image(leader_epoch=4))
    leader.step()
    assert leader.known[a.key].leader_epoch == 4


@pytest.mark.parametrize("removed", ["before", "afterwards"])
def test_a_recreated_replica_is_not_counted_with_what_the_one_before_it_had(
    partitions: list[Partition], removed: str
) -> None:
    leader = Leader()
    (a, b, _) = partitions
    a.harness.append(b"value")
    follow(leader, a)
    follow(leader, b)
    leader.step()
    leader.answers()
    old = a.replica
    a.replica = a.new_replica()
    if removed == "before":
        leader.followed.remove(old)
    # It cannot be fetched for yet, but others are.
    follow(leader, a).not_before_ms = 1.0
    if removed == "afterwards":
        leader.followed.remove(old)
    leader.step()
    assert leader.known == {b.key: b.asked()}
    follow(leader, a).not_before_ms = 0.0
    leader.answers()
    leader.step()
    assert leader.known == {a.key: a.asked(), b.key: b.asked()}


def test_what_is_not_flushed_yet_is_not_reported(partitions: list[Partition]) -> None:
    leader = Leader()
    a, b, _ = partitions
    states = [follow(leader, a), follow(leader, b)]
    leader.step()
    leader.answers()
    a.harness.append(b"value")
    states[0].flushing = True
    leader.step()
    assert leader.known == {b.key: b.asked()}
    leader.answers()
    states[0].flushing, states[0].flush_failed = False, True
    leader.step()
    assert leader.known == {b.key: b.asked()}
    leader.answers()
    states[0].flush_failed = False
    leader.step()
    assert leader.known == {a.key: a.asked(), b.key: b.asked()}


def test_what_was_given_up_while_nothing_was_fetched_is_forgotten_with_the_next_request(
    partitions: list[Partition],
) -> None:
    leader = Leader()
    a, b, _ = partitions
    states = [follow(leader, a), follow(leader, b)]
    leader.step()
    leader.answers()
    for state in states:
        state.not_before_ms = 1.0
    assert leader.step() is None
    states[1].not_before_ms = 0.0
    step = leader.step()
    assert step is not None
    assert (step.changed, list(step.forgotten)) == ({b.key: b.asked()}, [a.key])


# For each partition: what happens to it before a request is sent.
HAPPENS = st.sampled_from(["nothing", "grows", "leaves", "comes", "is recreated", "is held back", "may be fetched"])
STEPS = st.lists(st.tuples(HAPPENS, HAPPENS, HAPPENS, st.sampled_from(["kept", "none", "lost"])), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(STEPS)
def test_the_leader_always_knows_exactly_what_is_wanted(
    partitions: list[Partition], steps: list[tuple[str, str, str, str]]
) -> None:
    leader = Leader()
    for *happened, outcome in steps:
        for each, what in zip(partitions, happened, strict=True):
            state = leader.followed.get(each.key)
            match what:
                case "grows":
                    each.harness.append(b"value")
                case "leaves":
                    leader.followed.remove(each.replica)
                case "comes":
                    follow(leader, each)
                case "is recreated":
                    before, each.replica = each.replica, each.new_replica()
                    follow(leader, each)
                    leader.followed.remove(before)
                case "is held back" if state is not None:
                    state.not_before_ms = 1.0
                case "may be fetched" if state is not None:
                    state.not_before_ms = 0.0
        followed = {state.key: state for state in leader.followed}
        wanted = {
            each.key: each.asked()
            for each in partitions
            if each.key in followed and followed[each.key].not_before_ms <= 0.0
        }
        if leader.step() is None:
            assert not wanted
            continue
        assert leader.known == wanted
        if outcome == "lost":
            leader.is_lost()
        else:
            leader.answers(5 if outcome == "kept" else NO_SESSION)
