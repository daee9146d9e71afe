"""The check of produced records, from its beginning to its end."""

from __future__ import annotations

from tidelog.records.batch import Buffer
from tidelog.records.produce_rules import CheckedBatches, ProduceRejection, ProduceRules
from tidelog.records.produced_records import RecordsWork
from tidelog.records.validation import begin_check


def check_produced(
    data: Buffer | None, rules: ProduceRules, now_ms: int, *, produce_version: int = 12
) -> CheckedBatches | ProduceRejection:
    """Check the records that a Produce request has for one partition, however long it takes."""
    outcome = begin_check(data, rules, now_ms, produce_version=produce_version)
    if isinstance(outcome, RecordsWork):
        finished = outcome.run()
        assert finished is not None
        return finished
    return outcome
