"""Write docs/reference/compatibility.md from what the APIs declare in src/tidelog/server/api.

make docs-pages                                  write
python tools/generate_compatibility.py --check   exit with 1 if the page is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidelog.protocol.schema import Versions
from tidelog.server.api.catalogue import APIS
from tidelog.server.declaration import Api, ListenerKind

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "compatibility.md"

_HEAD = """\
# APIs and versions

Written by `make docs-pages` from the declarations in `src/tidelog/server/api`: do not edit. Each API is declared in the
module that has its name, which also says what it does and what its versions brought.

The versions of Apache Kafka are those that 4.3 advertises; a test compares those of brokers with 4.3.1 itself. "Needs"
is what Kafka's authorizer checks; tidelog has no authorizer yet, and lets everybody do everything. [Where replies
differ](differences-from-kafka.md) compares the replies themselves, and names the APIs that are not served.

| API | key | versions | Kafka 4.3 | listeners | forwarded to the controller | needs | differences |
|---|---|---|---|---|---|---|---|
"""


def page() -> str:
    return _HEAD + "".join(map(_row, APIS))


def _row(api: Api) -> str:
    cells = (
        api.key.title,
        str(int(api.key)),
        _range(api.versions) + ("" if api.advertised_from is None else f", advertised from {api.advertised_from}"),
        _range(api.kafka_versions or api.advertised),
        ", ".join(kind.value for kind in ListenerKind if kind in api.listeners),
        api.forwarding.value,
        ", ".join(f"{each.operation.name} on {each.resource.title}" for each in api.permissions) or "nothing",
        " ".join(api.differences),
    )
    return f"| {' | '.join(cells)} |\n"


def _range(versions: Versions) -> str:
    first, last = versions
    return str(first) if first == last else f"{first} to {last}"


def main() -> int:
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(page())
        return 0
    if PAGE.exists() and PAGE.read_text() == page():
        return 0
    print(f"{PAGE} is stale: run `make docs-pages`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
