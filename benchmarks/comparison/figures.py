"""What is measured, and what it is compared with."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TIDELOG = "tidelog"
PLAIN = "tidelog, plain Python"
APACHE_KAFKA = "Apache Kafka"
# How far the client gets if the server does nothing.
EMPTY = "empty server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something that is counted for each side.

    The goal bounds the ratio of tidelog to what it is compared with, Apache Kafka or a client library: from below where
    more is better, from above where less is.
    """

    name: str
    unit: str
    more_is_better: bool = True
    goal: float | None = None
    compared_with: str = APACHE_KAFKA

    def is_reached_by(self, ratio: float) -> bool:
        if self.goal is None:
            return True
        return ratio >= self.goal if self.more_is_better else ratio <= self.goal

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return ""
        return f"{'≥' if self.more_is_better else '≤'} {self.goal:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A figure with the samples of every side, one for each round."""

    figure: Figure
    samples: Mapping[str, Sequence[float]]

    def median(self, side: str) -> float | None:
        found = self.samples.get(side)
        return statistics.median(found) if found else None

    def ratio(self, side: str = TIDELOG) -> float | None:
        """The side's median by that of what it is compared with; None where one of them was not measured."""
        ours, theirs = self.median(side), self.median(self.figure.compared_with)
        return None if ours is None or not theirs else ours / theirs

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.figure.name,
            "unit": self.figure.unit,
            "more_is_better": self.figure.more_is_better,
            "goal": self.figure.goal,
            "compared_with": self.figure.compared_with,
            "samples": {side: [round(value, 6) for value in values] for side, values in self.samples.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Result:
        figure = Figure(
            name=stored["name"],
            unit=stored["unit"],
            more_is_better=stored["more_is_better"],
            goal=stored["goal"],
            # Runs from before client libraries were compared have nothing else.
            compared_with=stored.get("compared_with", APACHE_KAFKA),
        )
        return cls(figure=figure, samples=stored["samples"])
