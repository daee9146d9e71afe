from __future__ import annotations

from twin.page import PAGE, render


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text() == render(), "write it again: PYTHONPATH=src:tests python -m twin.page"
