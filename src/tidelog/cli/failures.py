"""What a command raises when it cannot do its work."""

from __future__ import annotations

CONSOLE_IS_MISSING = 'the console needs FastAPI and uvicorn: pip install "tidelog[console]"'


class CommandFailure(Exception):
    """A command cannot do what it was asked for; the message says why and what to do."""
