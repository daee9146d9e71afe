"""What a broker says to each of the batches of `support.malformed_batches`, and where tidelog means to differ.

What Apache Kafka says is recorded in `apache_verdicts.json` beside this file, for the batches whose bytes depend on no
library: `python -m tools.record_verdicts` writes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.default_settings import rules_of_topic
from support.malformed_batches import TOPICS, WRITTEN_MS, Case, Draft, digest, make_record
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.whole_checks import check_produced

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.batch import COMPRESSION_MASK, parse_header
from tidelog.records.compression import Compression
from tidelog.records.produce_rules import ProduceRejection

RECORDED = Path(__file__).parent / "apache_verdicts.json"
CLOSED = -1000

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LINE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    code: int
    record_errors: tuple[tuple[int, str | None], ...] = ()


# Asking


async def ask_verdicts(bootstrap_servers: str, cases: Sequence[Case]) -> list[Verdict]:
    """In order, over one connection. One that the broker closes is a verdict, too, and another one is opened."""
    verdicts: list[Verdict] = []
    async with raw_client(bootstrap_servers) as client:
        await _create_topics(client)
    while len(verdicts) < len(cases):
        async with raw_client(bootstrap_servers) as client:
            for case in cases[len(verdicts) :]:
                try:
                    verdicts.append(await _ask(client, case))
                except (asyncio.IncompleteReadError, ConnectionError):
                    verdicts.append(Verdict(code=CLOSED))
                    break
    return verdicts


async def _create_topics(client: RawClient) -> None:
    response = await client.ask(
        CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=1,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
                )
                for name, configs in TOPICS.items()
            ],
            timeout_ms=10_000,
        )
    )
    assert all(each.error_code == 0 for each in response.topics), response
    # A topic that has just been created may not have its leader yet.
    valid = Draft(records=[make_record(0)], codec=Compression.NONE).batch()
    async with asyncio.timeout(HANG_SECONDS):
        for topic in TOPICS:
            while (await _ask(client, Case(name="valid", topic=topic, data=valid))).code:
                await asyncio.sleep(0.05)


async def _ask(client: RawClient, case: Case) -> Verdict:
    data = PartitionProduceData(index=0, records=case.data)
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=case.topic, partition_data=[data])]
    )
    response = await client.ask(request, case.version)
    (answer,) = response.responses[0].partition_responses
    return Verdict(
        code=answer.error_code,
        record_errors=tuple((each.batch_index, each.batch_index_error_message) for each in answer.record_errors),
    )


# Recording


def record(kafka_version: str, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> None:
    codes = sorted({verdict.code for verdict in verdicts})
    letters = "".join(_LETTERS[codes.index(verdict.code)] for verdict in verdicts)
    recorded = {
        "apache kafka": kafka_version,
        "digest of the batches": digest(cases),
        "letters": {_LETTERS[number]: code for number, code in enumerate(codes)},
        "verdicts": [letters[at : at + _LINE] for at in range(0, len(letters), _LINE)],
    }
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")


def recorded_codes(cases: Sequence[Case]) -> list[int]:
    """What Apache Kafka answers to each of the portable cases."""
    recorded = json.loads(RECORDED.read_text())
    assert recorded["digest of the batches"] == digest(cases), "run: python -m tools.record_verdicts"
    codes: dict[str, int] = recorded["letters"]
    return [codes[letter] for letter in "".join(recorded["verdicts"])]


# Comparing

UNKNOWN_SERVER_ERROR = -1

# Part of our reason for refusing what Apache Kafka accepts, and what its readers would meet.
_READERS_STOP = {
    "offset delta": "readers skip records, or go back, where the deltas do not count up from zero",
    "does not fit into": "Java cuts numbers off at 32 or 64 bits, other clients do not, and read something else",
    "cannot have -": "librdkafka stops at a length below -1, which Java takes for null",
    "second gzip stream": "librdkafka does not read a second gzip stream",
    "snappy block": "librdkafka stops at bytes behind the last snappy block",
    "follow the lz4 frame": "librdkafka stops at bytes behind an LZ4 frame",
}
_LENGTH_IS_NOT_LOOKED_AT = "Apache Kafka does not look at the length of a compressed record, but its consumer does"
_ONLY_COMPRESSED = (
    "of a record are left after its fields",
    "is shorter than its fields",
    "a record cannot have",
    "a key cannot have",
    "a value cannot have",
    "a header's key cannot have",
    "a header's value cannot have",
    "the records end within",
)


def intended(case: Case, theirs: int, ours: int) -> str | None:
    """Why tidelog differs from Apache Kafka here; None if there is no reason."""
    if theirs == UNKNOWN_SERVER_ERROR and ours in (ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE):
        return "UNKNOWN_SERVER_ERROR is an exception that nobody has thought of; tidelog says what is wrong"
    if theirs == UNKNOWN_SERVER_ERROR and ours == 0 and "compression.type" in TOPICS[case.topic]:
        return "Apache Kafka cannot write such a timestamp or producer again; tidelog packs the records as they are"
    if theirs == 0 and ours == ErrorCode.INVALID_RECORD:
        rejection = check_produced(case.data, rules_of_topic(), WRITTEN_MS)
        assert isinstance(rejection, ProduceRejection)
        for part, why in _READERS_STOP.items():
            if part in rejection.reason:
                return why
        compressed = parse_header(case.data).attributes & COMPRESSION_MASK
        if compressed and any(part in rejection.reason for part in _ONLY_COMPRESSED):
            return _LENGTH_IS_NOT_LOOKED_AT
    return None


def unintended(cases: Sequence[Case], theirs: Sequence[int], ours: Sequence[int]) -> list[str]:
    return [
        f"{case.name}: Apache Kafka answers {their_code}, tidelog {our_code}"
        for case, their_code, our_code in zip(cases, theirs, ours, strict=True)
        if their_code != our_code and intended(case, their_code, our_code) is None
    ]
