"""Members of different clients share a group: the coordinator, not the client, keeps them together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from confluent_kafka import Consumer
from kafka import KafkaConsumer
from support.clients.confluent import ConfluentClient
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, Message
from support.foreign_causes import kafka_python_forgets_joins, librdkafka_resets_positions
from support.present import present

PARTITIONS = 4


class Member(Protocol):
    def poll(self) -> list[tuple[int, bytes]]:
        """(partition, value) of what has come; also does the member's share of a rebalance."""

    def assignment(self) -> set[int]: ...

    def commit(self) -> None: ...

    def close(self) -> None: ...


class ConfluentMember:
    def __init__(self, bootstrap_servers: str, group: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "partition.assignment.strategy": "range",
                "heartbeat.interval.ms": 300,
            }
        )
        self._consumer.subscribe([topic])

    def poll(self) -> list[tuple[int, bytes]]:
        return [
            (present(message.partition()), present(message.value()))
            for message in self._consumer.consume(100, timeout=0.1)
        ]

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self._consumer.assignment()}

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonMember:
    def __init__(self, bootstrap_servers: str, group: str, topic: str) -> None:
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
            # A topic that was created just now may be unknown to the broker that is asked first; the client would not
            # ask again for five minutes.
            metadata_max_age_ms=1000,
        )

    def poll(self) -> list[tuple[int, bytes]]:
        # Long: a join that is answered between two polls is forgotten (see `poll_all`).
        polled = self._consumer.poll(timeout_ms=1000)
        return [(record.partition, record.value) for records in polled.values() for record in records]

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self._consumer.assignment()}

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close()

    def __repr__(self) -> str:
        """For a member that is never assigned anything: whose fault is it?"""
        inside = self._consumer._coordinator
        return (
            f"kafka-python in state {inside.state} (rejoin needed: {inside.rejoin_needed}, rejoining: "
            f"{inside.rejoining}, join under way: {inside._join_task}), coordinator {inside.coordinator_id}"
        )


@pytest.fixture(
    params=[
        "tidelog",
        pytest.param("apache", marks=[pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.slow]),
    ]
)
def bootstrap_servers(request: pytest.FixtureRequest) -> str:
    broker: Any = request.getfixturevalue("tidelog_process" if request.param == "tidelog" else "apache_kafka")
    return str(broker.bootstrap_servers)


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def poll_all(members: list[Member]) -> list[list[tuple[int, bytes]]]:
    """What each has got. At the same time, as members in different processes would.

    In turns, a rebalance that needs both may never end: kafka-python forgets that it has joined if that happens between
    two of its polls, and joins again. With another member's poll between them that is when it mostly happens.
    """
    with ThreadPoolExecutor(len(members)) as threads:
        return list(threads.map(lambda member: member.poll(), members))


def settle(members: list[Member], condition: Callable[[], bool], *, what: str) -> None:
    """Poll all members, as each of them must take part in a rebalance."""
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    while not condition():
        assignments = [member.assignment() for member in members]
        assert time.monotonic() < deadline, f"no {what}; assigned are {assignments} of {members}"
        assert poll_all(members) == [[] for _ in members]


def read_values(members: list[Member], count: int) -> list[bytes]:
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    values: list[bytes] = []
    while len(values) < count:
        assert time.monotonic() < deadline, f"only {len(values)} of {count} records came"
        for member, polled in zip(members, poll_all(members), strict=True):
            assert {partition for partition, _value in polled} <= member.assignment()
            values += [value for _partition, value in polled]
    return values


def write(bootstrap_servers: str, topic: str, values: list[bytes]) -> None:
    messages = [
        Message(key=None, value=value, timestamp_ms=int(time.time() * 1000), partition=number % PARTITIONS)
        for number, value in enumerate(values)
    ]
    ConfluentClient(bootstrap_servers).produce(topic, messages)


@pytest.mark.parametrize(
    ("first_kind", "second_kind"),
    [
        pytest.param(ConfluentMember, KafkaPythonMember, marks=kafka_python_forgets_joins),
        pytest.param(KafkaPythonMember, ConfluentMember, marks=kafka_python_forgets_joins),
        (ConfluentMember, ConfluentMember),
    ],
)
@librdkafka_resets_positions
def test_members_share_the_partitions_and_inherit_them(
    bootstrap_servers: str,
    topic: str,
    closing: ExitStack,
    first_kind: Callable[[str, str, str], Member],
    second_kind: Callable[[str, str, str], Member],
) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"group-of-{topic}"
    everything = set(range(PARTITIONS))

    first = first_kind(bootstrap_servers, group, topic)
    closing.callback(first.close)
    settle([first], lambda: first.assignment() == everything, what="assignment to the only member")
    # A rebalance while librdkafka still asks where a partition begins leaves its question to be asked again half a
    # second later, and the answer then takes the member back to the beginning, whoever owns the partition and whatever
    # is committed. So the first member has its positions before the second one comes.
    alone = [b"alone-%d" % number for number in range(PARTITIONS)]
    write(bootstrap_servers, topic, alone)
    assert sorted(read_values([first], len(alone))) == sorted(alone)
    first.commit()

    second = second_kind(bootstrap_servers, group, topic)
    with ExitStack() as second_closing:
        second_closing.callback(second.close)

        def shared() -> bool:
            mine, others = first.assignment(), second.assignment()
            return len(mine) == len(others) == PARTITIONS // 2 and mine | others == everything

        settle([first, second], shared, what="fair assignment")
        values = [b"shared-%d" % number for number in range(40)]
        write(bootstrap_servers, topic, values)
        assert sorted(read_values([first, second], len(values))) == sorted(values)
        first.commit()
        second.commit()

    # Nothing comes twice: the heir begins where the leaver had committed.
    settle([first], lambda: first.assignment() == everything, what="inheritance")
    more = [b"inherited-%d" % number for number in range(8)]
    write(bootstrap_servers, topic, more)
    assert sorted(read_values([first], len(more))) == sorted(more)
