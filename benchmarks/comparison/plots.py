"""Drawings of ratios, as SVG that needs nothing to be viewed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from benchmarks.comparison.figures import Result

WIDTH = 960
LABEL_WIDTH = 430
ROW_HEIGHT = 22
MARGIN = 28
# Ratios are drawn between these, on a logarithmic axis.
LEAST, MOST = 0.02, 16.0
TICKS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8)
GOOD, SHORT, NEUTRAL, INK = "#2a7f62", "#c2563a", "#6b7a8f", "#30363d"


def ratio_bars(results: Sequence[Result]) -> str:
    """One bar for each ratio, from 1 to the right where tidelog's figure is larger; a stroke marks the goal."""
    rows = [(result, ratio) for result in results if (ratio := result.ratio()) is not None]
    height = ROW_HEIGHT * len(rows) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="tidelog / Apache Kafka, ratios">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for tick in TICKS:
        at = _x(tick)
        parts.append(
            f'<line x1="{at:.1f}" y1="{MARGIN}" x2="{at:.1f}" y2="{height - MARGIN}" '
            f'stroke="{INK}" stroke-opacity="{0.6 if tick == 1 else 0.12}"/>'
        )
        parts.append(f'<text x="{at:.1f}" y="{MARGIN - 8}" text-anchor="middle" fill="{INK}">{tick:g}</text>')
    for number, (result, ratio) in enumerate(rows):
        parts += _bar(result, ratio, top=MARGIN + number * ROW_HEIGHT)
    return "\n".join([*parts, "</svg>\n"])


def _bar(result: Result, ratio: float, *, top: int) -> list[str]:
    figure = result.figure
    colour = NEUTRAL if figure.goal is None else GOOD if figure.is_reached_by(ratio) else SHORT
    left, right = sorted((_x(1), _x(ratio)))
    middle = top + ROW_HEIGHT // 2 + 4
    parts = [
        f'<text x="{LABEL_WIDTH - 8}" y="{middle}" text-anchor="end" fill="{INK}">{escape(figure.name)}</text>',
        f'<rect x="{left:.1f}" y="{top + 4}" width="{max(right - left, 1):.1f}" height="{ROW_HEIGHT - 8}" '
        f'fill="{colour}"><title>{escape(figure.name)}: {ratio:.2f}</title></rect>',
        f'<text x="{WIDTH - 6}" y="{middle}" text-anchor="end" fill="{INK}">{ratio:.2f}</text>',
    ]
    if figure.goal is not None:
        at = _x(figure.goal)
        parts.append(
            f'<line x1="{at:.1f}" y1="{top + 2}" x2="{at:.1f}" y2="{top + ROW_HEIGHT - 2}" stroke="{INK}" '
            f'stroke-width="2"/>'
        )
    return parts


def _x(ratio: float) -> float:
    bounded = min(max(ratio, LEAST), MOST)
    part = (math.log(bounded) - math.log(LEAST)) / (math.log(MOST) - math.log(LEAST))
    return LABEL_WIDTH + part * (WIDTH - LABEL_WIDTH - 60)
