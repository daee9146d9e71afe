"""As whom offsets are committed: a member of a group, or somebody outside of the group's protocol.

A coordinator that knows a later generation refuses offsets that come with an earlier one. That is what fences a reader
whose partitions have been given to another one, in plain commits as in those of a transaction (KIP-447).
"""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadata:
    """`generation_id` is the member epoch where the group uses the protocol of KIP-848.

    The defaults beside the group are those of a committer that is not a member: nothing is fenced.
    """

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    instance_id: str | None = None
