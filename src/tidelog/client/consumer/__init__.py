"""The consumer: `Consumer` is what people use, everything else is behind it.

consumer.py            `Consumer`
subscription.py        topics by name, by pattern, or partitions assigned by hand
positions.py           where the reader is in each partition. Pure
positioning.py         finds positions, and has them confirmed by new leaders
fetcher.py             fetches ahead of the reader
fetch_session.py       incremental fetches (KIP-227). Pure
fetched.py             a Fetch reply, taken apart as it is read
reader.py              hands out what has been fetched, or lends it to another thread. Pure
iteration.py           `async for`: what runs for each record
columns.py             the same as `pyarrow.RecordBatch`
commits.py             commits offsets
questions.py           offsets and partitions that a user asks for
listeners.py           callbacks at rebalances
member.py              what a consumer needs from its group, and what both protocols have in common
classic_member.py      the classic protocol, with join.py and group_protocol.py
assignors.py           how a classic group divides partitions, with sticky.py. Pure
reconciling_member.py  the protocol of KIP-848, with reconciliation.py
metrics.py             what a consumer measures
"""

from __future__ import annotations

from tidelog.client.consumer.consumer import Consumer

__all__ = ["Consumer"]
