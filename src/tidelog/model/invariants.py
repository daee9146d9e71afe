"""What `check_invariants` of every stateful object raises. The simulation calls them after each event of a node."""

from __future__ import annotations


class InvariantBroken(Exception):
    """Memory is in a state that no sequence of events may lead to: the code is wrong, not its input."""


def require(holds: bool, subject: object, rule: str, **values: object) -> None:
    """Raises InvariantBroken that says which rule `subject` breaks, and with which values."""
    if not holds:
        named = ", ".join(f"{name}={value!r}" for name, value in values.items())
        raise InvariantBroken(f"{subject}: {rule}: {named}")
