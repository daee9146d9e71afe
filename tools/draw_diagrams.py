"""Draw the state machines of tidelog into docs/reference/state-machines.md, from the tables that the code runs on.

make diagrams                           draw
python tools/draw_diagrams.py --check   exit with 1 if the drawing is stale
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Any

from tidelog.client.transactions.states import CLIENT_TRANSACTION
from tidelog.consensus.transitions import QUORUM_ROLE
from tidelog.coordinators.consumer_groups.states import CONSUMER_GROUP, CONSUMER_MEMBER
from tidelog.coordinators.groups.states import CLASSIC_GROUP
from tidelog.coordinators.transactions.states import TRANSACTION
from tidelog.model.transitions import Transitions
from tidelog.server.coordination.lifecycle import SHARD_LIFECYCLE
from tidelog.spark.sink.states import SINK_BATCH

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "state-machines.md"

# Each with the file that it is in.
MACHINES: tuple[tuple[Transitions[Any, Any], str], ...] = (
    (TRANSACTION, "coordinators/transactions/states.py"),
    (CLIENT_TRANSACTION, "client/transactions/states.py"),
    (CLASSIC_GROUP, "coordinators/groups/states.py"),
    (CONSUMER_GROUP, "coordinators/consumer_groups/states.py"),
    (CONSUMER_MEMBER, "coordinators/consumer_groups/states.py"),
    (SHARD_LIFECYCLE, "server/coordination/lifecycle.py"),
    (QUORUM_ROLE, "consensus/transitions.py"),
    (SINK_BATCH, "spark/sink/states.py"),
)
# In a diagram with more states than that, one arrow stands for those that lead from every state to the same one.
FEW_STATES = 4

HEAD = """# State machines

<!-- Drawn by `make diagrams` from the tables in the source; changes here are lost. -->

Each diagram is drawn from the table in which the code looks up its steps: a step without an arrow here raises an error.
Only the state of a consumer group follows from other facts, and the tests compare it with its table. They take every
step of every table.
"""


def main() -> int:
    drawn = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != drawn:
            print(f"{PAGE} is stale: run make diagrams", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(drawn)
    return 0


def page() -> str:
    return HEAD + "".join(section(machine, path) for machine, path in MACHINES)


def section(machine: Transitions[Any, Any], path: str) -> str:
    states = list(machine.states)
    everywhere = steps_from_everywhere(machine) if len(states) > FEW_STATES else {}
    lines = ["", f"## {machine.name}", "", f"{machine.meaning} In `src/tidelog/{path}`.", ""]
    lines += ["```mermaid", "stateDiagram-v2"]
    lines += [f"    [*] --> {_name(state)}" for state in machine.initial]
    for before in states:
        labels: dict[Enum, list[str]] = {}
        for (state, step), after in machine.steps.items():
            if state is before and step not in everywhere:
                labels.setdefault(after, []).append(step.value)
        lines += [
            f"    {_name(before)} --> {_name(after)}: {' / '.join(labels[after])}"
            for after in sorted(labels, key=states.index)
        ]
    if everywhere:
        lines.append('    state "every state" as EveryState')
        lines += [f"    EveryState --> {_name(after)}: {step.value}" for step, after in everywhere.items()]
    left = {before for before, _ in machine.steps}
    lines += [f"    {_name(state)} --> [*]" for state in states if state not in left]
    lines += ["```", ""]
    lines += [f"- **{_name(state)}**: {_sentence(meaning)}" for state, meaning in machine.states.items()]
    return "\n".join(lines) + "\n"


def steps_from_everywhere(machine: Transitions[Any, Any]) -> dict[Enum, Enum]:
    """The steps that lead from all states to the same one, which itself need not have the step."""
    found: dict[Enum, Enum] = {}
    for (_, step), after in machine.steps.items():
        if all(machine.steps.get((state, step)) is after for state in machine.states if state is not after):
            found[step] = after
    return found


def _name(state: Enum) -> str:
    return "".join(word.capitalize() for word in state.name.split("_"))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text[0].upper()}{text[1:]}."


if __name__ == "__main__":
    sys.exit(main())
