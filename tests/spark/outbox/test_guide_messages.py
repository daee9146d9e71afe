"""What the guide says that the outbox says is what some test of this folder has it say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "pipelines.md"


def told_in_the_guide() -> list[str]:
    section = re.split(r"^## ", GUIDE.read_text(), flags=re.MULTILINE)
    (outbox,) = [text for text in section if text.startswith("outbox\n")]
    table = outbox.split("| it says |")[1].split("\n\n")[0]
    return [line.split("|")[1].strip() for line in table.splitlines()[2:]]


@pytest.mark.parametrize("message", told_in_the_guide())
def test_every_message_of_the_guide_is_expected_from_a_real_database(message: str) -> None:
    expected = "|".join(
        found
        for name in ("test_histories.py", "test_log.py")
        for found in re.findall(r'match=r?(?:"([^"]*)"|\'[^\']*\')', (FOLDER / name).read_text())
        if found
    )
    for part in message.split(" ... "):
        assert part.removesuffix(" ...").strip() in expected
