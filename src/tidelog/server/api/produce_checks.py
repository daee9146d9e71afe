"""The part of Produce that checks the records themselves, before anything is appended.

Most batches are checked at once. Those that unpack to much more are finished off the event loop; see
`routing/produce_order.py` for the requests behind them.
"""

from __future__ import annotations

from tidelog.metadata.image import ClusterImage
from tidelog.protocol.messages.produce_request import ProduceRequest
from tidelog.records.batch import ATTRIBUTES_AT, CURRENT_MAGIC, HEADER_SIZE, MAGIC_AT, TRANSACTIONAL_MASK, parse_header
from tidelog.records.produce_rules import CheckedBatches, ProduceRejection
from tidelog.records.produced_records import RecordsWork
from tidelog.records.validation import begin_check
from tidelog.server.configuration.topic_settings import writable_by_clients
from tidelog.server.patient_work import PatientWork
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica

Outcome = CheckedBatches | ProduceRejection
# By topic and partition, in the order of the request; None where there is no leader here to append anything,
# or where the producer may not write.
Checks = list[list[Outcome | RecordsWork | None]]


def begin_checks(
    request: ProduceRequest,
    version: int,
    *,
    replicas: Replicas,
    image: ClusterImage,
    now_ms: int,
    forbidden: frozenset[str],
) -> Checks:
    """What is for topics that are forbidden to the producer is not looked at."""
    checks: Checks = []
    for topic in request.topic_data:
        name = image.name_of(topic.name, topic.topic_id)
        outcomes: list[Outcome | RecordsWork | None] = []
        for partition in topic.partition_data:
            replica = None if name is None or name in forbidden else replicas.leader(name, partition.index)
            if not isinstance(replica, Replica) or not writable_by_clients(replica.topic_partition.topic):
                outcomes.append(None)
                continue
            rules = replica.settings.rules
            place = replica.topic_partition
            outcomes.append(
                begin_check(partition.records, rules, now_ms, produce_version=version, topic_partition=place)
            )
        checks.append(outcomes)
    return checks


def are_finished(checks: Checks) -> bool:
    return not any(isinstance(outcome, RecordsWork) for outcomes in checks for outcome in outcomes)


async def finish_checks(checks: Checks, patient_work: PatientWork) -> None:
    for outcomes in checks:
        for number, outcome in enumerate(outcomes):
            if isinstance(outcome, RecordsWork):
                outcomes[number] = await patient_work.finish(outcome.run)


def has_transactional_batch(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            data = partition.records
            if data is None or len(data) < HEADER_SIZE or data[MAGIC_AT] != CURRENT_MAGIC:
                continue
            if data[ATTRIBUTES_AT + 1] & TRANSACTIONAL_MASK and parse_header(data).size <= len(data):
                return True
    return False
