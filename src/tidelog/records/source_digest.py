"""What the compiled loops and their source are compared by. The build (`hatch_build.py`) loads this file alone."""

from __future__ import annotations

import hashlib


def source_digest(code: bytes, types: bytes) -> str:
    """Of a module and of its .pxd: changes with every byte of either."""
    return hashlib.sha256(len(code).to_bytes(8, "big") + code + types).hexdigest()
