"""Which partitions are read, and from which offsets: how addresses say it. No I/O.

Partitions are "all", one number, or a range such as "50-99". Positions are "0:417,1:20": offset 417 in partition 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# Read side by side; of larger topics people choose a range.
MOST_TOGETHER = 50
ALL = "all"

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_POSITION = re.compile(r"(\d{1,9}):(\d{1,18})")


def chosen_partitions(text: str, existing: Sequence[int]) -> list[int]:
    """Raises ValueError with a sentence. Of "all" in a large topic the first ones, and the page says so."""
    if text == ALL:
        return list(existing[:MOST_TOGETHER])
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"partitions must be all, a number or a range such as 0-49, not {text!r}")
    first, last = int(found[1]), int(found[2] or found[1])
    chosen = [each for each in existing if first <= each <= last]
    if not chosen:
        raise ValueError(f"there is no partition {text}: the topic has the partitions 0 to {len(existing) - 1}")
    if len(chosen) > MOST_TOGETHER:
        raise ValueError(f"{len(chosen)} partitions are too many to be read together: choose at most {MOST_TOGETHER}")
    return chosen


def parse_positions(text: str) -> dict[int, int]:
    """Raises ValueError with a sentence."""
    positions: dict[int, int] = {}
    for part in text.split(","):
        found = _POSITION.fullmatch(part)
        if found is None or len(positions) >= MOST_TOGETHER:
            raise ValueError(f"positions must be like 0:417,1:20 for at most {MOST_TOGETHER} partitions, not {part!r}")
        positions[int(found[1])] = int(found[2])
    return positions


def format_positions(positions: Mapping[int, int]) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def format_partitions(partitions: Iterable[int]) -> str:
    """As file names have them: 0, or 0-2, or 0+2."""
    numbers = sorted(partitions)
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return "+".join(map(str, numbers))
