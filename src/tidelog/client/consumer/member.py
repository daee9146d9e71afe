"""What a consumer needs from its place in a group, whichever protocol the group uses."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ErrorCode


class GroupMember(Protocol):
    # What the reader's next call raises.
    failure: Exception | None

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """As whom to commit."""

    @property
    def rebalancing(self) -> bool:
        """Whether the group has moved on and this member has not followed yet: commits have to wait."""

    def polled(self) -> None:
        """The reader is alive."""

    def next_step(self) -> Coroutine[Any, Any, None] | None:
        """What has to be done inside of the reader's call before it gets more records, if anything."""

    def subscription_changed(self) -> None:
        """The topics, or the pattern, are others than before."""

    def rejoin(self) -> None:
        """The user wants a rebalance, or knows that the group has moved on."""

    def commit_refused(self, code: ErrorCode, group: ConsumerGroupMetadata) -> bool:
        """Hear that offsets committed as `group` were refused; whether another try, as it is now, may succeed."""

    async def leave(self, leave_group: bool | None) -> None:
        """Stop being a member. None: as is usual, that is, static members keep their place for their session."""
