"""What pipelines tell about themselves is read back as it was written, and nothing that was not is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.model.pipeline_status import (
    MOST_STATUS_BYTES,
    MOST_TEXT_CHARACTERS,
    MOST_TOPICS,
    HealthReport,
    PipelineEnd,
    PipelineStatus,
    checkpoint_directory,
    decode_health,
    decode_status,
    encode_health,
    encode_status,
    start_of_process,
    status_directory,
    status_file_name,
)

texts = st.text(max_size=60)
counts = st.integers(0, 2**53 - 1)
seconds = st.one_of(st.none(), st.floats(0, 1e9))
reports = st.builds(
    HealthReport,
    pipeline=texts,
    healthy=st.booleans(),
    status=texts,
    reason=texts,
    batch=st.one_of(st.none(), counts),
    rows=counts,
    lag=st.one_of(st.none(), counts),
    seconds_since_progress=seconds,
    next_attempt_in_seconds=seconds,
    retries=counts,
    restarts=counts,
    last_error=texts,
    query=texts,
)
ends = st.builds(PipelineEnd, topics=st.lists(texts, max_size=5).map(tuple), pattern=texts, place=texts, table=texts)
statuses = st.builds(
    PipelineStatus,
    kind=texts,
    source=ends,
    target=ends,
    host=texts,
    process=counts,
    process_start=texts,
    started_ms=counts,
    written_ms=counts,
    service=texts,
    report=reports,
    ended=texts,
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@given(statuses)
def test_what_is_written_is_read(status: PipelineStatus) -> None:
    assert decode_status(encode_status(status)) == status


@given(reports)
def test_what_a_service_answers_is_read(report: HealthReport) -> None:
    assert decode_health(encode_health(report)) == report


@given(statuses, st.sampled_from(["report", "source", "target"]), st.data())
def test_what_is_odd_is_left_out(status: PipelineStatus, part: str, data: st.DataObject) -> None:
    document = json.loads(encode_status(status))
    inner = document[part]
    name = data.draw(st.sampled_from(sorted(inner)))
    inner[name] = data.draw(json_values)
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(json_values)
    found = decode_status(json.dumps(document).encode())
    if found is not None:
        assert decode_status(encode_status(found)) == found
        assert isinstance(found.report.healthy, bool)
        assert type(found.report.rows) is int
        assert all(isinstance(topic, str) for topic in found.source.topics)


@given(st.one_of(st.binary(max_size=200), json_values.map(lambda value: json.dumps(value).encode())))
def test_what_nobody_of_ours_has_written_is_no_status(content: bytes) -> None:
    assert decode_status(content) is None
    assert decode_health(content) is None or b"pipeline" in content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'{"report": {}}',
        b'{"report": {"pipeline": 7}}',
        b"[" * 50_000,
        b'{"report": {"pipeline": "a"}}' + b" " * MOST_STATUS_BYTES,
        b"\xff\xfe",
    ],
)
def test_what_is_none_is_none(content: bytes) -> None:
    assert decode_status(content) is None


def test_an_older_file_lacks_what_is_new() -> None:
    found = decode_status(b'{"report": {"pipeline": "orders", "rows": 12}}')
    assert found is not None
    assert (found.report.pipeline, found.report.rows, found.report.batch, found.kind) == ("orders", 12, None, "")
    assert (found.source, found.process) == (PipelineEnd(), 0)


def test_whatever_is_told_can_be_read() -> None:
    long = "x" * 100_000
    report = decode_health(b'{"pipeline": "orders"}')
    assert report is not None
    status = PipelineStatus(
        kind="transform",
        source=PipelineEnd(topics=(long,) * 500, pattern=long, place=long),
        target=PipelineEnd(table=long, place=long),
        host=long,
        process=1,
        process_start="1",
        started_ms=1,
        written_ms=1,
        service=long,
        report=report,
        ended=long,
    )
    content = encode_status(status)
    assert len(content) <= MOST_STATUS_BYTES
    found = decode_status(content)
    assert found is not None
    assert found.ended == "x" * MOST_TEXT_CHARACTERS
    assert len(found.source.topics) == MOST_TOPICS


def test_numbers_that_are_none_are_left_out() -> None:
    for odd in ("true", "1e400", "NaN", "-1e300", '"1"', str(2**60)):
        found = decode_health(
            b'{"pipeline": "a", "rows": %s, "batch": %s, "seconds_since_progress": %s}' % ((odd.encode(),) * 3)
        )
        assert found is not None
        assert (found.rows, found.batch) == (0, None)
        assert found.seconds_since_progress in (None, float(2**60) if odd.isdigit() else None)
        json.dumps(found.seconds_since_progress, allow_nan=False)


@pytest.mark.parametrize(
    ("environment", "state"),
    [
        ({}, "/home/anna/.local/state"),
        ({"XDG_STATE_HOME": ""}, "/home/anna/.local/state"),
        ({"XDG_STATE_HOME": "/var/state"}, "/var/state"),
    ],
)
def test_files_are_in_the_state_directory_of_the_user(environment: dict[str, str], state: str) -> None:
    assert status_directory(environment, "/home/anna") == f"{state}/tidelog/pipeline-status"
    assert checkpoint_directory(environment, "/home/anna") == f"{state}/tidelog/pipelines"
    assert status_file_name("orders", 17) == "orders.17.json"


@pytest.mark.parametrize(
    ("stat", "start"),
    [
        (b"17 (python) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98765 20 21", "98765"),
        (b"17 (a) b) c (d) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98765 20 21", "98765"),
        (b"17 (python) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98765 20 21", None),
        (b"", ""),
    ],
)
def test_when_a_process_has_started(stat: bytes, start: str | None) -> None:
    assert start_of_process(stat) == start
