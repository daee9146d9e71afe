"""`tidelog up --cores N` as a user runs it: what lands where, transactions, deaths, metrics, restarts with other N."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families
from support.acknowledged import SteadyProducer, check_nothing_lost, read_values
from support.cores_command import READY, CoresCommand, cores_command
from support.processes import HANG_SECONDS, start_process, stop_process, tail, wait_until
from support.tidelog_command import run_tidelog
from support.tidelog_process import tidelog_command

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cores")]

MARK = ".kafka_cleanshutdown"
PROCESSES = (1, 2)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CoresCommand]:
    """Two processes that run, for tests that leave them as they are."""
    with cores_command(tmp_path_factory.mktemp("cores")) as command:
        command.start(2)
        yield command
        assert command.stop() == 0, tail(command.output)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[CoresCommand]:
    """For tests that start it themselves."""
    with cores_command(tmp_path) as found:
        yield found


def create_topic(servers: str, name: str, *, partitions: int = -1) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions, -1)])[name].result(HANG_SECONDS)


def create_in(servers: str, name: str, *processes: int) -> None:
    """One partition in each of these processes, in this order."""
    assignment = ",".join(map(str, processes))
    run_tidelog("topics", "-b", servers, "--create", "--topic", name, "--replica-assignment", assignment)


def leaders(servers: str, topic: str) -> Counter[int]:
    found = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=HANG_SECONDS).topics[topic]
    return Counter(each.leader for each in found.partitions.values())


def produce(servers: str, topic: str, *, partitions: int, each: int = 50, prefix: str = "") -> set[bytes]:
    """Records in every partition, all acknowledged."""
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer({"bootstrap.servers": servers})
    values = {f"{prefix}{partition}-{number}".encode() for partition in range(partitions) for number in range(each)}
    for value in sorted(values):
        partition = int(value.removeprefix(prefix.encode()).split(b"-")[0])
        producer.produce(topic, value, partition=partition, on_delivery=delivered)
    assert producer.flush(HANG_SECONDS) == 0
    assert failed == []
    return values


def read_all(servers: str, topic: str, count: int, *, group: str = "reads", committed: bool = True) -> list[bytes]:
    """So many values of all partitions, as a member of a group that commits."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    found: list[bytes] = []

    def read() -> bool:
        for message in consumer.consume(1000, timeout=1):
            value = message.value()
            assert message.error() is None
            assert value is not None
            found.append(value)
        return len(found) >= count

    try:
        consumer.subscribe([topic])
        wait_until(read, what=f"{count} records of {topic}")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


def log_size(command: CoresCommand, process: int, topic: str) -> int:
    return sum(path.stat().st_size for path in command.core_directory(process).glob(f"{topic}-*/*.log"))


def test_a_topic_without_a_number_of_partitions_is_spread_and_used_in_all_processes(shared: CoresCommand) -> None:
    create_topic(shared.servers, "spread")
    assert leaders(shared.servers, "spread") == dict.fromkeys(PROCESSES, 1)
    sent = produce(shared.servers, "spread", partitions=2)
    assert set(read_all(shared.servers, "spread", len(sent))) == sent
    assert all(log_size(shared, process, "spread") > 0 for process in PROCESSES)


def test_a_topic_that_comes_into_being_with_its_first_record_is_spread(shared: CoresCommand) -> None:
    producer = Producer({"bootstrap.servers": shared.servers, "linger.ms": 0})
    producer.produce("on-demand", b"first")
    assert producer.flush(HANG_SECONDS) == 0
    assert leaders(shared.servers, "on-demand") == dict.fromkeys(PROCESSES, 1)


