"""One module for each page: what it reads from the cluster, and what it changes.

overview.py      brokers, quorum, rates and latencies, what needs attention
topics.py        all topics, with rates and sizes
topic.py         one topic: replicas, leader epochs, the in-sync set, segments
brokers.py       brokers, their directories and versions
metadata.py      the metadata log, record by record, and who leads the quorum
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from tidelog.console.pages import brokers, metadata, overview, topic, topics

ROUTERS: Sequence[APIRouter] = (
    overview.router,
    topics.router,
    topic.router,
    brokers.router,
    metadata.router,
)
