"""Faults of other people's programs that fail a test of ours now and then (see second_try.py)."""

from __future__ import annotations

import pytest

# It asks where a partition begins. If a rebalance comes before the answer, it asks again half a second later, and goes
# back to the beginning of a partition whose committed offset it has fetched meanwhile: 7 of 970 runs, under load.
LIBRDKAFKA_RESETS_POSITIONS = "librdkafka 2.16: a ListOffsets in flight at a rebalance resets the position later"
# It joins again and again, while the others wait for it.
KAFKA_PYTHON_FORGETS_JOINS = "kafka-python 3.0.12: never takes the answer of a join that comes between two polls"
# Nothing wakes up its request when the coordinator is back (support/transaction_workload.py has more about it).
LIBRDKAFKA_WAITS_FOREVER = "librdkafka 2.16: throws away a fenced broker, then waits forever to send offsets to it"
JAVA_READS_AGAIN = "Apache Kafka's Java consumer 4.3: reads records again while members change their protocol"

librdkafka_resets_positions = pytest.mark.foreign_cause(LIBRDKAFKA_RESETS_POSITIONS)
kafka_python_forgets_joins = pytest.mark.foreign_cause(KAFKA_PYTHON_FORGETS_JOINS)
librdkafka_waits_forever = pytest.mark.foreign_cause(LIBRDKAFKA_WAITS_FOREVER)
