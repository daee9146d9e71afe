"""Documentation of properties as text. Apache Kafka's is HTML, tidelog's has names in angle brackets. No I/O."""

from __future__ import annotations

import html
import re

# What Apache Kafka's documentation uses. Everything else in angle brackets is text, such as listener.name.<name>.
_INLINE = "a|b|code|em|i|span|strong|tt"
_LINE = "br|dd|div|dl|dt|h[1-6]|ol|p|pre|tr|ul"
_ITEM = re.compile(r"<li\b[^<>]*>", re.IGNORECASE)
_BREAK = re.compile(rf"</?(?:{_LINE})\b[^<>]*>|</li\s*>", re.IGNORECASE)
_MARK = re.compile(rf"</?(?:{_INLINE})(?:\s[^<>]*)?>", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]+")

WITHOUT_EFFECT = "Accepted without effect:"


def as_text(documentation: str | None) -> str | None:
    """Without markup; line breaks are where paragraphs, items and the like begin."""
    if documentation is None:
        return None
    # Line ends in HTML are blanks.
    text = _BLANKS.sub(" ", documentation.replace("\r", " ").replace("\n", " "))
    text = _MARK.sub("", _BREAK.sub("\n", _ITEM.sub("\n• ", text)))
    lines = (html.unescape(line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line) or None


def is_without_effect(text: str | None) -> bool:
    """Whether tidelog says that nothing obeys the property."""
    return text is not None and text.startswith(WITHOUT_EFFECT)
