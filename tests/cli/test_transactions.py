"""`tidelog transactions`: what it shows, that it ends what hangs, and that its lines are those of Kafka's tool."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.clients.confluent import ConfluentClient
from support.clients.json_lines import JavaClient
from support.raw_client import raw_client
from support.raw_transactions import RawProducer
from support.tidelog_command import run_tidelog
from support.tidelog_process import TidelogBroker, running_tidelog
from support.transactional.confluent import ConfluentTransactions
from typer.testing import CliRunner, Result

from tidelog.cli.main import app

KAFKA_TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
InProcess = Callable[..., Result]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    """One on which transactions can hang: it does not ask the coordinator whether a transaction was begun."""
    properties = {"transaction.partition.verification.enable": "false"}
    with running_tidelog(tmp_path_factory.mktemp("tidelog"), properties) as running:
        yield running


@pytest.fixture(scope="module")
def transactions(broker: TidelogBroker) -> InProcess:
    """`tidelog transactions`, without starting a process each time."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, ("transactions", "-b", broker.bootstrap_servers, *arguments))
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture(scope="module")
def failing(broker: TidelogBroker) -> Callable[..., str]:
    """Run `tidelog transactions` in a process of its own, as only there failures become one line."""

    def run(*arguments: str, code: int = 1) -> str:
        return run_tidelog("transactions", "-b", broker.bootstrap_servers, *arguments, code=code).stderr

    return run


@pytest.fixture
def topic(broker: TidelogBroker, topic: str) -> str:
    assert ConfluentClient(broker.bootstrap_servers).create_topic(topic) == 0
    return topic


@pytest.fixture
def ongoing(broker: TidelogBroker, topic: str) -> Iterator[str]:
    """The transactional id of a transaction that is open in the topic."""
    client = ConfluentTransactions(broker.bootstrap_servers)
    client.init("producer", f"id-{topic}")
    client.begin("producer")
    client.send("producer", topic, "value")
    yield f"id-{topic}"
    client.close_all()


@pytest.fixture
def hanging(broker: TidelogBroker, topic: str) -> str:
    """The transactional id of a producer that has written to the topic without telling its coordinator."""

    async def write() -> None:
        async with raw_client(broker.bootstrap_servers) as client:
            producer = RawProducer(client, f"id-{topic}")
            assert await producer.init() == 0
            assert await producer.produce(topic, "hangs") == 0

    asyncio.run(write())
    return f"id-{topic}"


