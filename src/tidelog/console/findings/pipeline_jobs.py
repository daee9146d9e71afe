"""The pipelines that are known, from their files and their services, each once. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.client.local_pipelines import LocalPipeline, PipelineLife
from tidelog.console.replies import Json
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.pipeline_status import HealthReport, PipelineEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAnswer:
    """Of /healthz at an address: a report, or a sentence that says why there is none."""

    address: str
    report: HealthReport | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineJob:
    """`key` stays the same from reading to reading. Status is that of the report, or `silent`, `ended` or
    `does not answer`."""

    key: str
    name: str
    status: str
    healthy: bool
    reason: str
    found: str
    kind: str = ""
    source: PipelineEnd | None = None
    target: PipelineEnd | None = None
    started_ms: int | None = None
    written_ms: int | None = None
    report: HealthReport | None = None

    def as_json(self, rate: float | None, points: Sequence[Json]) -> dict[str, Json]:
        report = self.report
        return {
            "key": self.key,
            "name": self.name,
            "status": self.status,
            "healthy": self.healthy,
            "reason": self.reason,
            "found": self.found,
            "kind": self.kind,
            "source": _end(self.source),
            "target": _end(self.target),
            "started_ms": self.started_ms,
            "written_ms": self.written_ms,
            "batch": None if report is None else report.batch,
            "rows": None if report is None else report.rows,
            "rows_per_second": rate,
            "lag": None if report is None else report.lag,
            "since_progress_s": None if report is None else report.seconds_since_progress,
            "next_attempt_s": None if report is None else report.next_attempt_in_seconds,
            "retries": None if report is None else report.retries,
            "restarts": None if report is None else report.restarts,
            "last_error": "" if report is None else report.last_error,
            "query": "" if report is None else report.query,
            "points": points,
        }


def pipeline_jobs(local: Iterable[LocalPipeline], services: Iterable[ServiceAnswer], now_ms: int) -> list[PipelineJob]:
    """By name. A service whose file is on this machine as well is one pipeline: its answer is the newest, and its file
    knows from where to where it goes."""
    answers: dict[str, ServiceAnswer] = {answer.address: answer for answer in services}
    jobs = []
    for each in local:
        answer = None if each.life is PipelineLife.ENDED else answers.get(each.status.service)
        if answer is not None and answer.report is not None:
            del answers[each.status.service]
        jobs.append(_from_file(each, answer, now_ms))
    jobs += [_from_service(answer) for answer in answers.values()]
    return sorted(jobs, key=lambda job: (job.status == "ended", job.name, job.key))


def _from_file(each: LocalPipeline, answer: ServiceAnswer | None, now_ms: int) -> PipelineJob:
    status, report = each.status, _aged(each.status.report, (now_ms - each.status.written_ms) / 1000)
    state, healthy, reason = report.status, report.healthy, report.reason
    if each.life is PipelineLife.ENDED:
        state, healthy = "ended", False
        reason = status.ended or "its process has ended without a word: it was killed, or its machine went down"
    elif answer is not None and answer.report is not None:
        report = answer.report
        state, healthy, reason = report.status, report.healthy, report.reason
    elif each.life is PipelineLife.SILENT:
        state, healthy = "silent", False
        reason = "nothing was heard of it for a while: it was stopped (SIGSTOP), or its machine sleeps or is gone"
    return PipelineJob(
        key=f"{report.pipeline}/{status.host}/{status.process}/{status.started_ms}",
        name=report.pipeline,
        status=state,
        healthy=healthy,
        reason=reason,
        found=f"process {status.process} on {status.host}" + (f", {status.service}" if status.service else ""),
        kind=status.kind,
        source=status.source,
        target=status.target,
        started_ms=status.started_ms or None,
        written_ms=min(status.written_ms, now_ms) or None,
        report=report,
    )


def _aged(report: HealthReport, seconds: float) -> HealthReport:
    """As it would be now if nothing has happened since."""
    since, coming = report.seconds_since_progress, report.next_attempt_in_seconds
    return replace(
        report,
        seconds_since_progress=None if since is None else max(since, since + seconds),
        next_attempt_in_seconds=None if coming is None else max(0.0, coming - seconds),
    )


def _from_service(answer: ServiceAnswer) -> PipelineJob:
    report = answer.report
    if report is None:
        return PipelineJob(
            key=answer.address,
            name=answer.address,
            status="does not answer",
            healthy=False,
            reason=answer.problem,
            found=answer.address,
        )
    return PipelineJob(
        key=answer.address,
        name=report.pipeline,
        status=report.status,
        healthy=report.healthy,
        reason=report.reason,
        found=answer.address,
        report=report,
    )


def _end(end: PipelineEnd | None) -> Mapping[str, Json] | None:
    if end is None:
        return None
    return {"topics": list(end.topics), "pattern": end.pattern, "place": end.place, "table": end.table}
