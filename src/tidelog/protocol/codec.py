"""Encodes and decodes every message in every version, from the generated descriptions.

`native/message_codec.pyx` does it in machine code, where it has been compiled (`tidelog.protocol.implementation`). What
is here otherwise writes, on first use, the Python function that a person would write by hand for one version of one
struct: runs of fixed-width fields become one `struct` call, absent fields cost nothing. That is several times faster
than walking a description for each message. Both keep "which version has which field" out of all other code, and ask
the same functions here for it.

Never trust a length: counts are checked against the bytes that are left before anything is allocated, and tagged
fields that nobody knows are skipped, as the protocol asks (KIP-482).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from struct import Struct
from struct import error as StructError
from typing import Any, Final, TypeVar, cast

from mypy_extensions import mypyc_attr

from tidelog.protocol.implementation import compiled
from tidelog.protocol.schema import Field, Message, covers

Buffer = bytes | bytearray | memoryview
M = TypeVar("M", bound=Message)

Encoder = Callable[[Any, Callable[[Any], None]], None]
Decoder = Callable[[Any, int, int], tuple[Any, int]]

FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
_SIZED = {"string", "bytes", "records"}
_compiled: Final = compiled


@mypyc_attr(allow_interpreted_subclasses=True)
class ProtocolError(Exception):
    """Bytes that are not the message they are said to be."""


class UnsupportedVersion(ProtocolError):
    """A version that the message does not have."""


def encode(message: Message, version: int) -> bytes:
    """The bytes of `message` in `version`."""
    if _compiled is not None:
        return _compiled.encode(message, version)
    return b"".join(plain_chunks(message, version))


def decode(kind: type[M], buffer: Buffer, version: int, position: int = 0) -> tuple[M, int]:
    """The message at `position` and the position behind it. Fields of the kind `records` are views of `buffer`."""
    if _compiled is not None:
        return _compiled.decode(kind, buffer, version, position)
    return plain_decode(kind, buffer, version, position)


def plain_chunks(message: Message, version: int) -> list[Buffer]:
    """`encode` in plain Python, in pieces, so that the records of a fetch go to the socket without being copied."""
    chunks: list[Buffer] = []
    _encoder(type(message), version)(message, chunks.append)
    return chunks


def plain_decode(kind: type[M], buffer: Buffer, version: int, position: int = 0) -> tuple[M, int]:
    """`decode` in plain Python."""
    view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
    try:
        return _decoder(kind, version)(view, position, len(view))
    except (StructError, IndexError, UnicodeDecodeError, OverflowError) as error:
        raise ProtocolError(f"{kind.__name__} version {version}: {error}") from error


def decode_whole(kind: type[M], buffer: Buffer, version: int) -> M:
    """Like `decode`, for bytes that hold nothing else."""
    message, end = decode(kind, buffer, version)
    if end != len(buffer):
        raise ProtocolError(f"{kind.__name__} version {version}: {len(buffer) - end} bytes are left over")
    return message


# --------------------------------------------------------------------------------------------------------------
# Pieces that the compiled functions call.


def encode_uvarint(value: int) -> bytes:
    if value < 128:
        return _SMALL_UVARINTS[value]
    out = bytearray()
    while value >= 128:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL_UVARINTS = [bytes([value]) for value in range(128)]


def decode_uvarint(view: Buffer, position: int) -> tuple[int, int]:
    byte = view[position]
    position += 1
    if byte < 128:
        return byte, position
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, position
    raise uvarint_refused(position - 5)


def uvarint_refused(position: int) -> ProtocolError:
    return ProtocolError(f"a variable-length integer at byte {position} is longer than five bytes")


def size_refused(name: str, size: int, left: int) -> ProtocolError:
    return ProtocolError(f"{name} claims {size} bytes or elements where {left} bytes are left")


def null_refused(name: str) -> ProtocolError:
    return ProtocolError(f"{name} is null, which this version does not allow")


def none_refused(name: str) -> ValueError:
    return ValueError(f"{name} is None, which this version cannot carry")


# --------------------------------------------------------------------------------------------------------------
# The compiler.

F = TypeVar("F", bound=Callable[..., Any])


def _cached(function: F) -> F:
    # To mypy a class whose objects have their own hash has none itself.
    return cast(F, cache(function))


def is_flexible(kind: type[Message], version: int) -> bool:
    schema = kind.SCHEMA
    if not covers(schema.valid, version):
        low, high = schema.valid
        raise UnsupportedVersion(f"{kind.__name__} has the versions {low} to {high}, not {version}")
    return covers(schema.flexible, version)


@_cached
def _encoder(kind: type[Message], version: int) -> Encoder:
    return _struct_encoder(kind, version, is_flexible(kind, version))


@_cached
def _decoder(kind: type[Message], version: int) -> Decoder:
    return _struct_decoder(kind, version, is_flexible(kind, version))


@_cached
def _struct_encoder(kind: type[Message], version: int, flexible: bool) -> Encoder:
    # Structs inherit flexibility from the message around them.
    return _EncoderWriter(kind, version, flexible).compile()


@_cached
def _struct_decoder(kind: type[Message], version: int, flexible: bool) -> Decoder:
    return _DecoderWriter(kind, version, flexible).compile()


def minimum_size(kind: type[Message], version: int, flexible: bool) -> int:
    """The fewest bytes that one such struct takes: what a claimed count is checked against."""
    size = int(flexible)
    for field in kind.SCHEMA.fields:
        if not covers(field.versions, version) or (flexible and covers(field.tagged, version)):
            continue
        if field.kind in FIXED:
            size += FIXED[field.kind][1]
        elif field.kind in _SIZED or field.kind.startswith("[]"):
            size += 1 if flexible else (2 if field.kind == "string" else 4)
        elif covers(field.nullable, version):
            size += 1
        else:
            size += minimum_size(kind.STRUCTS[field.kind], version, flexible)
    return size


def smallest_element(kind: type[Message], array: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that one element of this array takes."""
    element = array.kind[2:]
    if element in FIXED:
        return FIXED[element][1]
    if element in _SIZED:
        return 1 if is_compact(array, version, flexible) else 2
    return max(1, minimum_size(kind.STRUCTS[element], version, flexible))