def _rows(output: str) -> list[dict[str, str]]:
    header, *lines = [[cell.strip() for cell in line.split("\t")] for line in output.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_an_open_transaction_is_listed_and_described(transactions: InProcess, ongoing: str, topic: str) -> None:
    listed = {row["TransactionalId"]: row for row in _rows(transactions("list").stdout)}
    assert (listed[ongoing]["TransactionState"], listed[ongoing]["Coordinator"]) == ("Ongoing", "1")
    (described,) = _rows(transactions("describe", "--transactional-id", ongoing).stdout)
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", f"{topic}-0")
    assert described["ProducerId"] == listed[ongoing]["ProducerId"]
    assert int(described["TransactionDurationMs"]) >= 0
    (producer,) = _rows(transactions("describe-producers", "--topic", topic, "--partition", "0").stdout)
    assert (producer["ProducerId"], producer["CurrentTransactionStartOffset"]) == (described["ProducerId"], "0")


def test_lists_are_filtered(transactions: InProcess, ongoing: str) -> None:
    def ids(*options: str) -> set[str]:
        return {each["transactionalId"] for each in json.loads(transactions("list", "--json", *options).stdout)}

    assert ongoing in ids()
    assert ids("--transactional-id-pattern", re.escape(ongoing)) == {ongoing}
    assert ongoing in ids("--state", "Ongoing", "--state", "Empty")
    assert ongoing not in ids("--state", "CompleteCommit")
    assert ongoing not in ids("--duration-filter", "3600000")


def test_the_same_as_json(transactions: InProcess, ongoing: str, topic: str) -> None:
    described = json.loads(transactions("describe", "--transactional-id", ongoing, "--json").stdout)
    assert (described["state"], described["partitions"]) == ("Ongoing", [{"topic": topic, "partition": 0}])
    arguments = ("describe-producers", "--topic", topic, "--partition", "0", "--json")
    (producer,) = json.loads(transactions(*arguments).stdout)
    assert (producer["producerId"], producer["transactionStartOffset"]) == (described["producerId"], 0)


def test_a_transaction_that_its_coordinator_will_end_does_not_hang(
    transactions: InProcess, ongoing: str, topic: str
) -> None:
    assert _rows(transactions("find-hanging", "--topic", topic, "--max-transaction-timeout", "0").stdout) == []


def test_a_hanging_transaction_is_found_and_ended(
    transactions: InProcess, broker: TidelogBroker, hanging: str, topic: str
) -> None:
    def found(*options: str) -> list[dict[str, str]]:
        return _rows(transactions("find-hanging", *options).stdout)

    assert found("--topic", topic) == [], "it could still be one that takes its time"
    at_once = ("--max-transaction-timeout", "0")
    (row,) = found("--topic", topic, *at_once)
    assert (row["Topic"], row["Partition"], row["StartOffset"]) == (topic, "0", "0")
    assert row in found("--broker-id", "1", *at_once)
    assert found("--broker-id", "7", *at_once) == []
    assert found("--topic", topic, "--partition", "0", *at_once) == [row]

    reader = ConfluentTransactions(broker.bootstrap_servers)
    assert reader.read(topic, committed=False, count=1) == ["hangs"]
    assert transactions("abort", "--topic", topic, "--partition", "0", "--start-offset", "0").stdout == ""
    assert found("--topic", topic, *at_once) == []
    (producer,) = _rows(transactions("describe-producers", "--topic", topic, "--partition", "0").stdout)
    assert producer["CurrentTransactionStartOffset"] == "None"


def test_a_transaction_can_be_named_by_its_producer(transactions: InProcess, hanging: str, topic: str) -> None:
    arguments = ("describe-producers", "--topic", topic, "--partition", "0", "--json")
    (producer,) = json.loads(transactions(*arguments).stdout)
    done = transactions(
        *("abort", "--topic", topic, "--partition", "0", "--producer-id", str(producer["producerId"])),
        *("--producer-epoch", str(producer["producerEpoch"]), "--coordinator-epoch", "-1", "--json"),
    )
    assert json.loads(done.stdout)["aborted"] is True
    (producer,) = json.loads(transactions(*arguments).stdout)
    assert producer["transactionStartOffset"] is None


def test_what_does_not_exist_is_named(failing: Callable[..., str], topic: str) -> None:
    assert "TRANSACTIONAL_ID_NOT_FOUND" in failing("describe", "--transactional-id", "nobody")
    none = failing("abort", "--topic", topic, "--partition", "0", "--start-offset", "5")
    assert f"no open transaction of {topic}-0 begins at offset 5" in none
    assert "has no partition 9" in failing("describe-producers", "--topic", topic, "--partition", "9")
    assert "not states of transactions: Happy" in failing("list", "--state", "Happy")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("find-hanging",), "either --topic or --broker-id is needed"),
        (("find-hanging", "--broker-id", "1", "--partition", "0"), "--partition needs --topic"),
        (("abort", "--topic", "t", "--partition", "0"), "either --start-offset is needed, or --producer-id"),
        (("abort", "--topic", "t", "--partition", "0", "--producer-id", "1"), "--coordinator-epoch together"),
        (
            ("abort", "--topic", "t", "--partition", "0", "--producer-id", "1", "--start-offset", "0"),
            "leave out the producer",
        ),
        (("describe",), "Missing option '--transactional-id'"),
    ],
)
def test_wrong_uses_are_explained(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("transactions", *arguments)


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
def test_the_lines_are_those_of_kafkas_tool(
    transactions: InProcess, broker: TidelogBroker, ongoing: str, topic: str, jars: Path, tmp_path: Path
) -> None:
    kafka = JavaClient(broker.bootstrap_servers, jars=jars, log=tmp_path / "client.log")
    try:
        for arguments in (
            ("list", "--transactional-id-pattern", re.escape(ongoing)),
            ("describe", "--transactional-id", ongoing),
            ("describe-producers", "--topic", topic, "--partition", "0"),
            ("find-hanging", "--topic", topic, "--max-transaction-timeout", "0"),
        ):
            printed = kafka.run_tool(KAFKA_TRANSACTIONS, *arguments)
            theirs = [line for line in printed.splitlines() if not line.startswith("SLF4J")]
            ours = transactions(*arguments).stdout.splitlines()
            assert [_without_durations(line) for line in ours] == [_without_durations(line) for line in theirs]
    finally:
        kafka.close()


def _without_durations(line: str) -> list[str]:
    """The duration is counted to the moment of the question."""
    cells = line.split("\t")
    return [*cells[:7], *cells[8:]]
