"""Documentation of properties as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.config.broker import BROKER_DEFINITIONS
from tidelog.config.topic import TOPIC_DEFINITIONS
from tidelog.console.findings.documentation import as_text, is_without_effect


@pytest.mark.parametrize(
    ("documentation", "text"),
    [
        (None, None),
        ("", None),
        ("The <i>minimum</i> of <code>acks</code>.", "The minimum of acks."),
        ("One.<br> Two.<br/>Three.<p>Four.</p>", "One.\nTwo.\nThree.\nFour."),
        ("These:<ul><li>one</li>\n <li>two</li></ul>End", "These:\n• one\n• two\nEnd"),
        ('See <a href="#x">the section</a>.', "See the section."),
        ("a &lt; b &amp;&amp; c &quot;d&quot; &mdash; e", 'a < b && c "d" — e'),
        ("a\nline  and\tanother", "a line and another"),
        # tidelog's own, and what only looks like a tag.
        ("listener.name.<name>.<mechanism>.x", "listener.name.<name>.<mechanism>.x"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        # What stands for an angle bracket stays one, and is text.
        ("&lt;script&gt;", "<script>"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_markup_becomes_text(documentation: str | None, text: str | None) -> None:
    assert as_text(documentation) == text


def test_tidelogs_documentation_stays_as_it_is() -> None:
    for definition in (*BROKER_DEFINITIONS.values(), *TOPIC_DEFINITIONS.values()):
        assert as_text(definition.description) == (" ".join(definition.description.split()) or None)


def test_what_has_no_effect_is_seen() -> None:
    ignored = [each for each in BROKER_DEFINITIONS.values() if each.ignored_because is not None]
    assert ignored
    for definition in BROKER_DEFINITIONS.values():
        assert is_without_effect(as_text(definition.description)) == (definition in ignored)
    assert not is_without_effect(None)


@given(st.text(st.characters(exclude_characters="<&")))
def test_text_without_markup_keeps_its_words(documentation: str) -> None:
    assert (as_text(documentation) or "").split() == documentation.split()


@given(st.lists(st.sampled_from(["<code>", "</code>", "<p>", "<br", ">", "<li>", "<", "x", "&lt;", " "])).map("".join))
def test_whatever_the_markup_there_is_no_empty_line(documentation: str) -> None:
    text = as_text(documentation)
    assert text is None or all(line.strip() for line in text.split("\n"))
