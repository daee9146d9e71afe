"""One module for each page: what it reads from the cluster, and what it changes.

overview.py      brokers, quorum, rates and latencies, what needs attention
topics.py        all topics, with rates and sizes
topic.py         one topic: replicas, leader epochs, the in-sync set, segments
messages.py      records of a topic, of one or several partitions, and live; one record
message_downloads.py  records as a file
message_producing.py  produces a record
brokers.py       brokers, their directories and versions
configs.py       properties of topics, brokers, groups and the cluster, and changing them
metadata.py      the metadata log, record by record, and who leads the quorum
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from tidelog.console.pages import (
    brokers,
    configs,
    message_downloads,
    message_producing,
    messages,
    metadata,
    overview,
    topic,
    topics,
)

ROUTERS: Sequence[APIRouter] = (
    overview.router,
    topics.router,
    topic.router,
    messages.router,
    message_downloads.router,
    message_producing.router,
    brokers.router,
    metadata.router,
    configs.router,
)
