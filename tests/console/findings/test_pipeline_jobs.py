"""Pipelines from files and services: each once, with what was told last."""

from __future__ import annotations

from dataclasses import replace

from tidelog.client.local_pipelines import LocalPipeline, PipelineLife
from tidelog.console.findings.pipeline_jobs import ServiceAnswer, pipeline_jobs
from tidelog.model.pipeline_status import HealthReport, PipelineEnd, PipelineStatus

NOW_MS = 1_800_000_000_000
SERVICE = "http://127.0.0.1:9464"


def report(name: str = "orders", **changes: object) -> HealthReport:
    made = HealthReport(
        pipeline=name,
        healthy=True,
        status="running",
        reason="",
        batch=3,
        rows=120,
        lag=7,
        seconds_since_progress=1.5,
        next_attempt_in_seconds=None,
        retries=0,
        restarts=0,
        last_error="",
        query="q",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def local(
    life: PipelineLife = PipelineLife.RUNNING, *, told: HealthReport | None = None, **changes: object
) -> LocalPipeline:
    made = PipelineStatus(
        kind="transform",
        source=PipelineEnd(topics=("a",), place="127.0.0.1:9092"),
        target=PipelineEnd(topics=("b",), place="127.0.0.1:9092"),
        host="here",
        process=17,
        process_start="1",
        started_ms=NOW_MS - 60_000,
        written_ms=NOW_MS - 4_000,
        service="",
        report=told or report(),
    )
    return LocalPipeline(status=replace(made, **changes), life=life)  # type: ignore[arg-type]


def test_a_pipeline_of_this_machine() -> None:
    (job,) = pipeline_jobs([local()], [], NOW_MS)
    assert job.as_json(12.5, []) == {
        "key": "orders/here/17/1799999940000",
        "name": "orders",
        "status": "running",
        "healthy": True,
        "reason": "",
        "found": "process 17 on here",
        "kind": "transform",
        "source": {"topics": ["a"], "pattern": "", "place": "127.0.0.1:9092", "table": ""},
        "target": {"topics": ["b"], "pattern": "", "place": "127.0.0.1:9092", "table": ""},
        "started_ms": NOW_MS - 60_000,
        "written_ms": NOW_MS - 4_000,
        "batch": 3,
        "rows": 120,
        "rows_per_second": 12.5,
        "lag": 7,
        # The file is four seconds old.
        "since_progress_s": 5.5,
        "next_attempt_s": None,
        "retries": 0,
        "restarts": 0,
        "last_error": "",
        "query": "q",
        "points": [],
    }


def test_a_service_tells_all_but_from_where_to_where() -> None:
    (job,) = pipeline_jobs([], [ServiceAnswer(address=SERVICE, report=report(status="stalled", healthy=False))], NOW_MS)
    assert (job.name, job.status, job.healthy, job.found) == ("orders", "stalled", False, SERVICE)
    shown = job.as_json(None, [])
    assert (shown["source"], shown["kind"], shown["since_progress_s"]) == (None, "", 1.5)


def test_a_service_of_this_machine_is_the_pipeline_of_its_file() -> None:
    newer = report(batch=4, rows=150)
    jobs = pipeline_jobs([local(service=SERVICE)], [ServiceAnswer(address=SERVICE, report=newer)], NOW_MS)
    assert [(job.kind, job.report) for job in jobs] == [("transform", newer)]


def test_a_service_that_does_not_answer_is_said() -> None:
    answer = ServiceAnswer(address=SERVICE, problem=f"{SERVICE} does not answer: Connection refused")
    (job,) = pipeline_jobs([], [answer], NOW_MS)
    assert (job.name, job.status, job.reason) == (SERVICE, "does not answer", answer.problem)
    assert job.as_json(None, [])["rows"] is None
    # What has ended answers nowhere, and another one may have its port.
    both = pipeline_jobs([local(PipelineLife.ENDED, service=SERVICE)], [answer], NOW_MS)
    assert [job.status for job in both] == ["does not answer", "ended"]


def test_who_has_ended_says_why_and_comes_last() -> None:
    jobs = pipeline_jobs(
        [
            local(PipelineLife.ENDED, told=report("a", status="running")),
            local(PipelineLife.ENDED, told=report("b", status="stopping"), ended="table orders has no column total"),
            local(told=report("z")),
        ],
        [],
        NOW_MS,
    )
    assert [(job.name, job.status, job.healthy, job.reason) for job in jobs] == [
        ("z", "running", True, ""),
        ("a", "ended", False, "its process has ended without a word: it was killed, or its machine went down"),
        ("b", "ended", False, "table orders has no column total"),
    ]


def test_who_writes_nothing_is_silent_whatever_it_said_last() -> None:
    (job,) = pipeline_jobs([local(PipelineLife.SILENT)], [], NOW_MS)
    assert (job.status, job.healthy) == ("silent", False)
    assert job.reason.startswith("nothing was heard of it for a while")


def test_times_go_on_since_a_file_was_written() -> None:
    waiting = report(status="retrying", healthy=False, reason="away", next_attempt_in_seconds=10.0)
    (job,) = pipeline_jobs([local(told=waiting)], [], NOW_MS)
    assert job.report is not None
    assert (job.report.next_attempt_in_seconds, job.report.seconds_since_progress) == (6.0, 5.5)
    (late,) = pipeline_jobs([local(told=waiting, written_ms=NOW_MS - 60_000)], [], NOW_MS)
    assert late.report is not None
    assert late.report.next_attempt_in_seconds == 0.0
    # A clock that was set back.
    (odd,) = pipeline_jobs([local(written_ms=NOW_MS + 60_000)], [], NOW_MS)
    assert odd.report is not None
    assert (odd.report.seconds_since_progress, odd.written_ms) == (1.5, NOW_MS)


def test_two_starts_of_one_name_are_two() -> None:
    jobs = pipeline_jobs([local(process=1), local(process=2), local(PipelineLife.ENDED, process=3)], [], NOW_MS)
    assert len({job.key for job in jobs}) == 3
