"""The consumer: `Consumer` is what people use, everything else is behind it."""

from __future__ import annotations

from tidelog.client.consumer.consumer import Consumer

__all__ = ["Consumer"]
