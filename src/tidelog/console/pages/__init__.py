"""One module for each page: what it reads from the cluster, and what it changes.

overview.py      brokers, quorum, rates and latencies, what needs attention
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from tidelog.console.pages import overview

ROUTERS: Sequence[APIRouter] = (overview.router,)