def test_internal_topics_have_one_copy_and_are_spread(shared: CoresCommand) -> None:
    create_topic(shared.servers, "with-internal")
    sent = produce(shared.servers, "with-internal", partitions=2, each=1)
    read_all(shared.servers, "with-internal", len(sent))
    producer = Producer({"bootstrap.servers": shared.servers, "transactional.id": "makes-the-topic"})
    producer.init_transactions(HANG_SECONDS)
    topics = AdminClient({"bootstrap.servers": shared.servers}).list_topics(timeout=HANG_SECONDS).topics
    for name in ("__consumer_offsets", "__transaction_state"):
        partitions = topics[name].partitions.values()
        assert {len(each.replicas) for each in partitions} == {1}
        assert Counter(each.leader for each in partitions) == dict.fromkeys(PROCESSES, 25)


def test_transactions_span_processes(shared: CoresCommand) -> None:
    """Consumed offsets and produced records of all processes in one transaction, with coordinators in both."""
    create_topic(shared.servers, "orders")
    create_topic(shared.servers, "invoices")
    sent = produce(shared.servers, "orders", partitions=2, each=8)
    expected = {b"billed " + value for value in sent}
    # The partition of an id is fixed, and neighbours are in different processes: each coordinates some of these.
    for number in range(16):
        transform(shared.servers, f"billing-{number}", abort_first=number % 4 == 0)
    assert sorted(read_all(shared.servers, "invoices", len(expected), group="checks")) == sorted(expected)
    coordinated = json.loads(run_tidelog("transactions", "-b", shared.servers, "list", "--json").stdout)
    assert {each["coordinator"] for each in coordinated} == set(PROCESSES)


