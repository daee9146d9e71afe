"""`make bench`: its figures, its page, and a small run of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.comparison import scenario as scenario_module
from benchmarks.comparison.catalogue import all_scenarios
from benchmarks.comparison.contestants import Tidelog
from benchmarks.comparison.figures import APACHE_KAFKA, EMPTY, PLAIN, TIDELOG, Figure, Result
from benchmarks.comparison.plots import ratio_bars
from benchmarks.comparison.report import Run, render, write, write_again
from benchmarks.comparison.scenario import Library, Scenario, Turn, run_together, without_plain

ROOT = Path(__file__).parents[2]
RATE = Figure(name="produce", unit="MB/s", goal=1.5)
CPU = Figure(name="CPU", unit="s", more_is_better=False, goal=0.7)
FREE = Figure(name="pause", unit="s", more_is_better=False)


def run(taken_at: str, *results: Result) -> Run:
    return Run(taken_at=taken_at, kind="full", machine={"memory": "24 GB"}, results=results, rows=[("a", "b", "c")])


def result(figure: Figure, **samples: list[float]) -> Result:
    names = {"ours": TIDELOG, "theirs": APACHE_KAFKA, "plain": PLAIN, "empty": EMPTY}
    return Result(figure=figure, samples={names[side]: values for side, values in samples.items()})


def test_a_ratio_is_that_of_the_medians() -> None:
    assert result(RATE, ours=[1, 30, 100], theirs=[10, 20, 10]).ratio() == 3
    assert result(RATE, ours=[1], theirs=[2], plain=[4]).ratio(PLAIN) == 2
    assert result(RATE, ours=[1]).ratio() is None


@pytest.mark.parametrize(
    ("figure", "ratio", "is_reached"),
    [(RATE, 1.5, True), (RATE, 1.49, False), (CPU, 0.7, True), (CPU, 0.71, False), (FREE, 100, True)],
)
def test_a_goal_bounds_the_ratio_on_the_side_that_is_worse(figure: Figure, ratio: float, is_reached: bool) -> None:
    assert figure.is_reached_by(ratio) is is_reached


def test_the_page_has_the_newest_run_and_the_ratios_of_those_before(tmp_path: Path) -> None:
    write(
        run("2026-01-01 10:00 UTC", result(RATE, ours=[10], theirs=[10]), result(CPU, ours=[1], theirs=[1])), tmp_path
    )
    newest = run(
        "2026-01-02 10:00 UTC", result(RATE, ours=[30], theirs=[10], plain=[5]), result(CPU, ours=[1], theirs=[1])
    )
    text = write(newest, tmp_path).read_text()
    assert "| produce | MB/s | 30 | 10 | 3 | ≥ 1.5 | 5 | 0.5 |" in text
    assert "| CPU | s | 1 | 1 | **1** | ≤ 0.7 | – | – |" in text, "a goal that is not reached is bold"
    assert "| produce | 1 | 3 |" in text
    assert "| a | b | c |" in text
    assert len(list((tmp_path / "history").glob("*.json"))) == 2


def test_what_is_measured_again_is_put_into_the_newest_run_which_says_so(tmp_path: Path) -> None:
    write(run("2026-01-01 10:00 UTC", result(RATE, ours=[10], theirs=[10])), tmp_path)
    newest = run("2026-01-02 10:00 UTC", result(CPU, ours=[1], theirs=[1]))
    write(replace(newest, rows=[("pauses", "not measured: too slow", "")]), tmp_path)
    part = run("2026-01-02 12:00 UTC", result(RATE, ours=[30], theirs=[10]), result(CPU, ours=[1], theirs=[2]))
    text = write_again(part, ["rates", "pauses"], ["produce", "CPU", "pause"], tmp_path).read_text()
    assert "on 2026-01-02 10:00 UTC" in text
    assert "| measured again | rates, pauses (2026-01-02 12:00 UTC) |" in text
    assert text.index("| produce | MB/s | 30 |") < text.index("| CPU | s | 1 | 2 | 0.5 |")
    assert "too slow" not in text
    assert len(list((tmp_path / "history").glob("*.json"))) == 2


def test_without_a_run_there_is_nothing_to_put_a_part_into(tmp_path: Path) -> None:
    part = run("2026-01-02 12:00 UTC", result(RATE, ours=[30], theirs=[10]))
    with pytest.raises(RuntimeError, match="no full run"):
        write_again(part, ["rates"], ["produce"], tmp_path)


def test_a_page_without_apache_kafka_shows_no_ratio() -> None:
    alone = run("2026-01-01 10:00 UTC", result(RATE, ours=[10]))
    assert "| produce | MB/s | 10 | – | – | ≥ 1.5 |" in render(alone, [alone], drawing="full.svg")


def test_the_page_says_how_far_the_client_gets_with_a_server_that_does_nothing() -> None:
    with_empty = run(
        "2026-01-01 10:00 UTC",
        result(RATE, ours=[14], theirs=[10], empty=[12]),
        result(FREE, ours=[1], theirs=[2]),
    )
    text = render(with_empty, [with_empty], drawing="full.svg")
    assert "| goal | empty server | ratio |" in text
    assert "| produce | MB/s | 14 | 10 | **1.4** | ≥ 1.5 | 12 | 1.2 |" in text
    assert "| pause | s | 1 | 2 | 0.5 |  | – | – |" in text


def test_client_libraries_have_a_table_of_their_own() -> None:
    figure = Figure(name="client produce", unit="records/s", goal=0.7, compared_with="confluent-kafka")
    samples = {TIDELOG: [60.0], "confluent-kafka": [100.0], PLAIN: [30.0]}
    with_libraries = run("2026-01-01 10:00 UTC", result(RATE, ours=[10]), Result(figure=figure, samples=samples))
    text = render(with_libraries, [with_libraries], drawing="full.svg")
    kafka, _, libraries = text.partition("beside other libraries")
    assert "client produce" not in kafka
    assert "| client produce | records/s | 60 | confluent-kafka | 100 | **0.6** | ≥ 0.7 | 30 | 0.3 |" in libraries
    assert Result.from_json(Result(figure=figure, samples=samples).as_json()).ratio() == 0.6


def test_libraries_take_turns_on_one_server_of_tidelog() -> None:
    turns = []

    def measure(turn: Turn) -> dict[str, float]:
        turns.append((turn.label, turn.library.name, turn.contestant.name))
        return {"client produce": float(len(turns))}

    libraries = (Library(name="tidelog sync", side=TIDELOG), Library(name="kafka-python", side="kafka-python"))
    figure = Figure(name="client produce", unit="records/s", compared_with="kafka-python")
    scenario = Scenario(
        name="clients", figures=(figure,), measure=measure, nodes=0, libraries=libraries, warm_up_rounds=0
    )
    found = list(run_together([scenario], [Tidelog()], scale=1, most_rounds=2, say=lambda _: None))
    assert turns == [
        ("clients-0", "kafka-python", TIDELOG),
        ("clients-0", "tidelog sync", TIDELOG),
        ("clients-1", "tidelog sync", TIDELOG),
        ("clients-1", "kafka-python", TIDELOG),
    ]
    results = found[0][1]
    assert not isinstance(results, Exception)
    assert results[0].samples == {"kafka-python": [1, 4], TIDELOG: [2, 3]}


def test_a_turn_that_others_disturb_is_taken_again_and_the_quietest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_by_others = iter([0.5, 0.2, 0.04, 0.3, 0.01])
    monkeypatch.setattr(scenario_module, "watch_neighbours", lambda: lambda: next(taken_by_others))
    labels = []

    def measure(turn: Turn) -> dict[str, float]:
        labels.append(turn.label)
        return {"pause": float(len(labels))}

    scenario = Scenario(name="pauses", figures=(FREE,), measure=measure, nodes=0)
    said: list[str] = []
    ((_, results),) = run_together([scenario], [Tidelog()], scale=1, most_rounds=1, say=said.append)
    assert not isinstance(results, Exception)
    assert labels == ["pauses-0", "pauses-1", "pauses-1-1", "pauses-1-2"], "a round that warms up is taken once"
    assert results[0].samples == {TIDELOG: [3.0]}
    assert "pauses, round 1, tidelog: others took 20% of the machine's time" in said


def test_a_quick_run_leaves_out_plain_python() -> None:
    for scenario in all_scenarios():
        shorter = without_plain(scenario)
        assert not shorter.plain
        assert PLAIN not in {library.side for library in shorter.libraries}
        assert len(shorter.libraries) == len({library.name for library in scenario.libraries})


def test_the_drawing_has_a_bar_for_each_ratio() -> None:
    drawing = ElementTree.fromstring(ratio_bars([result(RATE, ours=[3], theirs=[1]), result(FREE, ours=[1])]))
    titles = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["produce: 3.00"]


def test_a_quick_run_has_the_main_figures() -> None:
    quick = {figure.name for scenario in all_scenarios() if scenario.quick for figure in scenario.figures}
    assert {"produce, 100 B", "broker CPU per small request", "start to first produce"} <= quick
    assert {
        f"client {work}, 100 B, {variant}, beside {library}"
        for work in ("produce", "consume")
        for variant in ("asyncio", "sync")
        for library in ("confluent-kafka", "aiokafka", "kafka-python")
    } <= quick


@pytest.mark.slow
def test_a_small_run_of_the_client_libraries() -> None:
    command = [sys.executable, "-m", "benchmarks", "--alone", "--quick", "--scale", "0.005", "clients-100B"]
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| client ")]
    assert len(lines) == 24
    for name, _, ours, _, theirs, *_ in lines:
        assert "–" not in (ours, theirs), f"{name} was not measured"


@pytest.mark.slow
def test_a_small_run_of_tidelog_alone() -> None:
    command = [sys.executable, "-m", "benchmarks", "--alone", "--quick", "--scale", "0.005"]
    done = subprocess.run(
        [*command, "throughput-1024B-16partitions", "small-requests"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    measured = [line for line in done.stdout.splitlines() if line.startswith("| ") and " | – | – | " in line]
    assert [line.split(" | ")[0] for line in measured] == [
        "| produce, 1024 B, 16 partitions",
        "| broker CPU per GB in, 1024 B, 16 partitions",
        "| consume, 1024 B, 16 partitions",
        "| broker CPU per GB out, 1024 B, 16 partitions",
        "| small requests, 16 connections, one in flight each",
        "| broker CPU per small request",
    ]
    rates_of_the_empty_server = [float(measured[row].split(" | ")[6]) for row in (0, 2)]
    assert min(rates_of_the_empty_server) > 0, "the client gets all records to the empty server and back"


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "thruput"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown: thruput; known: throughput-100B" in done.stderr
