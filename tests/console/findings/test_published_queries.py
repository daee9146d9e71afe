"""What notes of the sink say, as the sink writes them, and whatever others commit for the same topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.published_queries import published_query
from tidelog.spark.mirror.sink import mirror_group
from tidelog.spark.sink.batch_identity import Reads
from tidelog.spark.sink.note import Note
from tidelog.spark.sink.options import DEFAULT_PREFIX, sink_options
from tidelog.spark.sink.prepared.decision import Slot, slot_name
from tidelog.spark.sink.task import _task_name

QUERY = "66a4ec3d-8213-41a7-a231-a89cd7e028d9"
OPTIONS = sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", "topic": "out"})
UNTIL = '{"orders":{"0":17}}'


def note(**more: object) -> str:
    made = Note(batch=41, tasks=4, rows=1000, content="abc", reads=Reads(start="1", end="2", until=UNTIL), **more)  # type: ignore[arg-type]
    return made.metadata()


def test_a_query() -> None:
    group = OPTIONS.query_name(QUERY)
    found = published_query(group, 41, note())
    assert found is not None
    assert (found.kind, found.name, found.transactional_id) == ("query", QUERY, group)
    assert (found.batch, found.rows, found.tasks, found.atomicity, found.until) == (41, 1000, 4, "batch", UNTIL)


@pytest.mark.parametrize(("division", "atomicity"), [("", "batch"), ("d1gest", "task"), ("prepared 3", "prepared")])
def test_each_atomicity(division: str, atomicity: str) -> None:
    found = published_query(OPTIONS.query_name(QUERY), 1, note(division=division))
    assert found is not None
    assert found.atomicity == atomicity == Note(batch=1, division=division).atomicity


def test_a_mirror_is_known_by_the_name_of_its_pipeline() -> None:
    found = published_query(f"{mirror_group('to-backup')}.batch", 3, note())
    assert found is not None
    assert (found.kind, found.name, found.transactional_id) == ("mirror", "to-backup", "tidelog-mirror-to-backup")


@pytest.mark.parametrize("job", ["nightly", "2cb38e7c-67f2-4b72-973d-cdb36debc3de", "a-job-b"])
def test_a_job(job: str) -> None:
    found = published_query(OPTIONS.query_name(f"job-{job}"), 0, note())
    assert found is not None
    assert (found.kind, found.name) == ("job", job)


@pytest.mark.parametrize("prefix", [DEFAULT_PREFIX, "mine", "a-b-c"])
@pytest.mark.parametrize("query", [QUERY, "job-nightly"])
def test_tasks_are_part_of_their_query(prefix: str, query: str) -> None:
    options = sink_options(
        {"kafka.bootstrap.servers": "127.0.0.1:9092", "topic": "out", "transactionalidprefix": prefix}
    )
    name = options.query_name(query)
    assert name.startswith(prefix)
    assert published_query(name, 1, note()) is not None
    assert published_query(_task_name(name, 12), 1, note()) is None
    assert published_query(slot_name(name, Slot(task=3, number=1)), 1, note()) is None


def test_an_early_note_tells_the_batch_only() -> None:
    found = published_query(OPTIONS.query_name(QUERY), 7, "")
    assert found is not None
    assert (found.batch, found.rows, found.tasks, found.atomicity, found.until) == (7, None, None, "", "")


@given(
    st.text(), st.integers(0, 2**62), st.one_of(st.text(), st.from_regex(r'\{"(rows|tasks|until|division)": .{0,9}\}'))
)
def test_whatever_somebody_commits_is_shown_or_left_out(group: str, offset: int, metadata: str) -> None:
    found = published_query(group, offset, metadata)
    if found is not None:
        assert (found.group, found.batch) == (group, offset)
        assert found.rows is None or found.rows >= 0
        assert isinstance(found.until, str)