def present_fields(kind: type[Message], version: int, flexible: bool) -> tuple[list[Field], list[Field]]:
    """(fields in line, tagged fields) of this version."""
    fields = [field for field in kind.SCHEMA.fields if covers(field.versions, version)]
    tagged = [field for field in fields if flexible and covers(field.tagged, version)]
    return [field for field in fields if field not in tagged], tagged


def is_compact(field: Field, version: int, flexible: bool) -> bool:
    return flexible if field.flexible is None else covers(field.flexible, version)


class _Writer:
    """Collects the lines of one function and the names that it refers to."""

    def __init__(self, kind: type[Message], version: int, flexible: bool) -> None:
        self.kind = kind
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "ProtocolError": ProtocolError,
            "too_long": size_refused,
            "null": null_refused,
            "null_written": none_refused,
            "uvarint": encode_uvarint,
            "read_uvarint": decode_uvarint,
            "small": _SMALL_UVARINTS,
        }

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def struct(self, layout: str, method: str) -> str:
        name = f"{method}_{layout.replace('?', 'B_')}"
        self.names[name] = getattr(Struct(">" + layout), method)
        return name

    def compact(self, field: Field) -> bool:
        return is_compact(field, self.version, self.flexible)

    def nullable(self, field: Field) -> bool:
        return covers(field.nullable, self.version)

    def build(self, name: str) -> Any:
        source = "\n".join(self.lines)
        exec(compile(source, f"<{self.kind.__name__} version {self.version}>", "exec"), self.names)
        return self.names[name]


def _runs(fields: list[Field]) -> Iterator[list[Field]]:
    """Neighbours of fixed width together, which are read and written in one call; the others one by one."""
    for is_fixed, group in groupby(fields, key=lambda field: field.kind in FIXED):
        run = list(group)
        yield from [run] if is_fixed else ([field] for field in run)


