"""Write the reference of all properties into docs/reference, from the tables that the code runs on.

make docs-pages                                  write
python tools/generate_configuration.py --check   exit with 1 if a page is stale
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tidelog.client.options import CLIENT_OPTIONS, CONSUMER_OPTIONS, PRODUCER_OPTIONS, WITHOUT_EFFECT
from tidelog.client.security_options import REFUSED, SECURITY_OPTIONS
from tidelog.config.broker import BROKER_DEFINITIONS
from tidelog.config.catalogue.authorization import AuthorizationSection
from tidelog.config.catalogue.cluster import ClusterSection
from tidelog.config.catalogue.coordinators import GroupSection, TransactionSection
from tidelog.config.catalogue.network import NetworkSection
from tidelog.config.catalogue.node import NODE_DEFINITIONS
from tidelog.config.catalogue.refused import REFUSED_NAMES, REFUSED_PREFIXES
from tidelog.config.catalogue.security import SecuritySection
from tidelog.config.catalogue.storage import StorageSection
from tidelog.config.catalogue.topic_defaults import TOPIC_DEFAULT_DEFINITIONS
from tidelog.config.client_metrics import CLIENT_METRICS_DEFINITIONS
from tidelog.config.definitions import ConfigDefinition, ConfigType, Effect, UpdateMode, format_value
from tidelog.config.fields import definitions_of
from tidelog.config.group import GROUP_DEFINITIONS
from tidelog.config.topic import TOPIC_DEFINITIONS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
_GENERATED = "<!-- Written by `make docs-pages` from the tables in the source; changes here are lost. -->"

_SERVER_HEAD = f"""# Configuration of brokers, topics and groups

{_GENERATED}

Properties have Apache Kafka's names, types and defaults. Those of brokers are set with
`tidelog up --override` or in the file that `tidelog server` reads.
*Dynamic* says whether `tidelog configs --alter` changes a property while brokers run, and how that takes effect.
*Effect* is one of

- yes: a part of the server obeys the property;
- only the default: other values are refused, because the feature is not built;
- none: the property is accepted so that files written for Apache Kafka work, and changes nothing. A broker logs those
  that are set when it starts.

Other properties of Apache Kafka are [refused](#refused-properties), and so are unknown names in a file.

## Broker properties"""

_CLIENT_HEAD = f"""# Configuration of clients

{_GENERATED}

Options have the names of Apache Kafka's Java client, with dots or with underscores. Unknown names, wrong values, and
options that contradict each other are refused before anything is sent."""

_BROKER_TABLES: Sequence[tuple[str, Iterable[ConfigDefinition]]] = (
    ("Identity, listeners and quorum", NODE_DEFINITIONS.values()),
    ("Connections and requests", definitions_of(NetworkSection)),
    ("TLS and SASL", definitions_of(SecuritySection)),
    ("Authorization", definitions_of(AuthorizationSection)),
    ("Topics, replication and controllers", definitions_of(ClusterSection)),
    ("Groups and offsets", definitions_of(GroupSection)),
    ("Transactions", definitions_of(TransactionSection)),
    ("Storage", definitions_of(StorageSection)),
    ("Defaults of topics", TOPIC_DEFAULT_DEFINITIONS.values()),
)


def main() -> int:
    stale = [name for name, text in pages().items() if not _is_current(REFERENCE / name, text)]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"{REFERENCE / name} is stale: run make docs-pages", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (REFERENCE / name).write_text(pages()[name])
    return 0


def pages() -> Mapping[str, str]:
    return {
        "configuration.md": "\n".join(_server_page()) + "\n",
        "client-configuration.md": "\n".join(_client_page()) + "\n",
    }


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def _server_page() -> Iterator[str]:
    yield _SERVER_HEAD
    for title, definitions in _BROKER_TABLES:
        yield from ("", f"### {title}", "")
        yield from _table(definitions)
    without_effect = [each for each in BROKER_DEFINITIONS.values() if each.effect is Effect.NONE]
    yield from ("", "### Without effect", "")
    yield from _table(each for each in without_effect if each.default_of is None)
    for title, properties in (
        ("Topic properties", TOPIC_DEFINITIONS),
        ("Group properties", GROUP_DEFINITIONS),
        ("Properties of client metrics subscriptions", CLIENT_METRICS_DEFINITIONS),
    ):
        yield from ("", f"## {title}", "", "All of them can be changed while brokers run.", "")
        yield from _table(properties.values(), always_dynamic=True)
    yield from ("", "## Refused properties", "", "| property | why, and what to do |", "|---|---|")
    refused = {**{f"{prefix}*": reason for prefix, reason in REFUSED_PREFIXES}, **REFUSED_NAMES}
    yield from (f"| `{name}` | {reason} |" for name, reason in sorted(refused.items()))


def _client_page() -> Iterator[str]:
    yield _CLIENT_HEAD
    own_producer = {name: each for name, each in PRODUCER_OPTIONS.items() if name not in CLIENT_OPTIONS}
    own_consumer = {name: each for name, each in CONSUMER_OPTIONS.items() if name not in CLIENT_OPTIONS}
    others = {name: each for name, each in CLIENT_OPTIONS.items() if name not in SECURITY_OPTIONS}
    for title, options in (
        ("All clients", others),
        ("TLS and SASL", SECURITY_OPTIONS),
        ("Producers", own_producer),
        ("Consumers", own_consumer),
    ):
        yield from ("", f"## {title}", "")
        yield from ("| option | type | default | valid values | what it does |", "|---|---|---|---|---|")
        yield from (
            f"| `{name}` | {_type(option)} | {_default(option)} | {_valid(option)} | {option.description} |"
            for name, option in sorted(options.items())
        )
    yield from ("", "## Without effect", "", "They are accepted and logged.", "", "| option | why |", "|---|---|")
    yield from (f"| `{name}` | {reason} |" for name, reason in WITHOUT_EFFECT.items())
    yield from ("", "## Refused", "", "| option | why |", "|---|---|")
    yield from (f"| `{name}` | {reason} |" for name, reason in REFUSED.items())


def _table(definitions: Iterable[ConfigDefinition], *, always_dynamic: bool = False) -> Iterator[str]:
    dynamic_head, dynamic_line = ("", "") if always_dynamic else (" dynamic |", "---|")
    yield f"| property | type | default | valid values |{dynamic_head} effect | what it does |"
    yield f"|---|---|---|---|{dynamic_line}---|---|"
    for each in definitions:
        dynamic = "" if always_dynamic else f" {_dynamic(each)} |"
        yield (
            f"| `{each.name}` | {_type(each)} | {_default(each)} | {_valid(each)} |{dynamic} {each.effect.value} | "
            f"{each.description} |"
        )


def _type(definition: ConfigDefinition) -> str:
    return definition.type.name.lower()


def _default(definition: ConfigDefinition) -> str:
    if definition.required:
        return "required"
    text = format_value(definition.default)
    return "not set" if text is None else f"`{text}`" if text else "empty"


def _valid(definition: ConfigDefinition) -> str:
    if definition.allowed is not None:
        text = definition.allowed.describe().replace("not be empty or have an empty element", "not empty")
        return text.removeprefix("be ")
    return "true or false" if definition.type is ConfigType.BOOLEAN else "any"


def _dynamic(definition: ConfigDefinition) -> str:
    mode = definition.update_mode
    return "yes" if definition.effect is Effect.FIXED and mode is not UpdateMode.READ_ONLY else mode.value


if __name__ == "__main__":
    sys.exit(main())
