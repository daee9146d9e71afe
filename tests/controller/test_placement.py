"""Where the replicas of new partitions go."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.controller.decision import Refusal
from tidelog.controller.placement import PlacementCandidate, place
from tidelog.model.errors import ErrorCode


def brokers(*ids: int, fenced: tuple[int, ...] = (), racks: dict[int, str] | None = None) -> list[PlacementCandidate]:
    return [PlacementCandidate(id=each, rack=(racks or {}).get(each), fenced=each in fenced) for each in ids]


def test_one_broker_takes_everything() -> None:
    assert place(brokers(7), partitions=3, replication_factor=1, start=5) == [(7,), (7,), (7,)]


def test_replicas_form_stripes_and_the_followers_shift_with_each_turn() -> None:
    assert place(brokers(1, 2, 3), partitions=6, replication_factor=2, start=0) == [
        (1, 2),
        (2, 3),
        (3, 1),
        (1, 3),
        (2, 1),
        (3, 2),
    ]


def test_the_start_turns_the_stripes() -> None:
    assert place(brokers(1, 2, 3), partitions=2, replication_factor=1, start=2) == [(3,), (1,)]


def test_a_growing_topic_goes_on_where_it_stopped() -> None:
    whole = place(brokers(1, 2, 3), partitions=7, replication_factor=2, start=4)
    first = place(brokers(1, 2, 3), partitions=4, replication_factor=2, start=4)
    rest = place(brokers(1, 2, 3), partitions=3, replication_factor=2, start=4, first_partition=4)
    assert isinstance(first, list)
    assert isinstance(rest, list)
    assert first + rest == whole


def test_replicas_spread_over_racks() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    placed = place(brokers(*racks, racks=racks), partitions=12, replication_factor=3, start=0)
    assert isinstance(placed, list)
    for replicas in placed:
        assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("cluster", "factor", "reason"),
    [
        (brokers(1, 2), 3, "only 2 brokers are available"),
        (brokers(1, 2, fenced=(1, 2)), 1, "no broker is alive"),
        (brokers(), 1, "no broker is alive"),
    ],
)
def test_what_cannot_be_placed_is_refused(cluster: list[PlacementCandidate], factor: int, reason: str) -> None:
    refusal = place(cluster, partitions=1, replication_factor=factor, start=0)
    assert isinstance(refusal, Refusal)
    assert refusal.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert reason in refusal.message


candidate_lists = st.lists(
    st.builds(
        PlacementCandidate, id=st.integers(0, 20), rack=st.sampled_from([None, "a", "b", "c"]), fenced=st.booleans()
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda each: each.id,
).filter(lambda each: any(not broker.fenced for broker in each))


@given(candidate_lists, st.integers(1, 30), st.integers(0, 10_000), st.data())
def test_every_placement_keeps_the_promises(
    cluster: list[PlacementCandidate], partitions: int, start: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(cluster)))
    placed = place(cluster, partitions=partitions, replication_factor=factor, start=start)
    assert isinstance(placed, list)
    assert len(placed) == partitions
    by_id = {broker.id: broker for broker in cluster}
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert not by_id[replicas[0]].fenced
        check_racks(cluster, [by_id[each] for each in replicas])
    leaders = Counter(replicas[0] for replicas in placed)
    counts = [leaders[broker.id] for broker in cluster if not broker.fenced]
    assert max(counts) - min(counts) <= 1


def check_racks(cluster: list[PlacementCandidate], replicas: list[PlacementCandidate]) -> None:
    """No rack has a replica more than another that still had room, and no fenced broker was preferred in its rack."""
    sizes = Counter(broker.rack for broker in cluster)
    used = Counter(broker.rack for broker in replicas)
    for rack, count in used.items():
        assert all(used[other] >= count - 1 or used[other] == sizes[other] for other in sizes), (rack, used)
    for broker in replicas[1:]:
        if broker.fenced:
            same_rack = [each for each in cluster if each.rack == broker.rack and not each.fenced]
            assert all(each in replicas for each in same_rack)


@given(st.integers(2, 8), st.integers(0, 1000), st.data())
def test_without_racks_whole_turns_load_all_brokers_equally(count: int, start: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, count))
    turns = data.draw(st.integers(1, 4))
    start -= start % count
    placed = place(brokers(*range(count)), partitions=turns * count, replication_factor=factor, start=start)
    assert isinstance(placed, list)
    load = Counter(broker for replicas in placed for broker in replicas)
    assert set(load.values()) == {turns * factor}


@given(st.integers(3, 6), st.integers(0, 1000))
def test_the_followers_of_one_leader_are_spread(count: int, start: int) -> None:
    placed = place(brokers(*range(count)), partitions=count * count, replication_factor=2, start=start)
    assert isinstance(placed, list)
    followers = {replicas[1] for replicas in placed if replicas[0] == 0}
    assert len(followers) == count - 1