class _EncoderWriter(_Writer):
    def compile(self) -> Encoder:
        self.line(0, "def encode(o, w):")
        inline, tagged = present_fields(self.kind, self.version, self.flexible)
        for run in _runs(inline):
            self.value(1, *run)
        if self.flexible:
            self.tagged_fields(tagged)
        if len(self.lines) == 1:
            self.line(1, "pass")
        return cast(Encoder, self.build("encode"))

    def value(self, indent: int, *run: Field) -> None:
        field, source = run[0], f"o.{run[0].name}"
        if field.kind in FIXED:
            pack = self.struct("".join(FIXED[each.kind][0] for each in run), "pack")
            self.line(indent, f"w({pack}({', '.join('o.' + each.name for each in run)}))")
        elif field.kind in _SIZED:
            self.sized(indent, field.kind, source, self.compact(field), self.nullable(field))
        elif field.kind.startswith("[]"):
            self.array(indent, field, source)
        else:
            self.nested(indent, field, source)

    def sized(self, indent: int, kind: str, source: str, compact: bool, nullable: bool) -> None:
        name = source.rpartition(".")[2]
        self.line(indent, f"x = {source}")
        self.line(indent, "if x is None:")
        if not nullable:
            self.line(indent + 1, f"raise null_written({name!r})")
        elif compact:
            self.line(indent + 1, "w(b'\\0')")
        else:
            self.line(indent + 1, "w(b'\\xff\\xff')" if kind == "string" else "w(b'\\xff\\xff\\xff\\xff')")
        self.line(indent, "else:")
        if kind == "string":
            self.line(indent + 1, "x = x.encode()")
        if compact:
            self.line(indent + 1, "n = len(x) + 1")
            prefix = "small[n] if n < 128 else uvarint(n)"
        else:
            prefix = f"{self.struct('h' if kind == 'string' else 'i', 'pack')}(len(x))"
        if kind == "string":
            self.line(indent + 1, f"w(({prefix}) + x)")
        else:
            self.line(indent + 1, f"w({prefix})")
            self.line(indent + 1, "w(x)")

    def array(self, indent: int, field: Field, source: str) -> None:
        element = field.kind[2:]
        self.line(indent, f"a = {source}")
        self.line(indent, "if a is None:")
        if not self.nullable(field):
            self.line(indent + 1, f"raise null_written({field.name!r})")
        else:
            self.line(indent + 1, "w(b'\\0')" if self.compact(field) else "w(b'\\xff\\xff\\xff\\xff')")
        self.line(indent, "else:")
        if self.compact(field):
            self.line(indent + 1, "w(uvarint(len(a) + 1))")
        else:
            self.line(indent + 1, f"w({self.struct('i', 'pack')}(len(a)))")
        self.line(indent + 1, "for y in a:")
        if element in FIXED:
            self.line(indent + 2, f"w({self.struct(FIXED[element][0], 'pack')}(y))")
        elif element in _SIZED:
            self.sized(indent + 2, element, "y", self.compact(field), False)
        else:
            self.names[f"encode_{element}"] = _struct_encoder(self.kind.STRUCTS[element], self.version, self.flexible)
            self.line(indent + 2, f"encode_{element}(y, w)")

    def nested(self, indent: int, field: Field, source: str) -> None:
        nested = _struct_encoder(self.kind.STRUCTS[field.kind], self.version, self.flexible)
        self.names[f"encode_{field.kind}"] = nested
        if not self.nullable(field):
            self.line(indent, f"encode_{field.kind}({source}, w)")
            return
        # Kafka marks an absent struct with -1 in line, but with 0 in a tagged field.
        absent = "\\x00" if covers(field.tagged, self.version) else "\\xff"
        self.line(indent, f"if {source} is None:")
        self.line(indent + 1, f"w(b'{absent}')")
        self.line(indent, "else:")
        self.line(indent + 1, "w(b'\\x01')")
        self.line(indent + 1, f"encode_{field.kind}({source}, w)")

    def tagged_fields(self, tagged: list[Field]) -> None:
        if not tagged:
            self.line(1, "w(b'\\0')")
            return
        self.line(1, "t = []")
        for field in sorted(tagged, key=lambda field: field.tag):
            default = f"default_{field.name}"
            self.names[default] = _default(self.kind, field)
            test = f"o.{field.name} is not None" if self.names[default] is None else f"o.{field.name} != {default}"
            if field.kind.startswith("[]") and self.names[default] is not None:
                # The default is an empty tuple; an empty list means the same.
                test = f"o.{field.name} is None or len(o.{field.name})"
            self.line(1, f"if {test}:")
            self.line(2, "c = []")
            self.line(2, "outer, w = w, c.append")
            self.value(2, field)
            self.line(2, "w = outer")
            self.line(2, f"t.append(({field.tag}, b''.join(c)))")
        self.line(1, "w(uvarint(len(t)))")
        self.line(1, "for tag, x in t:")
        self.line(2, "w(uvarint(tag) + uvarint(len(x)) + x)")


