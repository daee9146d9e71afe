"""The reference pages under docs/reference are those that the catalogue gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import generate_configuration  # noqa: E402
from generate_configuration import REFERENCE, main, pages  # noqa: E402

from tidelog.config.broker import BROKER_DEFINITIONS  # noqa: E402
from tidelog.config.topic import TOPIC_DEFINITIONS  # noqa: E402


@pytest.mark.parametrize("name", pages())
def test_the_page_is_what_the_catalogue_gives(name: str) -> None:
    assert (REFERENCE / name).read_text() == pages()[name], "run make docs-pages"


def test_every_property_is_on_the_page_once() -> None:
    rows = [line for line in pages()["configuration.md"].splitlines() if line.startswith("| `")]
    names = [row.split("`")[1] for row in rows]
    for name in BROKER_DEFINITIONS.keys() | TOPIC_DEFINITIONS.keys():
        assert names.count(name) == (name in BROKER_DEFINITIONS) + (name in TOPIC_DEFINITIONS), name


def test_a_stale_page_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_configuration, "REFERENCE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["generate_configuration.py"])
    assert main() == 0
    monkeypatch.setattr(sys, "argv", ["generate_configuration.py", "--check"])
    assert main() == 0
    page = tmp_path / "configuration.md"
    page.write_text(page.read_text().replace("retention.ms", "retention"))
    assert main() == 1
    assert "configuration.md is stale: run make docs-pages" in capsys.readouterr().err
