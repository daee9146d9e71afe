"""Writes src/tidelog/protocol/messages/ from the message schemas that Apache Kafka publishes inside its jars.

    python tools/generate_messages.py DIRECTORY_WITH_KAFKA_JARS

Only names, types, version ranges and defaults carry over. Run it when a new Kafka version brings new schemas, and
commit the result: users of tidelog never need the jars.

`message_extensions.json` beside this file has the fields that tidelog adds: for each message, the structs that get
fields, and the fields as Kafka's schemas write them. All of them are tagged, and their tags are far above Kafka's own
(docs/decisions/0046-tagged-fields-of-tidelog.md).
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from tidelog.protocol.schema import FIRST_EXTENSION_TAG

TARGET = Path(__file__).resolve().parent.parent / "src" / "tidelog" / "protocol" / "messages"
EXTENSIONS = Path(__file__).resolve().parent / "message_extensions.json"

SOURCES = {
    "kafka-clients": "common/message/",
    "kafka-metadata": "common/metadata/",
    "kafka-group-coordinator": "common/message/",
    "kafka-transaction-coordinator": "common/message/",
    "kafka-raft": "common/message/",
}
# Not part of tidelog: share groups, Streams groups, delegation tokens and telemetry.
LEFT_OUT = re.compile(
    r"^(Share|Streams|Initialize|ReadShare|WriteShare|DeleteShare|AlterShare|DescribeShare|Delegation|"
    r".*DelegationToken|.*Telemetry|ZkMigration|ConsumerProtocol.*Legacy)"
)
FIXED_DEFAULTS = {
    "bool": "False",
    "float64": "0.0",
    "uuid": "b'\\0' * 16",
    "string": "''",
    "bytes": "b''",
    "records": "None",
}
INTEGERS = {"int8", "int16", "uint16", "int32", "uint32", "int64"}
PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}
LAST = 32767


def snake_case(name: str) -> str:
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def versions(text: str | None) -> tuple[int, int]:
    if text is None or text == "none":
        return (1, 0)
    if text.endswith("+"):
        return (int(text[:-1]), LAST)
    low, _, high = text.partition("-")
    return (int(low), int(high or low))


def show(bounds: tuple[int, int]) -> str:
    if bounds == (1, 0):
        return "NEVER"
    return f"({bounds[0]}, {'LAST' if bounds[1] == LAST else bounds[1]})"


class Module:
    """One generated module: a message and the structs inside it, innermost first."""

    def __init__(self, schema: dict[str, Any], *, extended: bool = False) -> None:
        self.schema = schema
        self.origin = "from Apache Kafka's schemas" + (f" and {EXTENSIONS.name}" if extended else "")
        self.classes: list[str] = []
        self.done: set[str] = set()
        self.common = {struct["name"]: struct for struct in schema.get("commonStructs", [])}

    def source(self) -> str:
        schema = self.schema
        self.add_class(schema["name"], schema["fields"], message=True)
        body = "\n\n\n".join(self.classes)
        sequence = "from collections.abc import Sequence\n" if "Sequence[" in body else ""
        final = ", Final" if "Final" in body else ""
        buffer = "from tidelog.protocol.codec import Buffer\n" if "Buffer" in body else ""
        names = [name for name in ("LAST", "NEVER") if re.search(rf"\b{name}\b", body)]
        names += ["Field"] if "Field(" in body else []
        names += ["Message", "Schema", "Structs"]
        return (
            f"# Written by tools/generate_messages.py {self.origin}: do not edit.\n"
            "from __future__ import annotations\n\n"
            f"{sequence}from typing import ClassVar{final}\n\n"
            f"{buffer}from tidelog.protocol.schema import {', '.join(sorted(names))}\n\n\n" + body + "\n"
        )

    def add_class(self, name: str, fields: list[dict[str, Any]], message: bool = False) -> None:
        if name in self.done:
            return
        self.done.add(name)
        structs: list[str] = []
        lines: list[str] = []
        described: list[str] = []
        for each in fields:
            kind = each["type"]
            element = kind.removeprefix("[]")
            if element[0].isupper():
                nested = each.get("fields") or self.common[element]["fields"]
                self.add_class(element, nested)
                structs.append(element)
            lines.append(self.attribute(each, kind, element))
            described.append(self.described(each, kind))
        names = [snake_case(each["name"]) for each in fields]
        slots = "".join(f'\n        "{field}",' for field in names)
        text = (
            f"class {name}(Message):\n    __slots__ = ({slots}\n    )\n"
            if names
            else f"class {name}(Message):\n    __slots__ = ()\n"
        )
        schema = self.schema
        extra = ""
        if message:
            valid, flexible = versions(schema["validVersions"]), versions(schema.get("flexibleVersions"))
            extra = f", valid={show(valid)}, flexible={show(flexible)}"
            if "apiKey" in schema:
                extra += f", api_key={schema['apiKey']}"
        inner = "".join(f"\n            {line}," for line in described)
        fields_text = f"({inner}\n        )" if described else "()"
        text += f"    SCHEMA: ClassVar[Schema] = Schema(\n        {fields_text}{extra}\n    )\n"
        pairs = ", ".join(f'"{struct}": {struct}' for struct in dict.fromkeys(structs))
        text += f"    STRUCTS: ClassVar[Structs] = {{{pairs}}}"
        if names:
            text += "\n\n    def __init__(\n        self,\n        *,\n"
            text += "".join(f"        {line},\n" for line in lines)
            text += "    ) -> None:\n"
            # Final costs nothing at run time and lets the type checker keep messages as they were made.
            text += "\n".join(f"        self.{field}: Final = {field}" for field in names)
        self.classes.append(text)

    def default(self, each: dict[str, Any], kind: str) -> str:
        given = each.get("default")
        if given == "null":
            return "None"
        if kind.startswith("[]"):
            return "()"
        if kind in INTEGERS:
            return str(int(str(given), 0)) if given not in (None, "") else "0"
        if kind == "bool":
            return "True" if str(given).lower() == "true" else "False"
        if kind == "string":
            return repr(given or "")
        if kind == "float64" and given:
            return str(float(given))
        if kind in FIXED_DEFAULTS:
            return FIXED_DEFAULTS[kind]
        return "FACTORY"

    def attribute(self, each: dict[str, Any], kind: str, element: str) -> str:
        python = "int" if element in INTEGERS else PYTHON_TYPES.get(element, element)
        if kind.startswith("[]"):
            python = f"Sequence[{python}]"
        default = self.default(each, kind)
        if each.get("nullableVersions", "none") != "none" or default == "None":
            python += " | None"
        if default == "FACTORY":
            # One instance for all: messages are never changed.
            default = f"{element}()"
        return f"{snake_case(each['name'])}: {python} = {default}"

    def described(self, each: dict[str, Any], kind: str) -> str:
        parts = [f'"{snake_case(each["name"])}"', f'"{kind}"', show(versions(each.get("versions", "0+")))]
        if each.get("nullableVersions", "none") != "none":
            parts.append(f"nullable={show(versions(each['nullableVersions']))}")
        if "taggedVersions" in each:
            parts += [f"tagged={show(versions(each['taggedVersions']))}", f"tag={each['tag']}"]
        default = self.default(each, kind)
        if default not in ("None", "FACTORY") and "taggedVersions" in each:
            parts.append(f"default={default}")
        if "flexibleVersions" in each:
            parts.append(f"flexible={show(versions(each['flexibleVersions']))}")
        return f"Field({', '.join(parts)})"


def schemas(jars: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for prefix, folder in SOURCES.items():
        jar = max(jars.glob(f"{prefix}-[0-9]*.jar"))
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith(folder) and name.endswith(".json"):
                    text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                    schema = json.loads(text)
                    if schema.get("validVersions", "none") != "none" and not LEFT_OUT.match(schema["name"]):
                        found[schema["name"]] = schema
    return found


def extensions() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The fields that tidelog adds, by message and struct."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(EXTENSIONS.read_text())
    return found


def extend(schema: dict[str, Any], additions: dict[str, list[dict[str, Any]]]) -> None:
    """Append the fields of `additions` to the structs of a message. Exits if one cannot be an extension."""
    for struct, added in additions.items():
        fields = fields_of(schema, struct)
        if fields is None:
            sys.exit(f"{EXTENSIONS.name}: {schema['name']} has no struct {struct}")
        for field in added:
            if "taggedVersions" not in field or field["tag"] < FIRST_EXTENSION_TAG:
                sys.exit(f"{EXTENSIONS.name}: {struct}.{field['name']} needs a tag of at least {FIRST_EXTENSION_TAG}")
            if any(each["name"] == field["name"] or each.get("tag") == field["tag"] for each in fields):
                sys.exit(f"{EXTENSIONS.name}: {struct} has a field {field['name']} or a tag {field['tag']} already")
            fields.append(field)


def fields_of(schema: dict[str, Any], struct: str) -> list[dict[str, Any]] | None:
    """Those of the message itself, or of a struct anywhere inside of it; None if there is no such struct."""
    fields: list[dict[str, Any]] = schema.get("fields", [])
    if struct in (schema.get("name"), schema.get("type", "").removeprefix("[]")):
        return fields
    inside = (fields_of(each, struct) for each in [*fields, *schema.get("commonStructs", [])])
    return next((found for found in inside if found is not None), None)


def main() -> None:
    found = schemas(Path(sys.argv[1]))
    added = extensions()
    for name in added:
        extend(found[name], added[name])
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    requests: dict[int, str] = {}
    records: dict[str, dict[int, str]] = {"metadata": {}, "coordinator-key": {}, "coordinator-value": {}}
    for name, schema in sorted(found.items()):
        (TARGET / f"{snake_case(name)}.py").write_text(Module(schema, extended=name in added).source())
        if schema["type"] == "request":
            requests[schema["apiKey"]] = name.removesuffix("Request")
        elif schema["type"] in records:
            records[schema["type"]][schema["apiKey"]] = name
    lines = ["# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.", ""]
    lines += ["from enum import IntEnum", ""]
    lines += ["# API key to the name that its request and response classes begin with.", "APIS = {"]
    lines += [f'    {key}: "{name}",' for key, name in sorted(requests.items())]
    lines += ["}", "", "", "class ApiKey(IntEnum):"]
    lines += [f"    {snake_case(name).upper()} = {key}" for key, name in sorted(requests.items())]
    lines += [
        "",
        "    @property",
        "    def title(self) -> str:",
        '        """The name that Kafka\'s documentation and tools use, such as "OffsetForLeaderEpoch"."""',
        "        return APIS[self]",
        "",
        "",
        "# Record type to class name, for the records of the cluster metadata log.",
        "METADATA_RECORDS = {",
    ]
    lines += [f'    {key}: "{name}",' for key, name in sorted(records["metadata"].items())]
    lines += ["}", ""]
    (TARGET / "__init__.py").write_text("\n".join(lines))
    print(f"{len(found)} messages written to {TARGET}")
    print({kind: len(names) for kind, names in records.items()})


if __name__ == "__main__":
    main()
