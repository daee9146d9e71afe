"""The synchronous clients on a real broker, and what is special about them: threads, timeouts, forks."""

from __future__ import annotations

import inspect
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.present import present
from support.processes import HANG_SECONDS

import tidelog
import tidelog.sync.consumer
from tidelog.client.errors import ConsumerClosed, ProducerClosed, RecordTooLarge, WrongUse
from tidelog.model.ids import TopicPartition
from tidelog.records.record import encode_batch
from tidelog.sync import Admin, Consumer, ForkedClient, Producer

if TYPE_CHECKING:
    from tidelog.testing.broker_thread import BrokerThread

_numbers = itertools.count()


@pytest.fixture
def servers(tidelog_session_broker: BrokerThread) -> str:
    return tidelog_session_broker.bootstrap_servers


@pytest.fixture
def topic(servers: str) -> str:
    name = f"sync-{os.getpid()}-{next(_numbers)}"
    with Admin(servers) as admin:
        admin.create_topic(name, partitions=2)
    return name


def reader(topic: str, servers: str, **options: Any) -> Consumer:
    return Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", **options)


def test_records_that_are_sent_are_read(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        first = producer.send(topic, "text", key=b"k", headers={"h": b"1"}, partition=1, timestamp_ms=7)
        stored = first.result(timeout=60)
        for number in range(999):
            producer.send(topic, b"%d" % number, partition=1)
    assert (stored.topic, stored.partition, stored.offset, stored.timestamp_ms) == (topic, 1, 0, 7)
    assert first.done()

    with reader(topic, servers) as consumer:
        records = list(itertools.islice(consumer, 1_000))

    assert records[0][:8] == (topic, 1, 0, 7, 0, b"k", b"text", (("h", b"1"),))
    assert [record.value for record in records[1:]] == [b"%d" % number for number in range(999)]


def test_many_threads_may_send(servers: str, topic: str) -> None:
    with Producer(servers) as producer:

        def send(thread: int) -> None:
            for number in range(500):
                producer.send(topic, b"%d" % number, key=b"%d" % thread)

        threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()

    with reader(topic, servers) as consumer:
        records = list(itertools.islice(consumer, 2_000))
    for thread_number in range(4):
        values = [record.value for record in records if record.key == b"%d" % thread_number]
        assert values == [b"%d" % number for number in range(500)]


def test_a_record_that_cannot_be_sent_is_told_by_its_delivery_and_by_flush(servers: str, topic: str) -> None:
    with Producer(servers, max_request_size=1_000, max_block_ms=500) as producer:
        good = producer.send(topic, b"x")
        refused = producer.send(topic, bytes(2_000))
        producer.send(topic, b"x", partition=9)

        with pytest.raises(RecordTooLarge):
            refused.result(timeout=60)
        assert good.result(timeout=60).offset == 0
        producer.flush()
        producer.send(topic, b"x", partition=9)
        with pytest.raises(WrongUse, match="not 9"):
            producer.flush()


def test_what_a_partitioner_raises_is_told_by_the_delivery(servers: str, topic: str) -> None:
    def refusing(topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
        if value == b"bad":
            raise LookupError("no partition for this")
        return 0

    with Producer(servers, partitioner=refusing) as producer:
        deliveries = [producer.send(topic, value) for value in (b"a", b"bad", b"b")]
        assert deliveries[2].result(timeout=60).offset == 1
        with pytest.raises(LookupError, match="no partition for this"):
            deliveries[1].result(timeout=60)


def test_a_failure_that_nobody_asked_about_ends_the_block(servers: str, topic: str) -> None:
    with pytest.raises(WrongUse, match="not 9"), Producer(servers, max_block_ms=500) as producer:
        producer.send(topic, b"x", partition=9)


def test_what_is_no_payload_is_refused_at_once(servers: str, topic: str) -> None:
    with Producer(servers) as producer, pytest.raises(TypeError, match="value"):
        producer.send(topic, 5)  # type: ignore[arg-type]


def test_a_closed_producer_takes_nothing(servers: str, topic: str) -> None:
    producer = Producer(servers)
    with pytest.raises(ProducerClosed, match="not been started"):
        producer.send(topic, b"x")
    with producer:
        pass
    with pytest.raises(ProducerClosed):
        producer.send(topic, b"x")


def test_transactions_commit_or_abort(servers: str, topic: str) -> None:
    with Producer(servers, transactional_id=f"{topic}-writer", max_block_ms=5_000) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(topic, b"kept", partition=0)
            producer.publish(topic, 0, encode_batch([(5, None, b"published", ())]))
            producer.send_offsets({TopicPartition(topic, 1): 5}, f"{topic}-group")
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"dropped", partition=0)
            raise ZeroDivisionError
        with suppress(WrongUse), producer.transaction():
            producer.send(topic, b"dropped too", partition=0)
            producer.send(topic, b"refused", partition=9)
        producer.begin_transaction()
        producer.send(topic, b"kept as well", partition=0)
        producer.commit_transaction()

    with reader(topic, servers, isolation_level="read_committed", group_id=f"{topic}-group") as consumer:
        records = list(itertools.islice(consumer, 3))
        assert [record.value for record in records] == [b"kept", b"published", b"kept as well"]
        assert consumer.committed(TopicPartition(topic, 1))[TopicPartition(topic, 1)].offset == 5


def test_a_commit_in_the_middle_of_an_iteration_covers_what_was_handed_out(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=number % 2)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]

    with reader(topic, servers, group_id=f"{topic}-group", enable_auto_commit=False) as consumer:
        handed_out = [present(record.value) for record in itertools.islice(consumer, 7)]
        consumer.commit()
        committed = consumer.committed(*places)
        assert sum(entry.offset for entry in committed.values()) == 7
        assert sum(consumer.position(place) for place in places) == 7
        consumer.commit_async()
        handed_out += [present(record.value) for record in consumer.poll(max_records=2)]
        consumer.commit()

    with reader(topic, servers, group_id=f"{topic}-group") as consumer:
        handed_out += [present(record.value) for record in itertools.islice(consumer, 11)]
    assert sorted(handed_out) == sorted(b"%d" % number for number in range(20))


