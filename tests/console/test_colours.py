"""What is drawn can be told from the ground that it lies on: a contrast of 3 to 1 (WCAG 2.2, 1.4.11), in both themes.

axe-core looks at the contrast of text only, and has a test of its own for each page.
"""

from __future__ import annotations

import re

import pytest

from tidelog.console.app import STATIC

_COLOUR = re.compile(r"--(?P<name>[a-z-]+): light-dark\((?P<light>#[0-9a-f]{6}), (?P<dark>#[0-9a-f]{6})\)")
COLOURS = {found["name"]: found for found in _COLOUR.finditer((STATIC / "css" / "console.css").read_text())}

LEAST = 3.0
# Parts of gauges are divided by lines of the surface's colour, bands and blocks by edges.
DRAWN = [
    ("water", "surface"),
    ("held", "surface"),
    ("uncommitted", "surface"),
    ("edge", "surface"),
    ("edge", "empty"),
    ("edge", "band-a"),
    ("edge", "band-b"),
    ("good", "good-ground"),
    ("warn", "warn-ground"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_recommendation() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("drawn", "ground"), DRAWN)
def test_what_is_drawn_can_be_seen(drawn: str, ground: str, theme: str) -> None:
    assert contrast(COLOURS[drawn][theme], COLOURS[ground][theme]) >= LEAST
