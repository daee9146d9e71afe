"""How the bytes of a key, a value or a header are shown: as JSON, as text, as hex, or as what fits best. No I/O.

All of it is text in the end (`visible_text`): nothing here makes markup, and nothing reads numbers. A format that needs
a schema can become one more form: what Confluent's serializers write is recognized already, by the schema's id.
"""

from __future__ import annotations

from enum import StrEnum

from tidelog.console.findings import json_text
from tidelog.console.findings.visible_text import decoded, is_utf8, unseen_count, visible
from tidelog.console.replies import Json

# A zero byte, then the id of the schema in four, then the data.
_SCHEMA_PREFIX = 5
# Ids are given one after the other; larger numbers are something else.
_LARGEST_SCHEMA_ID = 1 << 24
# More of that in what should be text, and it is not.
_MOST_UNSEEN = 0.3
_HEX_IN_LINE = 64
_HEX_COLUMNS = 16
# Sizes of the numbers that serializers of Java write.
_NUMBER_SIZES = (4, 8)


class Form(StrEnum):
    AUTO = "auto"
    JSON = "json"
    TEXT = "text"
    HEX = "hex"


def in_line(data: bytes | None, form: Form, most_bytes: int) -> dict[str, Json]:
    """For a list: as it is written, but in one line."""
    return _document(data, form, most_bytes, in_one_line=True)


def in_full(data: bytes | None, form: Form, most_bytes: int) -> dict[str, Json]:
    """For the details of a record: JSON with a line for each member, hex with its addresses."""
    document = _document(data, form, most_bytes, in_one_line=False)
    if data is not None:
        document["number"] = _number(data)
    return document


def schema_id(data: bytes) -> int | None:
    """The id in front of what Confluent's serializers write; ids begin with 1."""
    if len(data) <= _SCHEMA_PREFIX or data[0] != 0:
        return None
    number = int.from_bytes(data[1:_SCHEMA_PREFIX], "big")
    return number if 0 < number < _LARGEST_SCHEMA_ID else None


def _document(data: bytes | None, form: Form, most_bytes: int, *, in_one_line: bool) -> dict[str, Json]:
    """`shown` is the number of bytes that the pieces stand for."""
    if data is None:
        return {"size": None, "form": "null", "pieces": [], "shown": 0, "schema_id": None, "note": None}
    if not data:
        return {"size": 0, "form": "empty", "pieces": [], "shown": 0, "schema_id": None, "note": None}
    schema = schema_id(data)
    skipped = 0 if schema is None or form in (Form.TEXT, Form.HEX) else _SCHEMA_PREFIX
    part = data[skipped : skipped + most_bytes]
    is_cut = skipped + len(part) < len(data)
    chosen, pieces, used, note = _shown(part, form, schema is not None, is_cut=is_cut, in_one_line=in_one_line)
    return {
        "size": len(data),
        "form": chosen.value,
        "pieces": pieces,
        "shown": min(skipped + used, len(data)),
        "schema_id": schema,
        "note": note,
    }


def _shown(
    part: bytes, form: Form, has_schema: bool, *, is_cut: bool, in_one_line: bool
) -> tuple[Form, list[str], int, str | None]:
    """The form, the pieces, how many bytes they stand for, and a remark."""
    text = decoded(part, is_cut=is_cut)
    note = None
    if form is Form.JSON or (form is Form.AUTO and json_text.looks_like_document(text)):
        try:
            layout, note = _json(text, is_cut=is_cut, in_one_line=in_one_line)
            pieces, used = visible(layout, in_one_line=in_one_line)
            # Where the layout ends early, there is no telling how many bytes that are.
            return Form.JSON, pieces, len(part) if used == len(layout) else min(used, len(part) - 1), note
        except json_text.NotJson as problem:
            note = f"This is not JSON: {problem}." if form is Form.JSON else None
    if form is Form.HEX or (form is Form.AUTO and (has_schema or not _is_text(text))):
        used = min(len(part), _HEX_IN_LINE) if in_one_line else len(part)
        return Form.HEX, [_hex_line(part[:used]) if in_one_line else _hex_lines(part)], used, note
    pieces, used = visible(text, in_one_line=in_one_line)
    return Form.TEXT, pieces, len(part) if used == len(text) else _size(text[:used]), note


def _json(text: str, *, is_cut: bool, in_one_line: bool) -> tuple[str, str | None]:
    # What is not valid UTF-8 is not valid JSON either; a surrogate stands for it.
    if not text.isascii() and any("\udc80" <= each <= "\udcff" for each in text):
        raise json_text.NotJson("it has bytes that are not UTF-8")
    if in_one_line:
        return json_text.in_one_line(text, is_cut=is_cut), None
    layout = json_text.laid_out(text, is_cut=is_cut)
    if layout is None:
        return text, "It is too deeply nested, or would become too large, to be laid out: it is shown as it is written."
    return layout, None


def _is_text(text: str) -> bool:
    return unseen_count(text) <= _MOST_UNSEEN * len(text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _hex_line(data: bytes) -> str:
    return data.hex(" ")


def _hex_lines(data: bytes) -> str:
    """Addresses, bytes, and the ASCII characters among them."""
    lines = []
    for address in range(0, len(data), _HEX_COLUMNS):
        row = data[address : address + _HEX_COLUMNS]
        text = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in row)
        first, second = row[: _HEX_COLUMNS // 2].hex(" "), row[_HEX_COLUMNS // 2 :].hex(" ")
        lines.append(f"{address:08x}  {first:<23}  {second:<23}  {text}")
    return "\n".join(lines)


def _number(data: bytes) -> str | None:
    """What Java's serializers of numbers would have written, if it cannot be text."""
    if len(data) not in _NUMBER_SIZES or (is_utf8(data) and not unseen_count(data.decode())):
        return None
    return f"{int.from_bytes(data, 'big', signed=True)} as a signed {8 * len(data)}-bit number"
