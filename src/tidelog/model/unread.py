"""Bytes of a reply that stay in their file until they are sent, so that Python never holds them.

Whoever reads a log may hand them out in place of bytes; the codecs pass them on as they are; a connection that can do
so has the kernel send them. The real ones are in `tidelog.storage.files.local_filesystem`.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr


class BytesChanged(Exception):
    """The bytes that were promised are no longer in the file: it has been cut or removed since."""


@mypyc_attr(allow_interpreted_subclasses=True)
class UnreadBytes:
    """What has not been sent yet of a part of a file. Its length becomes less with each `send`."""

    __slots__ = ("_report",)

    def __init__(self) -> None:
        self._report: Callable[[OSError], None] | None = None

    def report_to(self, report: Callable[[OSError], None]) -> None:
        """Who wants to know if the file cannot be read."""
        self._report = report

    def failed(self, error: OSError) -> None:
        """Called by whoever finds that out."""
        if self._report is not None:
            self._report(error)

    def __len__(self) -> int:
        raise NotImplementedError

    def send(self, connection: int) -> int:
        """Send what a connection, given by its descriptor, takes without waiting. Returns the number of bytes.

        Raises BytesChanged, and OSError for whatever the file or the connection refuses.
        """
        raise NotImplementedError

    def read(self) -> bytes:
        """All that has not been sent. Raises BytesChanged and OSError."""
        raise NotImplementedError
