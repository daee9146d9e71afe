"""What a start on one machine sets where Kafka's defaults are meant for three: one copy of everything."""

from __future__ import annotations

SINGLE_COPY_PROPERTIES = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    # Nobody else will join the groups of a laptop or a test.
    "group.initial.rebalance.delay.ms": "0",
}
