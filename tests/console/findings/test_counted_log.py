"""Counting records, against a log that is a list."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.browsing import OutlineRun, RunKind
from tidelog.console.findings.counted_log import CountedLog, RangeCount
from tidelog.console.findings.lag import LogMarks, lag_of

_PRODUCERS = 3


@dataclass(frozen=True, slots=True)
class ModelOffset:
    """One offset of the model. `aborted` is known where the end of its transaction is in the log."""

    kind: RunKind
    producer_id: int | None = None
    aborted: bool = False


@st.composite
def model_logs(draw: st.DrawFn) -> list[ModelOffset]:
    """What producers with and without transactions, brokers and compaction leave behind."""
    kinds = st.sampled_from(["plain", "transactional", "end", "leader change", "gap"])
    log: list[ModelOffset] = []
    written: dict[int, list[int]] = {}
    for kind in draw(st.lists(kinds, max_size=40)):
        producer = draw(st.integers(0, _PRODUCERS - 1))
        match kind:
            case "plain":
                log.append(ModelOffset(RunKind.RECORDS))
            case "transactional":
                written.setdefault(producer, []).append(len(log))
                log.append(ModelOffset(RunKind.RECORDS, producer))
            case "end":
                commit = draw(st.booleans())
                for offset in written.pop(producer, []):
                    log[offset] = ModelOffset(RunKind.RECORDS, producer, aborted=not commit)
                log.append(ModelOffset(RunKind.COMMIT if commit else RunKind.ABORT, producer))
            case "leader change":
                log.append(ModelOffset(RunKind.OTHER_CONTROL))
            case _:
                log.append(ModelOffset(RunKind.GAP))
    return log


def runs_of_model(log: list[ModelOffset], first: int, end: int) -> list[OutlineRun]:
    runs: list[OutlineRun] = []
    for offset in range(first, end):
        entry = log[offset]
        if runs and (runs[-1].kind, runs[-1].producer_id) == (entry.kind, entry.producer_id):
            runs[-1] = runs[-1]._replace(last_offset=offset)
        else:
            runs.append(OutlineRun(offset, offset, entry.kind, entry.producer_id))
    return runs


def counted(log: list[ModelOffset], start: int, cuts: list[int], *, most_holes: int = 1000) -> CountedLog:
    """Read in parts that end at `cuts` and at the end of the log."""
    known = CountedLog(start, most_holes=most_holes)
    for cut in sorted({*(cut for cut in cuts if start < cut < len(log)), len(log)}):
        known.extend(runs_of_model(log, known.end, cut))
    return known


def expected(log: list[ModelOffset], first: int, end: int) -> RangeCount:
    part = log[first:end]
    records = [each for each in part if each.kind is RunKind.RECORDS]
    gaps = sum(each.kind is RunKind.GAP for each in part)
    return RangeCount(len(records), len(part) - len(records) - gaps, gaps, sum(each.aborted for each in records))


@given(data=st.data())
def test_counts_are_those_of_the_model(data: st.DataObject) -> None:
    log = data.draw(model_logs())
    offsets = st.integers(0, len(log))
    start = data.draw(offsets)
    known = counted(log, start, data.draw(st.lists(offsets, max_size=5)))
    assert (known.start, known.end) == (start, len(log))
    first = data.draw(st.integers(start, len(log)))
    end = data.draw(st.integers(first, len(log)))
    assert known.covers(first, end)
    assert known.count(first, end) == expected(log, first, end)


@given(data=st.data())
def test_a_log_with_many_holes_is_known_from_a_later_offset_on(data: st.DataObject) -> None:
    log = data.draw(model_logs())
    known = counted(log, 0, list(range(len(log))), most_holes=4)
    assert known.end == len(log)
    first = data.draw(st.integers(0, len(log)))
    if first >= known.start:
        assert known.count(first, len(log)) == expected(log, first, len(log))
    else:
        assert not known.covers(first, len(log))


@given(data=st.data())
def test_a_lag_is_that_of_the_model(data: st.DataObject) -> None:
    """Whatever part of the log is known: exact where all of it is, at most too large elsewhere."""
    log = data.draw(model_logs())
    offsets = st.integers(0, len(log))
    committed = data.draw(st.integers(0, len(log) + 3))
    begin, stable = data.draw(offsets), data.draw(offsets)
    marks = LogMarks(start=begin, stable=stable, end=len(log))
    known_from, known_to = sorted((data.draw(offsets), data.draw(offsets)))
    known = CountedLog(known_from)
    known.extend(runs_of_model(log, known_from, known_to))
    lag = lag_of(committed, marks, known)

    first = max(committed, begin)
    truth = expected(log, first, len(log))
    assert lag.records >= truth.records
    assert 0 <= lag.readable <= lag.records
    assert lag.readable >= expected(log, first, max(first, stable)).records
    if lag.exact:
        assert lag.records == truth.records
        assert (lag.control, lag.gaps) == (truth.control, truth.gaps)
        assert lag.readable == expected(log, first, max(first, stable)).records
    else:
        assert not known_from <= first <= len(log) <= known_to
    assert lag.lost == max(0, begin - committed)
    assert lag.beyond == max(0, committed - len(log))


def test_an_outline_has_to_begin_where_the_last_one_has_ended() -> None:
    known = CountedLog(5)
    with pytest.raises(AssertionError):
        known.extend([OutlineRun(6, 7, RunKind.RECORDS)])
