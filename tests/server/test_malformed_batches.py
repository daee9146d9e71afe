"""Thousands of damaged batches: the verdicts are those that Apache Kafka gave, and what was accepted can be read.

The same with a live Apache Kafka, and with readers in Java: tests/interop/test_malformed_batches.py.
"""

from __future__ import annotations

import pytest
from support.client_reading import read_all
from support.malformed_batches import TOPICS, all_cases
from support.verdicts import ask_verdicts, recorded_codes, unintended

import tidelog

CASES = [case for case in all_cases() if case.portable]


@pytest.mark.slow
async def test_verdicts_are_those_of_apache_kafka_and_what_is_accepted_is_read_to_the_end() -> None:
    theirs = recorded_codes(CASES)
    assert len(CASES) > 5000
    async with tidelog.Broker() as broker:
        verdicts = await ask_verdicts(broker.bootstrap_servers, CASES)

        assert unintended(CASES, theirs, [verdict.code for verdict in verdicts]) == []
        for topic in TOPICS:
            records = await read_all(broker.bootstrap_servers, topic)
            assert [record.offset for record in records] == list(range(len(records)))
            assert len(records) > 100
