"""One page from the pages of several processes."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tidelog.cli.local_cluster.collected_metrics import CollectedMetrics, merge_pages
from tidelog.network.port import AsyncioNetwork
from tidelog.server.observability.metrics import Metrics
from tidelog.server.observability.metrics_endpoint import METRICS_PATH, Page, serve_metrics, serve_pages

LOOPBACK = "127.0.0.1"


def page(number: int) -> str:
    registry = CollectorRegistry()
    Gauge("open_things", "Without labels", registry=registry).set(number)
    counter = Counter("requests", "With { braces } and spaces", ["api", "text"], registry=registry)
    counter.labels("Fetch", 'quoted " and { brace } and \n line').inc(10 * number)
    if number == 2:
        counter.labels("Produce", "only here").inc()
    Histogram("seconds", "In buckets", ["api"], buckets=(0.1, 1.0), registry=registry).labels("Fetch").observe(0.5)
    return generate_latest(registry).decode()


def series(text: str) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, str(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def test_all_series_are_kept_and_told_apart() -> None:
    pages = {number: page(number) for number in (1, 2)}
    expected: dict[tuple[str, str], float] = {}
    for number, text in pages.items():
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = {**sample.labels, "process": str(number)}
                expected[sample.name, str(sorted(labels.items()))] = sample.value
    assert series(merge_pages(pages)) == expected


def test_a_metric_is_described_once_before_all_of_its_series() -> None:
    lines = merge_pages({1: page(1), 2: page(2)}).splitlines()
    described = [line for line in lines if line.startswith("#")]
    assert len(described) == len(set(described))
    at = lines.index("# TYPE open_things gauge")
    assert lines[at + 1 : at + 3] == ['open_things{process="1"} 1.0', 'open_things{process="2"} 2.0']


def test_without_any_answer_the_page_is_empty() -> None:
    assert merge_pages({}) == ""


async def test_a_process_that_does_not_answer_is_shown_as_down() -> None:
    listening = await serve_metrics(AsyncioNetwork(), Metrics(), LOOPBACK, 0)
    collected = CollectedMetrics(LOOPBACK, {1: listening.port, 2: 1})
    collected.restarted(2)
    found = series((await collected.page()).content.decode())
    listening.close()
    assert found["tidelog_process_up", "[('process', '1')]"] == 1
    assert found["tidelog_process_up", "[('process', '2')]"] == 0
    assert found["tidelog_process_restarts_total", "[('process', '2')]"] == 1
    assert ("tidelog_disk_full_total", "[('process', '1')]") in found


async def test_what_is_not_a_page_of_metrics_is_no_answer() -> None:
    refusal = Page(content=b"not here", content_type="text/plain", status="503 Service Unavailable")
    listening = await serve_pages(AsyncioNetwork(), {METRICS_PATH: lambda: refusal}, LOOPBACK, 0)
    assert await CollectedMetrics(LOOPBACK, {1: listening.port}).answering() == {}
    listening.close()


async def test_the_collected_page_is_served() -> None:
    inner = await serve_metrics(AsyncioNetwork(), Metrics(), LOOPBACK, 0)
    outer = await CollectedMetrics(LOOPBACK, {7: inner.port}).serve(LOOPBACK, 0)
    # Collected once more, as Prometheus would: the answer comes only when the inner page has.
    found = await CollectedMetrics(LOOPBACK, {1: outer.port}).answering()
    for each in (inner, outer):
        each.close()
    assert 'tidelog_process_up{process="7"} 1.0' in found[1]
