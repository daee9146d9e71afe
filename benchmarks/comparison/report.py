"""The page in docs/benchmarks: the newest run as a table with its drawing, and the ratios of all runs before."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.comparison.contestants import HEAP, KAFKA_VERSION
from benchmarks.comparison.figures import APACHE_KAFKA, EMPTY, PLAIN, TIDELOG, Result
from benchmarks.comparison.librdkafka import PRODUCER
from benchmarks.comparison.machine import MOST_TAKEN
from benchmarks.comparison.plots import ratio_bars
from benchmarks.comparison.scenario import MOST_TRIES

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
# How many runs the history shows beside each other.
SHOWN_RUNS = 6
# What the page calls that which was measured later than the rest.
AGAIN = "measured again"

Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that one `make bench` has found."""

    taken_at: str
    kind: str
    machine: Mapping[str, str]
    results: Sequence[Result]
    # What is measured without Apache Kafka: what, result, bound.
    rows: Sequence[Row]

    def as_json(self) -> dict[str, Any]:
        return {
            "taken_at": self.taken_at,
            "kind": self.kind,
            "machine": dict(self.machine),
            "results": [result.as_json() for result in self.results],
            "rows": [list(row) for row in self.rows],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Run:
        return cls(
            taken_at=stored["taken_at"],
            kind=stored["kind"],
            machine=stored["machine"],
            results=[Result.from_json(each) for each in stored["results"]],
            rows=[(row[0], row[1], row[2]) for row in stored["rows"]],
        )


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def describe_machine() -> dict[str, str]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": f"{os.cpu_count()} cores, {_processor()}",
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "Python": platform.python_version(),
        "tidelog": version("tidelog"),
        "Apache Kafka": KAFKA_VERSION,
        **{library: version(library) for library in ("confluent-kafka", "aiokafka", "kafka-python")},
    }


def _processor() -> str:
    with open("/proc/cpuinfo") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(run: Run, folder: Path = FOLDER) -> Path:
    """Add the run to the history and draw the page again; returns the page."""
    history = folder / "history"
    history.mkdir(parents=True, exist_ok=True)
    name = run.taken_at.replace(" UTC", "").replace(" ", "-").replace(":", "")
    (history / f"{name}-{run.kind}.json").write_text(json.dumps(run.as_json(), indent=1) + "\n")
    runs = _stored(run.kind, folder)
    drawing = folder / f"{run.kind}.svg"
    drawing.write_text(ratio_bars(runs[-1].results))
    page = folder / f"{run.kind}.md"
    page.write_text(render(runs[-1], runs, drawing=drawing.name))
    return page


def write_again(part: Run, names: Sequence[str], order: Sequence[str], folder: Path = FOLDER) -> Path:
    """Put a part that was measured again into the newest run of its kind, which says so; returns the page.

    `order` are the figures in the order of the page.
    """
    runs = _stored(part.kind, folder)
    if not runs:
        raise RuntimeError(f"there is no {part.kind} run to put it into; take one first, without names")
    newest = runs[-1]
    results = {result.figure.name: result for result in (*newest.results, *part.results)}
    rows = {row[0]: row for row in (*newest.rows, *part.rows) if row[0] not in names}
    again = newest.machine.get(AGAIN, "")
    machine = {**newest.machine, AGAIN: f"{again}{'; ' if again else ''}{', '.join(names)} ({part.taken_at})"}
    # A figure that is no longer measured comes last.
    places = {name: place for place, name in enumerate(order)}
    merged = Run(
        taken_at=newest.taken_at,
        kind=newest.kind,
        machine=machine,
        results=sorted(results.values(), key=lambda result: places.get(result.figure.name, len(places))),
        rows=list(rows.values()),
    )
    return write(merged, folder)


def _stored(kind: str, folder: Path) -> list[Run]:
    """All runs of a kind, oldest first."""
    stored = [Run.from_json(json.loads(path.read_text())) for path in sorted((folder / "history").glob("*.json"))]
    return [run for run in stored if run.kind == kind]


