"""The traces in the study notes that tidelog comes from, line by line: a commit, an abort, several transactions.

`study_note_traces/` holds what the notes show: the log of the topic, and the log of the transaction coordinator. Here
the same steps are taken with a client that, like the one of the notes, uses the first version of the protocol, and both
logs are shown with our own tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker, running_tidelog

TRACES = Path(__file__).parent / "study_note_traces"
TRANSACTIONAL_ID = "Lee-Dong-Hee"
TOPIC = "transaction-topic"
WAIT_SECONDS = 60

# The notes begin in the middle of a log.
FIRST_OFFSET = 60
FIRST_POSITION = 4627
FIRST_EPOCH = 11


@pytest.fixture(scope="module")
def broker_of_the_notes(tmp_path_factory: pytest.TempPathFactory, tidelog: Command) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("study-notes")) as broker:
        tidelog("topics", "--bootstrap-server", broker.bootstrap_servers, "--create", "--topic", TOPIC)
        take_the_steps(broker.bootstrap_servers)
        yield broker


def take_the_steps(bootstrap_servers: str) -> None:
    for records, ends in ((5, "c"), (1, "c"), (1, "a"), (1, "cc")):
        producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "transactional.id": TRANSACTIONAL_ID, "log_level": 0}
        )
        producer.init_transactions(WAIT_SECONDS)
        for end in ends:
            producer.begin_transaction()
            for number in range(records):
                producer.produce(TOPIC, f"Hello Kafka TX - {number}".encode(), partition=0)
                assert producer.flush(WAIT_SECONDS) == 0
            (producer.commit_transaction if end == "c" else producer.abort_transaction)(WAIT_SECONDS)


def as_in_the_notes(line: str) -> str:
    """Kafka prints a few things differently since the notes were written."""
    line = line.replace(" deleteHorizonMs: OptionalLong.empty", "").replace(
        "compresscodec: none", "compresscodec: NONE"
    )
    line = line.replace("keySize", "keysize").replace("valueSize", "valuesize")
    line = re.sub(r"(?<=[oO]ffset: )\d+", lambda match: str(int(match[0]) + FIRST_OFFSET), line)
    line = re.sub(r"(?<=position: )\d+", lambda match: str(int(match[0]) + FIRST_POSITION), line)
    return re.sub(r"(?<=producerEpoch[:=])( ?)(\d+)", lambda match: f"{match[1]}{int(match[2]) + FIRST_EPOCH}", line)


def but_for_ids_times_and_checksums(line: str) -> str:
    line = re.sub(r"producerId([:=] ?)\d+", r"producerId\1N", line)
    line = re.sub(r"(CreateTime: |Timestamp=)\d+", r"\1T", line)
    return re.sub(r"crc: \d+", "crc: C", line)


def trace(name: str) -> list[str]:
    return [but_for_ids_times_and_checksums(line) for line in (TRACES / name).read_text().splitlines()]


def test_log_of_the_topic(broker_of_the_notes: TidelogBroker, tidelog: Command) -> None:
    log = broker_of_the_notes.log_directory / f"{TOPIC}-0" / "00000000000000000000.log"
    _, _, *lines = tidelog("dump-log", "--files", str(log), "--print-data-log").stdout.splitlines()
    assert [but_for_ids_times_and_checksums(as_in_the_notes(line)) for line in lines] == trace("transaction-topic.txt")


def test_log_of_the_coordinator(broker_of_the_notes: TidelogBroker, tidelog: Command) -> None:
    expected = trace("transaction-state.txt")
    shown = tidelog(
        *("consume", "--bootstrap-server", broker_of_the_notes.bootstrap_servers, "--topic", "__transaction_state"),
        *("--from-beginning", "--formatter", "transaction-log", "--max-messages", str(len(expected))),
    )
    lines = shown.stdout.splitlines()
    assert [but_for_ids_times_and_checksums(as_in_the_notes(line)) for line in lines] == expected


def test_producer_id_stays_and_times_go_forward(broker_of_the_notes: TidelogBroker, tidelog: Command) -> None:
    """What the comparison leaves out must still make sense."""
    shown = tidelog(
        *("consume", "--bootstrap-server", broker_of_the_notes.bootstrap_servers, "--topic", "__transaction_state"),
        *("--from-beginning", "--formatter", "transaction-log", "--max-messages", "19"),
    ).stdout
    assert len(set(re.findall(r"producerId=(\d+)", shown))) == 1
    updates = [int(found) for found in re.findall(r"txnLastUpdateTimestamp=(\d+)", shown)]
    assert updates == sorted(updates)
