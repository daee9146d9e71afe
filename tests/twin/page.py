"""Writes `docs/reference/differences-from-kafka.md` from the table:  PYTHONPATH=src:tests python -m twin.page"""

from __future__ import annotations

from pathlib import Path

from twin.differences import EVERY_API, NOT_SERVED, TABLE, IntendedDifference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "differences-from-kafka.md"

_HEAD = """\
# Where replies differ from Apache Kafka's

The tests send the same requests to tidelog and to Apache Kafka 4.3.1, every API in every version, and compare the
decoded replies field by field. What is on this page is all that differs. The page is written from the table in
`tests/twin/differences.py`, which the tests allow for, and they fail if an entry is no longer needed.
"""


def render() -> str:
    sections = [_HEAD, *map(_section, TABLE), _not_served()]
    return "\n".join(sections)


def _section(entry: IntendedDifference) -> str:
    apis = "every API" if entry.keys is EVERY_API else ", ".join(key.title for key in entry.keys)
    return f"## {entry.title}\n\n{entry.reason}\n\nIn: {apis}.\n"


def _not_served() -> str:
    lines = [f"- {reason}: {', '.join(names.values())}." for reason, names in NOT_SERVED.items()]
    return "\n".join(["## The APIs that are not served", "", *lines, ""])


if __name__ == "__main__":
    PAGE.write_text(render())
