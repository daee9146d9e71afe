"""Why a node does not run, for its operator."""

from __future__ import annotations

import os


class StartFailure(Exception):
    """Why a node cannot start."""


class NodeFailure(Exception):
    """Why a running node must stop."""


def reason(error: OSError) -> str:
    """Event loops put sentences of their own into the text; the system's is shorter and known to everybody."""
    return os.strerror(error.errno) if error.errno else str(error)
