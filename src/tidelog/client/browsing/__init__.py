"""Looking at a partition's log as it is: also at what readers never get to see. And at the metadata log.

browser.py       `LogBrowser`: reads a page of a log, or its outline
batch_records.py the records of a batch, unpacked and decoded within bounds. No I/O
page.py          what a page shows: records, control records, gaps, what cannot be read. No I/O
outline.py       which offsets are records, control records, or nothing: for those who count. No I/O
outcomes.py      how the transaction of a record has ended. No I/O
metadata_log.py  `MetadataLog`: reads a page of the metadata log, from brokers or controllers
metadata_page.py what such a page shows: each record, with the image before and after. No I/O
image_parts.py   the part of the image that a record touches, as plain values. No I/O
"""

from __future__ import annotations

from tidelog.client.browsing.browser import LogBrowser
from tidelog.client.browsing.metadata_log import MetadataLog, MetadataLogUnavailable, MetadataPage
from tidelog.client.browsing.metadata_page import MetadataEntry
from tidelog.client.browsing.outcomes import TransactionOutcome
from tidelog.client.browsing.outline import LogOutline, OutlineRun, RunKind
from tidelog.client.browsing.page import (
    PAGE_UNPACKED_BYTES,
    ControlEntry,
    Entry,
    Gap,
    LogPage,
    RecordEntry,
    Unreadable,
)

__all__ = [
    "PAGE_UNPACKED_BYTES",
    "ControlEntry",
    "Entry",
    "Gap",
    "LogBrowser",
    "LogOutline",
    "LogPage",
    "MetadataEntry",
    "MetadataLog",
    "MetadataLogUnavailable",
    "MetadataPage",
    "OutlineRun",
    "RecordEntry",
    "RunKind",
    "TransactionOutcome",
    "Unreadable",
]
