"""Consumers that let the coordinator assign their partitions (group.protocol=consumer, KIP-848)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from support.apache_kafka import running_apache_kafka
from support.clients.confluent import ConfluentClient
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, Message
from support.foreign_causes import JAVA_READS_AGAIN, LIBRDKAFKA_RESETS_POSITIONS
from support.group_members.java import JavaMembers
from support.present import present
from support.tidelog_process import running_tidelog

PARTITIONS = 4

# Members learn of everything with their heartbeats: the fewer there are, the longer the tests.
PROPERTIES = {
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "3000",
}
ON_JVM = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]


class Member(Protocol):
    def poll(self) -> list[tuple[int, bytes]]: ...

    def assignment(self) -> set[tuple[str, int]]: ...

    def copy(self, target: str, transactional_id: str, count: int) -> None:
        """Read `count` records, and write them to another topic together with the offsets, in transactions."""

    def commit(self) -> None: ...

    def close(self) -> None: ...


class Open(Protocol):
    """Makes a member of a group that is subscribed to a topic, or to all that match a pattern."""

    def __call__(
        self,
        group: str,
        *,
        topic: str | None = None,
        pattern: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Member: ...


class ConfluentMember:
    def __init__(self, bootstrap_servers: str, group: str, subscription: str, settings: Mapping[str, str]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": group,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        self._servers = bootstrap_servers
        self._consumer.subscribe([subscription])

    def poll(self) -> list[tuple[int, bytes]]:
        return [
            (present(message.partition()), present(message.value()))
            for message in self._consumer.consume(100, timeout=0.1)
        ]

    def assignment(self) -> set[tuple[str, int]]:
        return {(partition.topic, partition.partition) for partition in self._consumer.assignment()}

    def copy(self, target: str, transactional_id: str, count: int) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "transactional.id": transactional_id})
        producer.init_transactions(OPERATION_TIMEOUT_SECONDS)
        deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
        while count > 0:
            assert time.monotonic() < deadline, f"{count} records have not come"
            messages = self._consumer.consume(count, timeout=0.1)
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.value())
            positions = self._consumer.position(self._consumer.assignment())
            producer.send_offsets_to_transaction(
                [position for position in positions if position.offset >= 0], self._consumer.consumer_group_metadata()
            )
            producer.commit_transaction(OPERATION_TIMEOUT_SECONDS)
            count -= len(messages)

    def commit(self) -> None:
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as problem:
            # Java's consumer takes it for success if there is nothing to commit.
            if problem.args[0].code() != KafkaError._NO_OFFSET:
                raise

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture(scope="module", params=["tidelog", pytest.param("apache", marks=[*ON_JVM, pytest.mark.slow])])
def bootstrap_servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("consumer-groups")
    if request.param == "tidelog":
        with running_tidelog(directory, PROPERTIES) as broker:
            yield broker.bootstrap_servers
    else:
        with running_apache_kafka(request.getfixturevalue("jars"), directory, PROPERTIES) as apache:
            yield apache.bootstrap_servers


@pytest.fixture(scope="module")
def java_members(
    request: pytest.FixtureRequest, bootstrap_servers: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaMembers]:
    log = tmp_path_factory.mktemp("java-members") / "client.log"
    members = JavaMembers(bootstrap_servers, jars=request.getfixturevalue("jars"), log=log)
    yield members
    members.close()


@pytest.fixture(params=["confluent-kafka", pytest.param("java", marks=ON_JVM)])
def open_member(request: pytest.FixtureRequest, bootstrap_servers: str) -> Iterator[Open]:
    with ExitStack() as closing:
        members = request.getfixturevalue("java_members") if request.param == "java" else None

        def open_one(
            group: str,
            *,
            topic: str | None = None,
            pattern: str | None = None,
            settings: Mapping[str, str] | None = None,
        ) -> Member:
            if members is not None:
                opened: Member = members.open(group, topic=topic, pattern=pattern, settings=settings or {})
            else:
                subscription = topic or f"^{pattern}"
                opened = ConfluentMember(bootstrap_servers, group, subscription, settings or {})
            closed: list[Member] = []
            close = opened.close

            def close_once() -> None:
                if not closed:
                    closed.append(opened)
                    close()

            opened.close = close_once  # type: ignore[method-assign]
            closing.callback(close_once)
            return opened

        yield open_one


def settle(members: list[Member], condition: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"no {what}; assigned are {[member.assignment() for member in members]}"
        for member in members:
            assert member.poll() == []


def read_values(members: list[Member], count: int) -> list[bytes]:
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    values: list[bytes] = []
    while len(values) < count:
        assert time.monotonic() < deadline, f"only {len(values)} of {count} records came"
        for member in members:
            values += [value for _partition, value in member.poll()]
    return values


def read_each(members: list[Member], values: list[bytes]) -> None:
    """Until all of them were read. Some come twice if a partition moves meanwhile: nothing of it is committed yet."""
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    missing = set(values)
    while missing:
        assert time.monotonic() < deadline, f"{missing} have not come"
        for member in members:
            read = {value for _partition, value in member.poll()}
            assert read <= set(values)
            missing -= read


def write(bootstrap_servers: str, topic: str, values: list[bytes], partitions: int = PARTITIONS) -> None:
    messages = [
        Message(key=None, value=value, timestamp_ms=int(time.time() * 1000), partition=number % partitions)
        for number, value in enumerate(values)
    ]
    ConfluentClient(bootstrap_servers).produce(topic, messages)


def partitions_of(topic: str, count: int = PARTITIONS) -> set[tuple[str, int]]:
    return {(topic, number) for number in range(count)}


@pytest.mark.foreign_cause(LIBRDKAFKA_RESETS_POSITIONS, only="confluent-kafka")
def test_members_share_the_partitions_and_inherit_them(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"shared-{topic}"
    everything = partitions_of(topic)
    first = open_member(group, topic=topic)
    settle([first], lambda: first.assignment() == everything, what="assignment to the only member")
    # A rebalance while librdkafka still asks where a partition begins would take it back there later (see test_groups).
    alone = [b"alone-%d" % number for number in range(PARTITIONS)]
    write(bootstrap_servers, topic, alone)
    assert sorted(read_values([first], len(alone))) == sorted(alone)
    first.commit()
    second = open_member(group, topic=topic)

    def shared() -> bool:
        mine, others = first.assignment(), second.assignment()
        return len(mine) == len(others) == PARTITIONS // 2 and mine | others == everything

    settle([first, second], shared, what="fair assignment")
    values = [b"shared-%d" % number for number in range(40)]
    write(bootstrap_servers, topic, values)
    assert sorted(read_values([first, second], len(values))) == sorted(values)
    first.commit()
    second.commit()
    second.close()
    # Nothing comes twice: the heir begins where the leaver had committed.
    settle([first], lambda: first.assignment() == everything, what="inheritance")
    more = [b"inherited-%d" % number for number in range(8)]
    write(bootstrap_servers, topic, more)
    assert sorted(read_values([first], len(more))) == sorted(more)


def test_committed_offsets_outlive_the_members(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"outlived-{topic}"
    write(bootstrap_servers, topic, [b"old-%d" % number for number in range(8)])
    first = open_member(group, topic=topic)
    assert len(read_values([first], 8)) == 8
    first.commit()
    first.close()
    write(bootstrap_servers, topic, [b"new-%d" % number for number in range(8)])
    second = open_member(group, topic=topic)
    assert sorted(read_values([second], 8)) == [b"new-%d" % number for number in range(8)]


def test_new_partitions_are_read_without_anybody_asking(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=1) == 0
    member = open_member(f"growing-{topic}", topic=topic, settings={"metadata.max.age.ms": "1000"})
    settle([member], lambda: member.assignment() == partitions_of(topic, 1), what="first assignment")
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(OPERATION_TIMEOUT_SECONDS)
    settle([member], lambda: member.assignment() == partitions_of(topic, 3), what="assignment of the new partitions")
    write(bootstrap_servers, topic, [b"a", b"b", b"c"], partitions=3)
    assert sorted(read_values([member], 3)) == [b"a", b"b", b"c"]


def test_a_pattern_is_resolved_by_the_coordinator(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    client = ConfluentClient(bootstrap_servers)
    assert client.create_topic(f"{topic}-eu", partitions=1) == 0
    member = open_member(f"matching-{topic}", pattern=f"{topic}-(eu|us)", settings={"metadata.max.age.ms": "1000"})
    settle([member], lambda: member.assignment() == {(f"{topic}-eu", 0)}, what="match")
    assert client.create_topic(f"{topic}-asia", partitions=1) == 0
    assert client.create_topic(f"{topic}-us", partitions=1) == 0
    both = {(f"{topic}-eu", 0), (f"{topic}-us", 0)}
    settle([member], lambda: member.assignment() == both, what="match of the topic that came later")


def test_a_static_member_comes_back_to_its_partitions(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"static-{topic}"
    first = open_member(group, topic=topic, settings={"group.instance.id": "left"})
    second = open_member(group, topic=topic, settings={"group.instance.id": "right"})

    def shared() -> bool:
        return len(first.assignment()) == len(second.assignment()) == PARTITIONS // 2

    settle([first, second], shared, what="fair assignment")
    had = first.assignment()
    first.close()
    returned = open_member(group, topic=topic, settings={"group.instance.id": "left"})
    settle([second, returned], lambda: returned.assignment() == had, what="return")
    assert second.assignment() == partitions_of(topic) - had


def test_records_are_copied_in_transactions(bootstrap_servers: str, topic: str, open_member: Open) -> None:
    client = ConfluentClient(bootstrap_servers)
    target = f"{topic}-target"
    assert client.create_topic(topic, partitions=PARTITIONS) == 0
    assert client.create_topic(target, partitions=1) == 0
    group = f"copying-{topic}"
    for part in (range(8), range(8, 16)):
        # The second member goes on where the transactions of the first have ended.
        write(bootstrap_servers, topic, [b"%d" % number for number in part])
        member = open_member(group, topic=topic)
        member.copy(target, f"copier-of-{topic}", len(part))
        member.close()
    reader = open_member(f"reading-{topic}", topic=target, settings={"isolation.level": "read_committed"})
    assert sorted(map(int, read_values([reader], 16))) == list(range(16))
    assert reader.poll() == [], "each of them was there once"


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_members_choose_the_assignor(bootstrap_servers: str, topic: str, open_member: Open, assignor: str) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=3) == 0
    group = f"{assignor}-{topic}"
    remote = {"group.remote.assignor": assignor}
    members = [open_member(group, topic=topic, settings=remote) for _ in range(2)]

    def shared() -> bool:
        return sorted(len(member.assignment()) for member in members) == [1, 2]

    settle(members, shared, what="fair assignment")


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
def test_a_group_can_be_described(bootstrap_servers: str, topic: str, java_members: JavaMembers) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"described-{topic}"
    member = java_members.open(group, topic=topic, settings={})
    settle([member], lambda: member.assignment() == partitions_of(topic), what="assignment")
    described: Any = java_members.describe(group)
    assert (described["type"], described["state"], described["assignor"]) == ("Consumer", "Stable", "uniform")
    (found,) = described["members"]
    assert {(name, number) for name, number in found["partitions"]} == partitions_of(topic)
    member.close()


def test_a_group_may_go_from_classic_to_the_new_protocol_and_back(bootstrap_servers: str, topic: str) -> None:
    client = ConfluentClient(bootstrap_servers)
    assert client.create_topic(topic, partitions=1) == 0
    group = f"changing-{topic}"
    settings: list[dict[str, Any]] = [
        {"group.protocol": "classic"},
        {"group.protocol": "consumer"},
        {"group.protocol": "classic"},
    ]
    for number, protocol in enumerate(settings):
        write(bootstrap_servers, topic, [b"%d" % number], partitions=1)
        member = ConfluentMember(bootstrap_servers, group, topic, protocol)
        assert read_values([member], 1) == [b"%d" % number]
        member.commit()
        member.close()


# librdkafka's cooperative-sticky assignor puts data of its own into assignments. Such a group is not converted, here or
# in Apache Kafka.
@pytest.mark.parametrize(
    ("open_member", "strategy"),
    [
        ("confluent-kafka", "range"),
        pytest.param("java", "range", marks=ON_JVM),
        pytest.param("java", "cooperative-sticky", marks=ON_JVM),
    ],
    indirect=["open_member"],
)
@pytest.mark.slow
@pytest.mark.foreign_cause(LIBRDKAFKA_RESETS_POSITIONS, only="confluent-kafka")
@pytest.mark.foreign_cause(JAVA_READS_AGAIN, only="java")
def test_members_change_their_protocol_one_by_one_while_the_group_reads(
    bootstrap_servers: str, topic: str, open_member: Open, strategy: str
) -> None:
    assert ConfluentClient(bootstrap_servers).create_topic(topic, partitions=PARTITIONS) == 0
    group = f"migrating-{topic}"
    classic = {"group.protocol": "classic", "partition.assignment.strategy": strategy, "heartbeat.interval.ms": "200"}
    everything = partitions_of(topic)
    members: list[Member] = []

    def all_read(what: str) -> None:
        def shared() -> bool:
            assigned = [member.assignment() for member in members]
            apart = all(assigned) and sum(map(len, assigned)) == PARTITIONS
            return apart and set[tuple[str, int]]().union(*assigned) == everything

        settle(members, shared, what=f"assignment of everything {what}")
        values = [f"{what} {number}".encode() for number in range(8)]
        write(bootstrap_servers, topic, values)
        read_each(members, values)
        for member in members:
            member.commit()

    def exchange(settings: Mapping[str, str], what: str) -> None:
        members.append(open_member(group, topic=topic, settings=settings))
        all_read(f"with {what}")
        members.pop(0).close()
        all_read(f"after {what}")

    members.append(open_member(group, topic=topic, settings=classic))
    all_read("by a classic member")
    members.append(open_member(group, topic=topic, settings=classic))
    all_read("by two classic members")
    exchange({}, "the first new one")
    exchange({}, "the second new one")
    exchange(classic, "the first old one")
    exchange(classic, "the second old one")
