"""The table at the end."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from tidelog.spark.demo.comparison import OrdersComparison

_LINES: tuple[tuple[str, Callable[[OrdersComparison], str], Callable[[OrdersComparison], bool]], ...] = (
    ("orders in", lambda found: f"{found.rows_in:,}", lambda _: True),
    ("rows out", lambda found: f"{found.rows_out:,}", lambda found: found.rows_in == found.rows_out),
    ("missing", lambda found: f"{found.missing:,}", lambda found: found.missing == 0),
    ("duplicates", lambda found: f"{found.duplicates:,}", lambda found: found.duplicates == 0),
    ("sum of all totals is right", lambda found: _sum(found), lambda found: found.sum_found == found.sum_expected),
    ("each partition in order", lambda found: _yes(found.in_order), lambda found: found.in_order),
    ("output equals input", lambda found: _yes(found.exact), lambda found: found.exact),
)


def comparison_table(results: dict[str, OrdersComparison]) -> Table:
    """One column per way of delivery; what is as it should be is green."""
    table = Table("", *results, title="the same pipeline, killed at the same moment")
    for label, shown, right in _LINES:
        cells = [f"[{'green' if right(found) else 'red'}]{shown(found)}[/]" for found in results.values()]
        table.add_row(label, *cells)
    return table


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _sum(found: OrdersComparison) -> str:
    difference = found.sum_found - found.sum_expected
    return "yes" if difference == 0 else f"no, off by {difference:+,}"