def transform(servers: str, transactional_id: str, *, abort_first: bool) -> None:
    """One order becomes one invoice; with `abort_first`, only in the second attempt."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions(HANG_SECONDS)
    for aborts in (True, False) if abort_first else (False,):
        consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        try:
            consumer.subscribe(["orders"])
            message = wait_until(partial(consumer.poll, 1), what="an order")
            assert message is not None
            value, offset, partition = message.value(), message.offset(), message.partition()
            assert value is not None
            assert offset is not None
            assert partition is not None
            producer.begin_transaction()
            producer.produce("invoices", b"billed " + value, partition=1 - partition)
            offsets = [TopicPartition("orders", partition, offset + 1)]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), HANG_SECONDS)
            if aborts:
                producer.abort_transaction(HANG_SECONDS)
            else:
                producer.commit_transaction(HANG_SECONDS)
        finally:
            consumer.close()


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every series of a page; one that is there twice fails."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def of_process(text: str, name: str) -> dict[str, float]:
    found = samples(text)
    return {dict(labels)["process"]: value for (found_name, labels), value in found.items() if found_name == name}


def test_one_page_has_the_metrics_of_all_processes(shared: CoresCommand) -> None:
    text = shared.metrics()
    found = samples(text)
    assert all("process" in dict(labels) for _, labels in found)
    for name in ("tidelog_connections", "tidelog_partitions", "tidelog_process_up", "tidelog_process_restarts_total"):
        assert set(of_process(text, name)) == {"1", "2"}
    families = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))


def test_the_page_answers_while_a_process_does_not(shared: CoresCommand) -> None:
    child = shared.child(2)
    child.suspend()
    try:
        text = shared.metrics()
    finally:
        child.resume()
    assert of_process(text, "tidelog_process_up") == {"1": 1, "2": 0}
    assert set(of_process(text, "tidelog_partitions")) == {"1"}
    wait_until(lambda: of_process(shared.metrics(), "tidelog_process_up") == {"1": 1, "2": 1}, what="both processes")


@pytest.mark.parametrize("victim", PROCESSES)
def test_a_process_that_is_killed_is_started_again_with_its_data(command: CoresCommand, victim: int) -> None:
    """Also the first one, which is the controller as well."""
    command.start(2)
    other = 3 - victim
    create_in(command.servers, "kept", victim)
    create_in(command.servers, "beside", other)
    # All addresses: a client that knows only the first one waits for it while it is down.
    servers = f"{command.servers},127.0.0.1:{command.port + 1}"
    produce(servers, "beside", partitions=1)
    with SteadyProducer(servers, "kept", **{"message.timeout.ms": 120_000}) as producer:
        wait_until(lambda: len(producer.acknowledged) > 50, what="the first records")
        dead = command.child(victim)
        dead.kill()
        pages = [command.metrics()]

        def is_restarted() -> bool:
            pages.append(command.metrics())
            return restarts(pages[-1], victim) == 1

        wait_until(is_restarted, what="that it is restarted")
        assert all(set(of_process(page, "tidelog_partitions")) >= {str(other)} for page in pages)
        before = len(producer.acknowledged)
        wait_until(lambda: len(producer.acknowledged) > before + 50, what="records after the restart")
    assert producer.failures == []
    check_nothing_lost(producer, read_values(servers, "kept"))
    assert len(read_values(servers, "beside")) == 50
    assert command.child(victim).pid != dead.pid
    assert f"process {victim} was ended by SIGKILL; it is started again now" in command.said
    assert command.stop() == 0, tail(command.output)


def restarts(page: str, process: int) -> float:
    return of_process(page, "tidelog_process_restarts_total")[str(process)]


def test_a_process_that_dies_too_often_ends_the_command(command: CoresCommand) -> None:
    command.start(2)
    child = command.child(2)
    (command.data_dir / "core-2.properties").write_text("node.id=none\n")
    child.kill()
    assert command.up.wait(HANG_SECONDS) == 1
    said = command.said.splitlines()[-1]
    assert said.startswith(
        "tidelog: process 2 exited with code 1, after 5 restarts within 60 s; all processes are stop"
    )
    assert "node.id must be a whole number" in said
    command.expect_no_process()
    assert (command.core_directory(1) / MARK).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_goes_on_where_it_was(command: CoresCommand, number: signal.Signals) -> None:
    command.start(2)
    create_topic(command.servers, "kept", partitions=4)
    sent = produce(command.servers, "kept", partitions=4)
    before = read_all(command.servers, "kept", len(sent))
    assert command.stop(number) == 0, tail(command.output)
    assert all((command.core_directory(process) / MARK).exists() for process in PROCESSES)
    command.start(2)
    more = produce(command.servers, "kept", partitions=4, prefix="more")
    # The group goes on where it has committed.
    assert set(read_all(command.servers, "kept", len(more))) == more
    assert set(before) == sent
    assert leaders(command.servers, "kept") == dict.fromkeys(PROCESSES, 2)
    assert command.stop(number) == 0, tail(command.output)
    for log in command.data_dir.glob("*.log"):
        assert "Traceback" not in log.read_text()


def test_a_signal_during_the_start_leaves_no_process(command: CoresCommand) -> None:
    command.begin(2)
    command.child(1)
    assert command.stop() == 0, tail(command.output)
    assert READY not in command.said


def test_a_second_control_c_ends_all_processes_at_once(command: CoresCommand) -> None:
    command.start(2)
    # It cannot stop in order.
    command.child(2).suspend()
    command.up.send_signal(signal.SIGINT)
    wait_until(lambda: "press Ctrl-C again" in command.said, what="that it stops")
    assert command.stop(signal.SIGINT) == -signal.SIGINT


def test_the_processes_end_when_the_command_is_killed_and_it_can_be_started_at_once(command: CoresCommand) -> None:
    command.start(2)
    create_topic(command.servers, "kept")
    sent = produce(command.servers, "kept", partitions=2)
    command.kill()
    # The processes of the killed command may still be ending.
    command.start(2)
    assert set(read_all(command.servers, "kept", len(sent))) == sent
    command.kill()
    command.wait_for_no_process()
    assert all((command.core_directory(process) / MARK).exists() for process in PROCESSES)
    assert "the process that started this one has ended" in (command.data_dir / "core-2.log").read_text()


def test_more_cores_serve_new_topics_and_old_ones_when_they_are_spread(command: CoresCommand) -> None:
    command.start(2)
    create_topic(command.servers, "old", partitions=6)
    sent = produce(command.servers, "old", partitions=6)
    read_all(command.servers, "old", len(sent))
    assert "no partitions yet" not in command.said
    assert command.stop() == 0, tail(command.output)
    command.start(3)
    create_topic(command.servers, "new")
    assert leaders(command.servers, "new") == {1: 1, 2: 1, 3: 1}
    assert leaders(command.servers, "old") == {1: 3, 2: 3}
    # What the command says is what has to be typed.
    assert "process 3 holds no partitions yet" in command.said
    advice = command.said.split("To spread them: tidelog ")[1].splitlines()[0]
    run_tidelog(*advice.split())
    assert leaders(command.servers, "old") == {1: 2, 2: 2, 3: 2}
    assert set(read_all(command.servers, "old", len(sent), group="another")) == sent
    assert command.stop() == 0, tail(command.output)
    refused = run_tidelog(*command.arguments(1), code=1).stderr
    assert "would be out of reach: process 2 holds new-" in refused
    assert "; process 3 holds new-" in refused
    assert "Start with --cores 3." in refused


def test_fewer_cores_are_refused_until_the_partitions_are_moved(command: CoresCommand) -> None:
    command.start(2)
    create_in(command.servers, "kept", 1, 2)
    sent = produce(command.servers, "kept", partitions=2)
    assert command.stop() == 0, tail(command.output)
    properties = {path.name: path.read_bytes() for path in command.data_dir.glob("*.properties")}
    refused = run_tidelog(*command.arguments(1), code=1).stderr
    assert "with --cores 1 partitions in" in refused
    assert "process 2 holds kept-1. Start with --cores 2." in refused
    assert {path.name: path.read_bytes() for path in command.data_dir.glob("*.properties")} == properties
    command.start(2)
    advice = refused.split("move the partitions with `tidelog ")[1].split("`")[0]
    run_tidelog(*advice.split())
    assert command.stop() == 0, tail(command.output)
    command.start(1)
    assert set(read_all(command.servers, "kept", len(sent))) == sent
    nodes = json.loads(run_tidelog("cluster", "-b", command.servers, "--json").stdout)["nodes"]
    assert [each["id"] for each in nodes] == [1]
    assert command.stop() == 0, tail(command.output)
    # And back again: the second process starts with what it had, which is nothing.
    command.start(2)
    create_topic(command.servers, "both")
    assert leaders(command.servers, "both") == {1: 1, 2: 1}
    assert command.stop() == 0, tail(command.output)


def test_a_directory_of_a_single_broker_becomes_that_of_the_first_process(command: CoresCommand) -> None:
    single = ("up", "--port", str(command.port), "--data-dir", str(command.data_dir))
    started = start_process((tidelog_command(), *single), output=command.output)
    try:
        wait_until(lambda: READY in command.said, what="the announcement")
        create_topic(command.servers, "kept", partitions=2)
        sent = produce(command.servers, "kept", partitions=2)
    finally:
        assert stop_process(started) == 0
    refused = run_tidelog(*command.arguments(2), code=1).stderr
    assert "holds the data of `tidelog up`, not of `tidelog up --cores N`" in refused
    advice = refused.split("make it the directory of the first one: ")[1].strip()
    for step in advice.split(" && "):
        name, *paths = step.split()
        move(name, paths)
    command.start(2)
    assert set(read_all(command.servers, "kept", len(sent))) == sent
    assert command.stop() == 0, tail(command.output)
    assert "holds the data of `tidelog up --cores N`" in run_tidelog(*single, code=1).stderr


def move(name: str, paths: list[str]) -> None:
    """The two commands that the advice has."""
    if name == "mkdir":
        Path(paths[0]).mkdir()
    else:
        assert name == "mv"
        Path(paths[0]).rename(paths[1])
