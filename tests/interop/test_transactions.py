"""Transactions of real clients: what each of them commits, aborts and is refused, on tidelog and on Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise

import pytest
from interop.conftest import CLIENT_NAMES, ON_JVM, ON_NODE
from support.clients.confluent import ConfluentClient
from support.download_cache import Unavailable
from support.node_packages import kafkajs_folder
from support.raw_client import raw_client
from support.transactional.aiokafka_client import AiokafkaTransactions
from support.transactional.confluent import ConfluentTransactions
from support.transactional.contract import Fenced, Refused, TransactionalClient
from support.transactional.json_lines import java_transactions, kafkajs_transactions
from support.transactional.kafka_python import KafkaPythonTransactions

from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest

OpenClient = Callable[[str, str], TransactionalClient]


@pytest.fixture(scope="session")
def open_transactional(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenClient]:
    """Open a client by its name and bootstrap servers; all are closed at the end."""
    with ExitStack() as stack:

        def open_one(name: str, bootstrap_servers: str) -> TransactionalClient:
            log = tmp_path_factory.mktemp(name) / "client.log"
            client: TransactionalClient
            match name:
                case "confluent-kafka":
                    client = ConfluentTransactions(bootstrap_servers)
                case "kafka-python":
                    client = KafkaPythonTransactions(bootstrap_servers)
                case "aiokafka":
                    client = AiokafkaTransactions(bootstrap_servers)
                case "kafkajs":
                    try:
                        node_modules = kafkajs_folder()
                    except Unavailable as error:
                        pytest.skip(f"kafkajs cannot be had from npm: {error}")
                    client = kafkajs_transactions(bootstrap_servers, node_modules=node_modules, log=log)
                case "java":
                    client = java_transactions(bootstrap_servers, jars=request.getfixturevalue("jars"), log=log)
                case _:
                    raise ValueError(name)
            stack.callback(client.close_all)
            return client

        yield open_one


def _parameters() -> list[object]:
    marks_of = {"java": ON_JVM, "kafkajs": ON_NODE}
    ours = [pytest.param(("tidelog", name), id=name, marks=marks_of.get(name, [])) for name in CLIENT_NAMES]
    # Shows that the tests ask for what Kafka does.
    theirs = [pytest.param(("apache", name), id=f"apache-{name}", marks=ON_JVM) for name in ("confluent-kafka", "java")]
    return [*ours, *theirs]


@pytest.fixture(scope="session", params=_parameters())
def transactional_and_address(
    request: pytest.FixtureRequest, open_transactional: OpenClient
) -> tuple[TransactionalClient, str]:
    target, name = request.param
    broker = request.getfixturevalue("tidelog_process" if target == "tidelog" else "apache_kafka")
    return open_transactional(name, broker.bootstrap_servers), broker.bootstrap_servers


@pytest.fixture
def client(transactional_and_address: tuple[TransactionalClient, str]) -> TransactionalClient:
    return transactional_and_address[0]


@pytest.fixture
def admin(transactional_and_address: tuple[TransactionalClient, str]) -> ConfluentClient:
    return ConfluentClient(transactional_and_address[1])


@pytest.fixture
def producer(client: TransactionalClient, topic: str) -> Iterator[str]:
    """The name of a producer that has been initialised under a transactional id of its own."""
    client.init(topic, f"id-of-{topic}")
    yield topic
    client.close(topic)


def test_commits_and_aborts_of_one_producer(
    client: TransactionalClient, admin: ConfluentClient, producer: str, topic: str
) -> None:
    admin.create_topic(topic)
    for number, commit in enumerate([True, False, True, True]):
        client.begin(producer)
        client.send(producer, topic, f"{number}-a")
        client.send(producer, topic, f"{number}-b")
        client.commit(producer) if commit else client.abort(producer)
    everything = [f"{number}-{letter}" for number in range(4) for letter in "ab"]

    assert client.read(topic, committed=True, count=6) == [value for value in everything if value[0] != "1"]
    assert client.read(topic, committed=False, count=8) == everything


def test_in_the_second_version_each_transaction_has_an_epoch_of_its_own(
    client: TransactionalClient,
    transactional_and_address: tuple[TransactionalClient, str],
    admin: ConfluentClient,
    producer: str,
    topic: str,
) -> None:
    admin.create_topic(topic)
    epochs = []
    for _ in range(3):
        client.begin(producer)
        client.send(producer, topic, "value")
        client.commit(producer)
        epochs.append(asyncio.run(_producer_epoch(transactional_and_address[1], topic)))

    steps = {later - earlier for earlier, later in pairwise(epochs)}
    assert steps == ({1} if client.speaks_second_version else {0})


async def _producer_epoch(bootstrap_servers: str, topic: str) -> int:
    async with raw_client(bootstrap_servers) as raw:
        wanted = TopicRequest(name=topic, partition_indexes=[0])
        response = await raw.ask(DescribeProducersRequest(topics=[wanted]))
        (entry,) = response.topics[0].partitions[0].active_producers
        # The commit is answered before its marker is in the partition.
        while entry.current_txn_start_offset >= 0:
            await asyncio.sleep(0.02)
            response = await raw.ask(DescribeProducersRequest(topics=[wanted]))
            (entry,) = response.topics[0].partitions[0].active_producers
        return int(entry.producer_epoch)


def test_a_transaction_over_several_partitions(
    client: TransactionalClient, admin: ConfluentClient, producer: str, topic: str
) -> None:
    admin.create_topic(topic, partitions=3)
    for commit in (False, True):
        client.begin(producer)
        for partition in range(3):
            client.send(producer, topic, f"{commit}-{partition}", partition=partition)
        client.commit(producer) if commit else client.abort(producer)

    for partition in range(3):
        assert client.read(topic, committed=True, count=1, partition=partition) == [f"True-{partition}"]
        assert len(client.read(topic, committed=False, count=2, partition=partition)) == 2


def test_scenario_14_a_zombie_is_fenced(client: TransactionalClient, admin: ConfluentClient, topic: str) -> None:
    admin.create_topic(topic)
    client.init("zombie", f"id-of-{topic}")
    client.begin("zombie")
    client.send("zombie", topic, "of the zombie")
    client.init("successor", f"id-of-{topic}")
    with pytest.raises((Fenced, Refused)):
        _send_and_commit(client, "zombie", topic)
    client.begin("successor")
    client.send("successor", topic, "of the successor")
    client.commit("successor")

    assert client.read(topic, committed=True, count=1) == ["of the successor"]
    client.close("zombie")
    client.close("successor")


def _send_and_commit(client: TransactionalClient, producer: str, topic: str) -> None:
    client.send(producer, topic, "late")
    client.commit(producer)


def test_scenario_15_a_hung_transaction_is_aborted_by_the_coordinator(
    client: TransactionalClient, admin: ConfluentClient, topic: str
) -> None:
    admin.create_topic(topic)
    client.init("hung", f"hung-{topic}", timeout_ms=1500)
    client.init("other", f"other-{topic}")
    client.begin("hung")
    client.send("hung", topic, "hung")
    client.begin("other")
    client.send("other", topic, "other")
    client.commit("other")

    # Held back until the hung one has been aborted; Apache Kafka looks for those every ten seconds.
    assert client.read(topic, committed=True, count=1) == ["other"]
    with pytest.raises((Fenced, Refused)):
        client.commit("hung")
    client.close("hung")
    client.close("other")


@pytest.mark.parametrize("commit", [True, False])
def test_scenario_19_offsets_count_with_the_commit_and_never_after_an_abort(
    client: TransactionalClient, admin: ConfluentClient, producer: str, topic: str, commit: bool
) -> None:
    admin.create_topic(topic)
    client.begin(producer)
    client.send(producer, topic, "value")
    client.send_offsets(producer, f"group-of-{topic}", topic, 42)
    client.commit(producer) if commit else client.abort(producer)

    assert admin.committed_offset(topic, f"group-of-{topic}") == (42 if commit else None)


def test_consume_process_produce_copies_each_record_once(
    client: TransactionalClient, admin: ConfluentClient, producer: str, topic: str
) -> None:
    source, target = f"{topic}-source", f"{topic}-target"
    admin.create_topic(source)
    admin.create_topic(target)
    client.begin(producer)
    for number in range(30):
        client.send(producer, source, str(number))
    client.commit(producer)
    group = f"copier-{topic}"
    # Twice: the second one goes on where the first one's transactions have left the offsets.
    client.copy(producer, group, source, target, count=30)
    client.begin(producer)
    client.send(producer, source, "30")
    client.commit(producer)
    client.copy(producer, group, source, target, count=1)

    assert client.read(target, committed=True, count=31) == [str(number) for number in range(31)]


def test_records_of_two_producers_in_one_partition(
    client: TransactionalClient, admin: ConfluentClient, producer: str, topic: str
) -> None:
    """Commits and aborts of two producers that interleave: readers get the committed ones, in order."""
    admin.create_topic(topic)
    client.init("second", f"second-of-{topic}")
    client.begin(producer)
    client.begin("second")
    client.send(producer, topic, "a1")
    client.send("second", topic, "b1")
    client.send(producer, topic, "a2")
    client.abort("second")
    client.send(producer, topic, "a3")
    client.commit(producer)

    assert client.read(topic, committed=True, count=3) == ["a1", "a2", "a3"]
    client.close("second")
