"""The words by which a node says that it serves. Whoever has started it waits for them in its log."""

from __future__ import annotations

# Its addresses follow. At this time it is registered and not fenced.
ANNOUNCEMENT = "tidelog listens on"
