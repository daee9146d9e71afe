"""One module for each page: what it reads from the cluster, and what it changes.

overview.py      brokers, quorum, rates and latencies, what needs attention
topics.py        all topics, with rates and sizes
topic.py         one topic: replicas, leader epochs, the in-sync set, segments
topic_changes.py creates topics, adds partitions, deletes topics
messages.py      records of a topic, of one or several partitions, and live; one record
message_downloads.py  records as a file
message_producing.py  produces a record
brokers.py       brokers, their directories and versions
groups.py        all groups, with their lag
group.py         one group: members, lag of each partition, when it catches up
group_changes.py resets and deletes committed offsets, deletes groups
transactions.py  all transactional ids, and which transactions hold back whom
transaction.py   one transactional id: state, timeline, partitions; ends its transaction
hanging_transactions.py  looks for transactions that no coordinator ends, and ends them
producers.py     the producers that the leader of a partition remembers
open_transactions.py, transaction_log.py  what the former read
configs.py       properties of topics, brokers, groups and the cluster, and changing them
security.py      users of SCRAM, and quotas
acls.py          who may do what
changes.py       waiting until a change can be seen
pipelines.py     progress of jobs on Spark
metadata.py      the metadata log, record by record, and who leads the quorum
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from tidelog.console.pages import (
    acls,
    brokers,
    configs,
    group,
    group_changes,
    groups,
    hanging_transactions,
    message_downloads,
    message_producing,
    messages,
    metadata,
    overview,
    pipelines,
    producers,
    security,
    topic,
    topic_changes,
    topics,
    transaction,
    transactions,
)

ROUTERS: Sequence[APIRouter] = (
    overview.router,
    topics.router,
    topic.router,
    topic_changes.router,
    messages.router,
    message_downloads.router,
    message_producing.router,
    brokers.router,
    metadata.router,
    groups.router,
    group.router,
    group_changes.router,
    transactions.router,
    transaction.router,
    hanging_transactions.router,
    producers.router,
    configs.router,
    security.router,
    acls.router,
    pipelines.router,
)
