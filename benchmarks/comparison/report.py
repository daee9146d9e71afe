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
from benchmarks.comparison.plots import ratio_bars

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
# How many runs the history shows beside each other.
SHOWN_RUNS = 6

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
    stored = [Run.from_json(json.loads(path.read_text())) for path in sorted(history.glob("*.json"))]
    latest = [each for each in stored if each.kind == run.kind][-1]
    drawing = folder / f"{run.kind}.svg"
    drawing.write_text(ratio_bars(latest.results))
    page = folder / f"{run.kind}.md"
    page.write_text(render(latest, [each for each in stored if each.kind == run.kind], drawing=drawing.name))
    return page


def render(run: Run, runs: Sequence[Run], *, drawing: str) -> str:
    command = "make bench" if run.kind == "full" else "make bench-quick"
    lines = [
        "# tidelog beside Apache Kafka",
        "",
        f"Written by `{command}` on {run.taken_at}; do not edit. Both run at the same time and are measured in turns "
        "with the same client; a number is the median of its rounds, a ratio is tidelog / Apache Kafka. Single ratios "
        "move by a third between runs on a shared machine: read them together with the history below.",
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
        "Against one broker of tidelog, each library in a process of its own and in turns; a ratio is tidelog's client "
        "/ the other library. Idempotent producers with `acks=all`, `linger.ms=5`, batches of 64 KiB, no compression, "
        "3 partitions.",
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
