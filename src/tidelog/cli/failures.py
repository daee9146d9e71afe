"""What a command raises when it cannot do its work."""

from __future__ import annotations


class CommandFailure(Exception):
    """A command cannot do what it was asked for; the message says why and what to do."""
