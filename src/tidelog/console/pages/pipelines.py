"""Pipelines: jobs on Spark, by the files of this machine, by their services, and by what they left on the cluster."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.local_pipelines import LocalPipeline, local_pipelines, own_status_directory
from tidelog.console.feeds import Pace
from tidelog.console.findings.pipeline_jobs import PipelineJob, ServiceAnswer, pipeline_jobs
from tidelog.console.findings.published_queries import PublishedQuery
from tidelog.console.findings.rates import Rates
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.pipelines.notes import PublishedQueries, published_queries
from tidelog.console.pipelines.services import ServiceAddress, ServiceProblem, fetch_health, service_address
from tidelog.console.replies import EXPECTED_FAILURES, Json, problem_document

router = APIRouter()

_PACE = Pace(seconds=2.0)
# What the cluster knows changes with each micro-batch, and costs it a look at all groups without members.
_SLOW_SECONDS = 10.0
# A cluster that is away keeps nobody from seeing the pipelines, which are likely to wait for it, too.
_PATIENCE_SECONDS = 1.0
# Longer than most intervals of micro-batches, or rows would seem to come in bursts.
_RATE_SECONDS = 60.0
# Two minutes.
_POINTS = 60
# The others have no plots.
_MOST_PLOTTED = 50


@router.get("/pipelines/live")
async def pipelines(parts: Parts) -> Response:
    return parts.feeds.stream("pipelines", lambda: PipelinesReader(parts).read, _PACE)


class PipelinesReader:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._services = [service_address(text) for text in parts.settings.pipelines]
        self._rates: Rates[str] = Rates(_RATE_SECONDS)
        self._points: dict[str, deque[dict[str, Json]]] = {}
        # None until the cluster has told, or has not.
        self._published: dict[str, Json] | None = None
        self._slow_at: float | None = None
        self._asking: asyncio.Task[None] | None = None

    async def read(self) -> Json:
        local, services, _ = await asyncio.gather(self._read_files(), self._ask_services(), self._wait_for_notes())
        jobs = pipeline_jobs(local, services, _now_ms())
        now = time.monotonic()
        self._rates.note(now, {job.key: job.report.rows for job in jobs if job.report is not None})
        self._note_points(jobs, time.time())
        return {
            "pipelines": [
                job.as_json(self._rates.per_second(job.key), list(self._points.get(job.key, ()))) for job in jobs
            ],
            "services": len(self._services),
            "published": self._published,
        }

    async def _read_files(self) -> list[LocalPipeline]:
        directory = own_status_directory()
        return [] if directory is None else await asyncio.to_thread(local_pipelines, directory, _now_ms())

    async def _ask_services(self) -> list[ServiceAnswer]:
        async def ask(address: ServiceAddress) -> ServiceAnswer:
            try:
                return ServiceAnswer(address=str(address), report=await fetch_health(address))
            except ServiceProblem as problem:
                return ServiceAnswer(address=str(address), problem=str(problem))

        return await asyncio.gather(*map(ask, self._services))

    async def _wait_for_notes(self) -> None:
        now = time.monotonic()
        if self._asking is None and (self._slow_at is None or now - self._slow_at >= _SLOW_SECONDS):
            self._slow_at = now
            self._asking = asyncio.create_task(self._read_notes())
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=_PATIENCE_SECONDS)

    async def _read_notes(self) -> None:
        try:
            admin = await self._parts.cluster.watcher()
            self._published = _published_document(await published_queries(admin))
        except EXPECTED_FAILURES as error:
            self._published = {
                "queries": [],
                "left_out": 0,
                "silent": [],
                "leaderless": 0,
                "failure": problem_document(error),
            }
            # Soon again, with the next reading: it may be back.
            self._slow_at = None
        finally:
            self._asking = None

    def _note_points(self, jobs: Iterable[PipelineJob], at: float) -> None:
        plotted = [job for job in jobs if job.report is not None][:_MOST_PLOTTED]
        self._points = {job.key: self._points.get(job.key, deque(maxlen=_POINTS)) for job in plotted}
        for job in plotted:
            if job.status != "ended" and job.report is not None:
                rate = self._rates.per_second(job.key)
                self._points[job.key].append({"at": at, "rows_per_second": rate, "lag": job.report.lag})


def _published_document(found: PublishedQueries) -> dict[str, Json]:
    return {
        "queries": [_query_document(query, found.last_ms.get(query.transactional_id)) for query in found.queries],
        "left_out": found.left_out,
        "silent": list(found.silent),
        "leaderless": found.leaderless,
        "failure": None,
    }


def _query_document(query: PublishedQuery, last_ms: int | None) -> dict[str, Json]:
    return {
        "group": query.group,
        "kind": query.kind,
        "name": query.name,
        "transactional_id": query.transactional_id,
        "batch": query.batch,
        "rows": query.rows,
        "tasks": query.tasks,
        "atomicity": query.atomicity,
        "until": query.until,
        "last_ms": last_ms,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