def render(run: Run, runs: Sequence[Run], *, drawing: str) -> str:
    command = "make bench" if run.kind == "full" else "make bench-quick"
    lines = [
        "# tidelog beside Apache Kafka",
        "",
        f"Written by `{command}` on {run.taken_at}; do not edit. Both run at the same time and are measured in turns "
        "with the same client; a number is the median of its rounds, a ratio is tidelog / Apache Kafka. Single ratios "
        "move by a third between runs on a shared machine: read them together with the history below. A turn in which "
        f"the machine's host took more than {MOST_TAKEN:.0%} of the cores' time is taken again, up to {MOST_TRIES} "
        "times, and the least disturbed one counts. [What bounds the figures](README.md) says more.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in run.machine.items()),
        "",
        *_settings(),
        "",
        f"![Ratios]({drawing})",
        "",
        *_table([result for result in run.results if result.figure.compared_with == APACHE_KAFKA]),
        *_libraries([result for result in run.results if result.figure.compared_with != APACHE_KAFKA]),
        "",
        "Bold: the goal is not reached.",
    ]
    if run.rows:
        lines += ["", "## tidelog alone", "", "| measured | result | bound |", "|---|---|---|"]
        lines += [f"| {what} | {result} | {bound} |" for what, result, bound in run.rows]
    if len(runs) > 1:
        lines += ["", "## Ratios of the last runs", "", *_history(runs[-SHOWN_RUNS:])]
    return "\n".join(lines) + "\n"


def _settings() -> list[str]:
    producer = ", ".join(f"`{name}={value}`" for name, value in PRODUCER.items() if name not in ("log_level",))
    heaps = ", ".join(f"{heap} of heap for {nodes} node{'s' if nodes > 1 else ''}" for nodes, heap in HEAP.items())
    return [
        "Both sides run with the defaults of Apache Kafka, durability included; only what a cluster on one machine "
        "needs differs: addresses, replication factors of internal topics, and `group.initial.rebalance.delay.ms=0`. "
        f"Apache Kafka has {heaps}, G1 with `MaxGCPauseMillis=20`. The producer's settings, unless the name of a "
        f"figure says otherwise: {producer}.",
        "",
        "The empty server checks nothing, writes nothing and only acknowledges: its ratio is how far this client gets "
        "beside Apache Kafka on this machine, whatever the broker does. No broker reaches a goal beyond it.",
    ]


def _table(results: Sequence[Result]) -> list[str]:
    titles = {PLAIN: "plain Python", EMPTY: "empty server"}
    others = [side for side in titles if any(side in result.samples for result in results)]
    lines = [
        "| figure | unit | tidelog | Apache Kafka | ratio | goal |"
        + "".join(f" {titles[each]} | ratio |" for each in others),
        "|---|---|---|---|---|---|" + "---|---|" * len(others),
    ]
    for result in results:
        figure = result.figure
        cells = [figure.name, figure.unit, _number(result.median(TIDELOG)), _number(result.median(APACHE_KAFKA))]
        cells += [_shown_ratio(result), figure.goal_text]
        for side in others:
            cells += [_number(result.median(side)), _number(result.ratio(side))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _libraries(results: Sequence[Result]) -> list[str]:
    if not results:
        return []
    lines = [
        "",
        "## tidelog's client beside other libraries",
        "",
        "The libraries take turns against one broker of tidelog, each in its own process. A ratio is tidelog's client "
        "/ the other library. Producers are idempotent, with `acks=all`, `linger.ms=5`, batches of 64 KiB, no "
        "compression, 3 partitions. All consumers verify checksums (`check.crcs=true`; confluent-kafka is the only "
        "library whose default is false). Their other settings are the defaults of each library. confluent-kafka "
        "always reads lists of 500 records, because its `poll` of single records is slower.",
        "",
        "| figure | unit | tidelog | compared with | has | ratio | goal | plain Python | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        figure = result.figure
        cells = [figure.name, figure.unit, _number(result.median(TIDELOG)), figure.compared_with]
        cells += [_number(result.median(figure.compared_with)), _shown_ratio(result), figure.goal_text]
        cells += [_number(result.median(PLAIN)), _number(result.ratio(PLAIN))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _shown_ratio(result: Result) -> str:
    ratio = result.ratio()
    shown = _number(ratio)
    return f"**{shown}**" if ratio is not None and not result.figure.is_reached_by(ratio) else shown


def _history(runs: Sequence[Run]) -> list[str]:
    lines = ["| figure | " + " | ".join(run.taken_at for run in runs) + " |", "|---|" + "---|" * len(runs)]
    names = list(dict.fromkeys(result.figure.name for run in reversed(runs) for result in run.results))
    for name in names:
        ratios = [next((each.ratio() for each in run.results if each.figure.name == name), None) for run in runs]
        lines.append(f"| {name} | " + " | ".join(_number(ratio) for ratio in ratios) + " |")
    return lines


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
