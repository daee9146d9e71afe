"""`tidelog quotas`: quotas of users, client ids and addresses, which kafka-configs has as properties of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.properties import split_properties
from tidelog.cli.session import run
from tidelog.client.admin import Admin, QuotaEntity, QuotaKey, QuotaMatch, quota_entity
from tidelog.config.definitions import nearest_name
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.quotas.entities import CLIENT_ID, IP, USER

_HELP = f"""List, set and remove quotas: how much clients may do before they are throttled.

The quotas of users and client ids are producer_byte_rate and consumer_byte_rate (bytes per second on each broker),
request_percentage (of the broker's threads), and controller_mutation_rate (partitions created and deleted per second).
That of addresses is {QuotaKey.CONNECTION_CREATION_RATE} (new connections per second). Changes take effect immediately.

Examples:

tidelog quotas set --user alice producer_byte_rate=1048576 consumer_byte_rate=2097152

tidelog quotas set --default user request_percentage=50

tidelog quotas list

tidelog quotas remove --user alice"""

quotas = typer.Typer(
    help=_HELP, add_completion=False, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False
)

_TYPES = (USER, CLIENT_ID, IP)
# As kafka-configs writes the types.
_TITLES = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntityOptions:
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="The user, without its type.")] = None
    client_id: Annotated[str | None, typer.Option("--client-id", metavar="ID", help="The client id.")] = None
    ip: Annotated[str | None, typer.Option("--ip", metavar="ADDRESS", help="The address or host.")] = None
    default: Annotated[
        list[str] | None,
        typer.Option("--default", metavar="TYPE", help="All that have none: user, client-id or ip. Repeatable."),
    ] = None
    user_defaults: Annotated[bool, typer.Option("--user-defaults", hidden=True)] = False
    client_defaults: Annotated[bool, typer.Option("--client-defaults", hidden=True)] = False
    ip_defaults: Annotated[bool, typer.Option("--ip-defaults", hidden=True)] = False

    def names(self) -> dict[str, str | None]:
        """By type; None is the default."""
        names: dict[str, str | None] = {}
        for kind, name in ((USER, self.user), (CLIENT_ID, self.client_id), (IP, self.ip)):
            if name is not None:
                names[kind] = name
        # The last three as kafka-configs has them.
        flags = ((USER, self.user_defaults), (CLIENT_ID, self.client_defaults), (IP, self.ip_defaults))
        for kind in (*(self.default or ()), *(kind for kind, given in flags if given)):
            if kind not in _TYPES:
                raise typer.BadParameter(f"{kind!r} is not one of {', '.join(_TYPES)}", param_hint="--default")
            if names.get(kind) is not None:
                raise typer.BadParameter(f"--default {kind} and a name for it exclude each other")
            names[kind] = None
        return names

    def entity(self) -> QuotaEntity:
        names = self.names()
        if not names:
            raise typer.BadParameter("say whose quota: --user, --client-id, both, --ip, or --default with one of these")
        return quota_entity(names.items())


@quotas.command("list")
@with_groups
def list_quotas(entity: _EntityOptions, cluster: ClusterOptions) -> None:
    """List all quotas, or those of one entity and of all that it is part of.

    \b
    Examples:
      tidelog quotas list
      tidelog quotas list --user alice
      tidelog quotas list --default client-id --json
    """
    selected = {kind: QuotaMatch.DEFAULT if name is None else name for kind, name in entity.names().items()}
    run(_list(cluster, selected))


@quotas.command("set")
@with_groups
def set_quotas(
    pairs: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE...", help="The quotas to set.")] = None,
    add_config: Annotated[
        str | None, typer.Option("--add-config", metavar="NAME=VALUE,...", help="The same, as kafka-configs has it.")
    ] = None,
    *,
    entity: _EntityOptions,
    cluster: ClusterOptions,
) -> None:
    """Set quotas of a user, a client id, both together, or an address.

    \b
    Examples:
      tidelog quotas set --user alice producer_byte_rate=1048576
      tidelog quotas set --user alice --client-id reports consumer_byte_rate=524288
      tidelog quotas set --default user controller_mutation_rate=10
      tidelog quotas set --ip 10.0.0.7 connection_creation_rate=5
    """
    words = [*(pairs or ()), *(word for word in (add_config or "").split(",") if word.strip())]
    changes = {_key(key): _number(key, value) for key, value in split_properties("NAME=VALUE", words).items()}
    if not changes:
        raise typer.BadParameter(f"name at least one quota: {', '.join(QuotaKey)}")
    run(_alter(cluster, entity.entity(), changes))


@quotas.command("remove")
@with_groups
def remove_quotas(
    keys: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="The quotas to remove.")] = None,
    delete_config: Annotated[
        str | None, typer.Option("--delete-config", metavar="NAME,...", help="The same, as kafka-configs has it.")
    ] = None,
    *,
    entity: _EntityOptions,
    cluster: ClusterOptions,
) -> None:
    """Remove quotas, or (if none is named) all that the entity has.

    \b
    Examples:
      tidelog quotas remove --user alice producer_byte_rate
      tidelog quotas remove --default client-id
    """
    named = [*(keys or ()), *(word.strip() for word in (delete_config or "").split(",") if word.strip())]
    run(_remove(cluster, entity.entity(), [_key(key) for key in named]))


def _key(text: str) -> str:
    if text not in list(QuotaKey):
        close = nearest_name(text, list(QuotaKey))
        meant = f"; did you mean {close}?" if close else f"; it must be one of {', '.join(QuotaKey)}"
        raise typer.BadParameter(f"{text!r} is not a quota{meant}")
    return text


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{key}={text} is not a number") from None


async def _list(cluster: ClusterOptions, selected: Mapping[str, str | QuotaMatch]) -> None:
    async with cluster.admin() as admin:
        found = await admin.describe_client_quotas(selected)
    ordered = sorted(found.items(), key=lambda each: repr(each[0]))
    lines = (f"Quota configs for {_title(entity)} are {_said(values)}" for entity, values in ordered)
    cluster.show([{"entity": dict(entity), "quotas": values} for entity, values in ordered], lines)


async def _alter(cluster: ClusterOptions, entity: QuotaEntity, changes: Mapping[str, float | None]) -> None:
    async with cluster.admin() as admin:
        raise_failures(
            {_title(each): result for each, result in (await admin.alter_client_quotas({entity: changes})).items()}
        )
    document = {"entity": dict(entity), "changed": list(changes)}
    cluster.show(document, [f"Completed updating quotas of {_title(entity)}."])


async def _remove(cluster: ClusterOptions, entity: QuotaEntity, keys: Sequence[str]) -> None:
    async with cluster.admin() as admin:
        asked = {kind: QuotaMatch.DEFAULT if name is None else name for kind, name in entity}
        known = (await admin.describe_client_quotas(asked, strict=True)).get(entity, {})
        gone = list(keys) or list(known)
        missing = [key for key in gone if key not in known]
        if missing or not gone:
            has = ", ".join(known) or "none"
            raise CommandFailure(f"nothing was removed: of the quotas {_title(entity)} has {has}")
        changes: dict[str, float | None] = dict.fromkeys(gone)
        Admin.raise_any(await admin.alter_client_quotas({entity: changes}))
    cluster.show({"entity": dict(entity), "removed": gone}, [f"Removed {', '.join(gone)} of {_title(entity)}."])


def _title(entity: QuotaEntity) -> str:
    """As kafka-configs has it, the user first."""
    names = dict(entity)
    return ", ".join(
        f"the default {_TITLES[kind]}" if names[kind] is None else f"{_TITLES[kind]} '{names[kind]}'"
        for kind in (*_TYPES, *(names.keys() - set(_TYPES)))
        if kind in names
    )


def _said(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(values.items()))
