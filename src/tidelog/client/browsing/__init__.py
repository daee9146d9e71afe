"""Looking at a partition's log as it is: also at what readers never get to see.

browser.py  `LogBrowser`: reads a page of a log
page.py     what a page shows: records, control records, gaps, what cannot be read. No I/O
outcomes.py how the transaction of a record has ended. No I/O
"""

from __future__ import annotations

from tidelog.client.browsing.browser import LogBrowser
from tidelog.client.browsing.outcomes import TransactionOutcome
from tidelog.client.browsing.page import ControlEntry, Entry, Gap, LogPage, RecordEntry, Unreadable

__all__ = ["ControlEntry", "Entry", "Gap", "LogBrowser", "LogPage", "RecordEntry", "TransactionOutcome", "Unreadable"]