class _DecoderWriter(_Writer):
    def compile(self) -> Decoder:
        self.names["kind"] = self.kind
        self.line(0, "def decode(b, p, end):")
        inline, tagged = present_fields(self.kind, self.version, self.flexible)
        for run in _runs(inline):
            self.value(1, *run)
        for field in tagged:
            self.names[f"default_{field.name}"] = _default(self.kind, field)
            self.line(1, f"f_{field.name} = default_{field.name}")
        if self.flexible:
            self.tagged_fields(tagged)
        arguments = ", ".join(f"{field.name}=f_{field.name}" for field in [*inline, *tagged])
        self.line(1, f"return kind({arguments}), p")
        return cast(Decoder, self.build("decode"))

    def value(self, indent: int, *run: Field) -> None:
        field, target = run[0], f"f_{run[0].name}"
        if field.kind in FIXED:
            unpack = self.struct("".join(FIXED[each.kind][0] for each in run), "unpack_from")
            targets = ", ".join(f"f_{each.name}" for each in run)
            self.line(indent, f"{targets}, = {unpack}(b, p)")
            self.line(indent, f"p += {sum(FIXED[each.kind][1] for each in run)}")
        elif field.kind in _SIZED:
            self.sized(indent, field.name, field.kind, target, self.compact(field), self.nullable(field))
        elif field.kind.startswith("[]"):
            self.array(indent, field, target)
        else:
            self.nested(indent, field, target)

    def length(self, indent: int, compact: bool, is_string: bool) -> None:
        if compact:
            self.line(indent, "n = b[p]; p += 1")
            self.line(indent, "if n > 127: n, p = read_uvarint(b, p - 1)")
            self.line(indent, "n -= 1")
        else:
            layout, size = ("h", 2) if is_string else ("i", 4)
            self.line(indent, f"n, = {self.struct(layout, 'unpack_from')}(b, p); p += {size}")

    def sized(self, indent: int, name: str, kind: str, target: str, compact: bool, nullable: bool) -> None:
        self.length(indent, compact, kind == "string")
        self.line(indent, "if n < 0:")
        self.line(indent + 1, f"{target} = None" if nullable else f"raise null({name!r})")
        self.line(indent, "else:")
        self.line(indent + 1, "q = p + n")
        self.line(indent + 1, f"if q > end: raise too_long({name!r}, n, end - p)")
        expression = {"string": "str(b[p:q], 'utf-8')", "bytes": "bytes(b[p:q])", "records": "b[p:q]"}[kind]
        self.line(indent + 1, f"{target} = {expression}; p = q")

    def array(self, indent: int, field: Field, target: str) -> None:
        element = field.kind[2:]
        compact = self.compact(field)
        self.length(indent, compact, is_string=False)
        self.line(indent, "if n < 0:")
        self.line(indent + 1, f"{target} = None" if self.nullable(field) else f"raise null({field.name!r})")
        self.line(indent, "else:")
        inner = indent + 1
        smallest = smallest_element(self.kind, field, self.version, self.flexible)
        self.line(inner, f"if n * {smallest} > end - p: raise too_long({field.name!r}, n, end - p)")
        self.line(inner, f"{target} = []")
        self.line(inner, f"add = {target}.append")
        self.line(inner, "for _ in range(n):")
        if element in FIXED:
            layout, size = FIXED[element]
            self.line(inner + 1, f"y, = {self.struct(layout, 'unpack_from')}(b, p); p += {size}")
        elif element in _SIZED:
            self.line(inner + 1, "m = n")
            self.sized(inner + 1, field.name, element, "y", compact, False)
            self.line(inner + 1, "n = m")
        else:
            self.names[f"decode_{element}"] = _struct_decoder(self.kind.STRUCTS[element], self.version, self.flexible)
            self.line(inner + 1, f"y, p = decode_{element}(b, p, end)")
        self.line(inner + 1, "add(y)")

    def nested(self, indent: int, field: Field, target: str) -> None:
        nested = _struct_decoder(self.kind.STRUCTS[field.kind], self.version, self.flexible)
        self.names[f"decode_{field.kind}"] = nested
        call = f"{target}, p = decode_{field.kind}(b, p, end)"
        if not self.nullable(field):
            self.line(indent, call)
            return
        self.line(indent, "n, = " + self.struct("b", "unpack_from") + "(b, p); p += 1")
        self.line(indent, f"if n < {int(covers(field.tagged, self.version))}: {target} = None")
        self.line(indent, f"else: {call}")

    def tagged_fields(self, tagged: list[Field]) -> None:
        self.line(1, "count = b[p]; p += 1")
        self.line(1, "if count:")
        self.line(2, "if count > 127: count, p = read_uvarint(b, p - 1)")
        self.line(2, "if count * 2 > end - p: raise too_long('tagged fields', count, end - p)")
        self.line(2, "for _ in range(count):")
        self.line(3, "tag, p = read_uvarint(b, p)")
        self.line(3, "size, p = read_uvarint(b, p)")
        self.line(3, "stop = p + size")
        self.line(3, "if stop > end: raise too_long('a tagged field', size, end - p)")
        for number, field in enumerate(tagged):
            self.line(3, f"{'if' if number == 0 else 'elif'} tag == {field.tag}:")
            self.value(4, field)
            self.line(4, f"if p != stop: raise too_long({field.name!r}, size, stop - p)")
        self.line(3, "p = stop")


def _default(kind: type[Message], field: Field) -> Any:
    return getattr(kind(), field.name)