def test_closing_commits_only_what_was_handed_out(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=0)

    for expected in (0, 6):
        with reader(topic, servers, group_id=f"{topic}-group") as consumer:
            assert [record.offset for record in itertools.islice(consumer, 6)] == list(range(expected, expected + 6))


def test_seeking_forgets_what_was_taken_ahead(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    place = TopicPartition(topic, 0)

    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([place])
        assert next(consumer).offset == 0
        consumer.seek(place, 7)
        assert next(consumer).offset == 7
        consumer.seek_to_beginning(place)
        assert [record.offset for record in itertools.islice(consumer, 3)] == [0, 1, 2]
        consumer.pause(place)
        assert consumer.poll(timeout_ms=10) == []
        assert consumer.paused() == {place}
        consumer.resume(place)
        assert consumer.getmany(place, timeout_ms=60_000)[place][0].offset == 3
        assert consumer.assignment() == {place}
        assert consumer.end_offsets(place) == {place: 10}


def test_seeking_in_one_partition_loses_and_repeats_nothing_of_another(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(200):
            producer.send(topic, b"%d" % number, partition=number % 2)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]

    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign(places)
        # Which partition comes first is not fixed: the other one is that of which nothing is sought.
        read = list(itertools.islice(consumer, 30))
        sought = read[-1].topic_partition
        (kept,) = (place for place in places if place != sought)
        consumer.seek(sought, 5)
        read += itertools.islice(consumer, 10)
        consumer.seek_to_beginning(sought)
        read += itertools.islice(consumer, 10)
        consumer.seek_to_end(sought)
        while len([record for record in read if record.topic_partition == kept]) < 100:
            read.append(next(consumer))
        assert consumer.position(kept) == 100
    assert [record.offset for record in read if record.topic_partition == kept] == list(range(100))


def test_most_lists_need_nothing_of_the_loops_thread(servers: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidelog.sync.consumer, "_LEND_SECONDS", HANG_SECONDS)
    with Producer(servers) as producer:
        for number in range(300):
            producer.send(topic, b"%d" % number, partition=0)

    with reader(topic, servers) as consumer:
        offsets = [record.offset for record in consumer.poll(timeout_ms=60_000, max_records=1)]
        with monkeypatch.context() as patched:
            patched.setattr(consumer, "_run", None)
            for _ in range(20):
                offsets += [record.offset for record in consumer.poll(max_records=5)]
            offsets += [record.offset for record in itertools.islice(consumer, 9)]
        assert offsets == list(range(110))
        assert consumer.position(TopicPartition(topic, 0)) == 110
        assert consumer.poll(max_records=1)[0].offset == 110


def test_the_loops_thread_is_asked_again_after_a_while(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only there rebalances, automatic commits and failures are looked after."""
    monkeypatch.setattr(tidelog.sync.consumer, "_LEND_SECONDS", 0.0)
    with Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=0)
    place = TopicPartition(topic, 0)

    options = {"group_id": f"{topic}-group", "enable_auto_commit": True, "auto_commit_interval_ms": 1}
    with reader(topic, servers, **options) as consumer:
        offsets: list[int] = []
        committed = 0
        while len(offsets) < 20:
            offsets += [record.offset for record in consumer.poll(timeout_ms=60_000, max_records=2)]
            found = consumer.committed(place)
            # The records of the last list are not processed before the next call.
            assert (found[place].offset if found else 0) <= len(offsets) - 2
            committed = max(committed, found[place].offset if found else 0)
    assert offsets == list(range(20))
    assert committed > 0


def test_a_rebalance_between_two_lists_loses_and_repeats_nothing(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(2_000):
            producer.send(topic, b"%d" % number, partition=number % 2)
    options = {"group_id": f"{topic}-group", "heartbeat_interval_ms": 100}

    with reader(topic, servers, **options) as first:
        seen = first.poll(timeout_ms=60_000, max_records=1)
        with reader(topic, servers, **options) as second:
            deadline = time.monotonic() + HANG_SECONDS
            others: list[tidelog.ConsumerRecord] = []
            while not (others and len(seen) + len(others) >= 2_000):
                assert time.monotonic() < deadline, f"{len(seen)} and {len(others)} records were read"
                seen += first.poll(timeout_ms=10, max_records=1 if not others else 500)
                others += second.poll(timeout_ms=10, max_records=500)
            assert len(first.assignment()) == 1
    read = [present(record.value) for record in seen + others]
    assert sorted(read) == sorted(b"%d" % number for number in range(2_000))


def test_closing_ends_the_iteration_of_another_thread(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        producer.send(topic, b"only", partition=0)
    seen: list[bytes | None] = []
    begun = threading.Event()

    def read(consumer: Consumer) -> None:
        for record in consumer:
            seen.append(record.value)
            begun.set()

    with reader(topic, servers) as consumer:
        thread = threading.Thread(target=read, args=(consumer,), daemon=True)
        thread.start()
        assert begun.wait(HANG_SECONDS)
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
    assert seen == [b"only"]


def test_a_closed_consumer_gives_nothing_that_was_lent(servers: str, topic: str) -> None:
    with Producer(servers) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    with reader(topic, servers) as consumer:
        assert next(consumer).offset == 0
    assert list(consumer) == []
    with pytest.raises(ConsumerClosed):
        consumer.poll()


def test_columns_follow_what_was_handed_out(servers: str, topic: str) -> None:
    pytest.importorskip("pyarrow")
    with Producer(servers) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)

    with reader(topic, servers) as consumer:
        assert next(consumer).offset == 0
        rows = consumer.fetch_arrow(timeout_ms=60_000)

    assert rows.column("offset").to_pylist() == list(range(1, 10))


def test_listeners_may_make_calls_that_wait(servers: str, topic: str) -> None:
    heard: list[object] = []
    with Producer(servers) as producer:
        producer.send(topic, b"x")
    with Consumer(bootstrap_servers=servers, group_id=f"{topic}-group", auto_offset_reset="earliest") as consumer:

        def assigned(partitions: object) -> None:
            heard.append(set(partitions))  # type: ignore[call-overload]
            heard.append(consumer.committed(TopicPartition(topic, 0)))

        consumer.subscribe([topic], on_partitions_assigned=assigned)
        assert next(consumer).value == b"x"

    assert heard[:2] == [{TopicPartition(topic, 0), TopicPartition(topic, 1)}, {}]


def test_the_administration_answers(servers: str, topic: str) -> None:
    with Admin(servers) as admin:
        assert topic in {listing.name for listing in admin.list_topics()}
        with pytest.raises(tidelog.ApiError):
            admin.create_topic(topic, partitions=1)


def test_a_call_gives_up_when_its_time_is_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        producer = Producer(f"127.0.0.1:{silent.getsockname()[1]}", call_timeout=0.2)
        with pytest.raises(TimeoutError, match=r"0\.2 s"):
            producer.start()


def test_a_call_on_the_thread_that_does_the_work_is_refused(servers: str) -> None:
    with Admin(servers) as admin:

        async def call() -> str:
            try:
                admin.list_topics()
            except WrongUse as error:
                return str(error)
            return ""

        assert "thread that does the work" in admin._run(call)


FORKING = """
import os, sys
from tidelog.sync import Admin, ForkedClient, Producer
servers, topic = sys.argv[1:]
with Producer(servers) as producer:
    producer.send(topic, b"parent").result()
    child = os.fork()
    if child == 0:
        try:
            producer.send(topic, b"x")
        except ForkedClient as error:
            assert "after the fork" in str(error)
            with Producer(servers) as mine:
                mine.send(topic, b"child").result()
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    producer.send(topic, b"parent again").result()
"""


def test_a_child_process_needs_clients_of_its_own(servers: str, topic: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, servers, topic], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr

    with reader(topic, servers) as consumer:
        values = {record.value for record in itertools.islice(consumer, 3)}
    assert values == {b"parent", b"child", b"parent again"}
    assert issubclass(ForkedClient, Exception)


@pytest.mark.parametrize("pair", [(tidelog.Producer, Producer), (tidelog.Consumer, Consumer), (tidelog.Admin, Admin)])
def test_nothing_is_missing(pair: tuple[type, type]) -> None:
    asynchronous, synchronous = pair
    for name, member in inspect.getmembers(asynchronous):
        if name.startswith("_") or not callable(member):
            continue
        assert hasattr(synchronous, name), f"tidelog.sync.{synchronous.__name__} has no {name}"
        theirs = [entry for entry in inspect.signature(member).parameters if entry != "self"]
        ours = [entry for entry in inspect.signature(getattr(synchronous, name)).parameters if entry != "self"]
        assert ours == theirs, f"{name} takes {ours}, and in asyncio {theirs}"
